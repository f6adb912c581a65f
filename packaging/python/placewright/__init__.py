# SPDX-License-Identifier: MIT
"""Exports PyTorch models to Placewright, and applies its placements to them."""

from .apply import apply
from .benchmark import StepTimes, benchmark
from .export import Summary, export
from .placement import PlacementError

__all__ = ["PlacementError", "StepTimes", "Summary", "apply", "benchmark", "export"]
