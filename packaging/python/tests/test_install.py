# SPDX-License-Identifier: MIT
"""Installs the package with pip, as on a Debian with its own PyTorch."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any, Dict

from support import TestCase

import placewright

PACKAGE = Path(__file__).parents[1]
MISSING = [name for name in ("pip", "setuptools", "venv", "wheel") if importlib.util.find_spec(name) is None]


@unittest.skipIf(MISSING, f"{', '.join(MISSING)} is missing")
class Install(TestCase):
    def run_python(self, *arguments: str, **environment: str) -> str:
        own: Dict[str, Any] = {**os.environ, **environment}
        for name in ("PYTHONPATH", "PLACEWRIGHT_CLI"):
            own.pop(name, None)
        done = subprocess.run(arguments, env=own, capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.strip()

    def test_pip(self) -> None:
        # A source with a command line that was built, and nothing else.
        source = self.folder / "source"
        kept = source / "packaging" / "python"
        others = shutil.ignore_patterns("__pycache__", "tests", "examples", "build")
        shutil.copytree(PACKAGE, kept, ignore=others)
        (source / "CMakePresets.json").write_text("{}")
        program = source / "build" / "release" / "bin" / "placewright-cli"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\necho '{}'\n")
        program.chmod(0o755)
        self.run_python(sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", "venv")
        python = str(self.folder / "venv" / "bin" / "python")
        install = [python, "-m", "pip", "install", "--no-index", "--no-build-isolation"]
        # With its requirements: PyTorch of this computer must do.
        self.run_python(*install, "--disable-pip-version-check", str(kept), PIP_BREAK_SYSTEM_PACKAGES="1")
        code = "import placewright as p; from placewright import command_line as c; {}"
        said = "print(p.__version__, p.__file__, c.find(), sep='\\n')"
        empty = str(self.folder / "empty")
        version, where, found = self.run_python(python, "-c", code.format(said), PATH=empty).splitlines()
        self.assertEqual(version, placewright.__version__)
        self.assertIn("venv", where)
        self.assertTrue((Path(where).parent / "py.typed").is_file())
        self.assertEqual(found, str(program))
        # Without the source the error says how to get one.
        shutil.rmtree(source)
        failing = "\ntry:\n    c.find()\nexcept p.CommandLineError as error:\n    print(error)"
        text = self.run_python(python, "-c", code.format(failing), PATH=empty)
        self.assertIn("placewright-cli is missing", text)
