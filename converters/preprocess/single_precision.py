"""Layers of an IR that OpenVINO computes in float32 on every processor.

Where a processor has bfloat16, the CPU plugin computes in it by default, and loses the lower bits of integers above 256.
A layer with the mark ``precise`` keeps float32.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from lxml import etree

_MARK = "precise"
_UNMARKED = ("Parameter", "Result")


def keep_single(path: Path, tensor: str, prefix: str) -> None:
    """Mark the layers that compute a tensor, or one whose name has a prefix, and all layers before them."""
    tree = etree.parse(path)
    layers = {layer.get("id"): layer for layer in tree.iterfind("./layers/layer")}
    seeds = [key for key, layer in layers.items() if any(name == tensor or name.startswith(prefix) for name in _names(layer))]
    for key in _with_ancestors(seeds, tree):
        for layer in (layers[key], *layers[key].iterfind(".//layer")):
            if layer.get("type") not in _UNMARKED:
                _mark(layer)
    tree.write(path)


def _names(layer: etree._Element) -> Iterator[str]:
    """Yield the names of a layer's outputs, which are joined by commas; those in a name are escaped."""
    for port in layer.iterfind("./output/port"):
        joined = str(port.get("names", "")).replace("\\,", "\0")
        yield from (name.replace("\0", ",") for name in joined.split(","))


def _with_ancestors(seeds: Iterable[str], tree: etree._ElementTree) -> set[str]:
    sources: dict[str, list[str]] = {}
    for edge in tree.iterfind("./edges/edge"):
        sources.setdefault(edge.get("to-layer"), []).append(edge.get("from-layer"))
    reached, waiting = set[str](), list(seeds)
    while waiting:
        key = waiting.pop()
        if key not in reached:
            reached.add(key)
            waiting += sources.get(key, [])
    return reached


def _mark(layer: etree._Element) -> None:
    notes = layer.find("rt_info")
    if notes is None:
        notes = etree.Element("rt_info")
        layer.insert(0 if layer.find("data") is None else 1, notes)
    if all(note.get("name") != _MARK for note in notes):
        etree.SubElement(notes, "attribute", name=_MARK, version="0")
