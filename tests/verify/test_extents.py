"""Sizes of dynamic dimensions: which are tried, and faults that one extent alone shows."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import ir_interp
from ir_interp import IrInterpError, VerificationError
from ir_interp.converters import workers
from ir_interp.converters.verify import conversion, graphs, inputs as input_roles, processes, trials
from ir_interp.converters.verify.conversion import verify
from ir_interp.converters.verify.input_shapes import Extent, extents, shapes
from ir_interp.converters.verify.inputs import Inputs
from ir_interp.executor import loop_runner
from tests.support.commands import command
from tests.support.graphs import save_model
from tests.support.loops import use_loops

SCALED = 'Resize <mode = "linear"> (x, "", s) }'
ALL = (Extent.REAL, Extent.ODD, Extent.SMALL)


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        pytest.param("(float[a] x) => (float[b] y) <float[1] s = {2}> { y = " + SCALED, [(64,), (67,), (3,)], id="1"),
        pytest.param(
            "(float[a,b] x) => (float[c,d] y) <float[2] s = {2,2}> { y = " + SCALED,
            [(64, 64), (45, 67), (2, 3)],
            id="an image of rank 2 has no batch",
        ),
        pytest.param("(float[a,b] x) => (float[a,b] y) { y = Relu (x) }", [(1, 64), (2, 67), (1, 3)], id="a batch"),
        pytest.param("(float[a] x) => (float[a] y) { y = Relu (x) }", [(64,), (67,), (3,)], id="a signal"),
        pytest.param(
            "(float[a,b,c,d,e] x) => (float[f,g,h,i,j] y) <float[5] s = {1,1,2,2,2}> { y = " + SCALED,
            [(1, 3, 3, 64, 64), (2, 5, 5, 45, 67), (1, 1, 1, 2, 3)],
            id="5",
        ),
        pytest.param(
            "(float[a,b,c,d] x) => (float[e,f,g,h] y) <int64[4] z = {3,2,9,9}> "
            '{ y = Resize <mode = "linear"> (x, "", "", z) }',
            [(3, 2, 64, 64), (3, 2, 45, 67), (3, 2, 2, 3)],
            id="batch and channels that a resize has as constants",
        ),
        pytest.param(
            "(float[a,b,c] x) => (float[d,e,f] y) <float[3] s = {0.3,1,2}> { y = " + SCALED,
            [(3, 64, 64), (5, 45, 67), (1, 2, 3)],
            id="a first axis that is resized is no batch",
        ),
        pytest.param(
            "(float[n,c,a,b] x) => (float[n,4,d,e] y) <float[4] s = {1,1,2,2}, float[4,2,1,1] k = {1,2,3,4,5,6,7,8}> "
            '{ r = Resize <mode = "linear"> (x, "", s) y = Conv (r, k) }',
            [(1, 2, 64, 64), (2, 2, 45, 67), (1, 2, 2, 3)],
            id="channels of a convolution behind a resize",
        ),
        pytest.param(
            "(float[a,b,c,d] x) => (float[2,3,2,9] y) <float[8] roi = {-0.2,-0.2,-0.3,0,1.1,0.7,1.1,1}, "
            "int64[4] z = {2,3,2,9}> "
            '{ y = Resize <mode = "linear", coordinate_transformation_mode = "tf_crop_and_resize"> (x, roi, "", z) }',
            [(1, 3, 1, 64), (1, 3, 1, 67), (1, 3, 1, 3)],
            id="axes of which a window shows nothing but a single pixel",
        ),
        pytest.param(
            "(float[n,c,a,b] x) => (float[n,1,a,b] y) <float m = {127.5}, float[1,4,1,1] k = {1,2,3,4}> "
            "{ s = Sub (x, m) d = Div (s, m) y = Conv (d, k) }",
            [(1, 4, 64, 64), (2, 4, 45, 67), (1, 4, 2, 3)],
            id="channels of a convolution behind a normalisation",
        ),
        pytest.param(
            "(float[n,a,b,3] x) => (float[n,a,b,3] y) { y = Relu (x) }",
            [(1, 64, 64, 3), (2, 45, 67, 3), (1, 2, 3, 3)],
            id="channels last",
        ),
        pytest.param(
            "(float[n,3,a,a] x) => (float[n,3,a,a] y) { y = Relu (x) }",
            [(1, 3, 64, 64), (2, 3, 45, 45), (1, 3, 2, 2)],
            id="dimensions of one name",
        ),
    ],
)
def test_sizes_follow_from_rank_and_graph(text: str, sizes: list[tuple[int, ...]], tmp_path: Path) -> None:
    graph = graphs.read(save_model(tmp_path / "a.onnx", f"g {text}"))
    assert [shapes(graph, {}, extent)[0]["x"] for extent in ALL] == sizes
    assert extents(graph, {})[: len(ALL)] == list(ALL)
    assert extents(graph, {"x": sizes[0]}) == [Extent.REAL]


def test_no_size_is_beyond_memory(tmp_path: Path) -> None:
    text = "(float[a,b,c,d,e,f] x) => (float[a,b,c,d,e,f] y) { y = Relu (x) }"
    graph = graphs.read(save_model(tmp_path / "a.onnx", f"g {text}"))
    every = [sizes["x"] for extent in ALL for sizes in shapes(graph, {}, extent)]
    assert max(math.prod(each) for each in every) <= 2**23


def _differing(path: Path, length: str) -> tuple[Path, Path]:
    """Return a model, and one that adds 1 where its input has ``length`` columns."""
    text = """g (float[n,3,h,w] x) => (float[n,3,h,w] y) <int64[1] last = {3}, int64[1] most = {%s}> {
        shape = Shape (x) w1 = Gather (shape, last) off = Equal (w1, most) one = Cast <to = 1> (off)
        y = Add (x, one) }"""
    plain = "g (float[n,3,h,w] x) => (float[n,3,h,w] y) { y = Identity (x) }"
    return save_model(path / "a.onnx", plain), save_model(path / "b.onnx", text % length)


@pytest.mark.parametrize(("length", "shape"), [("64", "1x3x64x64"), ("67", "2x3x45x67"), ("3", "1x3x2x3")])
def test_a_fault_of_one_extent_is_seen(
    length: str, shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = map(str, _differing(tmp_path, length))
    code, printed, _ = command(capsys, "compare", first, second)
    assert code == 1
    assert f"{shape} float32" in printed
    assert command(capsys, "compare", first, second, "--shape", "1,3,10,11")[0] == 0


def test_a_conversion_is_refused_for_what_goes_wrong_at_odd_sizes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = save_model(tmp_path / "a.onnx", "g (float[n,3,h,w] x) => (float[n,3,h,w] y) { y = Relu (x) }")
    report = ir_interp.convert(source, tmp_path / "a.xml")
    assert report.verification is not None
    assert report.verification.shapes == {"x": (1, 3, 64, 64)}
    others = ((2, 3, 45, 67), (1, 3, 2, 3), (1, 3, 113, 64), (1, 3, 64, 41), (1, 3, 97, 41), (1, 3, 32, 128))
    assert report.verification.more_shapes == tuple({"x": shape} for shape in others)
    whole = processes.Runner.__call__

    def wrong(run: processes.Runner, model: Path, *tensors: object, **options: object) -> object:
        (outputs, shown) = whole(run, model, *tensors, **options)  # type: ignore[arg-type]
        is_off = model.suffix == ".xml" and run.shapes == {"x": (2, 3, 45, 67)}
        return [(name, array + is_off) for name, array in outputs], shown

    monkeypatch.setattr(processes.Runner, "__call__", wrong)
    with pytest.raises(VerificationError, match=r"^output 'y' differs by 1 .*; nothing was written$"):
        ir_interp.convert(source, tmp_path / "b.xml")


def test_sizes_for_which_a_model_is_not_are_passed_over(tmp_path: Path) -> None:
    """Rows of 3,072 elements are what images of multiples of 32 have."""
    text = """g (float[n,3,h,w] x) => (float[m,a] y) <int64[2] z = {-1, 3072}> { y = Reshape (x, z) }"""
    report = ir_interp.convert(save_model(tmp_path / "a.onnx", text), tmp_path / "a.xml")
    assert report.verification is not None
    assert report.verification.shapes == {"x": (1, 3, 64, 64)}
    others = ((2, 3, 96, 160), (1, 3, 32, 32), (1, 3, 160, 64), (1, 3, 64, 96), (1, 3, 32, 128))
    assert report.verification.more_shapes == tuple({"x": shape} for shape in others)


@pytest.mark.parametrize(
    ("steps", "dial"),
    [
        ("d = Cast <to = 1> (dial) s = Div (d, hundred)", 150),
        ("d = Cast <to = 1> (dial) t = Mul (quarter, d) s = Sub (hundred, t)", 394),
        ("d = Cast <to = 1> (dial) t = Add (d, hundred) s = Mul (t, quarter)", -94),
        ("e = Sub (dial, one) d = Cast <to = 1> (e) t = Relu (d) s = Sqrt (t)", 2),
    ],
    ids=["a quotient", "a difference", "a sum", "neither 0 nor 1"],
)
def test_integers_that_decide_sizes_are_found(steps: str, dial: int, tmp_path: Path) -> None:
    text = f"""g (uint8[1,1,h,w] x, int32[1] dial) => (float[1,1,k,l] y)
        <float hundred = {{100}}, float quarter = {{0.25}}, float[2] ones = {{1,1}}, int32 one = {{1}}> {{
        f = Cast <to = 1> (x) {steps} all = Concat <axis = 0> (ones, s, s) y = Resize <mode = "linear"> (f, "", all)
    }}"""
    source = save_model(tmp_path / "a.onnx", text)
    both = processes.models(source, source, Inputs())
    tried = next(trials.trials_of(both, tmp_path, lambda *_: None))
    outputs, _ = tried.settle(source)
    assert outputs[0][1].size > 0
    assert dict(tried.run.arrays)["dial"].tolist() == [dial]


def test_a_single_long_axis_has_no_decisive_size(tmp_path: Path) -> None:
    """Float32 has no coordinates of 2^24 pixels: the resize alone is run where these are exact enough."""
    rows = []
    for rank, dimensions in ((1, "a"), (2, "a,b"), (3, "a,b,c")):
        scales = ",".join(["1"] * (rank - 1) + ["1.5"])
        text = f"(float[{dimensions}] x) => (float[{dimensions}] y) <float[{rank}] s = {{{scales}}}> "
        source = save_model(
            tmp_path / "a.onnx", f'g {text} {{ y = Resize <mode = "linear", antialias = 1> (x, "", s) }}'
        )
        report = ir_interp.convert(source, tmp_path / "a.xml", verify=False)
        rows += [next(conversion.shapes(op), None) for op in conversion.of_run_time(report.rows)]
    assert rows == [None, (4876, 4876), (1, 4876, 4876)]


def test_a_model_of_a_single_size_runs_at_a_usual_one(tmp_path: Path) -> None:
    """A recogniser of faces multiplies what three channels of 112x112 become by a matrix."""
    weights = ",".join(map(str, range(147)))
    text = f"g (float[n,c,h,w] x) => (float[n,1] y) <float[147,1] m = {{{weights}}}> {{"
    steps = "p = AveragePool <kernel_shape = [16,16], strides = [16,16]> (x) f = Flatten (p) y = MatMul (f, m) }"
    report = ir_interp.convert(save_model(tmp_path / "a.onnx", f"{text} {steps}"), tmp_path / "a.xml")
    assert report.verification is not None
    assert report.verification.shapes == {"x": (1, 3, 112, 112)}


def test_what_runs_nowhere_is_refused(tmp_path: Path) -> None:
    text = "g (float[n,3,h,w] x) => (float[n,3,h,w] y) <float[1,5,1,1] k = {1,2,3,4,5}> { y = Conv (x, k) }"
    source = save_model(tmp_path / "a.onnx", text)
    with pytest.raises(IrInterpError, match=r"a.onnx does not run: "):
        ir_interp.compare(source, source)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[workers.Call]:
    """Return a list that collects the calls in separate processes."""
    calls: list[workers.Call] = []
    whole = workers.Forks.run

    def counted(processes: workers.Forks, call: workers.Call) -> tuple[int, str]:
        calls.append(call)
        return whole(processes, call)

    monkeypatch.setattr(workers.Forks, "run", counted)
    return calls


def test_sizes_that_the_result_refuses_need_no_further_process(tmp_path: Path, calls: list[workers.Call]) -> None:
    """An image of 40 columns or fewer is too small for it, as are all of the small extent."""
    first = save_model(tmp_path / "a.onnx", "g (float[n,3,h,w] x) => (float[n,3,h,w] y) { y = Relu (x) }")
    text = """g (float[n,3,h,w] x) => (float[n,3,h,w] y) <int64[1] column = {40}> {
        c = Gather <axis = 3> (x, column) zero = Sub (c, c) r = Relu (x) y = Add (r, zero) }"""
    result = ir_interp.compare(first, save_model(tmp_path / "b.onnx", text))
    assert result.passes
    assert [call.argument.model.name for call in calls] == ["a.onnx", "b.onnx"]


@pytest.mark.skipif(not loop_runner.is_installed(), reason="numba is not installed")
def test_a_resize_of_run_time_is_verified_without_compiled_loops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To import and compile them takes longer than the rest of the verification."""
    use_loops(monkeypatch, None)
    text = "(float[n,c,h,w] x) => (float[a,b,d,e] y) <float[4] s = {1,1,0.7,1.5}> "
    source = save_model(tmp_path / "a.onnx", f'g {text} {{ y = Resize <mode = "linear", antialias = 1> (x, "", s) }}')
    report = ir_interp.convert(source, tmp_path / "a.xml")
    assert report.verification is not None
    assert len(report.verification.alone) == 1
    assert not loop_runner._loops.is_ready


