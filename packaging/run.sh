#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs what is missing, builds, and opens the window on Inception-V3 with a search running. Without a display the same job runs in the terminal and
# leaves a placement file and pictures in the folder placewright-out. With arguments: runs placewright with them.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

install_packages
build release -DPLACEWRIGHT_TESTS=OFF >&2
bin=$root/build/release/bin

# Wayland's compositors offer X as well; the Wayland plugin of Qt would be one more package.
# Without a display Qt paints into memory, and warns of every size hint that no window manager takes.
[ -n "${DISPLAY:-}" ] || export QT_QPA_PLATFORM=offscreen QT_LOGGING_RULES=default.warning=false
[ $# -eq 0 ] || exec "$bin/placewright" "$@"

job=(inception_v3 --machine 4x-v100-nvlink)
search=(--evaluations 50000 --seed 1)
[ -z "${DISPLAY:-}" ] || exec "$bin/placewright" "${job[@]}" --optimize auto "${search[@]}"

say "no display: running in the terminal"
out=$PWD/placewright-out
mkdir -p "$out"
"$bin/placewright-cli" optimize "${job[@]}" "${search[@]}" --out "$out/inception_v3.placement.json"
"$bin/placewright" "${job[@]}" --optimize auto "${search[@]}" --size 1400x900 --screenshot "$out/window.png" --screenshot "$out/window.svg" --quit
say "written to $out:"
ls -l "$out" >&2
