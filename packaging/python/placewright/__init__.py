# SPDX-License-Identifier: MIT
"""Takes PyTorch models to Placewright, and its placements back to them."""

from .apply import apply
from .export import Summary, export
from .placement import PlacementError

__all__ = ["PlacementError", "Summary", "apply", "export"]
