"""What is left to chance, yet comes out the same each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random


def chance(rng: random.Random, share: float) -> bool:
    """Return true in `share` of the calls."""
    return rng.random() < share
