"""Names of tensors that hold levels, whose scales of channels other nodes absorbed: verification looks for them."""

from __future__ import annotations


def of(tensor: str) -> str:
    """Return the name of the integers that, times scales of channels, equal a tensor."""
    return f"{tensor}/levels"


def counted(tensor: str) -> str:
    """Return the name of the integers that count the levels of a tensor from the lowest, which is 0."""
    return f"{tensor}/counted"
