#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs what is missing, builds, and opens the window on Inception-V3 with a search running. Without a display the same job runs in the terminal and
# leaves a placement file and pictures in the folder placewright-out. Arguments are passed on to placewright.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

install_packages
build release -DPLACEWRIGHT_TESTS=OFF -DPLACEWRIGHT_BENCHMARKS=OFF >&2
bin=$root/build/release/bin

if [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
    if [ $# -gt 0 ]; then exec "$bin/placewright" "$@"; fi
    exec "$bin/placewright" inception_v3 --machine 4x-v100-nvlink --optimize map-elites --evaluations 50000
fi

say "no display: running in the terminal"
out=$PWD/placewright-out
mkdir -p "$out"
"$bin/placewright-cli" optimize inception_v3 --machine 4x-v100-nvlink --algorithm map-elites --evaluations 50000 --out "$out/inception_v3.placement.json"
for picture in window.png window.svg; do
    QT_QPA_PLATFORM=offscreen "$bin/placewright" inception_v3 --machine 4x-v100-nvlink --optimize map-elites --evaluations 50000 --screenshot "$out/$picture" --quit
done
say "written to $out:"
ls -l "$out" >&2
