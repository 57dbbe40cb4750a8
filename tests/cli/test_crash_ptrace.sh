# SPDX-License-Identifier: BSD-2-Clause
# The crash programs and their golden reports, engine ptrace.
. "$(dirname "$0")/crash.sh" ptrace
