# SPDX-License-Identifier: MIT
"""Tells the installed package where Placewright's source is, so that it finds the command line built there."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SOURCE = Path(__file__).resolve().parents[2]


class Build(build_py):
    def run(self) -> None:
        super().run()
        # An archive of this folder alone is not in the source; an editable installation is in it anyway.
        if (SOURCE / "CMakePresets.json").is_file() and not getattr(self, "editable_mode", False):
            package = Path(self.build_lib) / "placewright"
            package.mkdir(parents=True, exist_ok=True)
            (package / "checkout.txt").write_text(f"{SOURCE}\n", encoding="utf-8")


setup(cmdclass={"build_py": Build})
