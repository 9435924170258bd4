"""Layers of no large family: attention, spectra, lookups, patches, decoders of sequences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from layers import Configuration, Draw, check, configurations, layer


def attention(draw: Draw) -> Any:
    batch, heads, queries, keys, size, width = draw.integers(6, 1, 5)
    lead = draw.among([batch, heads], [batch])
    shapes = [queries, size], [keys, size], [keys, width]
    inputs = [draw.input(draw.values([*lead, *shape]), open_axes=draw.among([], [len(lead)])) for shape in shapes]
    if draw.chance():
        return layer("ScaledDotProductAttention", 13, *inputs, causal=draw.chance())
    mask = draw.values([*lead[draw.between(0, len(lead)) :], queries, keys])
    inputs.append(draw.either(draw.among(mask, (mask > 0) | (np.arange(keys) == 0))))
    inputs += [draw.either(np.float32(0.3))] if draw.chance() else []
    return layer("ScaledDotProductAttention", 13, *inputs, causal=False)


TABLE: dict[str, Configuration] = {"ScaledDotProductAttention": attention}


@pytest.mark.parametrize(("configuration", "seed"), configurations(TABLE))
def test_layer(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)
