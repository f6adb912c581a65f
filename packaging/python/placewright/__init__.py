# SPDX-License-Identifier: MIT
"""Takes PyTorch models to Placewright."""

from .export import Summary, export

__all__ = ["Summary", "export"]
