"""Networks of the usual kinds, small and with random weights, as OpenVINO's converter makes them of torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import openvino as ov
import torch
from torch import Tensor, nn
from torch.nn import functional


class _Network(nn.Module):  # type: ignore[misc, unused-ignore]
    """Modules, and what is computed with them."""

    def __init__(self, compute: Callable[..., Any], **parts: nn.Module) -> None:
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)
        self._compute = compute

    def forward(self, *inputs: Tensor) -> Any:
        return self._compute(self, *inputs)


def model(name: str, *, is_open: bool = False) -> ov.Model:
    """Return a network of ``NETWORKS`` from x to y, or to y0, y1 and so on; ``is_open`` leaves lengths open."""
    torch.manual_seed(0)
    build, shape, open_axes = NETWORKS[name]
    x = torch.rand(shape) if len(shape) > 2 else torch.randint(0, 2, shape)  # words
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # of tracing
        made = ov.convert_model(build().eval(), example_input=x)
    made.reshape(
        ov.PartialShape([-1 if is_open and axis in open_axes else length for axis, length in enumerate(shape)])
    )
    made.inputs[0].get_tensor().set_names({"x"})
    for index, output in enumerate(made.outputs):
        output.get_tensor().set_names({f"y{index}" if len(made.outputs) > 1 else "y"})
    return made


def _block(inputs: int, outputs: int, kernel: int = 3, activation: type[nn.Module] = nn.ReLU, **more: Any) -> nn.Module:
    padding = more.get("dilation", 1) * (kernel - 1) // 2
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, padding=padding, bias=False, **more),
        nn.BatchNorm2d(outputs),
        activation(),
    )


def _residual(channels: int) -> nn.Module:
    body = nn.Sequential(_block(channels, channels), nn.Conv2d(channels, channels, 3, padding=1))
    return _Network(lambda net, x: functional.relu(x + net.body(x)), body=body)


def classifier() -> nn.Module:
    return nn.Sequential(
        _block(3, 16, 7, stride=2),
        nn.MaxPool2d(3, 2, 1, ceil_mode=True),
        _residual(16),
        _block(16, 32, stride=2),
        _residual(32),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(),
        nn.Linear(32, 10),
        nn.Softmax(1),
    )


def mobilenet() -> nn.Module:
    """Depthwise convolutions, hard swish, and channels weighted by what they hold."""
    gates = nn.Sequential(
        nn.AdaptiveAvgPool2d(1), nn.Conv2d(24, 8, 1), nn.ReLU6(), nn.Conv2d(8, 24, 1), nn.Hardsigmoid()
    )
    return _Network(
        lambda net, x: net.project((h := net.depth(net.expand(net.stem(x)))) * net.gates(h)),
        stem=_block(3, 8, stride=2, activation=nn.Hardswish),
        expand=_block(8, 24, 1, activation=nn.Hardswish),
        depth=_block(24, 24, 5, groups=24, activation=nn.ReLU6),
        gates=gates,
        project=_block(24, 8, 1, activation=nn.Identity),
    )


def convnext() -> nn.Module:
    """A wide depthwise convolution, then layers over the channels, moved last."""

    def compute(net: Any, x: Tensor) -> Any:
        x = net.stem(x)
        return x + net.layers(net.depth(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    return _Network(
        compute,
        stem=nn.Conv2d(3, 16, 4, 4),
        depth=nn.Conv2d(16, 16, 7, padding=3, groups=16),
        layers=nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16)),
    )


def densenet() -> nn.Module:
    """Growing concatenations, and an average that leaves out the border."""

    def compute(net: Any, x: Tensor) -> Any:
        for layer in net.layers:
            x = torch.cat([x, layer(x)], 1)
        return functional.log_softmax(net.end(x).mean((2, 3)), 1)

    return _Network(
        compute,
        layers=nn.ModuleList([_block(3 + 4 * index, 4, activation=nn.ELU) for index in range(4)]),
        end=nn.Sequential(nn.AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False), nn.Conv2d(19, 10, 1)),
    )


def detector() -> nn.Module:
    """Two levels of features, and of each the boxes in pixels and the scores of classes."""

    def compute(net: Any, x: Tensor) -> Any:
        fine = net.fine(net.stem(x))
        coarse = net.coarse(fine)
        fine = torch.cat([fine, functional.interpolate(coarse, scale_factor=2.0, mode="nearest")], 1)
        outputs = []
        for level, head, stride in ((fine, net.fine_head, 4), (coarse, net.coarse_head, 8)):
            height, width = level.shape[2:]
            rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
            centres, extents, scores = head(level).split([2, 2, 6], 1)
            centres = (centres.sigmoid() + torch.stack([columns, rows])) * stride
            boxes = torch.cat([centres - extents.exp() / 2, centres + extents.exp() / 2], 1)
            outputs.append(torch.cat([boxes, scores.sigmoid()], 1).flatten(2).transpose(1, 2))
        return outputs[0], outputs[1], torch.cat(outputs, 1)[..., 4:].max(-1)[0]

    return _Network(
        compute,
        stem=_block(3, 8, stride=2, activation=nn.SiLU),
        fine=_block(8, 16, stride=2, activation=nn.SiLU),
        coarse=_block(16, 16, stride=2, activation=nn.SiLU),
        fine_head=nn.Conv2d(32, 10, 1),
        coarse_head=nn.Conv2d(16, 10, 1),
    )


def best() -> nn.Module:
    """The positions of the best scores, and what stands there."""

    def compute(net: Any, x: Tensor) -> Any:
        scores = net.head(x).flatten(1)
        values, places = scores.topk(20, dim=1)
        return (
            values,
            places,
            x.flatten(2).gather(2, places[:, None].expand(-1, 3, -1)),
            (values > 0.1).long().cumsum(1),
        )

    return _Network(compute, head=nn.Sequential(_block(3, 8), nn.Conv2d(8, 1, 1), nn.Sigmoid()))


def segmenter() -> nn.Module:
    """Dilated convolutions side by side, one over the whole image, and a resize to where it came from."""

    def compute(net: Any, x: Tensor) -> Any:
        h = net.stem(x)
        pooled = functional.interpolate(net.pool(h), h.shape[2:], mode="bilinear")
        h = net.head(torch.cat([*(branch(h) for branch in net.branches), pooled], 1))
        h = functional.interpolate(h, x.shape[2:], mode="bilinear", align_corners=True)
        return h, h.argmax(1)

    return _Network(
        compute,
        stem=nn.Sequential(_block(3, 8, stride=2), _block(8, 16, stride=2)),
        branches=nn.ModuleList([_block(16, 8, dilation=rate) for rate in (1, 2, 4)]),
        pool=nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(16, 8, 1)),
        head=nn.Conv2d(32, 5, 1),
    )


def unet() -> nn.Module:
    """Down and up again, each level joined with what it was."""

    def stage(inputs: int, outputs: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU())

    def compute(net: Any, x: Tensor) -> Any:
        first = net.first(x)
        second = net.second(functional.max_pool2d(first, 2))
        third = net.third(functional.max_pool2d(second, 2))
        second = net.fourth(torch.cat([net.up(third), second], 1))
        return net.head(torch.cat([functional.interpolate(second, scale_factor=2, mode="bilinear"), first], 1))

    return _Network(
        compute,
        first=stage(3, 8),
        second=stage(8, 16),
        third=stage(16, 32),
        up=nn.ConvTranspose2d(32, 16, 4, 2, 1),
        fourth=stage(32, 16),
        head=nn.Conv2d(24, 2, 1),
    )


def super_resolution() -> nn.Module:
    """Details from a shuffle of channels, added to a cubic resize."""
    return _Network(
        lambda net, x: net.details(x) + functional.interpolate(x, scale_factor=2, mode="bicubic"),
        details=nn.Sequential(
            _block(3, 16, 5, activation=nn.PReLU), nn.Conv2d(16, 12, 3, padding=1), nn.PixelShuffle(2)
        ),
    )


def generator() -> nn.Module:
    """Style transfer: reflected borders, norms of each image, transposed convolutions."""
    return nn.Sequential(
        nn.ReflectionPad2d(3),
        nn.Conv2d(3, 8, 7),
        nn.InstanceNorm2d(8, affine=True),
        nn.LeakyReLU(0.2),
        nn.Conv2d(8, 16, 3, 2, 1),
        nn.InstanceNorm2d(16),
        nn.Softplus(),
        nn.ConvTranspose2d(16, 8, 3, 2, 1, output_padding=1),
        nn.ReplicationPad2d(1),
        nn.Conv2d(8, 3, 3),
        nn.Tanh(),
    )


def transformer() -> nn.Module:
    """An encoder of sequences."""
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, activation="gelu", norm_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def vision_transformer() -> nn.Module:
    """Patches of an image, with a token before them, that attend to each other."""

    def compute(net: Any, x: Tensor) -> Any:
        x = net.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([net.token.weight[None].expand(x.shape[0], -1, -1), x], 1) + net.place.weight
        query, key, value = (y.reshape(-1, 17, 2, 16).transpose(1, 2) for y in net.attention(x).chunk(3, -1))
        attended = functional.scaled_dot_product_attention(query, key, value)
        return net.head(net.norm(x + attended.transpose(1, 2).flatten(2))[:, 0])

    return _Network(
        compute,
        patches=nn.Conv2d(3, 32, 8, 8),
        token=nn.Embedding(1, 32),
        place=nn.Embedding(17, 32),
        attention=nn.Linear(32, 96),
        norm=nn.LayerNorm(32),
        head=nn.Linear(32, 10),
    )


def window_transformer() -> nn.Module:
    """Windows of a shifted image, as Swin has them."""

    def compute(net: Any, x: Tensor) -> Any:
        x = net.patches(x).permute(0, 2, 3, 1)
        shifted = x.roll((-2, -2), (1, 2))
        windows = shifted.reshape(-1, 2, 4, 2, 4, 16).transpose(2, 3).reshape(-1, 16, 16)
        mixed = net.mix(net.norm(windows)).reshape(-1, 2, 2, 4, 4, 16).transpose(2, 3).reshape(-1, 8, 8, 16)
        return x + mixed.roll((2, 2), (1, 2))

    mix = nn.Sequential(nn.Linear(16, 32), nn.GELU(approximate="tanh"), nn.Linear(32, 16))
    return _Network(compute, patches=nn.Conv2d(3, 16, 4, 4), norm=nn.LayerNorm(16), mix=mix)


def language() -> nn.Module:
    """Words, of which each attends to those before it."""

    def compute(net: Any, x: Tensor) -> Any:
        h = net.words(x) + net.place(torch.arange(x.shape[1]))
        later = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        scores = (net.query(h) @ net.key(h).transpose(1, 2)) / 32**0.5
        return net.head(scores.masked_fill(later, -torch.inf).softmax(-1) @ h)

    linear = {name: nn.Linear(32, 32) for name in ("query", "key", "head")}
    return _Network(compute, words=nn.Embedding(100, 32), place=nn.Embedding(64, 32), **linear)


def recurrent() -> nn.Module:
    lstm = nn.LSTM(16, 32, batch_first=True, bidirectional=True)
    return _Network(lambda net, x: net.head(net.lstm(x)[0]), lstm=lstm, head=nn.Linear(64, 5))


def signal() -> nn.Module:
    """Convolutions over time that look further and further back."""
    return nn.Sequential(
        nn.ConstantPad1d((4, 0), 0.0),
        nn.Conv1d(8, 16, 3, dilation=2),
        nn.Mish(),
        nn.MaxPool1d(2),
        nn.Conv1d(16, 16, 5, padding=2, groups=4),
        nn.GLU(1),
        nn.Upsample(scale_factor=2, mode="nearest"),
    )


def volume() -> nn.Module:
    """A film, or a scan."""
    return nn.Sequential(
        nn.Conv3d(2, 8, 3, padding=1),
        nn.BatchNorm3d(8),
        nn.ReLU(),
        nn.MaxPool3d((1, 2, 2)),
        nn.Conv3d(8, 4, (3, 1, 1), stride=(2, 1, 1)),
        nn.Upsample(scale_factor=2, mode="trilinear"),
        nn.Sigmoid(),
    )


def warped() -> nn.Module:
    """An image sampled where a network says."""
    return _Network(
        lambda net, x: functional.grid_sample(x, net.places(x).permute(0, 2, 3, 1).tanh(), align_corners=False),
        places=nn.Conv2d(3, 2, 3, padding=1),
    )


NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], tuple[int, ...]]] = {
    "classifier": (classifier, (1, 3, 32, 32), (0, 2, 3)),
    "MobileNet block": (mobilenet, (1, 3, 32, 32), (0, 2, 3)),
    "ConvNeXt block": (convnext, (1, 3, 32, 32), (0, 2, 3)),
    "DenseNet block": (densenet, (1, 3, 32, 32), (0, 2, 3)),
    "detector": (detector, (1, 3, 32, 32), (0, 2, 3)),
    "best scores": (best, (1, 3, 16, 16), (0, 2, 3)),
    "segmenter": (segmenter, (1, 3, 32, 32), (0, 2, 3)),
    "U-Net": (unet, (1, 3, 32, 32), (0, 2, 3)),
    "super-resolution": (super_resolution, (1, 3, 32, 32), (0, 2, 3)),
    "generator": (generator, (1, 3, 32, 32), (0, 2, 3)),
    "transformer": (transformer, (1, 24, 32), (0, 1)),
    "vision transformer": (vision_transformer, (1, 3, 32, 32), (0,)),
    "window transformer": (window_transformer, (1, 3, 32, 32), (0,)),
    "language model": (language, (1, 16), (0, 1)),
    "LSTM": (recurrent, (1, 12, 16), (0, 1)),
    "signal": (signal, (1, 8, 32), (0, 2)),
    "volume": (volume, (1, 2, 8, 16, 16), (0, 2, 3, 4)),
    "warp": (warped, (1, 3, 32, 32), (0, 2, 3)),
}
"""Builders, with the shape of the input, and which of its axes may be open."""
