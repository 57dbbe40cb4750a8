#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# Conformance on arm64: see ../test_conform.sh. Two virtual CPUs, a host thread each; but what an
# x86-64 host runs for them is as ordered as x86-64: missing barriers cannot show here.
set -euo pipefail
export ARCH=arm64
exec bash "$SRC/tests/guest/test_conform.sh"
