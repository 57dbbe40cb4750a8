# SPDX-License-Identifier: BSD-2-Clause
# hostile_program: ./hostile, which crashes in functions with names that a page, a terminal or a
# parser may stumble over; one of them has 405 columns.
hostile_program() {
	gcc -g -O0 -w -o plain "$SRC/tests/cli/frames/hostile_names.c" ||
		{ fail "hostile_names: not built"; return 1; }
	python3 - <<'END' || { fail "hostile_names: no such names"; return 1; }
text = open('plain', 'rb').read()
for old, new in ((b'A' * 40, b'</script><img src=x onerror=foreign=1>"\''),
                 (b'B' * 20, b'\x1b[2J\xff\xfe\xc2\x9b<!--\\"\x07\xe2\x80\xae..')):
    assert len(old) == len(new) and old in text, (len(old), len(new))
    text = text.replace(old, new)
open('hostile', 'wb').write(text)
END
	chmod +x hostile
}
