# SPDX-License-Identifier: BSD-2-Clause
# The pager: on a terminal only, the one that the user wants, with the command's exit status.
. "$(dirname "$0")/lib.sh"
export TERM=vt100
unset LESS PAGER AUXTAP_PAGER
terminal() { guard python3 "$SRC/tests/cli/on_terminal.py" "$@"; }
printf '0,begin,0\n5,write,64\n9,end,64\n' >log.csv
plain=$("$AUXTAP" audit --log log.csv)
status=$?
[ -n "$plain" ] || fail "the audit prints nothing"

# cat of another name: what it got is marked
printf '#!/bin/sh\nsed s/^/paged:/\n' >mypager
chmod +x mypager
paged=$(sed 's/^/paged:/' <<<"$plain")
PATH=$PWD:$PATH

[ "$(AUXTAP_PAGER=mypager "$AUXTAP" audit --log log.csv)" = "$plain" ] ||
	fail "a pager without a terminal"
shown=$(AUXTAP_PAGER=mypager terminal "$AUXTAP" audit --log log.csv)
[ $? -eq $status ] || fail "with a pager the status is another one"
[ "$shown" = "$paged" ] || fail "AUXTAP_PAGER: $shown"
shown=$(PAGER=mypager terminal "$AUXTAP" audit --log log.csv)
[ "$shown" = "$paged" ] || fail "PAGER: $shown"
shown=$(PAGER=false AUXTAP_PAGER='mypager | cat' terminal "$AUXTAP" audit --log log.csv)
[ "$shown" = "$paged" ] || fail "a pager with a shell's syntax: $shown"
for none in '' cat /nowhere/pager; do
	shown=$(PAGER=mypager AUXTAP_PAGER=$none terminal "$AUXTAP" audit --log log.csv)
	[ "$shown" = "$plain" ] || fail "pager '$none': $shown"
done
shown=$(PAGER=mypager terminal "$AUXTAP" --no-pager audit --log log.csv)
[ "$shown" = "$plain" ] || fail "--no-pager: $shown"
shown=$(TERM=dumb PAGER=mypager terminal "$AUXTAP" audit --log log.csv)
[ "$shown" = "$plain" ] || fail "a terminal that can do nothing: $shown"
# errors go there, too, and keep their status
shown=$(PAGER=mypager terminal "$AUXTAP" audit missing.data)
[ $? -eq 3 ] && grep -q '^paged:auxtap: missing.data: ' <<<"$shown" || fail "an error: $shown"
shown=$(PAGER=mypager terminal "$AUXTAP" report missing.data)
grep -q '^paged:auxtap: missing.data: ' <<<"$shown" || fail "report: $shown"
shown=$(PAGER=mypager terminal "$AUXTAP" --no-pager report missing.data)
grep -q '^auxtap: missing.data: ' <<<"$shown" || fail "report without a pager: $shown"
# the default is less, which ends at once where the output fits, unless the user wants otherwise
mkdir default
printf '#!/bin/sh\necho "LESS=$LESS"\ncat\n' >default/less
chmod +x default/less
shown=$(PATH=$PWD/default:$PATH terminal "$AUXTAP" audit --log log.csv)
[ "$shown" = "LESS=FRX"$'\n'"$plain" ] || fail "the default pager: $shown"
shown=$(LESS=S PATH=$PWD/default:$PATH terminal "$AUXTAP" audit --log log.csv)
[ "$shown" = "LESS=S"$'\n'"$plain" ] || fail "the user's options of less: $shown"
# list is short: no pager
shown=$(PAGER=mypager terminal "$AUXTAP" list)
grep -q '^paged:' <<<"$shown" && fail "list has a pager"
# a pager that reads nothing: no complaint
shown=$(PAGER=true terminal "$AUXTAP" audit --log log.csv)
[ -z "$shown" ] || fail "a pager that ends at once: $shown"
finish
