#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hard_places.py CLI: tries the command line where it cannot write, has little memory, or finds another locale.

Each command that writes a file is run on a full disk, into a folder that belongs to somebody else and below a file: it
must end with exit status 3 and a message that names the file, and leave the old content as it was. Results must not
depend on the locale, the home folder or closed streams; too little memory must end in a message. What this computer
does not allow (mounting, other users, locales that are not installed) is told and left out. Exits with 1 and a line for
each failure.
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

NOBODY = 65534
OLD = b"old content"
SECONDS = 120


class Trial:
    def __init__(self, cli, folder):
        self.cli, self.folder = cli, pathlib.Path(folder)
        self.tried, self.failures = 0, []

    def fail(self, text):
        self.failures.append(text)
        print("FAILED:", text, flush=True)

    def run(self, arguments, **how):
        self.tried += 1
        try:
            return subprocess.run([self.cli, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=SECONDS, cwd=how.pop("cwd", self.folder), **how)
        except subprocess.TimeoutExpired:
            self.fail(f"{' '.join(map(str, arguments))}: still runs after {SECONDS} s")
            return None

    def writers(self, out):
        """Commands that write `out`, by name."""
        job = ["alexnet", "--machine", "2x-v100-pcie"]
        placement = self.folder / "placement.json"
        return {
            "optimize --out": ["optimize", *job, "--evaluations", "300", "--out", out],
            "optimize --scores": ["optimize", *job, "--evaluations", "3000", "--algorithm", "random", "--scores", out],
            "compare --csv": ["compare", *job, "--algorithms", "random", "--evaluations", "100", "--csv", out],
            "sweep": ["sweep", self.folder / "sweep.json", "--out", out],
            "convert": ["convert", "--network", "inception_v3", out],
            "export": ["export", *job, "--placement", placement, "--to", "chrome-trace", "--out", out],
            "report": ["report", *job, "--placement", placement, "--out", out],
            "train": ["train", "alexnet", "--machine", "2x-v100-pcie", "--updates", "3", "--out", out],
        }

    def prepare(self):
        sweep = {"format": "placewright.sweep", "version": 1, "networks": ["alexnet"], "machines": ["2x-v100-pcie"],
                 "algorithms": ["random"], "seeds": 2, "evaluations": 100}
        (self.folder / "sweep.json").write_text(json.dumps(sweep))
        done = self.run(["optimize", "alexnet", "--machine", "2x-v100-pcie", "--evaluations", "100", "--out",
                         "placement.json"])
        if done is None or done.returncode != 0:
            raise SystemExit(f"the search itself fails: {done and done.stderr.decode()}")

    def refused(self, where, name, arguments, out, *reasons, **how):
        """The command must end with status 3 and a message that names the file, and leave what was there."""
        done = self.run(arguments, **how)
        if done is None:
            return
        message = done.stderr.decode(errors="replace").strip()
        what = f"{where}, {name}"
        if done.returncode != 3:
            self.fail(f"{what}: exit status {done.returncode} in place of 3: {message[-300:]}")
        elif os.path.basename(out) not in message or not any(reason in message for reason in reasons):
            self.fail(f"{what}: the message does not name the file and the reason ({reasons[0]}): {message[-300:]}")

    def full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = os.geteuid() == 0 and subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", disk], stderr=subprocess.DEVNULL).returncode == 0
        if not mounted:
            return print("full disk: skipped, this needs root and mount")
        try:
            for name in self.writers(""):
                out = disk / "out.json"
                # These three go on with the file that is there, and refuse one of another kind.
                keeps_old = name not in ("optimize --scores", "sweep", "train")
                if keeps_old:
                    out.write_bytes(OLD)
                with open(disk / "filler", "wb", buffering=0) as filler:
                    try:
                        while True:
                            filler.write(bytes(1024))
                    except OSError:
                        pass
                self.refused("full disk", name, self.writers(str(out))[name], str(out), "No space left")
                if keeps_old and out.read_bytes() != OLD:
                    self.fail(f"full disk, {name}: the old content is gone")
                left = sorted(path.name for path in disk.iterdir())
                if set(left) - {"filler", "out.json"}:
                    self.fail(f"full disk, {name}: files are left behind: {left}")
                for path in disk.iterdir():
                    path.unlink()
        finally:
            subprocess.run(["umount", disk], check=True)

    def others_folder(self):
        if os.geteuid() != 0:
            return print("somebody else's folder: skipped, this needs root")
        theirs = self.folder / "theirs"
        theirs.mkdir(mode=0o755)
        for path in (self.folder, *self.folder.iterdir()):
            path.chmod(0o755 if path.is_dir() else 0o644)
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": [], "env": {**os.environ, "HOME": "/nonexistent"}}
        for name, arguments in self.writers(str(theirs / "out.json")).items():
            self.refused("somebody else's folder", name, arguments, "out.json", "Permission denied", **as_nobody)
        secret = self.folder / "secret.json"
        secret.write_text("{}")
        secret.chmod(0o600)
        self.refused("somebody else's file", "simulate", ["simulate", secret, "--machine", "2x-v100-pcie"],
                     "secret.json", "Permission denied", **as_nobody)

    def no_folder(self):
        file = self.folder / "file"
        file.write_bytes(OLD)
        for name, arguments in self.writers(str(file / "out.json")).items():
            self.refused("below a file", name, arguments, "out.json", "there is no", "Not a directory")
        for name, arguments in self.writers(str(self.folder / "none" / "out.json")).items():
            self.refused("in no folder", name, arguments, "out.json", "there is no", "No such file")

    def search(self, **how):
        done = self.run(["optimize", "resnet50", "--machine", "4x-v100-pcie", "--evaluations", "400", "--json"], **how)
        if done is None or done.returncode != 0:
            return f"exit status {done and done.returncode}: {done and done.stderr.decode(errors='replace')[-300:]}"
        found = json.loads(done.stdout)
        return json.dumps([found["best"], found["placement"], found["evaluations"]])

    def surroundings(self):
        expected = self.search()
        locales = self.folder / "locales"
        locales.mkdir()
        for name in ("de_DE", "tr_TR", "hi_IN", "ar_SA", "zh_CN"):
            made = shutil.which("localedef") and subprocess.run(
                ["localedef", "-i", name, "-f", "UTF-8", locales / f"{name}.UTF-8"], stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL).returncode == 0
            if not made:
                print(f"locale {name}: skipped, it is not installed")
                continue
            with_locale = {**os.environ, "LOCPATH": str(locales), "LC_ALL": f"{name}.UTF-8", "LANG": f"{name}.UTF-8"}
            if self.search(env=with_locale) != expected:
                self.fail(f"locale {name}: another result: {self.search(env=with_locale)}")
        bare = {"PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1",
                **{key: value for key, value in os.environ.items() if key.startswith("PLACEWRIGHT_")}}
        for name, how in {
            "an empty environment": {"env": bare},
            "a home folder that is not there": {"env": {**os.environ, "HOME": "/nonexistent", "XDG_CONFIG_HOME": "/proc/none"}},
            "a closed standard input": {"preexec_fn": lambda: os.close(0)},
            "the root folder": {"cwd": "/"},
            "few open files": {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))},
        }.items():
            if self.search(**how) != expected:
                self.fail(f"{name}: another result: {self.search(**how)}")

    def little_memory(self):
        """Address space from what the program needs to start up to what a large network needs."""
        for megabytes in (300, 500, 700, 1000, 1500, 2000):
            limit = megabytes << 20
            done = self.run(["simulate", "nasnet", "--machine", "4x-v100-pcie", "--batch", "64"],
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            if done is None or done.returncode == 0:
                continue
            message = done.stderr.decode(errors="replace")
            # 127: the loader has no room for the libraries.
            if done.returncode not in (1, 3, 127) or "memory" not in message:
                self.fail(f"{megabytes} MB of memory: exit status {done.returncode}: {message[-300:]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cli")
    parser.add_argument("--sanitized", action="store_true",
                        help="do not limit addresses, of which sanitizers reserve terabytes")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(os.path.abspath(arguments.cli), folder)
        trial.prepare()
        parts = [trial.full_disk, trial.others_folder, trial.no_folder, trial.surroundings]
        if not arguments.sanitized:
            parts.append(trial.little_memory)
        for part in parts:
            part()
        print(f"{trial.tried} runs, {len(trial.failures)} failures", flush=True)
        return 1 if trial.failures else 0


if __name__ == "__main__":
    sys.exit(main())
