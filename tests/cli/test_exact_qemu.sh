# SPDX-License-Identifier: BSD-2-Clause
# decode and stock perf list what was executed, engine qemu.
. "$(dirname "$0")/exact.sh" qemu
