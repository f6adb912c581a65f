#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# packaging/thread_sanitizer.sh [ctest option...]: builds everything in build/tsan with the thread sanitizer and runs the
# tests there. Threads hand data to each other through the queues of Qt's core and oneTBB, which the sanitizer must see too:
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
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
mkdir -p "$libraries/lists/partial" "$root/build/tsan/lib"

# sources PACKAGE: unpacks the sources from which the installed PACKAGE was built, and sets `folder` to where they are.
sources() {
    local name version
    name=$(dpkg-query -W -f '${source:Package}' "$1")
    version=$(dpkg-query -W -f '${source:Version}' "$1")
    folder=$libraries/$name-$version
    [ ! -e "$folder" ] || return 0
    cat >"$libraries/debian.sources" <<END
Types: deb-src
URIs: ${PLACEWRIGHT_MIRROR:-http://deb.debian.org/debian}
Suites: $codename $codename-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb-src
URIs: ${PLACEWRIGHT_SECURITY_MIRROR:-http://deb.debian.org/debian-security}
Suites: $codename-security
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
    local apt=(apt-get -qq -o "Dir::Etc::sourcelist=$libraries/debian.sources" -o Dir::Etc::sourceparts=/dev/null
        -o "Dir::State::lists=$libraries/lists" -o "Dir::Cache=$libraries")
    "${apt[@]}" update
    (cd "$libraries" && "${apt[@]}" source --only-source --download-only "$name=$version")
    rm -rf "$folder.part"
    dpkg-source --no-check -x "$libraries/${name}_${version#*:}.dsc" "$folder.part" >/dev/null
    mv "$folder.part" "$folder"
}

# build_library TARGET [cmake option...]: builds the target of `folder` and lays its library where tests look first.
build_library() {
    local target=$1 built
    shift
    say "building $target with the thread sanitizer"
    cmake -S "$folder" -B "$folder-build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_C_FLAGS=-fsanitize=thread -DCMAKE_CXX_FLAGS="-fsanitize=thread -w" \
        -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1 -DNDEBUG" "$@" >/dev/null
    ninja -C "$folder-build" "$target"
    built=$(find "$folder-build" -name "lib*$target.so*")
    [ -n "$built" ] || { say "no library in $folder-build"; exit 1; }
    xargs -d '\n' cp -P -t "$root/build/tsan/lib" <<<"$built"
}

sources libtbb12
build_library tbb -DTBB_TEST=OFF -DTBB_STRICT=OFF -DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON

# Builds Qt's core alone, which looks for plugins and data where Debian has them. The build tools are the installed ones,
# as in a build for another computer.
sources libqt6core6
off=()
for feature in gui network sql dbus testlib xml concurrent printsupport relocatable mimetype_database; do
    off+=("-DFEATURE_$feature=OFF")
done
build_library Core "${off[@]}" -DBUILD_WITH_PCH=OFF -DQT_BUILD_TESTS=OFF -DQT_BUILD_EXAMPLES=OFF \
    -DFEATURE_system_pcre2=ON -DFEATURE_system_doubleconversion=ON -DFEATURE_system_zlib=ON \
    -DCMAKE_SYSTEM_NAME=Linux -DQT_HOST_PATH=/usr -DQT_HOST_PATH_CMAKE_DIR="/usr/lib/$machine/cmake" \
    -DCMAKE_INSTALL_PREFIX=/usr -DINSTALL_LIBDIR="lib/$machine" -DINSTALL_ARCHDATADIR="lib/$machine/qt6" \
    -DINSTALL_DATADIR=share/qt6 -DINSTALL_SYSCONFDIR=/etc/xdg

build tsan -DPLACEWRIGHT_UNITY=ON
cd "$root"
exec ctest --preset tsan "$@"
