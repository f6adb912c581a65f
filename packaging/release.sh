#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# packaging/release.sh VERSION: makes a release of what is committed. Writes the version everywhere and asks for the
# changelog entry, runs every test, commits and tags, and builds the packages and an archive of the source.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=${1:-}
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { say "usage: packaging/release.sh VERSION, such as 1.2.0"; exit 2; }
cd "$root"
[ -z "$(git status --porcelain)" ] || { say "there are changes that are not committed; commit them first"; exit 1; }
if git rev-parse -q --verify "refs/tags/v$version" >/dev/null; then
    say "there is a tag v$version already"
    exit 1
fi

changelog=packaging/debian/changelog
if ! head -1 "$changelog" | grep -qF "($version)"; then
    author="$(git config user.name) <$(git config user.email)>"
    changes=$(git log --no-merges --format='  * %s' "$(git describe --tags --abbrev=0 2>/dev/null || git rev-list --max-parents=0 HEAD)"..HEAD)
    {
        printf 'placewright (%s) unstable; urgency=medium\n\n%s\n\n -- %s  %s\n\n' \
            "$version" "$changes" "$author" "$(date -R)"
        cat "$changelog"
    } >"$changelog.new"
    mv "$changelog.new" "$changelog"
    "${EDITOR:-vi}" "$changelog"
fi
sed -i "s/^project(Placewright VERSION [0-9.]*/project(Placewright VERSION $version/" CMakeLists.txt
sed -i "s/^__version__ = .*/__version__ = \"$version\"/" packaging/python/placewright/__init__.py

trap 'say "the release is not made; git checkout CMakeLists.txt packaging takes back the version and the changelog"' ERR
packaging/test.sh
packaging/packages.sh
packaging/check_packages.sh build/package
packaging/portable.sh
packaging/check_portable.sh "build/portable/placewright-$version-$(uname -m).tar.xz"
trap - ERR
git diff --quiet HEAD || git commit -qam "Release $version"
git tag -a "v$version" -m "Placewright $version"
git archive --prefix="placewright-$version/" -o "build/package/placewright-$version.tar.gz" "v$version"
say "packages and source are in build/package, the archive for other distributions in build/portable; to publish: git push && git push origin v$version"
