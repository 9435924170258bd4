"""The metadata of an ONNX model in an IR: in the IR's own place for it, else where OpenVINO's frontend puts it."""

from __future__ import annotations

import json
import re
from contextlib import suppress

import onnx
import openvino as ov

_FRAMEWORK = "framework"
_SECTIONS = ("model_info", "runtime_options")
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""


def keep(model: ov.Model, source: onnx.ModelProto) -> None:
    """Copy the source's metadata into a model: its name, docs, metadata, and layouts and further names of its ends.

    The last are in the metadata of models that were IRs; the frontend copies metadata unchanged, and no name.
    """
    told = {each.key: _UNFIT.sub("\ufffd", each.value) for each in source.metadata_props}
    if source.graph.name:
        model.set_friendly_name(source.graph.name)
    ends = {name: end for end in (*model.inputs, *model.outputs) for name in end.names}
    for name, layout in _by_name(told.pop("layouts", "")).items():
        if name in ends and isinstance(layout, str):
            with suppress(RuntimeError):  # none, or of another rank
                ends[name].node.set_layout(ov.Layout(layout))
    for name, others in _by_name(told.pop("tensor_names", "")).items():
        if name in ends and isinstance(others, list):
            ends[name].add_names({str(each) for each in others})
    docs = _UNFIT.sub("\ufffd", source.doc_string)
    with suppress(KeyError):
        del model.get_rt_info()[_FRAMEWORK]
    for key, text in (told | ({"doc_string": docs} if docs else {})).items():
        section, _, rest = key.partition(".")
        model.set_rt_info(text, key.split(".") if section in _SECTIONS and rest else [_FRAMEWORK, key])


def _by_name(text: str) -> dict[str, object]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
