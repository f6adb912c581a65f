#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: check_format.sh FOLDER
# Fails where clang-format would change a C++ file of the project. Skipped without clang-format 14, Debian 12's:
# other versions break lines elsewhere.
cd "$1" || exit 1
for tool in clang-format-14 clang-format; do
    command -v "$tool" >/dev/null && "$tool" --version | grep -q 'version 14\.' && break
    tool=
done
if [ -z "$tool" ]; then
    echo "skipped: there is no clang-format 14"
    exit 77
fi
find app core widgets tests \( -name '*.cpp' -o -name '*.hpp' \) -print0 | xargs -0 "$tool" --dry-run -Werror
