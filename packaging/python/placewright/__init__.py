# SPDX-License-Identifier: MIT
"""Exports PyTorch models to Placewright, and applies its placements to them."""

from .apply import apply
from .benchmark import StepTimes, benchmark
from .errors import CommandLineError, ExportError, PlacementError, PlacewrightError
from .export import Summary, export

__version__ = "0.1.0"

__all__ = [
    "CommandLineError",
    "ExportError",
    "PlacementError",
    "PlacewrightError",
    "StepTimes",
    "Summary",
    "apply",
    "benchmark",
    "export",
]
