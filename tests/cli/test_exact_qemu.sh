# SPDX-License-Identifier: BSD-2-Clause
# What decode and stock perf list is what was executed, source qemu.
. "$(dirname "$0")/exact.sh" qemu
