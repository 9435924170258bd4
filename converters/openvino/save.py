"""Write OpenVINO models as IR files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import openvino as ov
from lxml import etree

from ir_interp.scratch import scratch

_EXACT = "exact constant"


def save(model: ov.Model, output: Path) -> None:
    """Write an IR, .xml and .bin, with every constant as it is."""
    ov.save_model(model, output, compress_to_fp16=False)
    output.with_suffix(".bin").touch()  # a model without constants leaves none


def save_half(model: ov.Model, output: Path, exact: Iterable[ov.Node]) -> None:
    """Write an IR whose constants are in half precision, but for those that ``exact`` names: scales, weights, indices.

    OpenVINO keeps what bears a mark that its Python interface cannot set, but that it reads from a file.
    """
    for index, constant in enumerate(exact):
        constant.set_friendly_name(f"{_EXACT} {index}")
    with scratch() as folder:
        marked = folder / "model.xml"
        save(model, marked)
        tree = etree.parse(marked)
        for layer in tree.iterfind(".//layer"):
            if str(layer.get("name")).startswith(_EXACT):
                notes = etree.Element("rt_info")
                etree.SubElement(notes, "attribute", name="precise", version="0")
                layer.insert(1, notes)
        tree.write(marked)
        ov.save_model(ov.Core().read_model(marked), output, compress_to_fp16=True)
    output.with_suffix(".bin").touch()
