# SPDX-License-Identifier: BSD-2-Clause
# The crash programs and their golden reports, engine qemu.
. "$(dirname "$0")/crash.sh" qemu
