# SPDX-License-Identifier: MIT
"""What this package raises."""

from __future__ import annotations


class PlacewrightError(Exception):
    """Anything that went wrong in this package, with the remedy in its text."""


class PlacementError(PlacewrightError, ValueError):
    """A placement that cannot be read, or that does not fit the model or this computer."""


class ExportError(PlacewrightError, ValueError):
    """A model, or inputs, that cannot be written as a network."""


class CommandLineError(PlacewrightError, RuntimeError):
    """placewright-cli is missing, or refuses what it was asked.

    Attributes:
        status: its exit status; None if it was not run. 4: no placement fits the memory.
    """

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status
