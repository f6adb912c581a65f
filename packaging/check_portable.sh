#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# packaging/check_portable.sh ARCHIVE [SUITE]: unpacks the archive of portable.sh in a root of another release of Debian
# (SUITE, by default trixie) that has only what the archive asks of a system, and uses it there: search, training with
# LibTorch, DOT, a window. Needs root and mmdebstrap; exits with 77 where they or the archive are missing.
set -euo pipefail

skip() { echo "skipped: $*"; exit 77; }
archive=${1:?usage: check_portable.sh ARCHIVE [SUITE]}
suite=${2:-trixie}
[ -f "$archive" ] || skip "there is no $archive; packaging/portable.sh makes it"
[ "$(id -u)" -eq 0 ] || skip "needs root, for a chroot"
command -v mmdebstrap >/dev/null || skip "needs mmdebstrap"
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
mmdebstrap --quiet --variant=minbase \
    --include=libstdc++6,libgl1,libegl1,libopengl0,libx11-6,libx11-xcb1,libxcb1,libfontconfig1,libfreetype6,fonts-dejavu-core \
    "$suite" "$root" "${PLACEWRIGHT_MIRROR:-http://deb.debian.org/debian}"
mkdir -p "$root/some folder"
tar -xf "$archive" -C "$root/some folder"
cat >"$root/root/try.sh" <<'TRY'
set -eu
export QT_QPA_PLATFORM=offscreen OMP_NUM_THREADS=1 LC_ALL=C.UTF-8
cd /root
ln -s "/some folder"/placewright-*/placewright-cli /usr/local/bin/
window=$(echo "/some folder"/placewright-*/placewright)
echo "== command line"
placewright-cli --version
placewright-cli optimize alexnet --machine 2x-v100-pcie --evaluations 300 --out placement.json
placewright-cli optimize alexnet --machine 2x-v100-pcie --evaluations 20 --algorithm scotch >/dev/null
placewright-cli export alexnet --machine 2x-v100-pcie --placement placement.json --to dot --out a.dot
placewright-cli simulate a.dot --machine 2x-v100-pcie >/dev/null
placewright-cli convert --network resnet50 --batch 8 network.json
echo "== LibTorch"
placewright-cli train alexnet --machine 2x-v100-pcie --policy gdp --updates 1 --out policy.safetensors >/dev/null
echo "== window"
"$window" alexnet --machine 2x-v100-pcie --size 1200x800 --screenshot window.png --quit
test -s window.png
TRY
# In namespaces of its own, so that nothing stays mounted or running, however this ends.
unshare --mount --pid --fork --kill-child sh -c '
    mount -t proc proc "$1/proc"
    exec chroot "$1" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root sh /root/try.sh' sh "$root"
cp "$root/root/window.png" "${PLACEWRIGHT_SCREENSHOT:-$work/window.png}"
echo "== works on $suite"
