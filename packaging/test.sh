#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs missing packages, builds everything and runs every test. Arguments are passed on to ctest, which runs
# as many tests at a time as there are cores unless told otherwise.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

install_packages
build release -DPLACEWRIGHT_TESTS=ON -DPLACEWRIGHT_BENCHMARKS=ON
cd "$root"
# Not nproc, which takes OMP_NUM_THREADS for the number of cores.
ctest --preset release --parallel "$(getconf _NPROCESSORS_ONLN)" "$@"
