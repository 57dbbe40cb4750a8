# SPDX-License-Identifier: BSD-2-Clause
# scripts/lint: which files the static analyzer reads, in a clone of one commit, without and with
# an origin, after a change of a header or of .clang-tidy; every file is still read without it;
# a finding of either run fails. clang-tidy and cppcheck are replaced by scripts that log. At the
# end the real ones: scripts/lint --self-test.
. "$(dirname "$0")/lib.sh"
real_path=$PATH
command -v git >/dev/null || skip "git is not installed"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null LOG=$WORK/log PATH=$WORK/bin:$PATH
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
unset AUXTAP_LONG AUXTAP_LINT_BASE GIT_DIR GIT_WORK_TREE
mkdir bin
cat >bin/clang-tidy <<'S'
#!/bin/sh
checks=analyzer
for arg; do
	case $arg in
	--checks=*-clang-analyzer*) checks=other ;;
	*.c) echo "$checks $arg" >>"$LOG" ;;
	esac
done
case " $FINDING " in *" $checks "*) exit 1 ;; esac
S
printf '#!/bin/sh\n' >bin/cppcheck
chmod +x bin/*

# files WHICH: those that clang-tidy read, with (analyzer) or without (other) the analyzer
files() { sed -n "s/^$1 //p" log | sort | tr '\n' ' '; }
all="audit/a.c cli/b.c decode/c.c "
# analyzes FILES WHAT: and every file is read at least once
analyzes() {
	: >log
	(cd "$tree" && scripts/lint build) >out 2>err || fail "$2: status $?: $(cat out err)"
	[ "$(files analyzer)" = "$1" ] || fail "$2: analyzed $(files analyzer), not $1"
	[ "$(cut -d ' ' -f 2 log | sort -u | tr '\n' ' ')" = "$all" ] || fail "$2: not every file: $(cat log)"
	if [ "$1" = "$all" ]; then
		grep -q 'static analyzer: .*all 3 files\|static analyzer: 3 of 3 files' out ||
			fail "$2: $(cat out)"
	else
		grep -q "^lint: static analyzer: .* of 3 files, changed since .*): ${1:-none}" \
			<(sed 's/$/ /' out) || fail "$2: $(cat out)"
	fi
}
commit() { git -C "$tree" add -A && git -C "$tree" commit -qm "$1"; }

tree=$WORK/tree
mkdir -p tree/scripts tree/audit tree/cli tree/decode tree/driver/kmod
cp "$SRC/scripts/lint" tree/scripts
# the real self-test is at the end
printf '#!/bin/sh\ncase " $FINDING " in *" text "*) exit 1 ;; esac\n' >tree/scripts/lint-text
chmod +x tree/scripts/lint-text
git -c init.defaultBranch=main init -q tree
echo '#include "audit/h.h"' >tree/audit/a.c
echo 'int b;' >tree/cli/b.c
echo '  #  include <audit/h.h>' >tree/decode/c.c
echo 'int h;' >tree/audit/h.h
echo 'int k;' >tree/driver/kmod/k.c
echo 'Checks: x' >tree/.clang-tidy
commit first
analyzes "$all" 'one commit'
echo 'int b2;' >>tree/cli/b.c
commit second
analyzes "$all" 'a short history'
AUXTAP_LINT_BASE=HEAD~1 analyzes 'cli/b.c ' 'a base that is named'
(cd tree && AUXTAP_LINT_BASE=nothing scripts/lint build) >out 2>err && fail 'a base that does not exist: status 0'
grep -q "no commit 'nothing'" err || fail "a base that does not exist: $(cat err)"

# analyzes the files of the last 20 commits
for n in $(seq 20); do git -C tree commit -q --allow-empty -m "$n"; done
analyzes '' '20 commits later'
echo 'int k2;' >>tree/driver/kmod/k.c
analyzes '' 'a file of the module'
echo 'int a2;' >>tree/audit/a.c
analyzes 'audit/a.c ' 'not committed'
commit audit
analyzes 'audit/a.c ' 'committed'
git -C tree mv cli/b.c cli/moved.c
commit move
all="audit/a.c cli/moved.c decode/c.c "
analyzes 'audit/a.c ' 'a file that was only moved'
git -C tree mv cli/moved.c cli/b.c
commit back
all="audit/a.c cli/b.c decode/c.c "
echo 'int b3;' >>tree/cli/b.c
commit format
git -C tree rev-parse HEAD >tree/.git-blame-ignore-revs
analyzes 'audit/a.c ' 'a commit that changes no logic'
rm tree/.git-blame-ignore-revs
analyzes 'audit/a.c cli/b.c ' 'a commit that may change logic'
git -C tree reset -q --hard HEAD~1

git clone -q tree clone 2>/dev/null || fail 'git clone'
tree=$WORK/clone
analyzes 'audit/a.c ' 'a clone'
git clone -q --depth 1 "file://$WORK/tree" shallow 2>/dev/null || fail 'git clone --depth 1'
tree=$WORK/shallow
analyzes "$all" 'a clone of one commit'
tree=$WORK/clone
echo 'int b3;' >>clone/cli/b.c
commit 'after origin'
analyzes 'cli/b.c ' 'a commit after origin'
echo 'int h2;' >>clone/audit/h.h
commit 'a header'
analyzes "$all" 'a header and a file after origin'
git -C clone reset -q --hard HEAD~2
echo 'int h2;' >>clone/audit/h.h
analyzes 'audit/a.c decode/c.c ' 'a header'
AUXTAP_LONG=1 analyzes "$all" 'AUXTAP_LONG'
git -C clone checkout -q .
echo 'Checks: y' >clone/.clang-tidy
analyzes "$all" '.clang-tidy'
git -C clone checkout -q .

echo 'int b4;' >>clone/cli/b.c
for finding in analyzer other text; do
	(cd clone && FINDING=$finding scripts/lint build) >out 2>err && fail "a finding ($finding): status 0"
done
(cd clone && scripts/lint build) >out 2>err || fail "no finding: $(cat out err)"
printf '#!/bin/sh\nexit 1\n' >bin/cppcheck
(cd clone && scripts/lint build) >out 2>err && fail 'a finding of cppcheck: status 0'
for tool in clang-format-14 clang-tidy cppcheck python3; do
	PATH=$real_path command -v $tool >/dev/null || skip "$tool is not installed"
done
[ -e "$SRC/.git" ] || skip "$SRC is not a git checkout"
PATH=$real_path "$SRC/scripts/lint" --self-test >out 2>&1 || fail "lint --self-test: $(cat out)"
finish
