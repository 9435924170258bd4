"""Weights of a program of PyTorch, mapped from its file: their values, their memory, and the files of a result."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ir_interp
from ir_interp.converters.frameworks.programs.program_files import read
from ir_interp.converters.onnx import onnx_graph

torch: Any = pytest.importorskip("torch", reason="pip install 'ir-interp[torch]'")
pytest.importorskip("onnxscript", reason="pip install 'ir-interp[torch]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # of torch, about itself

TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.bool)


class Net(torch.nn.Module):
    """Weights of several types and strides, two of which share their bytes, and an empty one."""

    def __init__(self, *, size: int = 5) -> None:
        super().__init__()
        for place, dtype in enumerate(TYPES):
            self.register_buffer(f"weight{place}", (torch.arange(size * 3) % 7).reshape(size, 3).to(dtype))
        self.register_buffer("view", self.weight0[1:, :2].T)
        self.register_buffer("empty", torch.zeros(0, 3))
        self.weight = torch.nn.Parameter(torch.rand(size, 3))

    def forward(self, x: Any) -> Any:
        kinds = (getattr(self, f"weight{place}").float() for place in range(len(TYPES)))
        return x + sum(kinds) + self.weight + self.view.sum() + self.empty.sum()


def saved(path: Path, module: Any, x: Any) -> Path:
    torch.export.save(torch.export.export(module.eval(), (x,)), path)
    return path


def test_the_values_of_weights(tmp_path: Path) -> None:
    net, x = Net(), torch.rand(5, 3)
    program = read(saved(tmp_path / "net.pt2", net, x))
    for name, weight in net.state_dict().items():
        mapped = program.state_dict[name]
        assert (mapped.dtype, mapped.shape, mapped.stride()) == (weight.dtype, weight.shape, weight.stride())
        assert torch.equal(mapped, weight)
    assert torch.equal(program.module()(x), net(x))


def test_a_changed_weight_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = saved(tmp_path / "net.pt2", Net(), torch.rand(5, 3))
    content = path.read_bytes()
    for weight in read(path).state_dict.values():
        weight.detach().zero_()
    assert path.read_bytes() == content


def test_compressed_weights_are_copied(tmp_path: Path) -> None:
    net, x = Net(), torch.rand(5, 3)
    with (
        zipfile.ZipFile(saved(tmp_path / "net.pt2", net, x)) as stored,
        zipfile.ZipFile(tmp_path / "small.pt2", "w", zipfile.ZIP_DEFLATED) as small,
    ):
        for member in stored.namelist():
            small.writestr(member, stored.read(member))
    assert torch.equal(read(tmp_path / "small.pt2").module()(x), net(x))


@pytest.mark.skipif(sys.platform != "linux", reason="reads what Linux reports about a process")
def test_memory(tmp_path: Path) -> None:
    read(saved(tmp_path / "small.pt2", Net(), torch.rand(5, 3)))  # imports what loading needs
    path = saved(tmp_path / "net.pt2", Net(size=2**20), torch.rand(2**20, 3))
    before = _anonymous()
    program = read(path)
    assert sum(weight.nbytes for weight in program.state_dict.values()) > 2**26
    assert _anonymous() - before < 2**23


def _anonymous() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon"))


@pytest.mark.parametrize("is_large", [False, True])
def test_a_result_has_a_second_file_only_beyond_the_limit(
    is_large: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_graph, "LARGEST", 0 if is_large else onnx_graph.LARGEST)
    (tmp_path / "results").mkdir()
    path = saved(tmp_path / "net.pt2", Net(size=200), torch.rand(200, 3))
    ir_interp.convert(path, tmp_path / "results" / "new.onnx")
    names = sorted(path.name for path in (tmp_path / "results").iterdir())
    assert names == ["new.onnx", *(["new.onnx.data"] if is_large else [])]
    tensors = onnx.load(str(tmp_path / "results" / "new.onnx")).graph.initializer
    weight = torch.export.load(path).state_dict["weight"].detach().numpy()
    arrays = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in tensors}
    np.testing.assert_array_equal(arrays["weight"], weight)
