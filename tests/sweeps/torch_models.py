"""Vision architectures with random weights, as programs of PyTorch that are converted and proven.

    python -m tests.sweeps.torch_models FOLDER [--only TEXT]

writes each architecture into FOLDER as .pt2, static and with dynamic dimensions, converts it to .onnx and .xml, and
asks every exporter about its resizes. Results are kept as .json beside the programs; those that exist are not renewed.
Needs torch, onnxscript, torchvision, timm, segmentation-models-pytorch and transformers.

A result counts as wrong if it differs from the module itself, on inputs that no proof has seen; as undecided if last
bits decide the order of its TopK there.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ir_interp.files.writing import scratch
from tests.support.plain_runs import apart, outputs

Arrays: TypeAlias = Sequence[NDArray[Any]]
FORMS = {"static": (".onnx", ".xml"), "dynamic": (".xml",)}
"""Programs of each architecture, and what they become: an IR is made of the ONNX model, so it shows both."""
SUFFIXES = FORMS["static"]
TOLERANCE = 1e-3
"""The largest difference from the module, relative to the largest value: deep nets add up many rounded sums."""
LIMIT = 900
"""Seconds for the conversions of one program."""
_SMALL: dict[str, Any] = {"hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "intermediate_size": 128}
_STAGES: dict[str, Any] = {"embed_dim": 16, "depths": [1, 1, 1, 1], "num_heads": [1, 2, 4, 8], "window_size": 4}
_OUT: dict[str, Any] = {"out_features": ["stage1", "stage2", "stage3", "stage4"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Net:
    """An architecture: the function that builds it, the shapes of its images, and how much larger sizes differ.

    ``has_small_weights`` marks those whose initial weights let every signal vanish, so that nothing would differ.
    """

    build: Callable[[], Any]
    shapes: tuple[tuple[int, ...], ...] = ((1, 3, 64, 96),)
    step: int = 32
    forms: tuple[str, ...] = tuple(FORMS)
    has_small_weights: bool = False


def torchvision(path: str, **options: Any) -> Any:
    """A model of ``torchvision.models``."""
    module, name = f"torchvision.models.{path}".rsplit(".", 1)
    plain: dict[str, Any] = {} if "optical_flow" in path else {"weights_backbone": None}
    return getattr(importlib.import_module(module), name)(weights=None, **plain, **options)


def detector(path: str, **options: Any) -> Any:
    """A detector of torchvision from the resize of its image to its heads; torch cannot export the choice of boxes."""

    def run(net: Any, x: Any) -> Any:
        features = list(net.backbone(net.transform([x[0]])[0].tensors).values())
        return net.rpn.head(features) if hasattr(net, "rpn") else net.head(features)

    return _wrapped(torchvision(f"detection.{path}", **options), run)


def classifier() -> Any:
    """A classifier behind an antialiased resize."""
    import torch
    from torchvision.models import mobilenet_v3_small
    from torchvision.transforms import v2

    return torch.nn.Sequential(v2.Resize((64, 64), antialias=True), mobilenet_v3_small(weights=None))


def timm(name: str, **options: Any) -> Any:
    """A model of timm."""
    import timm

    return timm.create_model(name, pretrained=False, **options)


def pyramid(name: str, **options: Any) -> Any:
    """A feature pyramid over the features of a model of timm."""
    from torchvision.ops import FeaturePyramidNetwork

    features = timm(name, features_only=True, **options)
    neck = FeaturePyramidNetwork(features.feature_info.channels(), 32)
    channels_last = "swin" in name

    def run(nets: Any, x: Any) -> Any:
        levels = (level.permute(0, 3, 1, 2) if channels_last else level for level in nets[0](x))
        return list(nets[1]({str(place): level for place, level in enumerate(levels)}).values())

    import torch

    return _wrapped(torch.nn.ModuleList([features, neck]), run)


def sam_encoder() -> Any:
    """The image encoder of SAM in timm, whose relative positions are resized."""
    from timm.models.vision_transformer_sam import VisionTransformerSAM

    options: Any = {"use_rel_pos": True, "window_size": 4, "global_attn_indexes": (1,), "neck_chans": 32}
    return VisionTransformerSAM(img_size=96, embed_dim=64, depth=2, num_heads=4, **options)


def smp(name: str, encoder: str = "resnet18", **options: Any) -> Any:
    """A model of segmentation-models-pytorch."""
    import segmentation_models_pytorch

    model = getattr(segmentation_models_pytorch, name)
    return model(encoder_name=encoder, encoder_weights=None, classes=4, **options)


def transformers(name: str, configuration: str, *, call: dict[str, Any] | None = None, **options: Any) -> Any:
    """A model of transformers, from its configuration; ``call`` are further arguments of its forward method."""
    import transformers

    for key, value in options.items():
        if key == "backbone_config":
            kind, settings = value
            options = options | {key: getattr(transformers, kind)(**settings)}
    net = getattr(transformers, name)(getattr(transformers, configuration)(**options))
    return _wrapped(net, lambda net, x: net(pixel_values=x, **call)) if call else net


def _wrapped(net: Any, run: Callable[..., Any]) -> Any:
    """Return a module that calls another one."""
    import torch

    class Wrapped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def forward(self, image: Any) -> Any:
            return run(self.net, image)

    return Wrapped()


_SWIN = ("SwinConfig", _STAGES | _OUT | {"image_size": 64})
_DINO = ("Dinov2Config", _SMALL | {"image_size": 70, "patch_size": 14, "reshape_hidden_states": False} | _OUT)
_DETR: dict[str, Any] = {"encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "decoder_layers": 2, "num_queries": 10}
NETS: dict[str, Net] = {
    "tv_deeplabv3_mobilenet": Net(build=partial(torchvision, "segmentation.deeplabv3_mobilenet_v3_large")),
    "tv_fcn_resnet50": Net(build=partial(torchvision, "segmentation.fcn_resnet50")),
    "tv_lraspp": Net(build=partial(torchvision, "segmentation.lraspp_mobilenet_v3_large")),
    "tv_fasterrcnn": Net(build=partial(detector, "fasterrcnn_mobilenet_v3_large_320_fpn"), forms=("static",)),
    "tv_retinanet": Net(build=partial(detector, "retinanet_resnet50_fpn", min_size=100), forms=("static",)),
    "tv_fcos": Net(build=partial(detector, "fcos_resnet50_fpn", min_size=128), forms=("static",)),
    "tv_ssdlite": Net(build=partial(detector, "ssdlite320_mobilenet_v3_large"), forms=("static",)),
    "tv_raft_small": Net(
        build=partial(torchvision, "optical_flow.raft_small"), shapes=((1, 3, 128, 136),) * 2, forms=("static",)
    ),
    "tv_resize_classifier": Net(build=classifier, shapes=((1, 3, 90, 120),)),
    "timm_vit": Net(build=partial(timm, "vit_tiny_patch16_224", dynamic_img_size=True, depth=3)),
    "timm_eva02": Net(
        build=partial(timm, "eva02_tiny_patch14_224", dynamic_img_size=True, depth=3),
        shapes=((1, 3, 70, 98),),
        step=28,
    ),
    "timm_crossvit": Net(build=partial(timm, "crossvit_tiny_240"), shapes=((1, 3, 240, 240),), forms=("static",)),
    "timm_coat": Net(build=partial(timm, "coat_tiny", img_size=(64, 96)), forms=("static",)),
    "timm_mobilevitv2": Net(build=partial(timm, "mobilevitv2_050"), shapes=((1, 3, 72, 104),)),
    "timm_hrnet": Net(build=partial(timm, "hrnet_w18_small", features_only=True)),
    "timm_hiera": Net(build=partial(timm, "hiera_tiny_224", img_size=(96, 96)), shapes=((1, 3, 96, 96),)),
    "timm_sam_encoder": Net(build=sam_encoder, shapes=((1, 3, 96, 96),), forms=("static",)),
    "timm_resnetblur": Net(build=partial(timm, "resnetblur18", features_only=True)),
    "timm_fpn_convnext": Net(build=partial(pyramid, "convnext_atto")),
    "timm_fpn_swin": Net(
        build=partial(pyramid, "swin_tiny_patch4_window7_224", img_size=(64, 96), depths=(1, 1, 1, 1), embed_dim=24),
        forms=("static",),
    ),
    "timm_fpn_pvt": Net(build=partial(pyramid, "pvt_v2_b0")),
    **{
        f"smp_{name.lower()}": Net(build=partial(smp, name))
        for name in (
            "Unet", "UnetPlusPlus", "MAnet", "Linknet", "FPN", "PSPNet", "PAN", "DeepLabV3", "DeepLabV3Plus", "UPerNet",
            "Segformer",
        )
    },
    "smp_pan_large": Net(build=partial(smp, "PAN"), shapes=((1, 3, 128, 160),)),
    "smp_dpt": Net(
        build=partial(smp, "DPT", "tu-vit_tiny_patch16_224", dynamic_img_size=True), shapes=((1, 3, 96, 128),)
    ),
    "hf_segformer": Net(build=partial(transformers, "SegformerForSemanticSegmentation", "SegformerConfig")),
    "hf_glpn": Net(build=partial(transformers, "GLPNForDepthEstimation", "GLPNConfig")),
    "hf_vit": Net(
        build=partial(transformers, "ViTModel", "ViTConfig", call={"interpolate_pos_encoding": True}, **_SMALL)
    ),
    "hf_dinov2": Net(
        build=partial(transformers, "Dinov2Model", "Dinov2Config", **_SMALL), shapes=((1, 3, 70, 98),), step=28
    ),
    "hf_dinov2_registers": Net(
        build=partial(transformers, "Dinov2WithRegistersModel", "Dinov2WithRegistersConfig", **_SMALL),
        shapes=((1, 3, 70, 98),),
        step=28,
    ),
    "hf_siglip": Net(
        build=partial(
            transformers, "SiglipVisionModel", "SiglipVisionConfig", call={"interpolate_pos_encoding": True}, **_SMALL
        )
    ),
    "hf_dpt": Net(
        build=partial(
            transformers, "DPTForDepthEstimation", "DPTConfig", **_SMALL, image_size=64, patch_size=16,
            backbone_out_indices=[0, 1, 2, 3], neck_hidden_sizes=[16, 32, 48, 64], fusion_hidden_size=32,
            is_hybrid=False,
        ),
        shapes=((1, 3, 64, 64),),
        forms=("static",),
    ),
    "hf_depth_anything": Net(
        build=partial(
            transformers, "DepthAnythingForDepthEstimation", "DepthAnythingConfig", backbone_config=_DINO,
            reassemble_hidden_size=64, neck_hidden_sizes=[16, 32, 48, 64], fusion_hidden_size=32,
        ),
        shapes=((1, 3, 70, 98),),
        step=28,
    ),
    "hf_zoedepth": Net(
        build=partial(
            transformers, "ZoeDepthForDepthEstimation", "ZoeDepthConfig",
            backbone_config=("BeitConfig", _SMALL | _OUT | {
                "image_size": 64, "patch_size": 16, "reshape_hidden_states": False, "use_relative_position_bias": True,
            }),
            backbone_hidden_size=64, neck_hidden_sizes=[16, 32, 48, 64], fusion_hidden_size=32,
            bottleneck_features=32, num_relative_features=16,
        ),
        shapes=((1, 3, 64, 64),),
        has_small_weights=True,
    ),
    "hf_upernet": Net(
        build=partial(
            transformers, "UperNetForSemanticSegmentation", "UperNetConfig",
            backbone_config=("ConvNextConfig", {"hidden_sizes": [8, 16, 24, 32], "depths": [1] * 4} | _OUT),
            hidden_size=32, auxiliary_in_channels=24, auxiliary_channels=16,
        )
    ),
    "hf_mask2former": Net(
        build=partial(
            transformers, "Mask2FormerForUniversalSegmentation", "Mask2FormerConfig", backbone_config=_SWIN,
            hidden_dim=32, feature_size=32, mask_feature_size=32, encoder_layers=2, num_attention_heads=4,
            encoder_feedforward_dim=64, dim_feedforward=64, num_queries=10, decoder_layers=3,
        ),
        forms=("static",),
    ),
    "hf_maskformer": Net(
        build=partial(
            transformers, "MaskFormerForInstanceSegmentation", "MaskFormerConfig", backbone_config=_SWIN,
            fpn_feature_size=32, mask_feature_size=32,
        ),
        forms=("static",),
    ),
    "hf_beit": Net(
        build=partial(
            transformers, "BeitForSemanticSegmentation", "BeitConfig", **_SMALL, image_size=64, patch_size=16,
            use_relative_position_bias=True, out_indices=[1, 2, 3, 4],
        ),
        shapes=((1, 3, 64, 64),),
    ),
    "hf_mobilevit": Net(
        build=partial(
            transformers, "MobileViTForSemanticSegmentation", "MobileViTConfig", hidden_sizes=[32, 48, 64],
            neck_hidden_sizes=[8, 16, 24, 32, 48, 64, 96], num_labels=5,
        ),
        shapes=((1, 3, 72, 104),),
    ),
    "hf_mobilenetv2": Net(
        build=partial(transformers, "MobileNetV2ForSemanticSegmentation", "MobileNetV2Config", num_labels=5)
    ),
    "hf_swin2sr": Net(
        build=partial(
            transformers, "Swin2SRForImageSuperResolution", "Swin2SRConfig", image_size=32, embed_dim=24,
            depths=[1, 1], num_heads=[2, 2], window_size=4, upscale=4, upsampler="nearest+conv",
        ),
        shapes=((1, 3, 32, 40),),
        step=16,
    ),
    "hf_rtdetr": Net(
        build=partial(
            transformers, "RTDetrForObjectDetection", "RTDetrConfig", **_DETR, d_model=32, encoder_hidden_dim=32,
            backbone_config=("RTDetrResNetConfig", {
                "hidden_sizes": [16, 32, 48, 64], "depths": [1] * 4, "embedding_size": 16, "layer_type": "basic",
            } | {"out_features": ["stage2", "stage3", "stage4"]}),
            encoder_in_channels=[32, 48, 64], decoder_in_channels=[32, 32, 32],
        ),
        forms=("static",),
        has_small_weights=True,
    ),
    "hf_yolos": Net(
        build=partial(
            transformers, "YolosForObjectDetection", "YolosConfig", **_SMALL, image_size=[64, 64], patch_size=16,
            num_detection_tokens=10,
        )
    ),
    "hf_vitmatte": Net(
        build=partial(
            transformers, "VitMatteForImageMatting", "VitMatteConfig",
            backbone_config=("VitDetConfig", {
                "hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "image_size": 64,
                "num_channels": 4, "out_features": ["stage2"], "use_relative_position_embeddings": True,
            }),
            hidden_size=48, convstream_hidden_sizes=[8, 16, 24], fusion_hidden_sizes=[32, 16, 16, 8],
        ),
        shapes=((1, 4, 64, 96),),
        has_small_weights=True,
    ),
    "hf_sam_encoder": Net(
        build=partial(
            transformers, "SamVisionModel", "SamVisionConfig", hidden_size=48, num_hidden_layers=2,
            num_attention_heads=4, image_size=96, mlp_dim=64, output_channels=16, window_size=4,
            global_attn_indexes=[1],
        ),
        shapes=((1, 3, 96, 96),),
        forms=("static",),
    ),
}  # fmt: skip


def module(name: str) -> Any:
    """Return an architecture whose normalisations, biases and position codes are random, too."""
    import torch

    torch.manual_seed(sum(map(ord, name)))
    net = NETS[name].build().eval()
    with torch.no_grad():
        for path, tensor in chain(net.named_parameters(), net.named_buffers()):
            if not tensor.is_floating_point() or tensor.numel() == 0:
                continue
            if NETS[name].has_small_weights and tensor.ndim > 1:
                tensor /= max(tensor.std().item(), 1e-6) * np.sqrt(np.prod(tensor.shape[1:]))
            if path.endswith(("bias", "running_mean")):
                tensor.normal_(0, 0.1)
            elif "pos" in path.split(".")[-1] or "position" in path:
                tensor.normal_(0, 0.5)
            elif tensor.ndim <= 1 and "buffer" not in path and tensor.min() == tensor.max():
                tensor.uniform_(0.5, 1.5)
    return net


def write(name: str, folder: Path) -> None:
    """Write the programs of one architecture, each with inputs and the outputs of the module."""
    import torch
    from torch.utils import _pytree as pytree

    warnings.simplefilter("ignore")  # of torch and the libraries, about themselves
    net, kind = module(name), NETS[name]
    rng = np.random.default_rng(7)
    for form in kind.forms:
        path = folder / f"{name}.{form}.pt2"
        is_dynamic = form == "dynamic"
        images = tuple(torch.from_numpy(rng.random(shape, np.float32)) for shape in kind.shapes)
        sizes = tuple(dict.fromkeys((2, 3), torch.export.Dim.AUTO) for _ in images)
        try:
            program = torch.export.export(net, images, dynamic_shapes=sizes if is_dynamic else None)
            if is_dynamic and not program.range_constraints:
                print(f"{path.name}: not exported: no dimension is dynamic", file=sys.stderr)
                continue
            torch.export.save(program, path)
        except Exception as error:  # whatever torch raises for a model that it cannot trace
            text = (str(error).strip().splitlines() or [""])[0][:200]
            print(f"{path.name}: not exported: {type(error).__name__}: {text}", file=sys.stderr)
            continue
        larger = [
            (*shape[:2], *(length + kind.step * is_dynamic * (place + 1) for place, length in enumerate(shape[2:])))
            for shape in kind.shapes
        ]
        unseen = [rng.random(shape, np.float32) for shape in larger]
        with torch.inference_mode():
            outputs = pytree.tree_leaves(net(*map(torch.from_numpy, unseen)))
        arrays: dict[str, Any] = {f"input{place}": each for place, each in enumerate(unseen)}
        arrays |= {f"output{place}": each.numpy() for place, each in enumerate(outputs) if each is not None}
        np.savez(path.with_suffix(".npz"), **arrays)


def convert(source: Path) -> dict[str, Any]:
    """Convert a program to both targets, and ask the exporters; return the results."""
    import ir_interp

    result: dict[str, Any] = {"file": source.name}
    arrays = np.load(source.with_suffix(".npz"))
    inputs = [arrays[name] for name in arrays.files if name.startswith("input")]
    expected = [arrays[name] for name in arrays.files if name.startswith("output")]
    is_static = "static" in source.name
    for suffix in FORMS["static" if is_static else "dynamic"]:
        start = time.monotonic()
        output = source.with_suffix(suffix)
        verdict, note, changes = _converted(source, output, inputs)
        seconds = time.monotonic() - start
        difference = apart(list(outputs(output, inputs).values()), expected) if verdict == "proven" else None
        if difference is not None and not difference <= TOLERANCE:
            order = _undecided_order(output, inputs, expected)
            verdict = "undecided" if order else "wrong"
            note = f"{difference:.2g} from the module; {order or note}"
        result[suffix] = {"verdict": verdict, "note": note, "seconds": seconds, "difference": difference}
        result["changes"] = changes or result.get("changes", [])
    rows = ir_interp.load(source) if "not a program" not in result[".xml"]["note"] else []
    exporters = _by_exporter(ir_interp.audit(source).rows) if is_static and rows else {}
    return result | {"resizes": len(rows), "exporters": exporters}


def _converted(source: Path, output: Path, inputs: Arrays) -> tuple[str, str, list[str]]:
    """Return the verdict of a conversion, the note of its proof or the refusal, and the exporter's changes."""
    import ir_interp
    from ir_interp import IrInterpError, VerificationError

    try:
        report = ir_interp.convert(source, output)
    except VerificationError as error:
        is_named = any(text in str(error) for text in ("before conversion", "proves nothing"))
        return "refused" if is_named else "differs", str(error), []
    except (IrInterpError, ExceptionGroup) as error:
        return "refused", "; ".join(map(str, getattr(error, "exceptions", (error,)))), []
    except Exception as error:
        return "wrong", f"{type(error).__name__}: {error}", []
    changes = [note for note in report.notes if "exporter" in note]
    return ("proven", report.verification.note, changes) if report.verification else ("wrong", "no proof", changes)


