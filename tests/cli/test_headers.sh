# SPDX-License-Identifier: BSD-2-Clause
# Each installed header compiles alone, as C11 without extensions and as C++17; types and functions
# do not share a name; structs begin with their size, or docs/api.md says why not.
. "$(dirname "$0")/lib.sh"
installed
HEADERS=$PREFIX/include

# compiles LANGUAGE STANDARD FILE
compiles() {
	local compiler=${CC:-cc}
	[ "$1" = c ] || compiler=${CXX:-c++}
	"$compiler" -x "$1" "-std=$2" -pedantic-errors -Wall -Wextra -Werror -fsyntax-only \
		-I"$HEADERS" "$3" 2>errors || {
		head -n 5 errors
		return 1
	}
}

: >all.c
for header in "$HEADERS"/auxtap/*.h; do
	name=${header##*/}
	# twice: it must guard itself
	printf '#include <auxtap/%s>\n#include <auxtap/%s>\nextern int not_empty;\n' "$name" "$name" \
		>alone.c
	echo "#include <auxtap/$name>" >>all.c
	compiles c c11 alone.c || fail "$name, C11"
	compiles c++ c++17 alone.c || fail "$name, C++17"
done
compiles c c11 all.c || fail "all headers together, C11"
compiles c++ c++17 all.c || fail "all headers together, C++17"

# Prints each struct of the headers and its first member: "NAME TYPE MEMBER".
first_members() {
	cat "$HEADERS"/auxtap/*.h | sed 's@//.*@@' | tr '\n\t' '  ' |
		sed 's@/\*@\n/*@g; s@\*/@*/\n@g' | sed '/^\/\*/d' | tr '\n' ' ' | tr -s ' ' |
		grep -oE '(struct|union) auxtap_[a-z0-9_]+ \{ [^;{]*;' |
		sed -E 's/^(struct|union) ([a-z0-9_]+) \{ (.*);$/\2 \3/'
}
first_members >structs
[ "$(wc -l <structs)" -ge 50 ] || fail "found only $(wc -l <structs) structs in the headers"

# A type and a function of the same name would hide each other in C++.
grep -hoE '(struct|enum|union) auxtap_[a-z0-9_]+' "$HEADERS"/auxtap/*.h |
	awk '{print $2}' | sort -u >types
grep -hoE '\bauxtap_[a-z0-9_]+\(' "$HEADERS"/auxtap/*.h | tr -d '(' |
	sort -u >functions
[ "$(wc -l <functions)" -ge 100 ] || fail "found only $(wc -l <functions) functions in the headers"
both=$(comm -12 types functions)
[ -z "$both" ] || fail "a type and a function have the same name: $both"

# The table of docs/api.md lists the structs without a size, and only those.
awk '$2 != "size_t" || $3 != "size" {print $1}' structs | sort -u >without_size
sed -nE 's/^\| `struct (auxtap_[a-z0-9_]+)` .*/\1/p' "$SRC/docs/api.md" | sort -u >excepted
if ! diff excepted without_size >difference; then
	cat difference
	fail "docs/api.md lists other structs without a size than the headers have"
fi
finish
