# SPDX-License-Identifier: BSD-2-Clause
# Masks the parts of a crash report that differ between machines. FIXTURES, SRC and WORK: the
# directories of programs, sources and files. Keeps the program's own lines; the C library differs
# from machine to machine.
mask() { # FILE OF THE PROGRAM'S SOURCE
	sed -E -e "s#$FIXTURES#FIXTURES#g; s#$SRC#SRC#g; s#$WORK#WORK#g" \
		-e 's/0x[0-9a-f]+/0xX/g' \
		-e 's/^(  auxtap crash --values .* -- ).*(  # again)/\1PROGRAM\2/' \
		-e 's/(pid|thread|--tid|process) [0-9]+/\1 N/g' |
		awk -v own="$1" '
		/^[A-Z].*$/ && !/died of/ { section = $0 }
		section ~ /^Registers/ { next }
		/died of/ {
			sub(/ in [^ ]* at pthread_kill.c:[0-9]+,$/, " in LIBC,")
			sub(/ in raise[^,]*,$/, " in LIBC,")
			sub(/ in [a-z_.0-9+X]*,$/, " in LIBC,")
		}
		/^  Its message: / { sub(/ [^ ]*\/fixtures\//, " SRC/fixtures/") }
		section ~ /^The calls/ && !/^The calls/ && index($0, own) == 0 &&
			!/gap:|exec:|farther/ && NF { next }
		section ~ /^The calls/ && !/^The calls/ {
			sub(/^ *[0-9]+  /, "  | ")
			sub(/ *\([0-9]+ calls? not shown\)/, "   ")
			sub(/\([0-9]+ calls farther/, "(N calls farther")
			# depends on the size of the environment
			sub(/, depth [0-9]+ /, ", depth N ")
		}
		section ~ /^Last branches/ && !/^Last/ && NF {
			n = gsub(own, own); if (n < 2) next
			# iterations of a loop until a signal
			sub(/  x [0-9][0-9][0-9][0-9][0-9]+$/, "  x N")
		}
		# depends on the installed library
		section ~ /^What the trace/ && /^  decoded by / { next }
		section ~ /^What the trace/ { if (!/^What/) gsub(/[0-9.]+/, "N") }
		# how far each thread has come differs from run to run
		section ~ /^The other threads/ && !/^The other/ && NF &&
			!/ instructions, | no instructions / { next }
		section ~ /^The other threads/ && !/^The other/ {
			gsub(/[0-9]+/, "N")
			gsub(/ +/, " ")
			sub(/last in .*/, "last in ...")
		}
		section ~ /^Images/ && !/^Images/ { gsub(/[0-9]+/, "N") }
		# depends on the size of the environment
		section ~ /^Backtrace/ { sub(/ depth=[0-9]+$/, " depth=N") }
		section ~ /^Backtrace/ { sub(/, depth [0-9]+ /, ", depth N ") }
		section ~ /^Backtrace/ && (/ in (\/|FIXTURES)|libc|libstdc|ld-linux/ ||
			(/ at / && index($0, own) == 0)) { next }
		{ gsub(/ +$/, ""); print }' |
		sed -E 's/([^ |])   +/\1   /g'
}

# Without what qemu 10 alone knows.
without_blocks() {
	sed '/^Memory involved/,/^$/d; /^  It was thrown by /d; /^  auxtap crash --values /d'
}