def _undecided_order(model: Path, inputs: Arrays, expected: Arrays) -> str:
    """Return why last bits decide every difference from the module, as behind a TopK of equal scores; else nothing."""
    import ir_interp
    from ir_interp.converters.verify.graphs import read

    with scratch() as folder:
        files = {tensor.name: folder / f"{place}.npy" for place, tensor in enumerate(read(model).inputs)}
        for path, array in zip(files.values(), inputs, strict=True):
            np.save(path, array)
        compared = ir_interp.compare(model, reference=list(expected), inputs=files)
    ends = [output.compared for output in compared.outputs]
    return next((end.remark for end in ends if not end.is_conclusive), "") if all(end.passes for end in ends) else ""


def _by_exporter(rows: Iterable[Any]) -> dict[str, dict[str, int]]:
    """Return how often each exporter comes to each verdict on the resizes, by the resize's kind."""
    from ir_interp.converters.frameworks.programs.exporters import EXPORTERS

    counts: dict[str, Counter[str]] = {name: Counter() for name in EXPORTERS}
    for row in rows:
        for name, verdict in row.predictions.items():
            if name in counts:
                counts[name][f"{verdict.kind.value}: {verdict.reason}".strip(": ")] += 1
    return {name: dict(each) for name, each in counts.items()}


