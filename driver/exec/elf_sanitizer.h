/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Detects programs built with a sanitizer. Used by the qemu engine, its plugin, and capture. */
#ifndef AUXTAP_ELF_SANITIZER_H
#define AUXTAP_ELF_SANITIZER_H

/*
 * The sanitizer that the ELF file at path (64-bit, little-endian) starts: "AddressSanitizer",
 * "ThreadSanitizer", "MemorySanitizer"; or NULL, also if the file cannot be read.
 */
const char *elf_sanitizer(const char *path) __attribute__((visibility("hidden")));

#endif
