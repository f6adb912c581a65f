#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# packaging/thread_sanitizer.sh [ctest option...]: builds everything in build/tsan with the thread sanitizer and runs the
# tests there. Threads hand data to each other by the queues of Qt's core and oneTBB, which the sanitizer must see too:
# both are built with it from the sources of Debian's packages.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

install_packages
needed=(dpkg-dev debian-archive-keyring libdouble-conversion-dev libglib2.0-dev libicu-dev libpcre2-dev libzstd-dev zlib1g-dev)
for package in "${needed[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
        { say "needs packages: apt install ${needed[*]}"; exit 1; }
done
libraries=$root/build/tsan/libraries
machine=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
mkdir -p "$libraries/lists/partial" "$root/build/tsan/lib"

# sources PACKAGE FOLDER: unpacks into FOLDER the sources from which the installed PACKAGE was built.
sources() {
    [ ! -e "$2" ] || return 0
    cat >"$libraries/debian.sources" <<END
Types: deb-src
URIs: ${PLACEWRIGHT_MIRROR:-http://deb.debian.org/debian}
Suites: $(. /etc/os-release && echo "$VERSION_CODENAME $VERSION_CODENAME-updates")
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
    local apt=(apt-get -qq -o "Dir::Etc::sourcelist=$libraries/debian.sources" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$libraries/lists" -o "Dir::Cache=$libraries")
    "${apt[@]}" update
    (cd "$libraries" && "${apt[@]}" source --only-source --download-only \
        "$(dpkg-query -W -f '${source:Package}=${source:Version}' "$1")" 2>/dev/null)
    dpkg-source --no-check -x "$libraries/$(dpkg-query -W -f '${source:Package}' "$1")"_*.dsc "$2" >/dev/null
}

# build_library FOLDER TARGET [cmake option...]: builds the target and lays its library where the tests look first.
build_library() {
    local folder=$1 target=$2
    shift 2
    say "building $target with the thread sanitizer"
    cmake -S "$folder" -B "$folder-build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_C_FLAGS=-fsanitize=thread -DCMAKE_CXX_FLAGS="-fsanitize=thread -w" \
        -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1 -DNDEBUG" "$@" >/dev/null
    ninja -C "$folder-build" "$target"
    find "$folder-build" -name "lib*$target.so*" -exec cp -P -t "$root/build/tsan/lib" {} +
}

sources libtbb12 "$libraries/tbb"
build_library "$libraries/tbb" tbb -DTBB_TEST=OFF -DTBB_STRICT=OFF -DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON

# Only its core, where Debian has its plugins and its data. The tools are the installed ones, as if for another computer.
sources libqt6core6 "$libraries/qt"
off=()
for feature in gui network sql dbus testlib xml concurrent printsupport relocatable mimetype_database; do
    off+=("-DFEATURE_$feature=OFF")
done
build_library "$libraries/qt" Core "${off[@]}" -DBUILD_WITH_PCH=OFF -DQT_BUILD_TESTS=OFF -DQT_BUILD_EXAMPLES=OFF \
    -DFEATURE_system_pcre2=ON -DFEATURE_system_doubleconversion=ON -DFEATURE_system_zlib=ON \
    -DCMAKE_SYSTEM_NAME=Linux -DQT_HOST_PATH=/usr -DQT_HOST_PATH_CMAKE_DIR="/usr/lib/$machine/cmake" \
    -DCMAKE_INSTALL_PREFIX=/usr -DINSTALL_LIBDIR="lib/$machine" -DINSTALL_ARCHDATADIR="lib/$machine/qt6" \
    -DINSTALL_DATADIR=share/qt6 -DINSTALL_SYSCONFDIR=/etc/xdg

build tsan -DPLACEWRIGHT_UNITY=ON
exec ctest --test-dir "$root/build/tsan" --output-on-failure "$@"
