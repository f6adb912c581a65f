#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# packaging/check_build.sh [SUITE [FOLDER]]: packaging/test.sh in a root of another release of Debian (SUITE, by default
# trixie, with GCC 14, Qt 6.8 and LibTorch 2.6). FOLDER keeps the root, so that the next call builds only what changed.
# Needs root and mmdebstrap. CTEST: more arguments for ctest, such as "-R tst_cli".
set -euo pipefail

suite=${1:-trixie}
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ "$(id -u)" -eq 0 ] || { echo "check_build.sh: needs root, for a chroot" >&2; exit 1; }
command -v mmdebstrap >/dev/null || { echo "check_build.sh: needs mmdebstrap" >&2; exit 1; }
if [ -n "${2:-}" ]; then
    root=$(realpath -m "$2")
else
    work=$(mktemp -d)
    trap 'rm -rf --one-file-system "$work"' EXIT
    root=$work/root
fi
[ -e "$root/etc/debian_version" ] ||
    mmdebstrap --quiet --variant=minbase --include=ca-certificates "$suite" "$root" \
        "${PLACEWRIGHT_MIRROR:-http://deb.debian.org/debian}"

# Copies the files of the working tree that differ, and removes those that are gone from it.
mkdir -p "$root/src/placewright"
(cd "$source" && git ls-files --cached --others --exclude-standard) |
    while IFS= read -r file; do [ ! -e "$source/$file" ] || printf '%s\n' "$file"; done >"$root/src/files"
(cd "$root/src/placewright" && find . -path ./build -prune -o -type f -printf '%P\n') | sort |
    comm -23 - <(sort "$root/src/files") | (cd "$root/src/placewright" && xargs -r -d '\n' rm --)
while IFS= read -r file; do
    cmp -s "$source/$file" "$root/src/placewright/$file" && continue
    (cd "$source" && cp -a --parents "$file" "$root/src/placewright")
done <"$root/src/files"

# In namespaces of its own, so that nothing stays mounted or running, however this ends.
unshare --mount --pid --fork --kill-child sh -c '
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount --rbind /sys "$1/sys"
    cp /etc/resolv.conf "$1/etc/resolv.conf" 2>/dev/null || true
    exec chroot "$1" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        LC_ALL=C.UTF-8 sh -c "cd /src/placewright && exec packaging/test.sh $2"' sh "$root" "${CTEST:-}"
