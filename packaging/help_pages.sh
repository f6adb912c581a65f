#!/bin/sh
# SPDX-License-Identifier: MIT
# help_pages.sh HELP OUT VERSION: writes each page of the help as a manual page, OUT/placewright-NAME.7.gz. Needs
# cmark-gfm.
set -eu
help=$1 out=$2 version=$3
mkdir -p "$out"
for file in "$help"/*.md; do
    name=$(basename "$file" .md)
    page=placewright-$name
    [ "$name" = index ] && page=placewright-help
    title=$(sed -n '1s/^# //p' "$file")
    {
        # The first line asks for tables.
        printf "'\\\\\" t\n.TH %s 7 \"\" \"Placewright %s\" \"Placewright\"\n.SH NAME\n%s \\\\- %s\n" \
            "$(echo "$page" | tr a-z A-Z)" "$version" "$page" "$title"
        # Without the title and pictures; links are names of manual pages; sections are one level higher.
        sed -E -e 1d -e '/^!\[/d' -e 's/^##/#/' \
            -e 's/\]\(index\.md(#[^)]*)?\)/] (placewright-help(7))/g' \
            -e 's/\[([^]]*)\]\(([a-z-]+)\.md(#[^)]*)?\)/\1 (placewright-\2(7))/g' \
            -e 's/\[([^]]*)\] \(placewright-help\(7\)\)/\1 (placewright-help(7))/g' "$file" |
            cmark-gfm -t man -e table |
            # Tables: titles bold, columns to the left, the last one as wide as there is room.
            awk '/^\.TS$/ { table = 1 } /^\.TE$/ { table = 0 }
                 table && /^[clr]+\.$/ {
                     first = second = ""
                     for (i = 1; i < length($0) - 1; ++i) { first = first "LB "; second = second "L " }
                     print first "LBX"; print second "LX."; next
                 }
                 table && /@/ && !/^tab/ {
                     at = match($0, /@[^@]*$/)
                     print substr($0, 1, at) "T{\n" substr($0, at + 1) "\nT}"; next
                 }
                 { print }'
    } | gzip -9n > "$out/$page.7.gz"
done
