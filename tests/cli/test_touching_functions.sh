# SPDX-License-Identifier: BSD-2-Clause
# Where the rows of one function end in the line table, and those of the next one begin at the same
# address: the line of the second one is its own, as addr2line has it.
. "$(dirname "$0")/lib.sh"
source=$SRC/tests/cli/frames/touching.c
died=$(grep -n '\*where = 1;' "$source" | cut -d: -f1)
opened=$((died - 1))
[ "$died" -gt 1 ] || fail "the line is not found"
nr=0
for cc in gcc aarch64-linux-gnu-gcc; do
	command -v $cc >/dev/null || continue
	for flags in -gdwarf-5 -gdwarf-4 -gdwarf-2 '-g -gz'; do
		for how in '' -DFIRST_LAST -DEMPTY_ROWS '-DEMPTY_ROWS -DFIRST_LAST'; do
			build="$cc $flags $how"
			# shellcheck disable=SC2086
			$cc $flags $how -O1 -fno-toplevel-reorder -falign-functions=1 -w \
				-o touching "$source" || { fail "$build: not built"; continue; }
			first=$(nm -S touching | awk '$4 == "first" { print $1, $2 }')
			second=$(nm touching | awk '$3 == "second" { print $1 }')
			[ $((0x${first% *} + 0x${first#* })) -eq $((0x$second)) ] ||
				{ fail "$build: the functions do not touch"; continue; }
			rm -f data*
			guard "$AUXTAP" crash -o data -- ./touching >stdout 2>stderr </dev/null
			[ -s data.report.txt ] ||
				{ fail "$build: no report: $(tail -n 2 stderr)"; continue; }
			at=$(sed -nE 's/^  0x0*5?6?0*([0-9a-f]+)  .*/\1/p' data.report.txt)
			line=$(${cc%gcc}addr2line -e touching "0x$at")
			line=$(sed 's/.*touching.c:\([0-9]*\).*/\1/' <<<"$line")
			[ "$line" = "$died" ] || fail "$build: addr2line $at: $line, not $died"
			head -n 1 data.report.txt | grep -q " in second at touching.c:$died\$" ||
				fail "$build: $(head -n 1 data.report.txt), not line $died"
			grep -qE "^ +[0-9]+ +second +touching.c:($opened|$died)  <- SIGSEGV here\$" \
				data.report.txt || fail "$build: $(grep 'SIGSEGV here' data.report.txt)"
			nr=$((nr + 1))
		done
	done
done
[ "$nr" -gt 0 ] || skip "gcc is not installed"
finish
