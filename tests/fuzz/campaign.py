#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""campaign.py SECONDS [READER...] [--jobs N]: runs the libFuzzer programs of all readers, or of those named, SECONDS
each, with the address and undefined behaviour sanitizers; one per core, or N at a time. SECONDS 0 fuzzes
nothing and writes the corpora again. Needs Clang with libFuzzer (Debian: clang, libclang-rt-14-dev).

Inputs gather from run to run in build/fuzz/corpus/READER. At the end the smallest of them that together reach the same
code are written to corpus/READER.zip beside this script. The test mutate_READER and the next campaign start from them.
An input that ends a reader or takes it longer than 25 s is build/fuzz/found/READER-*; the script ends with status 1 if
there is one. campaigns.csv beside this script gets a row per reader: for how long it was fuzzed, in CPU time, how many
inputs it read and how many of them were new findings.
"""

import argparse
import concurrent.futures
import csv
import datetime
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build/fuzz"
LARGEST = 16_384  # bytes of an input that goes into the tree


# Undefined behaviour is a finding, too.
ENVIRONMENT = {**os.environ, "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1"}


def run(*command, log=None):
    return subprocess.run([str(part) for part in command], cwd=ROOT, env=ENVIRONMENT, stdout=log,
                          stderr=log and subprocess.STDOUT)


def cpu_seconds(*command, log):
    """Runs a command; returns the CPU time that it took, in seconds."""
    process = subprocess.Popen([str(part) for part in command], cwd=ROOT, env=ENVIRONMENT, stdout=log,
                               stderr=subprocess.STDOUT)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def build(readers):
    configured = run(
        "cmake", "-S", ROOT, "-B", BUILD, "-G", "Ninja", "-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++",
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1 -DNDEBUG",
        "-DPLACEWRIGHT_FUZZ=ON", "-DPLACEWRIGHT_SANITIZE=address,undefined", "-DPLACEWRIGHT_UNITY=ON",
        "-DPLACEWRIGHT_WITH_LIBTORCH=OFF", "-DPLACEWRIGHT_BENCHMARKS=OFF")
    if configured.returncode != 0:
        sys.exit(configured.returncode)
    targets = subprocess.run(["ninja", "-C", BUILD, "-t", "targets", "all"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout
    known = sorted(set(re.findall(r"^fuzz_(\w+): phony$", targets, re.M)))
    for reader in readers:
        if reader not in known:
            sys.exit(f"campaign.py: no reader {reader}; there are {', '.join(known)}")
    readers = readers or known
    if run("ninja", "-C", BUILD, *(f"{kind}_{reader}" for reader in readers for kind in ("fuzz", "mutate"))).returncode:
        sys.exit(1)
    return readers


def findings(reader):
    """Returns the names of the inputs that ended a reader, in this campaign or an earlier one."""
    return {file.name for file in (BUILD / "found").glob(f"{reader}-*")}


def fuzz(reader, seconds):
    """Runs one reader and writes its corpus; returns a line that says what came of it, and its row of campaigns.csv."""
    corpus, found, small = BUILD / "corpus" / reader, BUILD / "found", BUILD / "small" / reader
    shutil.rmtree(small, ignore_errors=True)
    for folder in (corpus, found, small):
        folder.mkdir(parents=True, exist_ok=True)
    in_tree = HERE / "corpus" / f"{reader}.zip"
    if in_tree.exists():
        zipfile.ZipFile(in_tree).extractall(corpus)
    run(BUILD / "bin" / f"mutate_{reader}", "--seeds", corpus)
    # Choosing inputs by their entropy takes most of the time where they reach much code.
    limits = ("-rss_limit_mb=2048", "-timeout=25", "-report_slow_units=25", "-entropic=0")
    program = BUILD / "bin" / f"fuzz_{reader}"
    cpu_s, before = 0, findings(reader)
    with open(BUILD / f"{reader}.log", "wb") as log:
        if seconds > 0:
            cpu_s = cpu_seconds(program, corpus, f"-max_total_time={seconds}", *limits,
                                f"-artifact_prefix={found}/{reader}-", "-print_final_stats=1", log=log)
        run(program, "-merge=1", "-use_counters=0", f"-max_len={LARGEST}", *limits, small, corpus, log=log)
    with zipfile.ZipFile(in_tree, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        # Names of libFuzzer would take more space than most inputs.
        for i, file in enumerate(sorted(small.iterdir(), key=lambda file: (file.stat().st_size, file.name))):
            archive.writestr(zipfile.ZipInfo(str(i)), file.read_bytes(), zipfile.ZIP_DEFLATED)
    match = re.search(rb"number_of_executed_units: *(\d+)", (BUILD / f"{reader}.log").read_bytes())
    inputs = int(match[1]) if match else 0
    after = findings(reader)
    text = (f"{reader}: {inputs:,} inputs read in {cpu_s:.0f} s of CPU time, {len(list(corpus.iterdir())):,} kept, "
            f"{len(list(small.iterdir())):,} in the tree ({in_tree.stat().st_size / 1000:.0f} kB)"
            + "".join(f"\n  found: {BUILD / 'found' / name}" for name in sorted(after)))
    return text, (datetime.date.today().isoformat(), reader, round(cpu_s), inputs, len(after - before))


def record(row):
    """Adds a row to campaigns.csv; returns the CPU time of all campaigns so far, in hours."""
    file = HERE / "campaigns.csv"
    is_new = not file.exists()
    with open(file, "a", newline="") as table:
        writer = csv.writer(table, lineterminator="\n")
        if is_new:
            writer.writerow(("date", "reader", "cpu_s", "inputs", "found"))
        writer.writerow(row)
    with open(file, newline="") as table:
        return sum(int(row["cpu_s"]) for row in csv.DictReader(table)) / 3600


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("seconds", type=int)
    parser.add_argument("readers", nargs="*")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    readers = build(options.readers)
    (HERE / "corpus").mkdir(exist_ok=True)
    any_found = False
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(fuzz, reader, options.seconds) for reader in readers]):
            text, row = done.result()
            print(text, flush=True)
            any_found |= bool(findings(row[1]))
            if options.seconds > 0:
                print(f"  {record(row):.1f} hours of CPU time in all campaigns", flush=True)
    sys.exit(any_found)


if __name__ == "__main__":
    main()
