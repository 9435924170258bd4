"""What each key of each image processor does: the table that the sweep wrote, where transformers agreed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ir_interp
from tests.pipelines.key_effects import CHANGES, NOTHING, REFUSED, effects

EFFECTS = json.loads((Path(__file__).parent / "effects.json").read_text("utf-8"))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", EFFECTS)
def test_every_key(name: str) -> None:
    assert effects(name) == EFFECTS[name]


def test_every_class_is_in_the_table() -> None:
    with pytest.raises(ir_interp.ReadError, match=f"the class No is not supported; expected one of {len(EFFECTS)} "):
        ir_interp.pipeline({"image_processor_type": "No"})


def test_keys_that_were_once_ignored() -> None:
    assert EFFECTS["MobileViT"]["do_flip_channel_order"] == CHANGES
    assert EFFECTS["EfficientNet"]["include_top"] == CHANGES
    assert EFFECTS["CLIP"]["include_top"] == REFUSED
    assert EFFECTS["Segformer"]["do_pad"] == NOTHING
