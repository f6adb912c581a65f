# SPDX-License-Identifier: MIT
"""Takes PyTorch models to Placewright, and its placements back to them."""

from .apply import apply
from .benchmark import StepTimes, benchmark
from .export import Summary, export
from .placement import PlacementError

__all__ = ["PlacementError", "StepTimes", "Summary", "apply", "benchmark", "export"]
