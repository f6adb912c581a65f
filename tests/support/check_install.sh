#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# check_install.sh CMAKE BUILD: installs the build below a folder and tries it there: the programs find their data and
# the library that learns, and the files for desktops are valid. Nothing of the build or the source is read then.
set -euo pipefail

prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
"$1" --install "$2" --prefix "$prefix/usr" >"$prefix/log"
unset PLACEWRIGHT_MODELS
bin=$prefix/usr/bin
share=$prefix/usr/share
cd "$prefix"
export XDG_RUNTIME_DIR=$prefix XDG_DATA_HOME=$prefix/home XDG_CONFIG_HOME=$prefix/home QT_LOGGING_RULES='*=false'

say() { printf '== %s\n' "$*"; }
say "command line"
"$bin/placewright-cli" --version
"$bin/placewright-cli" predict alexnet --machine 2x-v100-pcie --out placement.json >/dev/null
"$bin/placewright-cli" convert --network alexnet --batch 8 network.json
"$bin/placewright-cli" train network.json --machine 2x-v100-pcie --policy gdp --updates 1 --out policy.safetensors \
    >/dev/null
find "$prefix/usr/lib" -path '*/placewright/*' -type f ! -path '*/python3/*' -exec ldd {} + >libraries
ldd "$bin/placewright-cli" >>libraries
if grep 'not found' libraries; then exit 1; fi

if [ -x "$bin/placewright" ]; then
    say "window"
    QT_QPA_PLATFORM=offscreen "$bin/placewright" network.json --machine 2x-v100-pcie --size 1000x700 \
        --screenshot window.png --quit
    test -s window.png
    say "desktop"
    command -v desktop-file-validate >/dev/null && desktop-file-validate "$share"/applications/*.desktop
    command -v appstreamcli >/dev/null && appstreamcli validate --no-net "$share"/metainfo/*.metainfo.xml
    grep -q '<release version="[0-9.]*" date="[0-9-]*"><description><ul><li>' "$share"/metainfo/*.metainfo.xml
    update-mime-database "$share/mime" 2>&1 | { grep -i error && exit 1 || true; }
    for type in placewright.workspace+json placewright.graph+json onnx gguf; do
        test -f "$share/mime/application/vnd.$type.xml"
    done
    ! command -v rsvg-convert >/dev/null || test -f "$share/icons/hicolor/48x48/apps/io.github.placewright.Placewright.png"
    test -f "$share/icons/hicolor/scalable/apps/io.github.placewright.Placewright.svg"
fi

say "manual pages and completions"
for page in placewright-cli placewright-cli-optimize; do
    gzip -dc "$share/man/man1/$page.1.gz" | grep -q 'SH OPTIONS'
done
if [ -d "$share/man/man7" ] && command -v man >/dev/null; then
    for page in "$share"/man/man7/placewright-*.7.gz; do man --warnings -E UTF-8 -l -Tutf8 -Z "$page" >/dev/null; done 2>warnings
    if grep . warnings; then exit 1; fi
    test -f "$share/man/man7/placewright-help.7.gz"
fi
bash -n "$share/bash-completion/completions/placewright-cli"

if /usr/bin/python3 -c 'import torch' 2>/dev/null; then
    say "Python"
    PYTHONPATH=$prefix/usr/lib/python3/dist-packages PATH=$bin:$PATH /usr/bin/python3 -c '
import placewright
print(placewright.machine().name)'
fi
