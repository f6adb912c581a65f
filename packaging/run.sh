#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs missing packages, builds, and opens the window on Inception-V3 with a search running.
# Without a display, runs the same search in the terminal and writes a placement file and pictures to the
# folder placewright-out. With arguments: runs placewright with them.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

install_packages
build release -DPLACEWRIGHT_TESTS=OFF >&2
bin=$root/build/release/bin

# No Wayland plugin of Qt is needed, because Wayland's compositors offer X as well.
# Without a display Qt paints into memory and warns about size hints, as no window manager takes them.
[ -n "${DISPLAY:-}" ] || export QT_QPA_PLATFORM=offscreen QT_LOGGING_RULES=default.warning=false
[ $# -eq 0 ] || exec "$bin/placewright" "$@"

job=(inception_v3 --machine 4x-v100-nvlink)
search=(--evaluations 50000 --seed 1)
[ -z "${DISPLAY:-}" ] || exec "$bin/placewright" "${job[@]}" --optimize auto "${search[@]}"

say "no display: running in the terminal"
out=$PWD/placewright-out
mkdir -p "$out"
"$bin/placewright-cli" optimize "${job[@]}" "${search[@]}" --out "$out/inception_v3.placement.json"
"$bin/placewright" "${job[@]}" --optimize auto "${search[@]}" --size 1400x900 \
    --screenshot "$out/window.png" --screenshot "$out/window.svg" --quit
say "written to $out:"
ls -l "$out" >&2
