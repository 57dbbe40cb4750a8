# SPDX-License-Identifier: BSD-2-Clause
# Files that exec refuses: status 126 or 127 and one line with the reason, the same with both
# engines.
. "$(dirname "$0")/lib.sh"

refused() { # STATUS LINE ARGUMENTS...
	local status=$1 line=$2 got
	shift 2
	"$AUXTAP" record -o data "$@" >stdout 2>stderr </dev/null
	got=$?
	[ "$got" -eq "$status" ] || fail "$*: status $got, not $status"
	[ "$(cat stderr)" = "auxtap: $line" ] || fail "$*: '$(cat stderr)', not 'auxtap: $line'"
	[ ! -s stdout ] || fail "$*: it ran: '$(cat stdout)'"
}

mkdir bin
echo 'echo ran' >text
: >empty
printf '#!/nonexistent/interpreter\n' >script
printf '#!%s/text\n' "$PWD" >text_script
printf '\177ELF\2\1\1' >cut_elf
chmod +x text empty script text_script cut_elf
cp text bin/text_in_path
PATH=$PATH:$PWD/bin
format='Exec format error; neither a program nor a script that begins with #!'
for source in ptrace qemu; do
	if [ "$source" = qemu ] && ! command -v qemu-x86_64 >/dev/null; then
		echo "qemu: not installed"
		continue
	fi
	for name in ./text ./empty text_in_path ./cut_elf; do
		refused 126 "$name: $format" --source "$source" -- "$name"
	done
	refused 127 "./nowhere: no such program" --source "$source" -- ./nowhere
	"$AUXTAP" record --source "$source" -o data -- ./script 2>stderr
	[ $? -eq 127 ] || fail "$source, script: $(cat stderr)"
	"$AUXTAP" record --source "$source" -o data -- ./text_script 2>stderr
	[ $? -eq 126 ] || fail "$source, text_script: $(cat stderr)"
	[ "$(wc -l <stderr)" -eq 1 ] || fail "$source, text_script: $(cat stderr)"
	"$AUXTAP" record --source "$source" -o data -- sh -c ./text >stdout 2>stderr ||
		fail "$source: a shell runs text itself: $(cat stderr)"
	grep -qx ran stdout || fail "$source: a shell runs text itself: $(cat stderr)"
done
# an error about something else that has the program's name: the directory that is no more
cp "$(type -P true)" "bin/working directory"
top=$PWD
mkdir gone
(cd gone && rmdir "$top/gone" && "$AUXTAP" record --backend emulated -o "$top/data" -- \
	"working directory") 2>stderr
got=$?
grep -q '^auxtap: working directory: No such file' stderr || fail "no directory: $(cat stderr)"
[ $got -eq 125 ] || fail "no directory: status $got, not 125"
finish
