# SPDX-License-Identifier: BSD-2-Clause
# The crash programs and their golden reports, source ptrace.
. "$(dirname "$0")/crash.sh" ptrace