def test_sizes_that_the_source_refuses_need_no_further_process(tmp_path: Path, calls: list[workers.Call]) -> None:
    """Rows of 4,096 elements are what images of 64x64 and 32x128 have, and no odd or small ones."""
    text = "g (float[n,3,h,w] x) => (float[m,a] y) <int64[2] z = {-1, 4096}> { y = Reshape (x, z) }"
    report = ir_interp.convert(save_model(tmp_path / "a.onnx", text), tmp_path / "a.xml")
    assert report.verification is not None
    assert report.verification.more_shapes == ({"x": (1, 3, 32, 128)},)
    assert [call.argument.model.suffix for call in calls] == [".onnx", ".xml"]


def test_sizes_that_only_the_source_takes_are_passed_over_in_one_process(
    tmp_path: Path, calls: list[workers.Call]
) -> None:
    """OpenVINO multiplies matrices that do not fit: SFace as an IR runs at any size, and its ONNX at 112x112 alone."""
    source = save_model(tmp_path / "a.onnx", "g (float[n,1,h,w] x) => (float[n,1,h,w] y) { y = Relu (x) }")
    text = """g (float[n,1,h,w] x) => (float[n,1,h,w] y) <int64[3] z = {-1, 112, 112}> {
        r = Reshape (x, z) s = Shape (x) t = Reshape (r, s) y = Relu (t) }"""
    result = save_model(tmp_path / "b.onnx", text)
    proof = verify(source, result, (), Inputs())
    assert proof is not None
    assert proof.shapes == {"x": (1, 1, 112, 112)}
    # Both at the likeliest sizes, the result at the other sizes of images, and the source at that of the result.
    assert [call.argument.model.name for call in calls] == ["a.onnx", "b.onnx", "b.onnx", "a.onnx"]


