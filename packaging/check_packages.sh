#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# packaging/check_packages.sh FOLDER: tries the Debian packages in FOLDER on a clean Debian 12 root without build tools:
# install, start, open a file, find the program for a file, import the Python package, remove, purge. Before that lintian,
# and the validators of metadata. Needs root, mmdebstrap and lintian; exits with 77 where they or the packages are missing.
set -euo pipefail

skip() { echo "skipped: $*"; exit 77; }
folder=${1:?usage: check_packages.sh FOLDER}
ls "$folder"/*.deb >/dev/null 2>&1 || skip "there are no packages in $folder; packaging/packages.sh makes them"
folder=$(cd "$folder" && pwd)
say() { printf '== %s\n' "$*"; }

[ "$(id -u)" -eq 0 ] || skip "needs root, for a chroot"
for tool in mmdebstrap lintian; do
    command -v "$tool" >/dev/null || skip "needs $tool"
done
packages=("$folder"/placewright_*.deb "$folder"/placewright-cli_*.deb "$folder"/python3-placewright_*.deb)
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT

say "lintian"
lintian --fail-on error,warning --allow-root "${packages[@]}"

say "metadata"
dpkg-deb -x "${packages[0]}" "$work/unpacked"
if command -v appstreamcli >/dev/null; then
    appstreamcli validate --no-net "$work"/unpacked/usr/share/metainfo/*.xml
fi
if command -v desktop-file-validate >/dev/null; then
    desktop-file-validate "$work"/unpacked/usr/share/applications/*.desktop
fi

say "a clean root"
root=$work/root
mmdebstrap --quiet --variant=minbase bookworm "$root" "${PLACEWRIGHT_MIRROR:-http://deb.debian.org/debian}"
cp "${packages[@]}" "$root/root/"
cat >"$root/root/try.sh" <<'TRY'
set -eu
export DEBIAN_FRONTEND=noninteractive QT_QPA_PLATFORM=offscreen OMP_NUM_THREADS=1 LC_ALL=C.UTF-8
cd /root
echo 'Dpkg::Use-Pty "0";' >/etc/apt/apt.conf.d/no-terminal
apt-get -qq update
echo "== install"
apt-get -qq -y install --no-install-recommends ./*.deb >/dev/null
if command -v g++ || command -v cmake; then echo "the packages need build tools"; exit 1; fi
echo "== start, open a file"
placewright --version
placewright-cli --version
placewright-cli optimize alexnet --machine 2x-v100-pcie --evaluations 300 --out placement.json
placewright-cli convert --network resnet50 --batch 8 network.json
placewright network.json --machine 2x-v100-pcie --size 1200x800 --screenshot window.png --quit
test -s window.png
echo "== double click"
apt-get -qq -y install --no-install-recommends desktop-file-utils libglib2.0-bin shared-mime-info >/dev/null
cp network.json network # by its content
printf '\010\007\022\007pytorch' >model.onnx
printf 'GGUF\003\000\000\000' >model.gguf
printf 'PK\003\004\024\000' >model.pt2
echo '{"format": "placewright.workspace"}' >work.placewright
for file in network model.onnx model.gguf model.pt2 work.placewright; do
    type=$(gio info -a standard::content-type "$file" | sed -n 's/.*content-type: //p')
    echo "$file: $type"
    gio mime "$type" | grep -q io.github.placewright.Placewright.desktop || { echo "the window does not open $type"; exit 1; }
done
echo "== Python"
python3 -c '
import torch, placewright
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
placement = placewright.optimize(model, torch.randn(16, 64), machine="2x-v100-pcie", evaluations=100)
print(placement)
'
echo "== remove, purge"
apt-get -qq -y remove placewright placewright-cli python3-placewright >/dev/null
dpkg --purge placewright placewright-cli python3-placewright 2>/dev/null
left=$(find / -xdev -iname '*placewright*' -not -path '/root/*' -not -path '/proc/*' -not -path '/var/lib/dpkg/*' -not -path '/var/log/*')
if [ -n "$left" ]; then echo "left behind: $left"; exit 1; fi
echo "== done"
TRY
# In namespaces of its own, so that nothing stays mounted or running, however this ends.
unshare --mount --pid --fork --kill-child sh -c '
    mount -t proc proc "$1/proc"
    exec chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root /bin/bash /root/try.sh' sh "$root"
