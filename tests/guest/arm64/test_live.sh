#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# SPE and TRBE: ../test_live.sh
export ARCH=arm64
exec bash "$(dirname "$0")/../test_live.sh"