def test_inputs_that_fail_are_tried_in_one_process(tmp_path: Path, calls: list[workers.Call]) -> None:
    """onnxruntime has no linear Resize of rank 1: 31 inputs are tried before the executor decides."""
    text = '(float[a] x, float[1] s) => (float[b] y) { y = Resize <mode = "linear"> (x, "", s) }'
    source = save_model(tmp_path / "a.onnx", f"g {text}")
    report = ir_interp.convert(source, tmp_path / "a.xml")
    assert report.verification is not None
    assert report.verification.shapes == {"x": (64,), "s": (1,)}
    assert [shapes["x"] for shapes in report.verification.more_shapes] == [(67,), (3,), (41,)]
    # The source at the likeliest sizes, then at all others; the result at all extents.
    assert [call.argument.model.suffix for call in calls] == [".onnx", ".onnx", ".xml"]
    assert [each.passes for each in report.verification.alone] == [True]


BRIGHT = "b = Greater (x, most) c = Flatten <axis = 0> (b) d = Squeeze (c, zero) f = Compress (x, d)"
DETECTOR = "g (float[1,40] x) => (float[n] y) <float most = {1.5}, int64[1] zero = {0}, float[1] none = {-1}> {"


def test_inputs_are_chosen_in_which_a_detector_finds_something(tmp_path: Path) -> None:
    """In [0, 1) it finds nothing, and whatever follows then proves nothing, or fails."""
    first = save_model(tmp_path / "a.onnx", f"{DETECTOR} {BRIGHT} y = Identity (f) }}")
    fails = f"{DETECTOR} {BRIGHT} g = Gather (f, zero) h = Sub (g, g) y = Add (f, h) }}"
    result = ir_interp.compare(first, save_model(tmp_path / "b.onnx", fails))
    assert result.passes
    assert result.outputs[0].first.smallest > 1.5  # type: ignore[operator]