def results(folder: Path, only: str) -> Iterator[dict[str, Any]]:
    """Write and convert what is missing, each architecture and each program in a process of its own."""
    for form in FORMS:
        for name, net in NETS.items():
            if form in net.forms and only in f"{name}.{form}":
                yield _result(folder, name, folder / f"{name}.{form}.pt2")


def _result(folder: Path, name: str, program: Path) -> dict[str, Any]:
    this = [sys.executable, "-m", __spec__.name if __spec__ else __name__, str(folder)]
    log, report = folder / f"{name}.log", program.with_suffix(".json")
    if not log.exists():
        with log.open("w") as file:
            subprocess.run([*this, "--write", name], check=False, stdout=file, stderr=file)
    if not program.exists():
        lines = log.read_text().splitlines()
        return {"file": program.name, "not exported": next((x for x in lines if program.name in x), lines[-1:])}
    if not report.exists():
        try:
            subprocess.run([*this, "--convert", program.name], check=False, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return {"file": program.name, "failed": f"no result after {LIMIT} s"}
    return json.loads(report.read_text()) if report.exists() else {"file": program.name, "failed": "no result"}


def summary(reports: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the tables of the results."""
    yield "file | .onnx | .xml | resizes | changed"
    converted = [each for each in reports if ".xml" in each]
    for each in converted:
        cells = [
            f"{end['verdict']}, {end['seconds']:.0f} s" if (end := each.get(suffix)) else "" for suffix in SUFFIXES
        ]
        yield f"{each['file']} | {' | '.join(cells)} | {each['resizes']} | {len(each['changes'])}"
    for form, suffixes in FORMS.items():
        for suffix in suffixes:
            verdicts = Counter(each[suffix]["verdict"] for each in converted if form in each["file"])
            yield f"{form} to {suffix}: {dict(verdicts)}"
    counts: dict[str, Counter[str]] = {}
    for each in reports:
        for name, verdicts in each.get("exporters", {}).items():
            counts.setdefault(name, Counter()).update(verdicts)
    for name, total in counts.items():
        yield f"{name}:"
        yield from (f"{count:6} {verdict}" for verdict, count in total.most_common())


def main() -> None:
    """Write the programs that are missing, and convert all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="only programs whose name contains this text")
    parser.add_argument("--write", help="write only this architecture")
    parser.add_argument("--convert", help="convert only this program")
    arguments = parser.parse_args()
    folder = arguments.folder
    folder.mkdir(exist_ok=True)
    if arguments.write:
        write(arguments.write, folder)
    elif arguments.convert:
        path = folder / arguments.convert
        path.with_suffix(".json").write_text(json.dumps(convert(path), indent=1))
    else:
        reports = []
        for report in results(folder, arguments.only):
            reports.append(report)
            for suffix in SUFFIXES:
                if suffix in report:
                    print(f"{report[suffix]['verdict']:8} {report['file']} to {suffix}: {report[suffix]['note']}")
            if ".xml" not in report:
                print(report)
            sys.stdout.flush()
        print("\n".join(summary(reports)))


if __name__ == "__main__":
    main()
