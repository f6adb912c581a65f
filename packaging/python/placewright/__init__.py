# SPDX-License-Identifier: MIT
"""Searches for placements of PyTorch models with Placewright, and runs the models under them."""

from .apply import apply
from .benchmark import StepTimes, benchmark
from .errors import CommandLineError, ExportError, PlacementError, PlacewrightError
from .export import Summary, export
from .machines import Machine, machine
from .optimize import device_map, optimize
from .placement import Placement

__version__ = "0.1.0"

__all__ = [
    "CommandLineError",
    "ExportError",
    "Machine",
    "Placement",
    "PlacementError",
    "PlacewrightError",
    "StepTimes",
    "Summary",
    "apply",
    "benchmark",
    "device_map",
    "export",
    "machine",
    "optimize",
]
