# SPDX-License-Identifier: BSD-2-Clause
# Long names of C++ are shortened in the text, so that functions stay different; JSON has them in
# full.
. "$(dirname "$0")/lib.sh"
command -v g++ >/dev/null || skip "g++ is not installed"

cat >names.cpp <<'C'
#include <map>
#include <string>
#include <vector>
using table = std::map<std::string, std::vector<std::map<int, std::string>>>;
using other = std::map<std::string, std::vector<std::map<long, std::string>>>;
static int *volatile wrong;
namespace {
template <class T, class... U> __attribute__((noinline)) int count(const T &of, U... rest)
{
	if constexpr (sizeof...(rest) > 0)
		return count(rest...) + (int)of.size();
	else
		return *wrong + (int)of.size();
}
}
int main()
{
	return count(table(), other(), table());
}
C
g++ -std=c++17 -g -O0 -o names names.cpp || fail "names: not built"
"$AUXTAP" crash -o names.data -- ./names >stdout 2>stderr </dev/null
"$AUXTAP" report names.data >text
"$AUXTAP" report --format json names.data >json
sed -nE '/^Backtrace/,/^$/s/^  #[0-9]+ +(.*) at .*names.cpp:[0-9]+$/\1/p' text >short
[ "$(wc -l <short)" -eq 4 ] || fail "frames: $(cat text)"
[ "$(sort -u short | wc -l)" -eq 4 ] || fail "two functions have one name: $(cat short)"
grep -q '<\.\.\.>' short || fail "nothing is shortened: $(cat short)"
awk 'length > 60' short | grep -q . && fail "too long: $(cat short)"
# the same function has the same name everywhere
calls=$(sed -n '/^The calls/,/^$/p' text)
while read -r name; do
	grep -qF -- " $name " <<<"$calls" || fail "$name is not in the tree: $calls"
done <short
guard python3 - json <<'P' || fail "JSON: names are not in full"
import json, sys
frames = json.load(open(sys.argv[1]))["backtrace"]["frames"]
names = [f["functions"][0]["function"] for f in frames[:3]]
sys.exit(any("..." in n or len(n) < 200 for n in names))
P
finish
