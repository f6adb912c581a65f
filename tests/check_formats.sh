#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: check_formats.sh CHECKER CLI
# Holds the command line against the checker of its contract, where that lies beside the checkout.
if [ ! -f "$1" ]; then
    echo skipped
    exit 77
fi
exec python3 "$1" "$2"
