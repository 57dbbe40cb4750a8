# SPDX-License-Identifier: BSD-2-Clause
# Every command and each command of 'watermark' has a man page, with exactly the options that --help
# lists; the pages are well formed, and all are installed.
. "$(dirname "$0")/lib.sh"
command -v mandoc >/dev/null || skip "mandoc is not installed"

# The options a text names: --word and -x, each once.
options() { grep -oE -- '(^|[^[:alnum:]-])--?[[:alnum:]][[:alnum:]-]*' | grep -oE -- '-.*' |
	sort -u; }

pages=0
for page in "$SRC"/docs/man/*.1; do
	name=$(basename "$page" .1)
	pages=$((pages + 1))
	mandoc -T lint -W warning "$page" >lint || fail "$(cat lint)"
	mandoc -T utf8 -O width=1000 "$page" | col -b >text
	command=${name#auxtap}
	command=${command#-}
	# shellcheck disable=SC2086 # auxtap-watermark-sim: auxtap watermark sim
	"$AUXTAP" ${command//-/ } --help >help || fail "$name: no --help"
	# options of the page: its tagged lines; of the help: the starts of its lines
	grep -E '^ {2,}-' help | sed -E 's/ {2,}([^-].*)?$//; s/^ +//; s/ {2,}.*//' |
		options >in_help
	grep -E '^ {5,6}-' text | options >in_page
	options <text >mentioned
	comm -23 in_help mentioned >missing
	[ -s missing ] && fail "$name: not in the page: $(tr '\n' ' ' <missing)"
	options <help >in_help_all
	comm -23 in_page in_help_all | grep -vxE -- '--(help|version)|-h' >extra
	[ -s extra ] && fail "$name: not in --help: $(tr '\n' ' ' <extra)"
	case $name in
	auxtap | auxtap-list | auxtap-watermark) ;;
	*) [ -s in_help ] || fail "$name: the test sees no options in --help" ;;
	esac
done
for command in $("$AUXTAP" --help | sed -nE 's/^  ([a-z]+) .*/\1/p'); do
	[ -e "$SRC/docs/man/auxtap-$command.1" ] || fail "auxtap-$command has no page"
done
commands=$("$AUXTAP" watermark --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
for command in $commands; do
	[ -e "$SRC/docs/man/auxtap-watermark-$command.1" ] || fail "auxtap-watermark-$command has no page"
done
[ "$(wc -w <<<"$commands")" -ge 3 ] || fail "'watermark' lists only these commands: $commands"
cmake --install "$(cd "$BIN/.." && pwd)" --prefix "$WORK/prefix" >install.log 2>&1 || fail "$(tail -n 3 install.log)"
(cd "$SRC/docs/man" && ls) | diff - <(ls "$WORK/prefix/share/man/man1") || fail 'not all pages are installed'
(cd "$SRC" && ls docs/*.md examples/*) | while read -r file; do
	[ -e "$WORK/prefix/share/doc/auxtap/${file#docs/}" ] || echo "$file"
done >missing
[ ! -s missing ] || fail "not installed: $(tr '\n' ' ' <missing)"
# the default watermark: help and page name the value with which events are opened
"$AUXTAP" record --help | grep -q -- '--aux-watermark.*quarter of the area' || fail "record --help: the default watermark"
mandoc -T utf8 -O width=1000 "$SRC/docs/man/auxtap-record.1" | col -b >text
grep -A 1 -- '--aux-watermark BYTES' text | grep -q 'default is a quarter of the area' ||
	fail "auxtap-record: the default watermark: $(grep -A 1 -- '--aux-watermark BYTES' text | tail -n 1)"
quick_program
if "$AUXTAP" record --backend emulated --source ptrace -m 8,16 -o watermark -- "$QUICK" 2>err; then
	"$AUXTAP" dump watermark | grep -q 'aux_watermark 16384' || fail "-m 8,16: $("$AUXTAP" dump watermark | grep -i watermark)"
else
	fail "record: $(tail -n 1 err)"
fi
[ "$pages" -ge 11 ] || fail "only $pages pages"
finish
