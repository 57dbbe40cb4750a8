# SPDX-License-Identifier: BSD-2-Clause
# The scripted gdb sessions with the gdb of Debian's trixie (16) and sid (17 or newer), which
# scripts/fetch-gdb fetches once. Only with AUXTAP_LONG: 350 MB each.
. "$(dirname "$0")/lib.sh"
[ -n "${AUXTAP_LONG:-}" ] || skip "only with AUXTAP_LONG"

tried=0
for suite in trixie sid; do
	if ! gdb=$("$SRC/scripts/fetch-gdb" "$suite" 2>why); then
		echo "SKIP: $(cat why)"
		continue
	fi
	multiarch=$("$SRC/scripts/fetch-gdb" "$suite" gdb-multiarch) || fail "$suite: no gdb-multiarch"
	mkdir -p "$suite"
	ln -sf "$gdb" "$suite/gdb"
	ln -sf "$multiarch" "$suite/gdb-multiarch"
	tried=$((tried + 1))
	echo "$suite: $("$gdb" --version | head -n 1)"
	for name in test_gdb test_gdb_live test_gdb_calls test_gdb_values test_gdb_core \
		test_gdb_btrace; do
		PATH=$PWD/$suite:$PATH BIN=$BIN SRC=$SRC AUXTAP_LONG='' \
			bash "$SRC/tests/cli/$name.sh" >out 2>&1
		case $? in
		0) ;;
		77) echo "$name: $(cat out)" ;;
		*) fail "$suite: $name: $(head -c 3000 out)" ;;
		esac
	done
done
[ "$tried" -gt 0 ] || skip "no other gdb: $(cat why)"
finish
