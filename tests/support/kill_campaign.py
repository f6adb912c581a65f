#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kill_campaign.py CLI [--kills N] [--seed K]: kills the command line at random moments and goes on.

A search, a training and a table of searches are killed (SIGKILL) again and again and resumed until they end: what they
then hold is what the same command gives without a kill. Files that a command replaces, also those of an experiment, are
killed into as well: each holds the old content or the new one, never a part. Exits with 1 and a line for each loss.
"""

import argparse
import csv
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time


class Campaign:
    def __init__(self, cli, kills, seed, folder):
        self.cli, self.kills, self.random = cli, kills, random.Random(seed)
        self.folder = pathlib.Path(folder)
        self.killed = 0
        self.losses = []

    def lose(self, text):
        self.losses.append(text)
        print("LOST:", text, flush=True)

    def run(self, arguments, after_s=None):
        """Runs a command; kills it after `after_s` seconds. Returns its exit status, or None if it was killed."""
        process = subprocess.Popen([self.cli, *arguments], cwd=self.folder, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)
        try:
            _, error = process.communicate(timeout=after_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.killed += 1
            return None
        if process.returncode != 0:
            self.lose(f"{' '.join(arguments)}: status {process.returncode}: {error.decode().strip()}")
        return process.returncode

    def seconds_of(self, arguments):
        begin = time.monotonic()
        self.run(arguments)
        return time.monotonic() - begin

    def resumed(self, name, arguments, again, content):
        """Kills `arguments` at random moments and goes on by `again` until it ends, as often as there are kills left
        for it; compares `content(file)` with that of a run that was not killed. Files are called FILE in arguments."""
        named = lambda words, file: [word.replace("FILE", file) for word in words]
        whole = self.folder / f"{name}-whole"
        whole_s = self.seconds_of(named(arguments, str(whole)))
        expected = content(whole)
        kills = 0
        while kills < self.kills:
            file = self.folder / f"{name}-{kills}"
            words = arguments
            while True:
                # Sometimes at the very beginning, where files are made.
                after_s = self.random.uniform(0, whole_s if self.random.random() < 0.8 else 0.05)
                status = self.run(named(words, str(file)), after_s if kills < self.kills else None)
                kills += status is None
                if status is not None:
                    break
                words = again
            if content(file) != expected:
                self.lose(f"{name}: {file} differs from {whole}")
        print(f"{name}: {kills} kills", flush=True)

    def replaced(self, name, arguments, file):
        """Kills a command that replaces `file`, which holds the old or the new content then."""
        path = self.folder / file
        whole_s = self.seconds_of(arguments)
        new = path.read_bytes()
        for kill in range(self.kills):
            old = b"old content %d" % kill
            path.write_bytes(old)
            self.run(arguments, self.random.uniform(0.3 * whole_s, whole_s))
            found = path.read_bytes() if path.exists() else b""
            if found not in (old, new):
                self.lose(f"{name}: {path} has {len(found)} bytes, neither the old nor the new content")
                return
        print(f"{name}: {self.kills} kills", flush=True)


    def experiment_replaced(self, name, arguments, earlier, later):
        """Kills `arguments` with `later` options into the folder of results that they wrote with `earlier` ones."""
        whole = {}
        for options in (earlier, later):
            folder = self.folder / f"{name}-{options[-1]}"
            whole_s = self.seconds_of([*arguments, *options, "--out", str(folder)])
            whole[options[-1]] = contents(folder)
        for kill in range(self.kills):
            folder = self.folder / f"{name}-killed-{kill}"
            shutil.copytree(self.folder / f"{name}-{earlier[-1]}", folder)
            self.run([*arguments, *later, "--overwrite", "--out", str(folder)], self.random.uniform(0.2, 1) * whole_s)
            found = contents(folder)
            for file in whole[earlier[-1]]:
                if found.get(file) not in (results[file] for results in whole.values()):
                    self.lose(f"{name}: {folder / file} has neither the old nor the new content")
        print(f"{name}: {self.kills} kills", flush=True)


def contents(folder):
    """The results of an experiment by file, without what depends on the computer."""
    untimed = lambda report: re.sub(r"(median [\d,]+), [\d.]+ .?s", r"\1", report)
    return {path.name: without_times(path) if path.suffix == ".csv" else untimed(path.read_text())
            for path in sorted(folder.iterdir()) if not path.name.startswith(".")}


def without_times(file):
    """The rows of a table of searches, without what depends on the computer."""
    with open(file, newline="") as table:
        lines = list(csv.reader(table))
    timed = [i for i, column in enumerate(lines[0])
             if any(part in column for part in ("wall", "seconds", "curve", "bound", "gap", "simulations"))]
    return sorted([field for i, field in enumerate(line) if i not in timed] for line in lines)


def placement_of(file):
    return json.loads(pathlib.Path(f"{file}.json").read_text())["placement"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cli")
    parser.add_argument("--kills", type=int, default=8, help="of each command [8]")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(os.path.abspath(arguments.cli), arguments.kills, arguments.seed, folder)
        sweep = {"format": "placewright.sweep", "version": 1, "networks": ["alexnet", "vgg16"],
                 "machines": ["2x-v100-pcie"], "algorithms": ["genetic", "tabu"], "seeds": 3, "evaluations": 1500}
        (campaign.folder / "sweep.json").write_text(json.dumps(sweep))
        job = ["nmt2", "--machine", "4x-v100-nvlink"]
        search = ["optimize", *job, "--algorithm", "map-elites", "--evaluations", "12000", "--scores", "FILE",
                  "--out", "FILE.json"]
        train = ["train", "alexnet", "--machine", "2x-v100-pcie", "--updates", "400", "--out", "FILE",
                 "--checkpoint-every", "0.05", "--resume"]
        table = ["sweep", "sweep.json", "--out", "FILE"]
        campaign.resumed("search", search, search, placement_of)
        campaign.resumed("training", train, train, lambda file: file.read_bytes())
        campaign.resumed("sweep", table, table, without_times)
        campaign.run(["optimize", *job, "--evaluations", "200", "--out", "placement.json"])
        campaign.replaced("export", ["export", *job, "--placement", "placement.json", "--to", "chrome-trace", "--out", "t.json"],
                          "t.json")
        campaign.replaced("convert", ["convert", "--network", "resnet50", "r.json"], "r.json")
        campaign.experiment_replaced(
            "experiment", ["experiment", "post", "--only", "rnnlm4", "--seeds", "1", "--algorithm", "post"],
            ["--evaluations", "200"], ["--evaluations", "400"])
        left = [path.name for path in campaign.folder.iterdir() if ".tmp" in path.name or path.name.startswith(".")]
        print(f"{campaign.killed} kills, {len(campaign.losses)} losses; {len(left)} temporary files left", flush=True)
        return 1 if campaign.losses else 0


if __name__ == "__main__":
    sys.exit(main())
