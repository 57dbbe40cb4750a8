# SPDX-License-Identifier: BSD-2-Clause
# A long option may be abbreviated as getopt_long allows, and then acts exactly as its full name:
# the same output and the same exit status, in every command that parses its options more than
# once.
. "$(dirname "$0")/lib.sh"

# run FILE ARGUMENT...: output, errors and status into FILE
run() {
	local file=$1
	shift
	"$AUXTAP" "$@" >"$file" 2>&1 </dev/null
	echo "exit $?" >>"$file"
}
# same DIFFERENT ARGUMENT... / ARGUMENT...: the command line after the '/' does the same as the one
# before it; unless DIFFERENT is '-', 'auxtap DIFFERENT' does something else
same() {
	local different=$1 full=()
	shift
	while [ "$1" != / ]; do full+=("$1"); shift; done
	shift
	run full "${full[@]}"
	run short "$@"
	cmp -s full short || fail "$*: not as ${full[*]}: $(diff full short | head -n 4)"
	[ "$different" = - ] && return
	# shellcheck disable=SC2086
	run plain $different
	cmp -s plain short && fail "$*: the option has no effect"
}

w=watermark
same "$w sim --bytes 1M" $w sim --bytes 1M --fault interrupt-lost / $w sim --bytes 1M \
	--fau interrupt-lost
grep -q 'verdict  *FAIL' short || fail "sim --fau interrupt-lost: $(cat short)"
same "$w sim --bytes 1M" $w sim --bytes 1M --driver trbe / $w sim --bytes 1M --driv trbe
grep -q '^trbe, ' short || fail "sim --driv trbe: $(cat short)"
same "$w sim --bytes 1M" $w sim --fault=past-limit --driver=arm_spe --bytes=1M / $w sim \
	--fa=past-limit --dr=arm_spe --by=1M
same - $w sim --driver arm_spe --driver trbe --bytes 1M / $w sim --driv arm_spe --drive trbe \
	--bytes 1M

# every option of a machine, by its shortest unique prefix
printf '1ms 50M\n2ms 200M\n' >rates
declare -A values=([kernel]=6.12.95 [fault]=interrupt-page-off [pages]=32 [page-size]=16K \
	[watermark]=8K
	[data-pages]=2 [snapshot]='' [cpu]=0 [order]=0 [skid]=2000 [align]=128 [record]=48 \
		[max-record]=64
	[errata]=beyond [rate]=1G [rates]=rates [burst]=20us,30us [irq-latency]=40us \
		[irq-jitter]=9us
	[reader-latency]=3ms [reader-jitter]=1ms [reader-rate]=20M [read-size]=3000 [switch]=70us
	[seed]=7 [bytes]=3M [transactions]=9 [time]=1ms [contents]='' [events]='' [format]=json
	[driver]=arm_spe [unit]=./nothing.so [output]=file [help]='')
all=$("$AUXTAP" $w sim --help | grep -oE -- '--[a-z][a-z-]+' | sed 's/^--//' | sort -u | grep -vxE 'list')
nr=0
for option in $all; do
	[ -n "${values[$option]+x}" ] || {
		fail "sim has an option without a value here: --$option"; continue; }
	for ((n = 1; n <= ${#option}; n++)); do
		[ "$(grep -c "^${option:0:n}" <<<"$all")" -eq 1 ] && break
	done
	n=$((n < ${#option} ? n : ${#option}))
	machine=(--driver trbe)
	[ "$option" = order ] && machine=(--driver intel_pt)
	[ "$option" = driver ] && machine=()
	[ "$option" = bytes ] || machine+=(--bytes 1M)
	same - $w sim "${machine[@]}" "--$option" ${values[$option]:+"${values[$option]}"} / \
		$w sim "${machine[@]}" "--${option:0:n}" ${values[$option]:+"${values[$option]}"}
	nr=$((nr + 1))
done
[ "$nr" -ge 30 ] || fail "only $nr options of sim"

# a value that looks like an option, or an argument after "--", is not an option
"$AUXTAP" $w sim --bytes 1M -o --driver || fail "-o --driver: exit $?"
grep -q '^intel_pt, ' ./--driver || fail "-o --driver: $(cat ./--driver)"
run out $w sim --bytes 1M -- --driver trbe
grep -q -- '--driver: not an option' out || fail "-- --driver: $(cat out)"

same "$w explore --pages 2" $w explore --driver trbe --pages 2 --fault wakeup-by-one / \
	$w explore --dri trbe --pages 2 --fa wakeup-by-one
grep -q '^exit 1' short || fail "explore --fa wakeup-by-one: $(cat short)"
same - $w explore --quick --driver arm_spe --kernel 6.1.192 --pages 1 / $w explore --qu \
	--driv arm_spe --kern 6.1.192 --pages 1
few=(--rate 100M --irq-latency 2us --reader-latency 50us --transactions 1000)
same - $w advise "${few[@]}" --driver trbe / $w advise "${few[@]}" --driv trbe
[ "$(grep -c ', rules of Linux' short)" -eq 1 ] || fail "advise --driv trbe: not one driver: $(cat short)"
same - $w advise --help / $w advise --hel
same - $w advise --unit ./nothing.so / $w advise --un ./nothing.so
same - $w live -e no_pt// --driver trbe --errata beyond / $w live -e no_pt// --driv trbe \
	--err beyond
same - $w live -e no_pt// --driver nix / $w live -e no_pt// --driv nix
same - $w faults --list / $w faults --li
same - $w faults --help / $w faults --he
same - $w sweep --kernel 6.1.192 --every 20000 / $w sweep --ker 6.1.192 --ev 20000
same - $w --help / $w --hel
same - list --help / list --hel
same - --help / --hel
same - --version / --vers
for command in crash record report decode dump audit; do
	same - $command --help / $command --hel
done
printf '# unit: u\n# buffer: 16384\n0,write,100\n' >log
same - audit --log log --format json / audit --lo log --form json
same - record -o --keep -- /nonexistent/program --version / record --out --keep \
	-- /nonexistent/program --version
same - record --backend emulated --source ptrace --keep 3 true / record --back emulated \
	--sour ptrace --kee 3 true

# an ambiguous abbreviation, and an unknown option
for wrong in "$w sim --re 4" "$w explore --dat" "$w faults --nothing" "--nothing" \
	"list --nothing"; do
	# shellcheck disable=SC2086
	run out $wrong
	grep -q '^exit 2' out && [ "$(wc -l <out)" -eq 2 ] || fail "$wrong: $(cat out)"
done
finish
