#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tests/fuzz/campaign.sh SECONDS [READER...]: runs the libFuzzer programs of all readers, or of those named, SECONDS
# each and one per core, with the address and undefined behaviour sanitizers. Corpora grow from run to run in
# build/fuzz/corpus/READER; inputs that end or hold up a reader are build/fuzz/found/READER-*. Ends with status 1 if
# there are any. Needs Clang with libFuzzer (Debian: clang, libclang-rt-14-dev).
set -euo pipefail

[ "${1:-}" -gt 0 ] 2>/dev/null || { echo "usage: campaign.sh SECONDS [READER...]" >&2; exit 2; }
seconds=$1
shift
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=build/fuzz
cmake -S . -B $build -G Ninja -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" -DPLACEWRIGHT_FUZZ=ON -DPLACEWRIGHT_SANITIZE=address,undefined \
    -DPLACEWRIGHT_WINDOW=OFF -DPLACEWRIGHT_WITH_LIBTORCH=OFF -DPLACEWRIGHT_UNITY=ON >/dev/null
readers=("$@")
[ ${#readers[@]} -gt 0 ] ||
    mapfile -t readers < <(ninja -C $build -t targets all | sed -n 's/^fuzz_\([a-z0-9_]*\): phony$/\1/p' | sort)
targets=()
for reader in "${readers[@]}"; do targets+=("fuzz_$reader" "mutate_$reader"); done
ninja -C $build "${targets[@]}"

mkdir -p $build/found $build/logs
fuzz() {
    mkdir -p "$build/corpus/$1"
    "$build/bin/mutate_$1" --seeds "$build/corpus/$1"
    "$build/bin/fuzz_$1" "$build/corpus/$1" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 \
        -artifact_prefix="$build/found/$1-" -print_final_stats=1 >"$build/logs/$1" 2>&1 || true
    echo "$1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/logs/$1") inputs," \
        "$(find "$build/corpus/$1" -type f | wc -l) in the corpus," \
        "$(find $build/found -name "$1-*" | wc -l) found"
}
export -f fuzz
export build seconds
printf '%s\n' "${readers[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz {}'
[ -z "$(ls $build/found)" ]
