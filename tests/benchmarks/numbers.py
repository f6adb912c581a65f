#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""numbers.py [BUILD] [--data DIR] [--quick]: measures everything that the project states about itself, and writes
numbers.md beside this file: simulator, searches, learning, import, window, bounds, measured steps.

Each section has its command, and each figure its ratio to the section's anchor, which was measured in the same run:
machines differ and are noisy, ratios less so. --data: the folder "measured" of the reference data; without it that
section says that it did not run. --quick takes a minute, for trying the script.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent


def run(command, env=None):
    print("+", " ".join(command), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env={**os.environ, **(env or {})})
    if done.returncode != 0:
        sys.exit(f"numbers.py: {' '.join(command)} ended with status {done.returncode}:\n{done.stderr}")
    return done.stdout


def table(head, rows):
    lines = [f"| {' | '.join(head)} |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows]) + "\n"


def shown(value):
    return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def seconds(value):
    for limit, unit, factor in ((1e-6, "ns", 1e9), (1e-3, "us", 1e6), (1, "ms", 1e3)):
        if value < limit:
            return f"{shown(value * factor)} {unit}"
    return f"{shown(value)} s"


class Numbers:
    def __init__(self, build, quick):
        self.bin = build / "bin"
        self.repetitions = 1 if quick else 3
        self.min_time = 0.05 if quick else 0.2
        self.quick = quick
        self.text = ""

    def section(self, title, about, command, body):
        self.text += f"\n## {title}\n\n{about}\n\n    {command}\n\n{body}"

    def benchmark(self, title, about, program, pattern, anchor, counter=None):
        """Best of the repetitions of each benchmark: the largest `counter`, else the least time (of an event or a frame
        where the benchmark counts these)."""
        command = [str(self.bin / program), f"--benchmark_filter={pattern}", "--benchmark_format=json",
                   f"--benchmark_repetitions={self.repetitions}", f"--benchmark_min_time={self.min_time}"]
        output = run(command, {"QT_QPA_PLATFORM": "offscreen"})
        best = {}
        unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
        for each in json.loads(output[output.index("{"):])["benchmarks"]:
            if each.get("run_type") == "aggregate":
                continue
            name = re.sub(r"/(iterations:1|manual_time|real_time|repeats:\d+)", "", each["run_name"])
            if counter is not None:
                best[name] = max(best.get(name, 0), each[counter])
                continue
            if "p50_ms" in each:
                value = each["p50_ms"] * 1e-3  # the median frame
            else:
                value = each.get("s/event", each["real_time"] * unit[each["time_unit"]])
            best[name] = min(best.get(name, value), value)
        rows = [[name, seconds(value) if counter is None else f"{value:.2f}", shown(value / best[anchor])]
                for name, value in best.items()]
        self.section(title, f"{about} Anchor: `{anchor}`.", f"build/release/bin/{program} --benchmark_filter='{pattern}'",
                     table(["benchmark", counter or "time", "ratio"], rows))

    def searches(self):
        cli, machine = str(self.bin / "placewright-cli"), "4x-v100-nvlink"
        evaluations = "2000" if self.quick else "20000"
        rows, anchor = [], None
        for algorithm in ("random", "genetic", "map-elites", "simulated-annealing", "tabu", "auto"):
            for network in ("inception_v3", "nmt4"):
                found = json.loads(run([cli, "optimize", network, "--machine", machine, "--algorithm", algorithm,
                                        "--evaluations", evaluations, "--threads", "1", "--json"]))
                rate = found["evaluations"] / found["wall_s"]
                anchor = anchor or rate
                rows.append([f"{algorithm}, {network}", f"{rate:,.0f}", f"{rate / anchor:.2f}",
                             seconds(found["best"]["step_time_s"])])
        self.section("Searches", "Evaluations a second of whole searches on one thread, and what they find. Anchor: the first.",
                     f"placewright-cli optimize NETWORK --machine {machine} --algorithm ALGORITHM "
                     f"--evaluations {evaluations} --threads 1",
                     table(["search", "evaluations/s", "ratio", "step time"], rows))

    def bounds(self):
        cli = str(self.bin / "placewright-cli")
        limit = "2" if self.quick else "20"
        rows = []
        for network in ("alexnet", "vgg16", "resnet50", "inception_v3", "nmt4", "bert_base"):
            row = [network]
            for machine in ("2x-v100-pcie", "4x-v100-nvlink", "8x-a100-nvlink"):
                found = json.loads(run([cli, "optimize", network, "--machine", machine, "--seconds", limit, "--json"]))
                row.append(f"{100 * (found['best']['step_time_s'] / found['lower_bound_s'] - 1):.1f} %")
            rows.append(row)
        self.section("Bounds", f"How far above the proven lower bound the best placement is at most, after {limit} s of Auto "
                     "on all cores. The anchor is the bound itself.",
                     f"placewright-cli optimize NETWORK --machine MACHINE --seconds {limit}",
                     table(["network", "2x V100, PCIe", "4x V100, NVLink", "8x A100, NVLink"], rows))

    def measured(self, data):
        about = "Simulated against measured steps and ops of real devices, as shares of the measured time."
        command = "placewright-cli experiment measured --data DIR"
        if data is None or not data.is_dir():
            self.section("Measured steps", about, command, "Did not run: the reference data were not there.\n")
            return
        text = run([str(self.bin / "placewright-cli"), "experiment", "measured", "--data", str(data)])
        self.section("Measured steps", about, command, "```\n" + text.strip() + "\n```\n")


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", nargs="?", default=HERE.parents[1] / "build" / "release", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, help='folder "measured" of the reference data')
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default=HERE / "numbers.md")
    arguments = parser.parse_args()
    os.environ.setdefault("PLACEWRIGHT_MODELS", str(HERE.parents[1] / "models"))
    begin = time.monotonic()
    numbers = Numbers(arguments.build.resolve(), arguments.quick)
    numbers.benchmark("Simulator", "Time of an event of one simulation in full, and of a move (`moves_delta`), on one thread.", "bench_simulator",
                      "^(single_device|random_placement|pipelined|random_placement_traced)/(resnet50|inception_v3)/|"
                      "^scaling/(modular|random)/.*/(10000|200000)|^general/|^moves_delta/(inception_v3|nmt8)/|^million/",
                      "random_placement/resnet50/cut-through")
    numbers.searches()
    numbers.benchmark("Threads", "How much faster whole searches of a fixed size are on two threads than on one.",
                      "bench_search", "^threads/.*nmt4", "threads/random/nmt4", "speedup")
    numbers.benchmark("Learning", "An update of a training, and a prediction.", "bench_learning",
                      "^(update/(placeto|gdp)/1|predict/)", "update/placeto/1")
    numbers.benchmark("Import", "A generated ONNX model, up to the network and up to a simulated step.", "bench_import",
                      "/10000/" if numbers.quick else ".", "read_onnx/10000")
    numbers.benchmark("Window", "From a click to what is on the screen.", "bench_window",
                      "(alexnet|inception_v3)", "open_to_drawn/alexnet")
    if not numbers.quick:
        numbers.benchmark("Frames", "The median frame while the view moves.", "bench_frames",
                          "^(graph_frames|timeline_frames)/", "graph_frames/pan/inception_v3")
    numbers.bounds()
    numbers.measured(arguments.data)
    minutes = (time.monotonic() - begin) / 60
    arguments.out.write_text(
        "# Numbers\n\nWritten by [numbers.py](numbers.py) "
        f"in {minutes:.0f} minutes on {time.strftime('%Y-%m-%d')}: {processor()}, {os.cpu_count()} cores, "
        f"best of {numbers.repetitions}. Ratios carry over to other machines better than\ntimes. What the benchmarks "
        "measure, and what was tried to make them faster: [README.md](README.md).\n" + numbers.text)


if __name__ == "__main__":
    main()
