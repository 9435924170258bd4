"""Programs that PyTorch exported: their resizes, and what its ONNX exporter makes of them, against PyTorch itself."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

import ir_interp
from ir_interp import IrInterpError, ReadError, SpecError
from ir_interp.converters.audit.auditing import models
from ir_interp.converters.frameworks.programs import exporters
from ir_interp.converters.frameworks.programs.exporters import EXPORTERS
from ir_interp.converters.runtimes.outcome import Kind
from ir_interp.errors import UnsupportedLayerError
from ir_interp.options.model_options import Exporter
from ir_interp.specs import AtRunTime
from tests.support.commands import command

torch: Any = pytest.importorskip("torch", reason="pip install 'ir-interp[torch]'")
pytest.importorskip("onnxscript", reason="pip install 'ir-interp[torch]'")

aten, interpolate = torch.ops.aten, torch.nn.functional.interpolate
CONFIGURATION = {
    "image_processor_type": "ViTImageProcessor", "do_resize": True, "size": {"height": 24, "width": 24}, "resample": 2,
    "do_rescale": True, "rescale_factor": 1 / 255,
    "do_normalize": True, "image_mean": [0.5] * 3, "image_std": [0.5] * 3,
}  # fmt: skip
X = np.random.default_rng(3).random((1, 2, 20, 21), np.float32)
X_TENSOR, FACTOR = torch.from_numpy(X), torch.tensor([2.5])


class Net(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def program(module: Any, x: NDArray[Any] = X, dynamic: Any = None) -> Any:
    module = module if isinstance(module, torch.nn.Module) else Net(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, about itself
        return torch.export.export(module.eval(), (torch.from_numpy(x),), dynamic_shapes=dynamic)


def saved(name: str, *arguments: Any) -> str:
    torch.export.save(program(*arguments), name)
    return name


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_torch_script_is_named() -> None:
    with zipfile.ZipFile("net.pt2", "w") as file:
        file.writestr("net/code/__torch__.py", "")
    problem = "it is TorchScript, which torch.jit.save wrote; export the module by torch.export.export"
    with pytest.raises(ReadError, match=f"^net.pt2: not a program as torch.export.save writes it: {problem}$"):
        ir_interp.load("net.pt2")


class Calls(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return [
            interpolate(x, scale_factor=1.3, mode="bilinear"),
            interpolate(x, size=(7, 45), mode="bilinear", align_corners=True),
            interpolate(x, scale_factor=0.6, mode="bilinear", antialias=True),
            interpolate(x, size=(7, 9), mode="bicubic", antialias=True),
            interpolate(x, scale_factor=(1.7, 0.3), mode="bicubic"),
            interpolate(x, scale_factor=1.7, mode="nearest"),
            interpolate(x, scale_factor=0.7, mode="nearest-exact"),
            interpolate(x, scale_factor=0.7, mode="nearest", recompute_scale_factor=True),
            interpolate(x, size=(8, 5), mode="area"),
            interpolate(x[0], scale_factor=1.5, mode="linear"),
            interpolate(x[None], scale_factor=(1, 2, 1.5), mode="trilinear"),
            aten.upsample_bilinear2d.default(x, [26, 27], False, 1.3, 1.3),
            aten._upsample_nearest_exact2d.default(x, [26, 30]),
            torch.nn.Upsample(scale_factor=2)(x),
        ]


def line(module: type, place: int) -> str:
    """Return the place of a line of a module's forward, counted from its def."""
    return f"program.pt2:test_programs.py:{module.forward.__code__.co_firstlineno + place}"  # type: ignore[attr-defined]


def test_each_call_computes_as_pytorch() -> None:
    both = program(Calls())
    ops, outputs = ir_interp.load(both), both.module()(torch.from_numpy(X))
    assert [op.where for op in ops] == [line(Calls, 2 + place) for place in range(len(outputs))]
    for op, expected in zip(ops, outputs, strict=True):
        shaped = X.reshape([length or 0 for length in op.shape or ()])
        np.testing.assert_allclose(op.run(shaped), expected.numpy(), rtol=0, atol=1e-5, err_msg=op.where)


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (
            lambda x: aten.upsample_bilinear2d.default(x, [26, 30], False, 1.3, 1.3),
            "sizes 26x30 beside scales [1.3, 1.3]; expected one of them",
        ),
        (
            lambda x: aten.upsample_bilinear2d.default(x, [26, 27], False, 1.3, None),
            "scales of some axes only; expected all of them, or none",
        ),
    ],
)
def test_calls_that_interpolate_never_makes(call: Any, problem: str) -> None:
    with pytest.raises(UnsupportedLayerError, match=r"^program.pt2:test_programs.py:\d+: ") as error:
        ir_interp.load(program(call))
    assert error.value.problem == problem


