#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the Debian packages placewright, placewright-cli and python3-placewright in build/package.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

install_packages
build package
rm -f "$root"/build/package/*.deb
(cd "$root/build/package" && cpack >/dev/null)
ls -l "$root"/build/package/*.deb
