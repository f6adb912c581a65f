#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes build/portable/placewright-VERSION-x86_64.tar.xz: both programs with Qt, LibTorch and all other libraries, for
# distributions other than Debian 12 that have glibc 2.36 or later. It can be unpacked anywhere. MPI is left out: a
# search on several computers needs the MPI of those computers.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

install_packages
command -v patchelf >/dev/null || { say "needs patchelf: apt install patchelf"; exit 1; }
build portable
version=$(sed -n 's/^project(Placewright VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
name=placewright-$version-$(uname -m)
folder=$root/build/portable/$name
rm -rf "$folder"
cmake --install "$root/build/portable" --prefix "$folder" --strip >/dev/null
libraries=/usr/lib/$(uname -m)-linux-gnu

# What is loaded by name, not linked.
mkdir -p "$folder/plugins" "$folder/lib/graphviz"
for kind in platforms imageformats iconengines xcbglintegrations platforminputcontexts platformthemes \
    wayland-decoration-client wayland-graphics-integration-client wayland-shell-integration; do
    [ ! -d "$libraries/qt6/plugins/$kind" ] || cp -r "$libraries/qt6/plugins/$kind" "$folder/plugins/"
done
rm -f "$folder"/plugins/platforms/*{eglfs,linuxfb,vnc,vkkhr}* "$folder"/plugins/platformthemes/*gtk*
printf '[Paths]\nPlugins = ../plugins\n' >"$folder/bin/qt.conf"
cp "$libraries"/graphviz/libgvplugin_{core,dot_layout}.so.6 "$folder/lib/graphviz/"

cmake -DFOLDER="$folder" -P "$root/packaging/portable.cmake"
find "$folder/lib/placewright" -type f -name '*.so*' -exec patchelf --set-rpath '$ORIGIN' {} +
patchelf --set-rpath '$ORIGIN' "$folder/lib/placewright/placewright-torchscript"
find "$folder/plugins" -name '*.so' -exec patchelf --set-rpath '$ORIGIN/../../lib/placewright' {} +
find "$folder/lib/graphviz" -name '*.so*' -exec patchelf --set-rpath '$ORIGIN/../placewright' {} +
# Graphviz reads there which plugins there are.
awk '/^libgvplugin_(core|dot_layout)\./ { kept = 1 } kept { print } /^}/ { kept = 0 }' \
    "$libraries/graphviz/config6a" >"$folder/lib/graphviz/config6a"
grep -q dot_layout "$folder/lib/graphviz/config6a"

for program in placewright placewright-cli; do
    cat >"$folder/$program" <<'END'
#!/bin/sh
# Starts the program with the libraries of this folder.
here=$(dirname "$(readlink -f "$0")")
export GVBINDIR="$here/lib/graphviz"
exec "$here/bin/$(basename "$(readlink -f "$0")")" "$@"
END
    chmod +x "$folder/$program"
done
cat >"$folder/README" <<END
Placewright $version for Linux with glibc 2.36 and libstdc++ of GCC 12, or later. The window and what learns also need X11 or Wayland,
OpenGL, fontconfig and freetype of the system, as on every desktop.

./placewright        the window
./placewright-cli    the command line; ./placewright-cli --help

Both may be linked to from anywhere, for example: ln -s "\$PWD/placewright" ~/.local/bin/
The Python package is in lib/python3/dist-packages (put that folder into PYTHONPATH).
Licences: share/doc; those of the libraries in lib, which are Debian 12's, in share/doc/libraries. Only where they look
for each other is changed. Their sources: https://sources.debian.org.
END
# The licences of the libraries, and who wrote them.
find "$folder/lib" "$folder/plugins" -name '*.so*' -printf '*/%f\n' | { xargs dpkg-query -S 2>/dev/null || true; } |
    cut -d: -f1 | sort -u | while read -r package; do
    install -D -m 644 "/usr/share/doc/$package/copyright" "$folder/share/doc/libraries/$package/copyright"
done
cp -r /usr/share/common-licenses "$folder/share/doc/libraries/"

(cd "$root/build/portable" && XZ_OPT=-T0 tar --owner=0 --group=0 -cJf "$name.tar.xz" "$name")
ls -l "$root/build/portable/$name.tar.xz"
