# SPDX-License-Identifier: BSD-2-Clause
# The crash programs for AArch64 and their golden reports, run under qemu-aarch64 by default.
. "$(dirname "$0")/crash.sh" a64