class Dynamic(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return {"out": interpolate(x.relu() * 3, size=(x.shape[-2] * 2, x.shape[-1] + 5), mode="bilinear")}


def test_a_dynamic_program_equals_its_ir_and_model(capsys: pytest.CaptureFixture[str]) -> None:
    dims = ({0: torch.export.Dim("batch"), 2: torch.export.Dim("height"), 3: torch.export.Dim("width")},)
    file = saved("program.pt2", Dynamic(), np.concatenate([X, X]), dims)
    (op,) = ir_interp.load(file)
    place = line(Dynamic, 1)
    assert (op.where, op.shape, op.spec.target) == (place, (None, 2, None, None), AtRunTime.SIZES)
    code, printed, errors = command(capsys, "convert", file, "net.xml", "--shape", "2,2,9,8")
    assert (code, errors) == (0, "")
    assert "\nbefore conversion the model is equal to program.pt2 within " in printed
    report = ir_interp.convert(file, "net.onnx", verify=False)
    (x,) = onnx.load("net.onnx").graph.input
    assert [dim.dim_value for dim in x.type.tensor_type.shape.dim] == [0, 2, 0, 0]
    assert [row.source.where for row in report.rows] == [place]
    assert ir_interp.compare(file, "net.onnx", shapes={"x": (2, 2, 9, 8)}).passes
    code, printed, _ = command(capsys, "inspect", file)
    assert "input       x: float32 ?x2x?x?\noutput      upsample_bilinear2d: float32 ?x2x?x?\n" in printed


class Changed(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return interpolate(x, scale_factor=0.6, mode="bilinear", antialias=True)


def test_what_the_exporter_changes_is_named_with_its_line_and_repaired() -> None:
    where = line(Changed, 1)
    change = f"{where}: PyTorch's exporter changed this resize: axes [2, 12], [3, 12] (needed: [2, 0.6], [3, 0.6])"
    report = ir_interp.convert(program(Changed()), "net.onnx")
    assert not report.rows
    assert report.notes[0].startswith(change)
    assert "; repaired: Resize-19 -> Resize-19: " in report.notes[0]
    assert report.verification is not None
    assert ir_interp.compare("net.onnx", program(Changed()), seed=1).passes
    assert ir_interp.convert(program(Changed()), "net.xml").rows
    (row,) = ir_interp.audit(program(Changed())).rows
    assert (row.op.where, row.op.name) == (where, ir_interp.load(program(Changed()))[0].name)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
def test_changed_sums_are_repaired_for_every_size(mode: str, antialias: bool) -> None:
    class Scaled(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return interpolate(x, scale_factor=1.3, mode=mode, antialias=antialias)

    auto = torch.export.Dim.AUTO
    exported = torch.export.export(Scaled(), (torch.from_numpy(X),), dynamic_shapes={"x": {2: auto, 3: auto}})
    report = ir_interp.convert(exported, "net.onnx")
    assert "; repaired: Resize-19 -> weighted sums along axes 2, 3, indices at run time" in report.notes[0]
    assert ir_interp.compare("net.onnx", exported, shapes={"x": (1, 2, 31, 17)}).passes


class Copied(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return interpolate(x, scale_factor=0.6)


def test_changed_copies_are_repaired() -> None:
    assert "; repaired: Resize-19 -> copies along axes 2, 3" in ir_interp.convert(program(Copied()), "a.onnx").notes[0]
    auto = torch.export.Dim.AUTO
    exported = torch.export.export(Copied(), (torch.from_numpy(X),), dynamic_shapes={"x": {2: auto, 3: auto}})
    report = ir_interp.convert(exported, "net.onnx")
    assert f"{line(Copied, 1)}: PyTorch's exporter changed this resize: axes " in report.notes[0]
    assert "; repaired: Resize-19 -> copies along axes 2, 3, indices at run time" in report.notes[0]


def test_half_weights_are_compared_with_those_in_full_precision() -> None:
    report = ir_interp.convert(program(torch.nn.Conv2d(2, 3, 3)), "net.xml", fp16=True)
    assert report.verification is not None
    assert "; before conversion the model is equal to program.pt2 within " in f"; {report.verification.note}"


class Others(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        mean = torch.nn.functional.adaptive_avg_pool2d(x, 1)
        sampled = torch.nn.functional.grid_sample(x, torch.full((1, 3, 3, 2), 0.3), align_corners=False)
        return interpolate(x, size=(5, 7), mode="area"), sampled, mean


def test_what_is_no_resize_is_proven_too() -> None:
    report = ir_interp.convert(program(Others()), "net.onnx")
    assert report.notes == (
        f"{line(Others, 3)}: PyTorch's exporter wrote other operations than a Resize",
        f"{line(Others, 2)}: grid_sample takes positions from a tensor, so it is no resize",
    )
    assert report.verification is not None
    assert report.verification.note.startswith("before conversion the model is equal to program.pt2 within ")


class Branches(torch.nn.Module):
    def forward(self, x: Any, count: int, *, y: Any) -> Any:
        both = (lambda x: interpolate(x, size=(5, 9)), lambda x: interpolate(x, size=(5, 9), mode="bicubic"))
        return {"b": (torch.cond(x.mean() > 0, *both, (x,)) * count, None), "a": y["z"][0] + 1}


def test_every_kind_of_argument_and_branch() -> None:
    x = torch.from_numpy(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export(Branches(), (x, 3), {"y": {"z": [x]}})
    assert [op.where for op in ir_interp.load(exported)] == [line(Branches, 2)] * 2
    report = ir_interp.convert(exported, "net.onnx")
    assert [row.name for row in report.rows] == ["node_upsample_nearest2d", "node_upsample_bicubic2d"]
    assert report.verification is not None
    assert report.verification.note.startswith("before conversion the model is equal to program.pt2 within ")


def test_sizes_that_a_program_refuses() -> None:
    dims = ({2: torch.export.Dim("height", min=18, max=30)},)
    bounded = program(lambda x: interpolate(x, scale_factor=2), dynamic=dims)
    with pytest.raises(
        IrInterpError,
        match=r"^program.pt2 fails on inputs of shape \[1, 2, 64, 21\]: .*; choose sizes that suit the model, as in "
        r"shapes={'x': \(1, 2, 20, 21\)}$",
    ):
        ir_interp.convert(bounded, "net.onnx")
    assert ir_interp.convert(bounded, "net.onnx", shapes={"x": (1, 2, 19, 21)}).verification is not None


def test_files_that_are_no_programs(capsys: pytest.CaptureFixture[str]) -> None:
    Path("text.pt2").write_text("text", encoding="utf-8")
    np.savez("arrays.npz", x=X)
    Path("arrays.npz").rename("arrays.pt2")
    for name, problem in (
        ("text.pt2", "not a program as torch.export.save writes it: File is not a zip file"),
        ("none.pt2", "cannot be read: No such file or directory"),
    ):
        assert command(capsys, "inspect", name) == (2, "", f"error: {name}: {problem}\n")
    with pytest.raises(ReadError, match=r"^arrays.pt2: not a program as torch.export.save writes it: "):
        ir_interp.load("arrays.pt2")


class Labelled:
    """A container as those of transformers, which registers them when it is imported."""

    def __init__(self, values: Any, names: Any) -> None:
        self.values, self.names = list(values), list(names)


class Contained(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return Labelled([x + 1, Labelled([interpolate(x, scale_factor=2)], ["small"])], ["mask", "others"])


def test_containers_whose_package_is_not_imported() -> None:
    pytree = torch.utils._pytree
    pytree.register_pytree_node(
        Labelled, lambda each: (each.values, each.names), Labelled, serialized_type_name="package.module.Labelled"
    )
    try:
        file = saved("program.pt2", Contained())
    finally:
        pytree._deregister_pytree_node(Labelled)
    for exporter in Exporter:
        assert ir_interp.convert(file, "net.onnx", exporter=exporter).verification is not None
    assert [op.where for op in ir_interp.load(file)] == [line(Contained, 1)]


class Scaled(torch.nn.Module):
    def forward(self, x: Any, *, factor: Any = 1.0) -> Any:
        return interpolate(x, scale_factor=1.3, mode="bilinear") * factor


@pytest.mark.parametrize("place", range(8))
def test_a_module_with_its_inputs_is_a_program(place: int) -> None:
    x = torch.from_numpy(X)
    inputs = (x, (x,), {"x": x, "factor": torch.rand(1)}, [x], X, (X,), X.shape, {"x": list(X.shape)})[place]
    module = Scaled().eval(), inputs
    assert [op.where for op in ir_interp.load(module)] == [line(Scaled, 1)]
    for name in ("net.onnx", "net.xml"):
        report = ir_interp.convert(module, name)
        assert (report.source, report.verification is not None) == (Path("program.pt2"), True)
        assert ir_interp.compare(name, module, seed=1).passes
        assert ir_interp.compare(name, reference=module, seed=1).passes
    assert len(ir_interp.audit([module, module]).rows) == 2


@pytest.mark.filterwarnings("ignore")  # of the exporter
def test_an_onnx_program_is_proven_against_its_exported_program() -> None:
    onnx_program = torch.onnx.export(Scaled().eval(), (torch.from_numpy(X),), dynamo=True, verbose=False)
    for name in ("net.onnx", "net.xml"):
        assert ir_interp.convert(onnx_program, name).verification is not None
        assert ir_interp.compare(name, reference=onnx_program, seed=1).passes
    assert [op.spec for op in ir_interp.load(onnx_program)] == [op.spec for op in ir_interp.load([Scaled().eval(), X])]


class Twice(torch.nn.Module):
    def forward(self, image: torch.Tensor, factor: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if image.shape[-1] > 30:
            image = image[..., :30]
        image = interpolate(image * factor, scale_factor=[2.0, 2.0], mode="bilinear")
        return image, interpolate(image, size=[7, 9], mode="bicubic", align_corners=True)


def scripted(module: Any, inputs: Any = None) -> Any:
    """Return a module as TorchScript: compiled, or traced on inputs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.export is meant to replace it
        return torch.jit.script(module.eval()) if inputs is None else torch.jit.trace(module.eval(), inputs)


@pytest.mark.parametrize("traced_on", [None, (X_TENSOR, FACTOR)])
@pytest.mark.parametrize("inputs", [(X_TENSOR, FACTOR), {"factor": FACTOR, "image": X_TENSOR}])
def test_torch_script_with_its_inputs(traced_on: Any, inputs: Any) -> None:
    """TorchScript itself is the reference: whether the operations that it ran are all of them is what may be wrong."""
    module = scripted(Twice(), traced_on)
    with torch.inference_mode():
        expected = [output.numpy() for output in module(X_TENSOR, FACTOR)]
    for name in ("net.onnx", "net.xml"):
        report = ir_interp.convert((module, inputs), name)
        assert [row.source.spec.kernel.word for row in report.rows] == ["linear", "cubic"]
        assert not report.notes or not any("other operations" in note for note in report.notes)
        arrays = {"image": X, "factor": FACTOR.numpy()}
        for key, array in arrays.items():
            np.save(f"{key}.npy", array)
        files = {key: f"{key}.npy" for key in arrays}
        assert ir_interp.compare(name, reference=expected, inputs=files).passes


@pytest.mark.parametrize(("dtype", "name"), [("float64", "net.onnx"), ("float64", "net.xml"), ("bfloat16", "net.xml")])
def test_types_that_onnxruntime_has_no_kernels_for(dtype: str, name: str) -> None:
    """torch.onnx writes them, but nothing runs its model; OpenVINO's frontend is the way on."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.Upsample(scale_factor=1.7, mode="bicubic"))
    kind = getattr(torch, dtype)
    report = ir_interp.convert((module.eval().to(kind), X_TENSOR.to(kind)), name)
    assert report.notes[0] == "written by exporter openvino"
    assert report.verification is not None
    assert "before conversion the model is equal to program.pt2 within " in report.verification.note
    with pytest.raises(IrInterpError, match="does not run"):
        ir_interp.convert((module, X_TENSOR.to(kind)), name, exporter="dynamo")


class Guarded(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if x.sum() > 0 else -x


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (Scaled(), "source is a torch module; pass it with its inputs, as in (module, torch.rand(1, 3, 64, 64))"),
        (
            (Scaled(), torch.rand(1)),
            "the module is in training mode, in which layers such as dropout are random; call .eval() first",
        ),
        (
            (Scaled().eval(), "x"),
            "the inputs of the module are 'x'; expected a tensor, an array, a shape, a tuple of arguments, or a dict "
            "of keyword arguments",
        ),
        ((Scaled().eval(), {}), "program.pt2: PyTorch cannot export the module: missing a required argument: 'x'"),
        ((Guarded().eval(), torch.rand(1)), "program.pt2: PyTorch cannot export the module: Could not guard on data"),
        (
            (scripted(Guarded()), torch.rand(1)),
            "program.pt2: PyTorch cannot export the module: The following operation failed in the TorchScript",
        ),
    ],
)
def test_modules_that_are_no_programs(source: Any, problem: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(IrInterpError, match=f"^{re.escape(problem)}"):
        ir_interp.load(source)
    with pytest.raises(IrInterpError):
        ir_interp.convert(source, "net.onnx")
    assert not Path("net.onnx").exists()
    assert capfd.readouterr() == ("", "")


def test_programs_have_no_graph_to_compare_with_each_other() -> None:
    for arguments in ({"second": "b.pt2"}, {"reference": lambda x: x}):
        with pytest.raises(SpecError, match=r"^\w.pt2 is a reference itself, which its own framework runs; "):
            ir_interp.compare("a.pt2", **arguments)


@pytest.mark.parametrize("by_name", [True, False])
def test_a_program_against_saved_outputs(by_name: bool, capsys: pytest.CaptureFixture[str]) -> None:
    module = Net(lambda x: [interpolate(x, scale_factor=1.3, mode="bilinear"), x.mean()])
    saved("net.pt2", module)
    first, second = (output.numpy() for output in module(X_TENSOR))
    names = ("upsample_bilinear2d", "mean") if by_name else ("a", "b")
    np.savez("right.npz", x=X, **dict(zip(names, (first, second), strict=True)))
    np.savez("wrong.npz", x=X, **dict(zip(names, (first + 0.01, second), strict=True)))
    np.savez("outputs.npz", **dict(zip(names, (first, second), strict=True)))
    np.save("x.npy", X)
    assert ir_interp.compare("net.pt2", reference="right.npz").passes
    assert ir_interp.compare(program(module), reference="outputs.npz", inputs={"x": "x.npy"}).passes
    report = ir_interp.compare("net.pt2", reference="wrong.npz")
    assert [output.compared.passes for output in report.outputs] == [False, True]
    assert ir_interp.compare("net.pt2", reference="wrong.npz", tolerance=0.1).passes
    with pytest.raises(IrInterpError, match=r"^outputs.npz holds the outputs of certain inputs; pass them, as in inp"):
        ir_interp.compare("net.pt2", reference="outputs.npz")
    code, printed, _ = command(capsys, "compare", "net.pt2", "wrong.npz")
    assert code == 1
    assert "net.pt2" in printed
    assert command(capsys, "compare", "net.pt2", "outputs.npz", "--input", "x.npy")[0] == 0


def test_without_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("net.pt2").touch()
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(IrInterpError, match=r"^net.pt2: needs PyTorch: pip install 'ir-interp\[torch\]'$"):
        ir_interp.load("net.pt2")


def test_programs_are_opened_only_by_name() -> None:
    Path("folder").mkdir()
    for name in ("net.pt2", "net.onnx"):
        Path("folder", name).touch()
    assert models([Path("folder")]) == [Path("folder/net.onnx")]
    assert models([Path("folder/net.pt2")]) == [Path("folder/net.pt2")]


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
@pytest.mark.parametrize("is_conversion", [True, False])
def test_preprocessing_in_front(suffix: str, is_conversion: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """One command makes a model that takes photos, from the program and the configuration of its training."""
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Upsample(scale_factor=2, mode="bilinear"))
    torch.export.save(program(model, np.zeros((1, 3, 24, 24), np.float32)), "net.pt2")
    Path("config.json").write_text(json.dumps(CONFIGURATION))
    if is_conversion:
        flags = ["--preprocess", "config.json:pil", "--image-size", "40,50"]
        code, printed, _ = command(capsys, "convert", "net.pt2", f"net{suffix}", *flags)
        assert "input 'image' takes uint8 [40, 50, 3]; ViTImageProcessor (pil backend) computes 'input'" in printed
        assert "before conversion the model is equal to net.pt2 behind ViTImageProcessor (pil backend) with" in printed
    else:
        flags = ["--config", "config.json", "--backend", "pil", "--image-size", "40,50"]
        code, printed, _ = command(capsys, "preprocess", "net.pt2", f"net{suffix}", *flags)
        assert printed == f"wrote net{suffix}: input 'image', uint8 [40, 50, 3]\n"
    assert code == 0
    np.save("x.npy", np.random.default_rng(0).integers(0, 256, (40, 50, 3), np.uint8))
    pipeline = ir_interp.pipeline("config.json", backend="pil")
    assert ir_interp.compare(
        f"net{suffix}",
        reference=lambda x: model(torch.from_numpy(pipeline(x)[None])),
        inputs={"image": "x.npy"},
    ).passes


class Merged(torch.nn.Module):
    """An image and a mask, which stays an input."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 2, 3)

    def forward(self, mask: Any, image: Any) -> Any:
        return interpolate(self.conv(image), size=(9, 8), mode="bilinear") * mask


def test_options_of_a_conversion_with_preprocessing() -> None:
    """Those of the program apply to it, those of the result to that; every input but the image stays."""
    Path("config.json").write_text(json.dumps(CONFIGURATION))
    image = torch.from_numpy(np.random.default_rng(1).random((1, 3, 24, 24), np.float32))
    module = Merged().eval(), (torch.rand(1, 1, 9, 8), image)
    options: Any = {"image_size": (31, 40), "exporter": "torchscript", "fp16": True, "only": "decomposed", "seed": 3}
    with pytest.raises(ReadError, match=r"^program.onnx: 2 inputs; name that of the images"):
        ir_interp.convert(module, "net.xml", preprocess="config.json:pil", **options)
    assert not Path("net.xml").exists()
    report = ir_interp.convert(module, "net.xml", preprocess="image=config.json:pil", **options)
    (row,) = report.rows
    assert not row.form.startswith("openvino")
    assert report.verification is not None
    assert "compared with weights in half precision" in report.verification.outputs[0].remark
    pipeline = ir_interp.pipeline("config.json", backend="pil")
    assert ir_interp.compare(
        "net.xml",
        reference=lambda mask, x: module[0](torch.from_numpy(mask), torch.from_numpy(pipeline(x)[None])),
        tolerance=1e-2,
    ).passes


class Exported(torch.nn.Module):
    """Calls that exporters change, refuse, or write as other operations."""

    def forward(self, x: Any) -> Any:
        return [
            interpolate(x, size=(1, 30), mode="bicubic"),
            interpolate(x, scale_factor=1.001, mode="bilinear"),
            interpolate(x, size=(9, 9), mode="bilinear", antialias=True),
            interpolate(x, size=(33, 8), mode="nearest-exact"),
        ]


def test_what_each_exporter_makes_of_a_resize(capfd: pytest.CaptureFixture[str]) -> None:
    """They are asked, not predicted, so the answers are those of the installed releases."""
    rows = ir_interp.audit(program(Exported())).rows
    made = [{name: str(each) for name, each in row.predictions.items() if name in EXPORTERS} for row in rows]
    cubic, copied, antialiased, exact = made
    assert cubic["torch-dynamo"] == cubic["torch-script"] == "same"
    assert re.fullmatch(
        r"differs by 0\.\d+: coordinates pytorch_half_pixel \(needed: half_pixel\)", cubic["openvino-pytorch"]
    )
    assert copied["torch-dynamo"].startswith("differs: axes")
    assert copied["torch-script"] == copied["openvino-pytorch"] == "same"
    assert antialiased["torch-dynamo"] == (
        "same: onnxscript 0.2.0: refused, onnxscript 0.6.2: differs by up to 0.05, "
        "onnxscript 0.7.0: differs by up to 0.05"
    )
    assert antialiased["torch-script"].startswith("refused: Exporting the operator 'aten::_upsample_bilinear2d_aa'")
    assert antialiased["openvino-pytorch"] == (
        "refused: No conversion rule found for operations: aten._upsample_bilinear2d_aa.default"
    )
    assert exact["torch-dynamo"] == "same: as other operations"
    assert list(rows[-1].titles) == [name for name, each in EXPORTERS.items() if each.is_installed]
    assert capfd.readouterr() == ("", "")


def test_verdicts_on_several_resizes_are_those_on_each_alone() -> None:
    """Exporters are asked for all resizes of one operation at once, if none of them differs."""
    calls = [
        {"size": (5, 9), "mode": "bilinear"},
        {"size": (40, 21), "mode": "bilinear"},
        {"size": (5, 9), "mode": "bicubic"},
        {"size": (1, 30), "mode": "bicubic"},  # which OpenVINO's frontend reads as other coordinates
        {"size": (5, 7), "mode": "area"},
        {"size": (10, 7), "mode": "area"},
    ]

    def verdicts(*chosen: Any) -> list[dict[str, str]]:
        rows = ir_interp.audit(program(lambda x: [interpolate(x, **call) for call in chosen])).rows
        kinds = [{name: row.predictions[name] for name in EXPORTERS if name in row.predictions} for row in rows]
        return [{name: f"{each.kind.value} {each.reason}" for name, each in known.items()} for known in kinds]

    together = verdicts(*calls)
    assert together == [verdict for call in calls for verdict in verdicts(call)]
    assert together[3]["openvino-pytorch"].startswith("differs ")
    assert {each["torch-script"] for each in together[4:]} == {"same as other operations"}


def test_an_exporter_without_its_package_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = replace(EXPORTERS["torch-script"], package="no_such_package")
    monkeypatch.setattr(exporters, "EXPORTERS", {"absent": absent})
    (row,) = ir_interp.audit(program(Alone())).rows
    assert row.predictions.keys().isdisjoint({"absent", "torch-script"})


class Counting(torch.nn.Module):
    """A module that changes with each call."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: Any) -> Any:
        self.calls[:1].add_(1)
        return interpolate(x, size=(7, 8), mode="bilinear") + self.calls


@pytest.mark.parametrize("exporter", ["dynamo", "torchscript", "openvino"])
def test_a_program_that_changes_is_refused(exporter: str) -> None:
    """Its conversion would be proven: a first run equals that of the program."""
    changing = program(Counting())
    with pytest.raises(IrInterpError, match=r"the program changes its buffers \(calls\), which a model does not keep"):
        ir_interp.convert(changing, "net.xml", exporter=exporter, verify=False)
    ir_interp.convert(program(Alone()), "net.onnx")
    with pytest.raises(IrInterpError, match=r"^reference: the program changes its buffers \(calls\)"):
        ir_interp.compare("net.onnx", reference=changing)


class CopyingBuffer(torch.nn.Module):
    """A module that writes a copy of its buffer, of another element type."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("offset", torch.full((1,), 2, dtype=torch.int32))

    def forward(self, x: Any) -> Any:
        return interpolate(x, size=(7, 8), mode="bilinear") + self.offset.to(torch.float32).add_(1)


@pytest.mark.parametrize("exporter", ["dynamo", "openvino"])
def test_a_copied_buffer_may_be_written(exporter: str) -> None:
    assert ir_interp.convert(program(CopyingBuffer()), "net.xml", exporter=exporter).verification is not None


class Alone(torch.nn.Module):
    """One resize."""

    def forward(self, x: Any) -> Any:
        return interpolate(x, scale_factor=1.3, mode="bilinear")


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("executorch", "same"),
        ("litert-torch", r"differs by 0\.\d+"),  # litert-torch 0.10 drops scale_factor
        ("coremltools", "refused: recompute_scale_factor = False, align_corners = False with float output size .*"),
    ],
)
def test_exporters_with_runtimes_of_their_own(name: str, verdict: str) -> None:
    if not EXPORTERS[name].is_installed:
        pytest.skip(f"pip install {name}")
    (row,) = ir_interp.audit(program(Alone())).rows
    assert re.fullmatch(verdict, str(row.predictions[name]))


class Attention(torch.nn.Module):
    """Attention whose output is viewed, though its strides depend on the code; without a batch; and with windows."""

    def forward(self, x: Any) -> Any:
        attention = torch.nn.functional.scaled_dot_product_attention
        y, x = x.reshape(1, 20, 2, 21).transpose(1, 2), x[0]
        z = x.reshape(1, 2, 2, 10, 21)
        plain, windowed = attention(x, x * 2, x, x @ x.mT) + 1, attention(z, z * 2, z) + 1
        return attention(y, y, y).transpose(1, 2).view(1, 20, 42), plain, windowed


@pytest.mark.parametrize("exporter", ["dynamo", "openvino"])
def test_attention_is_exported_with_any_strides_and_rank(exporter: str) -> None:
    report = ir_interp.convert(program(Attention()), "net.onnx", exporter=exporter)
    assert report.verification is not None
    assert "Identity" not in (report.operations.after or {})


class Unknown(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        return tuple(torch.linalg.eigh(x[..., :20]))  # torch 2.14 does not save its own type


@pytest.mark.parametrize(
    ("exporter", "place"), [("dynamo", "program.pt2:node[_linalg_eigh]: "), ("torchscript", "program.pt2: ")]
)
def test_a_refusal_of_the_chosen_exporter_names_the_line_and_the_way_on(exporter: str, place: str) -> None:
    with pytest.raises(ReadError, match=r": PyTorch cannot export it to ONNX: .*; without exporter, each is") as error:
        ir_interp.convert(program(Unknown()), "net.onnx", exporter=exporter)
    assert str(error.value).startswith(place)


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
def test_what_every_exporter_refuses_has_every_reason(suffix: str) -> None:
    with pytest.raises(ReadError) as error:
        ir_interp.convert(program(Unknown()), f"net{suffix}")
    for reason in ("No ONNX function found", "exporter torchscript: ", "exporter openvino: "):
        assert str(error.value).count(reason) == 1
    assert not Path(f"net{suffix}").exists()


def test_exporters_are_tried_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which operations an exporter lacks changes with its release, so failures are made here."""
    export = torch.onnx.export

    def failing(*args: Any, dynamo: bool, **options: Any) -> Any:
        if dynamo or is_traced_refused:
            raise RuntimeError("an operation without a translation")
        return export(*args, dynamo=dynamo, **options)

    monkeypatch.setattr(torch.onnx, "export", failing)
    for is_traced_refused, name in ((False, "torchscript"), (True, "openvino")):
        report = ir_interp.convert(program(Cured()), "net.onnx")
        assert report.notes[0] == f"written by exporter {name}"
        assert report.notes[1].startswith("exporter dynamo: program.pt2: PyTorch cannot export it to ONNX: an op")
        assert report.notes[2].startswith("exporter torchscript: ") is is_traced_refused
        assert ir_interp.compare("net.onnx", program(Cured()), seed=2).passes


def test_an_exporter_whose_model_is_wrong_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    export, other = torch.onnx.export, program(torch.nn.Conv2d(2, 3, 3))

    def wrong(program: Any, *args: Any, dynamo: bool, **options: Any) -> Any:
        return export(other if dynamo else program, *args, dynamo=dynamo, **options)

    monkeypatch.setattr(torch.onnx, "export", wrong)
    report = ir_interp.convert(program(torch.nn.Conv2d(2, 3, 3)), "net.onnx")
    assert report.notes[0] == "written by exporter torchscript"
    assert "differ" in report.notes[1]


def test_a_target_from_a_program() -> None:
    """An antialiased resize, which TensorRT's importer refuses, becomes other operations."""
    saved("net.pt2", lambda x: interpolate(x, size=(9, 31), mode="bicubic", antialias=True))
    report = ir_interp.convert("net.pt2", "net.onnx", target="tensorrt")
    assert report.verification is not None
    assert "before conversion the model is equal to net.pt2 within " in report.verification.note
    nodes = [node.op_type for node in onnx.load("net.onnx").graph.node]
    assert "Resize" not in nodes or not any("antialias" in str(node) for node in onnx.load("net.onnx").graph.node)
    assert ir_interp.compare("net.onnx", "net.pt2", seed=5).passes


class Mixed(torch.nn.Module):
    """A resize that has no spec here, between two that have one."""

    def forward(self, x: Any) -> Any:
        y = interpolate(x, size=(9, 8), mode="bilinear")
        y = interpolate(y, size=(5, 6), mode="bilinear", antialias=True, align_corners=True)
        return interpolate(y, scale_factor=2)


def test_a_resize_that_cannot_be_read_hides_no_other() -> None:
    report = ir_interp.audit(saved("net.pt2", Mixed()))
    assert [row.op.spec.kernel.word for row in report.rows] == ["linear", "nearest"]
    [unread] = report.unread
    assert (unread.resize, unread.problem) == (
        "_upsample_bilinear2d_aa",
        "antialias requires bilinear, bicubic or lanczos, without align_corners",
    )
    assert unread.finding.code == "IRI027"
    assert not report.errors
    for suffix in (".onnx", ".xml"):
        with pytest.raises(ReadError, match=r"^net.pt2:.*: antialias requires "):
            ir_interp.convert("net.pt2", f"net{suffix}")


def test_resizes_of_a_program_that_an_exporter_refuses_are_audited() -> None:
    report = ir_interp.audit(saved("net.pt2", lambda x: torch.linalg.eigh(interpolate(x, size=(9, 9)))[0]))
    [row] = report.rows
    verdicts = {name: (verdict.kind, verdict.reason) for name, verdict in row.predictions.items()}
    assert verdicts["torch-dynamo"][0] is Kind.REFUSED
    assert verdicts["torch-dynamo"][1].startswith("the program as a whole: PyTorch cannot export it to ONNX: No ONNX")
    assert verdicts["torch-script"][0] is Kind.SAME  # which is asked for the resize alone


class Cured(torch.nn.Module):
    """Calls that each exporter changes, or leaves to other operations."""

    def forward(self, x: Any) -> Any:
        y = interpolate(x, size=(1, 30), mode="bicubic")
        return [interpolate(y, scale_factor=1.01, mode="bilinear"), interpolate(x, size=(5, 7), mode="area"), x * 2]


@pytest.mark.parametrize("suffix", [".onnx", ".xml"])
@pytest.mark.parametrize("exporter", ["torchscript", "openvino"])
def test_each_exporter_is_proven(exporter: str, suffix: str) -> None:
    report = ir_interp.convert(program(Cured()), f"net{suffix}", exporter=exporter)
    assert report.verification is not None
    assert "before conversion the model is equal to program.pt2 within " in report.verification.note
    changes = f"{line(Cured, 2)}: PyTorch's exporter changed this resize: "
    assert any(note.startswith(changes) for note in report.notes) is (exporter == "torchscript")
    assert (report.operations.after or {}).get("Reshape", 0) == (exporter == "openvino")  # that of the pool
    assert ir_interp.compare(f"net{suffix}", program(Cured()), seed=2).passes


def test_openvino_reads_sizes_of_run_time(capfd: pytest.CaptureFixture[str]) -> None:
    auto = torch.export.Dim.AUTO
    exported = program(Dynamic(), X, ({2: auto, 3: auto},))
    report = ir_interp.convert(exported, "net.xml", exporter="openvino")
    assert [(row.name, row.source.where) for row in report.rows] == [("upsample_bilinear2d", line(Dynamic, 1))]
    assert report.verification is not None
    assert 'output_names="upsample_bilinear2d"' in Path("net.xml").read_text()
    with pytest.raises(ReadError, match=r" the TorchScript exporter writes one size, .*; without exporter, each "):
        ir_interp.convert(exported, "net.xml", exporter="torchscript")
    with pytest.raises(SpecError, match=r"^fp16=True has no effect on the IR of exporter openvino; leave"):
        ir_interp.convert(exported, "net.xml", exporter="openvino", fp16=True)
    with pytest.raises(SpecError, match=r"^exporter has no effect on .onnx to .xml; it goes with .pt2 to "):
        ir_interp.convert("net.onnx", "net.xml", exporter="openvino")
    assert capfd.readouterr() == ("", "")


def test_sizes_of_run_time_are_not_asked_of_exporters() -> None:
    class Like(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return interpolate(x, size=(x.shape[2] * 2, x.shape[3] + 1), mode="bilinear")

    auto = torch.export.Dim.AUTO
    (row,) = ir_interp.audit(program(Like(), X, ({2: auto, 3: auto},))).rows
    assert str(row.predictions["torch-dynamo"]) == "same"
    assert str(row.predictions["torch-script"]) == "unknown: not tried: run time decides its arguments"
    (row,) = ir_interp.audit(program(Like(), X, ({2: auto, 3: auto},)), runtimes=["onnxruntime"]).rows
    assert list(row.predictions) == ["onnxruntime"]


def test_the_road_in_the_readme() -> None:
    """It needs no network behind the installation."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    code, *arguments = (
        shlex.split(line)[1:] for line in re.findall(r"^\$ ((?:python|ir-interp) .*net\..*)$", readme, re.M)
    )
    subprocess.run([sys.executable, *code], check=True)
    for each in arguments:
        subprocess.run([sys.executable, "-m", "ir_interp", *each], check=True)
    assert Path("net.xml").exists()


@pytest.mark.parametrize(
    ("source", "way"),
    [
        (lambda net, x: net, "(module, torch.rand(1, 3, 64, 64))"),
        (lambda net, x: (net, x, x), "(module, (first, second))"),
        (lambda net, x: (type(net), x), "is the class Net; pass a module"),
        (lambda net, x: (net.forward, x), "is a function; pass a torch.nn.Module that calls it"),
        (lambda net, x: (program(net, x.numpy()), x), "pass the ExportedProgram alone"),
        (lambda net, x: torch.nn.Conv2d(2, 2, 1).state_dict(), "load them into the module, and pass (module.eval(), "),
    ],
    ids=["module", "two inputs", "class", "function", "program", "weights"],
)
def test_objects_that_resemble_a_source_name_the_way(source: Any, way: str) -> None:
    with pytest.raises(SpecError, match=re.escape(way)):
        ir_interp.convert(source(Net(lambda x: interpolate(x, scale_factor=2)).eval(), X_TENSOR), "net.onnx")


def test_the_module_of_a_program_has_no_modes() -> None:
    """It says that it is in training mode, and its eval() refuses."""
    module = program(lambda x: interpolate(x, scale_factor=2.0)).module()
    assert ir_interp.convert((module, X_TENSOR), "net.onnx").verification is not None
