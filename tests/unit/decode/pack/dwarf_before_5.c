// SPDX-License-Identifier: BSD-2-Clause
/*
 * Two functions with debug information of DWARF 3 and 4 for test_pack_program.c, written by hand:
 * each has a unit with lines, ranges and locations, and another unit that has its type.
 */

/* An entry's abbreviation: number, tag, children; pairs of attribute and form; the end. */
#define ABBREVIATIONS(name, offset)                                                                \
	".section .debug_abbrev, \"\", @progbits\n" #name "_abbrevs:\n"                            \
	" .byte 1, 0x11, 1, 0x03, 0x08, 0x10, " offset ", 0x11, 0x01, 0x55, " offset ", 0, 0\n"    \
	" .byte 2, 0x2e, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x01, 0x49, 0x10, 0, 0\n"                \
	" .byte 3, 0x34, 0, 0x03, 0x08, 0x02, " offset ", 0, 0, 0\n" #name "_type_abbrevs:\n"      \
	" .byte 4, 0x11, 1, 0x03, 0x08, 0, 0, 5, 0x24, 0, 0x03, 0x08, 0x0b, 0x0b, 0x3e, 0x0b, 0, " \
	"0, 0\n"

#define UNIT(name, version)                                                                        \
	".section .debug_info, \"\", @progbits\n"                                                  \
	" .long " #name "_info_end - . - 4\n"                                                      \
	" .short " version "\n .long " #name "_abbrevs\n .byte 8\n"                                \
	" .byte 1\n .string \"" #name "_unit.c\"\n .long " #name "_lines\n .quad 0\n .long " #name \
	"_ranges\n"                                                                                \
	" .byte 2\n .string \"" #name "\"\n .quad " #name ", " #name "_end\n .long " #name         \
	"_type\n"                                                                                  \
	" .byte 3\n .string \"local\"\n .long " #name "_places\n"                                  \
	" .byte 0, 0\n" #name "_info_end:\n"

#define TYPE(name, version)                                              \
	".section .debug_info, \"\", @progbits\n"                        \
	" .long " #name "_type_end - . - 4\n"                            \
	" .short " version "\n .long " #name "_type_abbrevs\n .byte 8\n" \
	" .byte 4\n .string \"" #name "_types.c\"\n" #name "_type:\n"    \
	" .byte 5\n .string \"" #name "_int\"\n .byte 4, 5\n .byte 0\n" #name "_type_end:\n"

/* most: of operations in an instruction, a field since version 4 */
#define LINES(name, version, most)                                                                \
	".section .debug_line, \"\", @progbits\n" #name "_lines:\n"                               \
	" .long " #name "_lines_end - . - 4\n .short " version "\n"                               \
	" .long " #name "_program - . - 4\n .byte 1 " most "\n"                                   \
	" .byte 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1\n"                              \
	" .byte 0\n .string \"" #name "_unit.c\"\n .byte 0, 0, 0, 0\n" #name "_program:\n"        \
	" .byte 0, 9, 2\n .quad " #name "\n .byte 3, 40, 1, 2, 4, 3, 2, 1, 2, 4, 0, 1, 1\n" #name \
	"_lines_end:\n"

#define RANGES(name)                                                      \
	".section .debug_ranges, \"\", @progbits\n" #name "_ranges:\n"    \
	" .quad " #name ", " #name " + 4, " #name " + 4, " #name "_end\n" \
	" .quad 0, 0\n"

/*
 * A base address, then offsets from it, each with an expression. The zeros in two of them are not
 * the list's end.
 */
#define PLACES(name)                                                                \
	".section .debug_loc, \"\", @progbits\n" #name "_places:\n"                 \
	" .quad -1, " #name "\n"                                                    \
	" .quad 0, 4\n .short 51\n .byte 3\n .quad 0\n .byte 0x9e, 40\n .skip 40\n" \
	" .quad 4, 6\n .short 42\n .byte 0x9e, 40\n .skip 40\n"                     \
	" .quad 6, 8\n .short 2\n .byte 0x91, 8\n"                                  \
	" .quad 0, 0\n"

#define FUNCTION(name)                                                                            \
	".text\n .globl " #name "\n .hidden " #name "\n .type " #name ", @function\n" #name ":\n" \
	" movl %edi, %eax\n addl $1, %eax\n nop\n nop\n ret\n" #name "_end:\n .size " #name       \
	", . - " #name "\n"

/* 6: DW_FORM_data4, 0x17: DW_FORM_sec_offset. One type's unit is before the other, one after it. */
__asm__(FUNCTION(traced_3) ABBREVIATIONS(traced_3, "6") TYPE(traced_3, "3") UNIT(traced_3, "3")
		LINES(traced_3, "3", "") RANGES(traced_3) PLACES(traced_3) ".text\n");
__asm__(FUNCTION(traced_4) ABBREVIATIONS(traced_4, "0x17") UNIT(traced_4, "4") TYPE(traced_4, "4")
		LINES(traced_4, "4", ", 1") RANGES(traced_4) PLACES(traced_4) ".text\n");
