"""Networks as people convert them: torch modules made here, by OpenVINO's converter, then by ours."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import pytest

import ir_interp
from tests.support.layers import assert_equal, core, in_onnxruntime, in_openvino

torch: Any = pytest.importorskip("torch")
nn: Any = torch.nn


def block(inputs: int, outputs: int, stride: int = 1) -> Any:
    convolution = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU())


class Residual(nn.Module):  # type: ignore[misc]
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.main = nn.Sequential(block(inputs, outputs, stride), nn.Conv2d(outputs, outputs, 3, 1, 1))
        self.aside = nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.main(x) + self.aside(x))


def classifier() -> Any:
    body = [block(3, 8, 2), nn.MaxPool2d(3, 2, 1), Residual(8, 16, 2), Residual(16, 16, 1)]
    return nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10), nn.Softmax(-1))


def mobile() -> Any:
    depthwise = nn.Conv2d(8, 8, 3, 1, 1, groups=8)
    head = (nn.Conv2d(8, 12, 1), nn.Hardsigmoid(), nn.AdaptiveAvgPool2d((2, 3)), nn.Flatten(), nn.Linear(72, 4))
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.Hardswish(), depthwise, nn.SiLU(), *head)


class Transformer(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(50, 16), nn.Parameter(torch.randn(1, 32, 16))
        self.attention, self.norm = nn.MultiheadAttention(16, 4, batch_first=True), nn.LayerNorm(16)
        self.forward_ = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))

    def forward(self, tokens: Any) -> Any:
        x = self.words(tokens) + self.places[:, : tokens.shape[1]]
        held = self.norm(x)
        x = x + self.attention(held, held, held, need_weights=False)[0]
        return x + self.forward_(x)


class CausalAttention(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.all, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x: Any) -> Any:
        parts = self.all(x).reshape(x.shape[0], x.shape[1], 3, 4, 4).permute(2, 0, 3, 1, 4)
        made = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        return self.out(made.transpose(1, 2).flatten(2))


class Tagger(nn.Module):  # type: ignore[misc]
    def __init__(self, kind: Any, both: bool = True) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 8)
        self.steps = kind(8, 6, num_layers=2, bidirectional=both, batch_first=True)
        self.tags = nn.Linear(12 if both else 6, 5)

    def forward(self, tokens: Any) -> Any:
        return torch.log_softmax(self.tags(self.steps(self.words(tokens))[0]), -1)


class UNet(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.deepest = block(3, 8), block(8, 16), block(16, 16)
        self.up, self.joined = nn.ConvTranspose2d(16, 8, 2, 2), block(24, 8)
        self.last = nn.Conv2d(16, 2, 1)

    def forward(self, x: Any) -> Any:
        one = self.first(x)
        two = self.second(nn.functional.max_pool2d(one, 2))
        deep = self.deepest(nn.functional.max_pool2d(two, 2))
        wider = nn.functional.interpolate(deep, scale_factor=2.0, mode="nearest")
        upper = self.joined(torch.cat([self.up(deep), two], 1))
        upper = nn.functional.interpolate(upper, size=one.shape[2:], mode="bilinear", align_corners=False)
        return torch.sigmoid(self.last(torch.cat([upper, one], 1))), wider


class Detector(nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.body, self.deeper = nn.Sequential(block(3, 8, 2), block(8, 8, 2)), block(8, 8, 2)
        self.boxes = nn.ModuleList([nn.Conv2d(8, 3 * 4, 3, 1, 1) for _ in range(2)])
        self.scores = nn.ModuleList([nn.Conv2d(8, 3 * 5, 3, 1, 1) for _ in range(2)])

    @staticmethod
    def listed(heads: Any, maps: list[Any]) -> Any:
        made = (head(each).permute(0, 2, 3, 1) for head, each in zip(heads, maps, strict=False))
        return torch.cat([each.reshape(each.shape[0], -1, heads[0].out_channels // 3) for each in made], 1)

    def forward(self, x: Any) -> Any:
        maps = [self.body(x)]
        maps.append(self.deeper(maps[0]))
        boxes, scores = (self.listed(heads, maps) for heads in (self.boxes, self.scores))
        best, places = torch.softmax(scores, -1)[..., 1:].amax(-1).topk(10, dim=1)
        return torch.gather(boxes, 1, places[..., None].expand(-1, -1, 4)), best


COUNT = """
def count(x, times):
    total = torch.zeros_like(x)
    for i in range(int(times)):
        total = total * 0.5 + x * i
    if bool(total.sum() > 0):
        total = total + 1
    return total
"""

IMAGE, TOKENS = (1, 3, 32, 48), (2, 7)
MODELS: dict[str, tuple[Callable[[], Any], tuple[int, ...], list[int]]] = {
    "classifier": (classifier, IMAGE, [-1, 3, 32, 48]),
    "mobile": (mobile, IMAGE, [-1, 3, 32, 48]),
    "transformer": (Transformer, TOKENS, [-1, -1]),
    "causal attention": (CausalAttention, (2, 7, 16), [-1, -1, 16]),
    "LSTM tagger": (lambda: Tagger(nn.LSTM), TOKENS, [-1, -1]),
    "GRU": (lambda: Tagger(nn.GRU, both=False), TOKENS, [-1, -1]),
    "RNN": (lambda: Tagger(nn.RNN), TOKENS, [-1, -1]),
    "U-Net": (UNet, IMAGE, [-1, 3, -1, -1]),
    "detector": (Detector, IMAGE, [-1, 3, -1, -1]),
}


def drawn(shape: tuple[int, ...]) -> Any:
    random = np.random.default_rng(0)
    return random.integers(0, 50, shape) if shape == TOKENS else random.random(shape, np.float32)


@functools.cache
def converted(name: str) -> Any:
    """Return a model of dynamic dimensions."""
    module, shape, open_shape = MODELS[name]
    torch.manual_seed(0)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        return ov.convert_model(module().eval(), input=open_shape, example_input=torch.tensor(drawn(shape)))


def compare(model: Any, values: list[Any], folder: Path, *, half: bool = False) -> onnx.ModelProto:
    source, made = folder / "net.xml", folder / "net.onnx"
    ov.save_model(model, source, compress_to_fp16=half)
    ir_interp.convert(source, made, verify=False)
    feeds = {each.any_name: value for each, value in zip(model.inputs, values, strict=True)}
    for got, wanted in zip(in_onnxruntime(made, feeds), in_openvino(core().read_model(source), feeds), strict=True):
        assert_equal(got, wanted, 1e-5)
    return onnx.load(made)


@pytest.mark.parametrize("form", ["static", "open", "half"])
@pytest.mark.parametrize("name", MODELS)
def test_model(name: str, form: str, tmp_path: Path) -> None:
    values, model = drawn(MODELS[name][1]), converted(name).clone()
    if form != "open":
        model.reshape(list(values.shape))
    compare(model, [values], tmp_path, half=form == "half")


def test_a_scripted_loop(tmp_path: Path) -> None:
    values, count = (drawn((2, 3)), np.array(4)), torch.jit.CompilationUnit(COUNT).count
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ov.convert_model(count, example_input=tuple(map(torch.tensor, values)))
    made = compare(model, list(values), tmp_path)
    assert {"Loop", "If"} <= {node.op_type for node in made.graph.node}
