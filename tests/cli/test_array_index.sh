# SPDX-License-Identifier: BSD-2-Clause
# An index outside of a static array: the report says how far from the array the access was, or the
# pointer or address of a function that it read there; nothing if the index is right.
. "$(dirname "$0")/lib.sh"
needs_qemu_10
[ "$(uname -m)" = x86_64 ] || skip "the origin of a pointer is known for x86-64 only"
jsonschema=no
python3 -c 'import jsonschema' 2>/dev/null && jsonschema=yes
declare -A variable=([calls]=table [reads]=pointers [bumps]=counts [keys]=items
	[letter]=letters [shifted]=moved)
declare -A element=([calls]=8 [reads]=8 [bumps]=4 [keys]=16 [letter]=1 [shifted]=8)
declare -A bytes=([calls]=24 [reads]=40 [bumps]=64 [keys]=64 [letter]=24 [shifted]=64)

# check PROGRAM FUNCTION INDEX
check() {
	local array=${variable[$2]} size=${bytes[$2]} off=$((${element[$2]} * $3)) from has
	rm -f data*
	guard "$AUXTAP" crash -o data -- "./$1" "$2" "$3" >stdout 2>stderr
	[ -s data.report.txt ] || { fail "$*: no report: $(tail -n 2 stderr)"; return; }
	sed '/^$/q' data.report.txt >head
	if [ $off -ge 0 ] && [ $off -lt $size ]; then
		! grep -E 'after the end|before the start' head || fail "$*: the index is right"
		return
	fi
	from="$((off - size)) bytes after the end"
	[ $off -ge $size ] || from="$((-off)) bytes before the start"
	[ $off -ne $size ] || from="right after the end"
	has="which has $size bytes\$"
	case $2 in
	shifted) # nothing, or the array
		! grep -E 'after the end|before the start' head | grep -v ' of moved, which has 64 ' ;;
	calls | reads)
		grep -q "^  The .* was read by $2 .* from $from of $array, $has" head ;;
	*) grep -q "; that is $from of $array, $has" head ;;
	esac || fail "$*: not '$from of $array': $(cat head)"
	"$AUXTAP" report --format json data >data.json
	[ $jsonschema = no ] || {
		cp data.report.txt data.txt
		python3 "$SRC/tests/tools/report_text_json.py" "$SRC/docs/report.schema.json" \
			data.json >err 2>&1 || fail "$*: JSON: $(tail -n 3 err)"
	}
	case $2 in
	calls | reads)
		python3 - "$array" "$off" "$size" <<'PY' || fail "$*: JSON: $(grep pointer_origin data.json)"
import json, sys
origin = json.load(open('data.json'))['crash']['pointer_origin']
sys.exit([origin['variable'], str(origin['offset']), str(origin['variable_bytes'])] != sys.argv[1:])
PY
		;;
	esac
}

for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	for flags in -O0 -O2 '-O2 -no-pie'; do
		[ "$cc $flags" != 'clang -O0' ] || [ -n "${AUXTAP_LONG:-}" ] || continue
		# shellcheck disable=SC2086
		$cc -g $flags -w -o indices "$SRC/tests/cli/frames/indices.c" || skip "not built"
		program=indices.$cc${flags// /}
		mv indices "$program"
		check "$program" calls 3
		check "$program" calls 20
		check "$program" calls -7
		check "$program" reads 30
		check "$program" reads 4
		check "$program" bumps 10000000
		check "$program" bumps -10000000
		check "$program" letter 100000000
		check "$program" keys 10000000
		check "$program" shifted 10000000
	done
done
finish
