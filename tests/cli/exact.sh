# SPDX-License-Identifier: BSD-2-Clause
# Exactness under one engine (first argument): plain, without return compression, with CYC and
# MTC, and with AUX areas so small that they wrap and truncate. Unless AUXTAP_LONG is set, some
# programs run only plain, and ptrace gets small inputs.
. "$(dirname "$0")/lib.sh"
source=$1
s=(--source "$source")
seq 200 -1 1 >numbers

matrix() { # NAME COMMAND...
	local name=$1
	shift
	exact "$name" "${s[@]}" -- "$@"
	exact "$name-retcomp-off" "${s[@]}" -e intel_pt/noretcomp/u -- "$@"
	exact "$name-cyc-mtc" "${s[@]}" -e intel_pt/cyc,mtc/u -- "$@"
}

# some NAME COMMAND...: only plain; with AUXTAP_LONG the whole matrix
some() {
	if [ -n "${AUXTAP_LONG:-}" ]; then
		matrix "$@"
	else
		exact "$1" "${s[@]}" -- "${@:2}"
	fi
}

matrix true /bin/true
[ "${NR_INSNS:-0}" -gt 10000 ] || fail "true: only ${NR_INSNS:-0} instructions"
if [ "$source" = qemu ] || [ -n "${AUXTAP_LONG:-}" ]; then
	some ls ls /usr/share
	matrix sort sort -n numbers
	some gzip gzip -c numbers
	matrix exceptions "$FIXTURES/exceptions"
	matrix threads4 "$FIXTURES/threads4"
	[ "${NR_THREADS:-0}" -eq 5 ] || fail "threads4: ${NR_THREADS:-0} threads"
	python=(/usr/bin/python3 -S -E -c 'print(sum(i * i for i in range(100)))')
	if [ "$source" = ptrace ]; then # 20 M single steps, three times: half an hour
		matrix python3 "${python[@]}"
	else
		exact python3 "${s[@]}" -- "${python[@]}"
		[ -z "${AUXTAP_LONG:-}" ] ||
			matrix python3-json /usr/bin/python3 -c 'import json; print(json.dumps({"a": [1, 2]}))'
	fi
else
	exact sort "${s[@]}" -- sort -n numbers
	exact threads4 "${s[@]}" -- "$FIXTURES/threads4"
	[ "${NR_THREADS:-0}" -eq 5 ] || fail "threads4: ${NR_THREADS:-0} threads"
fi

# an area so small that it wraps and truncates
gapped small-sort "${s[@]}" -m 8,1 -- sort -n numbers
[ "${NR_GAPS:-0}" -gt 0 ] || fail "small-sort: nothing was truncated"
gapped small-threads "${s[@]}" -m 8,2 -- "$FIXTURES/threads4"
finish
