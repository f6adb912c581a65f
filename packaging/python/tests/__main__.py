# SPDX-License-Identifier: MIT
"""Runs all tests of this folder; exits with 77 where PyTorch is missing, which CTest counts as skipped."""

import importlib.util
import sys
import unittest
from pathlib import Path

if importlib.util.find_spec("torch") is None:
    print("skipped: PyTorch is missing")
    sys.exit(77)
suite = unittest.defaultTestLoader.discover(str(Path(__file__).parent))
sys.exit(not unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful())
