#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Conformance on arm64: see ../test_conform.sh. Two virtual CPUs, a host thread each; but an
# x86-64 host orders their accesses as x86-64 does: missing barriers cannot be detected here.
set -euo pipefail
export ARCH=arm64
exec bash "$SRC/tests/guest/test_conform.sh"
