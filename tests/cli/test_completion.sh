# SPDX-License-Identifier: BSD-2-Clause
# The shells' completion: bash and zsh read the scripts, and offer what the tables of options have.
. "$(dirname "$0")/lib.sh"

"$AUXTAP" completion bash >script.bash || fail "completion bash"
"$AUXTAP" completion zsh >script.zsh || fail "completion zsh"
source ./script.bash
mkdir here && cd here || exit 1
touch one.data two.txt 'three  blanks'
mkdir sub

# offers 'CANDIDATES' WORD...: what bash offers for the last word, with blanks between
offers() {
	local expected=$1
	shift
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_auxtap
	[ "${COMPREPLY[*]}" = "$expected" ] ||
		fail "bash, '$*': '${COMPREPLY[*]}', not '$expected'"
}
offers decode auxtap dec
offers 'record report' auxtap re
offers --format auxtap decode --fo
offers 'text jsonl csv' auxtap decode --format ''
offers 'text jsonl csv' auxtap decode --format =
offers jsonl auxtap decode --format = j
offers one.data auxtap decode --summary o
offers one.data auxtap decode --format = csv o
offers sub auxtap report --sysroot s
offers 'three  blanks' auxtap dump --no-packets th
offers '' auxtap decode -F ''
offers 'sim sweep' auxtap watermark s
offers arm_spe auxtap watermark sim --driver a
offers --keep auxtap crash --ke
offers '' auxtap record --ke
offers 'two.txt' auxtap crash -o tw
offers 'kernel' auxtap record --backend k
offers 'bash zsh' auxtap completion ''
# a program's own options are not ours
offers '' auxtap crash ls --ba
offers 'two.txt' auxtap crash -- ls tw
offers 'addr2line' auxtap record -- addr2lin

# Every option of a command is offered, and no other: those of its help and its man page, which
# people write.
commands=$("$AUXTAP" --help | awk '/^  [a-z]/ { print $1 }')
commands=${commands/watermark/}
for command in $commands; do
	read -r -a words <<<"$command"
	COMP_WORDS=(auxtap "${words[@]}" --) COMP_CWORD=$((${#words[@]} + 1)) COMPREPLY=()
	_auxtap
	printf '%s\n' "${COMPREPLY[@]}" | sort >offered
	"$AUXTAP" "$command" --help >help
	pages=("$SRC/docs/man/auxtap-$command.1")
	case $command in
	crash) pages+=("$SRC/docs/man/auxtap-record.1") ;;
	dump) pages+=("$SRC/docs/man/auxtap-decode.1") ;;
	esac
	while read -r option; do
		grep -qe "$option" help || grep -qe "Fl ${option#-}\b" "${pages[@]}" ||
			fail "$command: $option is offered, neither help nor man page has it"
	done <offered
	grep -oE '^ +(-[A-Za-z], )?--[a-z0-9-]+' help | grep -oE -e '--[a-z0-9-]+' | sort -u >helped
	[ -z "$(comm -13 offered helped)" ] ||
		fail "$command: help has options that are not offered: $(comm -13 offered helped)"
done

"$AUXTAP" completion fish >out 2>err
[ $? -eq 2 ] && grep -q 'fish: no script for this shell; give bash or zsh' err ||
	fail "another shell: $(cat err)"
"$AUXTAP" completion >out 2>err
[ $? -eq 2 ] || fail "no shell: $(cat err)"

if command -v zsh >/dev/null; then
	zsh -n ../script.zsh || fail "zsh: syntax"
	in_zsh() { guard python3 "$SRC/tests/cli/complete_zsh.py" "$AUXTAP" "$1" "$2" ||
		fail "zsh: $1"; }
	in_zsh 'auxtap dec\t--form\tjs\t' 'jsonl'
	in_zsh 'auxtap watermark sim --driver=arm\t' 'arm_spe'
	in_zsh 'auxtap report one\t' 'one.data'
	in_zsh 'auxtap re\t' "summarise a recording"
	in_zsh 'auxtap crash -- addr2li\t' 'addr2line'
else
	echo "zsh is not installed: its script was not tried"
fi
finish