def test_inputs_on_which_the_result_fails_are_passed_over(tmp_path: Path) -> None:
    """OpenVINO returns numbers from elsewhere where an ONNX detector finds nothing."""
    source = save_model(tmp_path / "a.onnx", f"{DETECTOR} {BRIGHT} y = Concat <axis = 0> (f, none) }}")
    fails = f"{DETECTOR} {BRIGHT} g = Gather (f, zero) h = Sub (g, g) i = Add (f, h) y = Concat <axis = 0> (i, none) }}"
    result = save_model(tmp_path / "b.onnx", fails)
    tried = next(trials.trials_of(processes.models(source, result, Inputs()), tmp_path, lambda *_: None))
    expected, actual, problem = tried.settle_both(source, result)
    assert (expected[0][1] == actual[0][1]).all()
    assert expected[0][1].size > 1
    assert problem.startswith("b.onnx does not run: ")
    assert problem.endswith("on x [1, 40] (uniform values)")


@pytest.mark.parametrize("rank", [6, 7])
def test_a_resize_of_many_axes_is_run_on_few_pixels(rank: int, tmp_path: Path) -> None:
    """OpenVINO's cubic of rank 6 takes a millisecond for each output pixel."""
    dimensions, scales = ",".join(f"d{axis}" for axis in range(rank)), ",".join(["1.5"] * rank)
    text = f"g (float[{dimensions}] x) => (float[{dimensions}] y) <float[{rank}] s = {{{scales}}}> "
    graph = graphs.read(save_model(tmp_path / "a.onnx", text + '{ y = Resize <mode = "cubic"> (x, "", s) }'))
    answers = [answer["x"] for answer in shapes(graph, {})]
    assert answers == [(*[2] * (rank - 2), 4, 5)]


def test_a_resize_of_many_axes_leaves_pixels(tmp_path: Path) -> None:
    """The last axis two of them: a single number proves nothing."""
    text = "g (float[a,b,c,d,e,f] x) => (float[a,b,c,k,l,m] y) <float[6] s = {1,1,1,0.3,0.001,0.25}> "
    graph = graphs.read(save_model(tmp_path / "a.onnx", text + '{ y = Resize <mode = "nearest"> (x, "", s) }'))
    answers = [answer["x"] for answer in shapes(graph, {})]
    assert answers == [(1, 2, 2, 4, 16, 8)]


def test_every_step_that_reveals_a_role_is_in_lower_case() -> None:
    assert all(kind == kind.lower() for kind, _ in input_roles._CONSUMERS)
    assert not input_roles._PASSES & {kind for kind, place in input_roles._CONSUMERS if place == 0}
