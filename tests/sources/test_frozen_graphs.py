"""Frozen graphs of TensorFlow, whose large variables are written one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ir_interp import ReadError
from ir_interp.converters.frameworks.tensorflow import frozen_graph

tensorflow: Any = pytest.importorskip("tensorflow", reason="pip install 'ir-interp[tensorflow]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # of TensorFlow, about itself


class Net(tensorflow.Module):
    """Variables of several types and ranks; one of them is read in a branch."""

    def __init__(self) -> None:
        super().__init__()
        generator = tensorflow.random.Generator.from_seed(1)
        self.matrix = tensorflow.Variable(generator.normal((3, 4)), name="matrix")
        self.half = tensorflow.Variable(tensorflow.cast(generator.normal((4,)), "float16"), name="half")
        self.brain = tensorflow.Variable(tensorflow.cast(generator.normal((4,)), "bfloat16"), name="brain")
        self.bits = tensorflow.Variable([True, False, True, True], name="bits")
        self.numbers = tensorflow.Variable([5, -6, 7, 2**40], dtype="int64", name="numbers")
        self.scalar = tensorflow.Variable(2.5, name="scalar")

    def call(self, x: Any) -> Any:
        y = tensorflow.matmul(x, self.matrix) + tensorflow.cast(self.half, "float32") * self.scalar
        y += tensorflow.cast(self.brain, "float32")
        y = tensorflow.where(self.bits, y, tensorflow.cast(self.numbers, "float32"))
        return tensorflow.cond(tensorflow.reduce_sum(x) > 0, lambda: y + self.matrix[0], lambda: y)


def traced(net: Net) -> Any:
    return tensorflow.function(net.call).get_concrete_function(tensorflow.TensorSpec((2, 3)))


def frozen(net: Net, path: Path) -> Any:
    _, graph, variables = frozen_graph.frozen(traced(net))
    frozen_graph.write(graph, variables, path, "net")
    definition = tensorflow.compat.v1.GraphDef()
    definition.ParseFromString(path.read_bytes())
    return definition


def values(definition: Any) -> dict[str, Any]:
    return {
        node.name: tensorflow.make_ndarray(node.attr["value"].tensor).tolist()
        for node in definition.node
        if node.op == "Const"
    }


@pytest.mark.parametrize("least", [2**20, 9, 1])
def test_the_values_of_variables(least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variables of ``least`` bytes and more are written apart, unless other constants are as large."""
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    net = Net()
    whole = convert_variables_to_constants_v2(traced(net), lower_control_flow=False)
    monkeypatch.setattr(frozen_graph, "_LARGE", least)
    definition = frozen(net, tmp_path / "frozen.pb")
    assert values(definition) == values(whole.graph.as_graph_def())
    assert [(node.name, node.op) for node in definition.node] == [
        (node.name, node.op) for node in whole.graph.as_graph_def().node
    ]


def test_more_than_a_graph_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frozen_graph, "_LARGE", 9)
    monkeypatch.setattr(frozen_graph, "_LARGEST", 20)
    with pytest.raises(ReadError) as error:
        frozen(Net(), tmp_path / "frozen.pb")
    problem = "its variables take 7.45e-08 GiB, and a frozen graph, which OpenVINO reads, holds 2 GiB"
    assert str(error.value) == f"net: {problem}; export a smaller model"
    assert not (tmp_path / "frozen.pb").exists()
