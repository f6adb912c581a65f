#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Makes the pictures of the help (resources/help/pictures) and of the main README anew, with the program in
# build/release. No display is needed. With arguments: only the pictures of these names, such as "why".
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

bin=${PLACEWRIGHT_PROGRAM:-$root/build/release/bin/placewright}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The settings of the person who calls the script must not show in the pictures, and the screen holds every dialog.
settings=$folder/settings
mkdir "$settings"
cat >"$folder/screen.json" <<'END'
{"screens": [{"name": "pictures", "x": 0, "y": 0, "width": 1920, "height": 1200,
              "logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1}]}
END
export HOME=/tmp XDG_CONFIG_HOME=$settings PLACEWRIGHT_MODELS=$root/models
export QT_QPA_PLATFORM=offscreen:configfile=$folder/screen.json QT_LOGGING_RULES=default.warning=false
job=(inception_v3 --machine 4x-v100-nvlink)
search=(--evaluations 20000 --seed 1)
names=" $* "

# picture NAME argument...: resources/help/pictures/NAME.png at the size of the screen.
picture() {
    local name=$1
    shift
    [ "$names" = "  " ] || [[ $names == *" $name "* ]] || return 0
    say "$name"
    rm -rf "$settings"/*
    "$bin" "$@" --scale 1 --screenshot "$root/resources/help/pictures/$name.png" --quit
}

auto=("${job[@]}" --optimize auto "${search[@]}")
elites=("${job[@]}" --optimize map-elites "${search[@]}")
picture window "${auto[@]}" --size 1200x780
picture graph "${auto[@]}" --size 1500x900 --picture-of graph
picture timeline "${auto[@]}" --size 1400x1000 --command "View ▸ Critical path in the timeline" --picture-of timeline
picture devices "${auto[@]}" --size 1400x900 --picture-of devices
picture machine "${auto[@]}" --size 1400x900 --command "View ▸ Go to panel ▸ Machine" --picture-of machine
picture machine-editor "${job[@]}" --command "Machine ▸ Edit machine…" --picture-of front
picture why "${auto[@]}" --size 1400x900 --command "View ▸ Go to panel ▸ Why" --picture-of why
picture suggestions "${job[@]}" --size 1400x900 --command "View ▸ Go to panel ▸ Suggestions" --picture-of suggestions
picture runs "${auto[@]}" --size 1400x900 --picture-of runs
picture curve "${auto[@]}" --size 1400x900 --picture-of curve
picture archive "${elites[@]}" --size 1400x1000 --command "View ▸ Go to panel ▸ Archive" --picture-of archive
picture cdf "${auto[@]}" --size 1400x1000 --command "View ▸ Go to panel ▸ CDF" --picture-of cdf
picture side-by-side "${auto[@]}" --command "View ▸ Pin placement as A" --command "Edit ▸ Undo" \
    --command "View ▸ A beside the screen" --picture-of front
if [ "$names" = "  " ] || [[ $names == *" compare "* ]]; then
    "$(dirname "$bin")/placewright-cli" compare "${job[@]}" --seeds 5 --evaluations 2000 --csv "$folder/searches.csv" \
        --algorithms auto,expert,hill-climbing,simulated-annealing,genetic,map-elites >/dev/null
fi
picture compare "$folder/searches.csv" --picture-of front
picture simulation "${job[@]}" --command "Run ▸ Simulation…" --picture-of front
picture language llama-3-70b --machine 8x-a100-nvlink --optimize auto --evaluations 5000 --seed 1 --size 1200x780
picture export "${auto[@]}" --command "File ▸ Export ▸ Placement for training…" --picture-of front

# The README's is twice as sharp, and holds no help.
if [ "$names" = "  " ] || [[ $names == *" readme "* ]]; then
    say readme
    rm -rf "$settings"/*
    "$bin" "${job[@]}" --optimize map-elites "${search[@]}" --size 1400x900 \
        --screenshot "$root/resources/screenshots/window.png" --quit
fi
