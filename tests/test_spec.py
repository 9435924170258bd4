"""A spec cannot lie: every field holds what it was given in its own type, or the spec is refused at once."""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields, replace
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st

from ir_interp import (
    Antialias,
    Area,
    Arithmetic,
    Aspect,
    AtRunTime,
    Coordinates,
    Crop,
    Cubic,
    IrInterpError,
    Length,
    Linear,
    Nearest,
    Pad,
    ResizeOp,
    ResizeSpec,
    Rounding,
    Scales,
    ShapeError,
    Sizes,
    SpecError,
    Step,
    resize,
)

X = np.arange(12, dtype=np.float32).reshape(3, 4) ** 2
ENUMS: tuple[type[Enum], ...] = (Antialias, Arithmetic, Aspect, AtRunTime, Coordinates, Length, Rounding, Step)
MEMBERS = [member for enum in ENUMS for member in enum]
WHOLE: dict[Any, dict[str, Any]] = {  # of each class, arguments that are sound
    ResizeSpec: {"kernel": Linear(), "target": Sizes((5, 6))},
    Crop: {"roi": ((0.0, 0.5), (0.25, 1.0)), "extrapolation": 3.0},
    Nearest: {"rounding": Rounding.FLOOR},
    Linear: {"antialias": Antialias.SHRINKING, "exclude_outside": True},
    Cubic: {"a": -0.75, "antialias": Antialias.OFF, "exclude_outside": False},
    Sizes: {"values": (5, 6)},
    Scales: {"values": (2.0, 1.5)},
    Pad: {"axis": 0, "begin": 1, "end": 2},
}
FIELDS = [(owner, field.name) for owner in WHOLE for field in fields(owner)]


def refusal(owner: Any, **values: Any) -> str:
    """Return the message of the SpecError that values cause in place of sound ones."""
    with pytest.raises(SpecError) as error:
        owner(**WHOLE[owner] | values)
    assert not isinstance(error.value, ShapeError)
    return str(error.value)


def made(**values: Any) -> ResizeSpec:
    return ResizeSpec(**WHOLE[ResizeSpec] | values)


def test_a_wrong_word() -> None:
    words = "align_corners, asymmetric, half_pixel, half_pixel_symmetric, pytorch_half_pixel, tf_crop_and_resize, "
    assert refusal(ResizeSpec, coordinates="algin_corners") == (
        f"coordinates: unknown 'algin_corners'; expected one of {words}tf_half_pixel_for_nn, "
        "tf_half_pixel_throughout, tflite_corners; did you mean 'align_corners'?"
    )
    said = refusal(ResizeSpec, arithmetic="openvion")
    assert said.startswith("arithmetic: unknown 'openvion'; expected one of exact, ")
    assert said.endswith("; did you mean 'openvino'?")


def test_words_count() -> None:
    assert made(coordinates="half_pixel").coordinates is Coordinates.HALF_PIXEL
    assert not np.array_equal(resize(X, made(coordinates="half_pixel")), resize(X, made(coordinates="align_corners")))
    assert resize(X, made(target=Sizes((9, 6)), aspect="not_larger")).shape == (5, 6)
    assert resize(X, made(target=Sizes((9, 6)), aspect="stretch")).shape == (9, 6)


@pytest.mark.parametrize("member", MEMBERS)
def test_a_word_computes_what_its_member_computes(member: Enum) -> None:
    for owner, name in FIELDS:
        if type(member) in get_args(get_type_hints(owner)[name]) or get_type_hints(owner)[name] is type(member):
            base = {name: value for name, value in WHOLE[owner].items() if name != "exclude_outside"}
            by_word, by_member = owner(**base | {name: member.value}), owner(**base | {name: member})
            assert by_word == by_member
            assert getattr(by_word, name) is member
            assert outcome(by_word) == outcome(by_member)


def outcome(value: Any) -> Any:
    """Return what a spec, or one with this part, makes of an image: its pixels, or why there are none."""
    specs = {Nearest: "kernel", Linear: "kernel", Cubic: "kernel", Crop: "coordinates", Sizes: "target"}
    spec = value if isinstance(value, ResizeSpec) else None
    if spec is None:
        part = specs.get(type(value), "target" if isinstance(value, Scales) else "pads")
        spec = made(**{part: (value,) if part == "pads" else value})
    try:
        with np.errstate(all="ignore"):  # windows and coefficients may be huge
            y = resize(X, spec)
    except IrInterpError as error:
        return str(error)
    return y.shape, y.tobytes()


def test_fractions_of_pixels() -> None:
    with pytest.raises(SpecError, match=r"^sizes: 5\.9 is not an integer$"):
        resize(X, made(), sizes=(5.9, 6))  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=r"^sizes: True is not an integer$"):
        resize(X, made(), sizes=(True, 6))
    assert resize(X, made(), sizes=(6.0, np.int64(6))).shape == (6, 6)  # type: ignore[arg-type]
    assert resize(X, made(), sizes=np.array([6, 6])).shape == (6, 6)  # type: ignore[arg-type]
    assert type(Sizes((np.int64(6),)).values[0]) is int  # type: ignore[arg-type]
    assert refusal(Pad, axis=1.5) == "axis: 1.5 is not an integer"
    assert refusal(Pad, begin=-1) == "pads must be non-negative 64-bit integers: axis 0 (-1, 2)"
    assert refusal(ResizeSpec, axes=(0, "1")) == "axes: '1' is not an integer"
    assert refusal(ResizeSpec, axes=1) == "axes: 1 is not a list of integers"


def test_arguments_of_resize() -> None:
    with pytest.raises(SpecError, match=r"^scales: '2' is not a number$"):
        resize(X, made(), scales=("2", 2))  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=r"^scales: '2' is not a list of numbers$"):
        resize(X, made(), scales="2")  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=r"^arithmetic: unknown 'onnx'; expected one of exact, ipp, jax, "):
        resize(X, made(), arithmetic="onnx")
    with pytest.raises(SpecError, match=r"^arithmetic: 32 is not one of 'exact', 'onnxruntime', 'openvino', "):
        resize(X, made(), arithmetic=32)  # type: ignore[arg-type]


def test_kernels() -> None:
    assert refusal(ResizeSpec, kernel="cubic") == "kernel: 'cubic' needs a, as in Cubic(a=-0.75)"
    assert refusal(ResizeSpec, kernel="nearest") == (
        "kernel: 'nearest' needs rounding, as in Nearest(rounding='round_prefer_floor')"
    )
    assert refusal(ResizeSpec, kernel="bilinear") == (
        "kernel: unknown 'bilinear'; expected one of area, box, cubic, gaussian, hamming, lanczos, linear, "
        "magic, mean, mitchell, mode, nearest; did you mean 'linear'?"
    )
    assert refusal(ResizeSpec, kernel=Linear) == (
        "kernel: Linear is not one of Nearest(rounding='round_prefer_floor'), Linear(), Cubic(a=-0.75), "
        "Box(), Hamming(), Lanczos(radius=3), Gaussian(), Mitchell(), Magic(year=2021), Area(), Mean(), Mode()"
    )
    assert made(kernel="linear").kernel == Linear()
    assert made(kernel="area", coordinates="asymmetric").kernel == Area()
    assert refusal(ResizeSpec, coordinates="tf_crop_and_resize") == (
        "coordinates: 'tf_crop_and_resize' needs roi, as in Crop(roi=((0.25, 0.75), (0, 1)))"
    )


def test_antialias() -> None:
    assert refusal(Linear, antialias=True) == "antialias: True is not one of 'off', 'shrinking', 'any_shrinking'"
    assert refusal(Cubic, antialias="on") == ("antialias: unknown 'on'; expected one of any_shrinking, off, shrinking")
    assert refusal(Cubic, exclude_outside=1) == "exclude_outside: 1 is neither True nor False"
    assert refusal(Cubic, a="-0.75") == "a: '-0.75' is not a number"
    assert Linear(antialias="shrinking") == Linear(antialias=Antialias.SHRINKING)  # type: ignore[arg-type]


def test_targets() -> None:
    assert refusal(ResizeSpec, target=(2, 2)) == (
        "target: (2, 2) is not one of Sizes((50, 60)), Scales((2.0, 2.0)), 'sizes', 'scales', None"
    )
    assert made(target="sizes").target is AtRunTime.SIZES
    assert made(target=Scales([2, np.float32(0.5)])).target == Scales((2.0, 0.5))  # type: ignore[arg-type]
    assert refusal(Scales, values=(1e39, 1)) == "scales must be finite and greater than 0 as float32: [1e+39, 1.0]"
    assert refusal(Scales, values=(1e-46, 1)) == "scales must be finite and greater than 0 as float32: [1e-46, 1.0]"


def test_windows_and_pads() -> None:
    assert Crop(roi=[[0, 1], np.array([0.25, 0.5])]) == Crop(roi=((0.0, 1.0), (0.25, 0.5)))  # type: ignore[arg-type]
    assert refusal(Crop, roi=((0, 1), (0.5,))) == "roi: (0.5,) is not a list of 2 numbers"
    assert refusal(Crop, roi=[[0, 1e10], [0, 1]]) == (
        "roi must be finite, and within 2**31: [(0.0, 10000000000.0), (0.0, 1.0)]"
    )
    assert refusal(Crop, roi=0.5) == "roi: 0.5 is not a list of pairs of numbers"
    pad = Pad(axis=0, begin=1, end=0)
    assert made(pads=[pad]) == made(pads=(pad,))
    assert refusal(ResizeSpec, pads=pad) == (
        "pads: Pad(axis=0, begin=1, end=0) is not a list of Pad(axis=2, begin=0, end=1)"
    )
    assert refusal(ResizeSpec, pads=[1]) == "pads: 1 is not one of Pad(axis=2, begin=0, end=1)"
    twice = [pad, Pad(axis=-2, begin=0, end=0)]
    with pytest.raises(ShapeError, match=r"^axes \[0, -2\] name an axis of an input of rank 2 twice$"):
        resize(X, made(pads=twice))


def test_long_values_are_quoted_in_short() -> None:
    assert refusal(ResizeSpec, target=list(range(10**6))).startswith("target: [0, 1, 2, 3, 4, 5, ...] is not one of ")
    assert refusal(ResizeSpec, aspect=10**9999).startswith("aspect: a number of type int is not one of 'stretch', ")


NUMBERS = st.one_of(
    st.integers(-3, 9),
    st.sampled_from([2**31, 2**63 - 1, 2**63, 10**40, 10**400]),
    st.floats(width=32),
    st.floats(),
    st.fractions(0, 3),
    st.booleans(),
    st.integers(-3, 9).map(float),
    st.sampled_from([np.int8, np.int64, np.uint16, np.float16, np.float32, np.float64, np.bool_]).flatmap(
        lambda kind: st.integers(0, 9).map(kind)
    ),
)
WORDS = st.one_of(
    st.sampled_from([str(member.value) for member in MEMBERS]),
    st.sampled_from(
        ["nearest", "linear", "cubic", "area", "tf_crop_and_resize", "algin_corners", "HALF_PIXEL", "True"]
    ),
    st.text(max_size=4),
)
LISTS = st.lists(NUMBERS, max_size=3)
KERNELS = [Linear(), Cubic(a=-0.5), Nearest(rounding=Rounding.CEIL), Area()]
CROPS = [Crop(roi=None), Crop(roi=((0.0, 0.9), (0.1, 1.0)))]
TARGETS = [Sizes((2, 3)), Scales((2.0, 0.7)), Scales((3.0,))]
PARTS = st.sampled_from([*MEMBERS, *KERNELS, *CROPS, *TARGETS, Pad(axis=1, begin=0, end=1), Linear, Sizes, *ENUMS])
ODD = st.one_of(
    st.sampled_from([None, ..., NotImplemented, 1j, Decimal(2), Fraction(5, 2), np.array(6), np.array([2.0, 5.5])]),
    st.sampled_from([np.float32(np.inf), np.float32(np.nan), np.complex64(2), np.str_("off"), np.datetime64(5, "s")]),
    st.sampled_from([object(), len, range(2), range(2, 4), ResizeSpec(kernel=Linear()), memoryview(b"ab")]),
    st.binary(max_size=2),
    st.frozensets(st.integers(0, 3), max_size=2),
    st.dictionaries(st.integers(0, 3), st.integers(0, 3), max_size=2),
)
SINGLE = st.one_of(NUMBERS, WORDS, PARTS, ODD)
ANYTHING = st.one_of(
    SINGLE,
    LISTS,
    LISTS.map(tuple),
    st.lists(SINGLE, max_size=3),
    st.lists(st.lists(NUMBERS, min_size=2, max_size=2), min_size=2, max_size=2),
    st.lists(st.integers(1, 9), min_size=2, max_size=2).map(np.array),
)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("owner", "name"), FIELDS, ids=lambda value: getattr(value, "__name__", value))
@settings(max_examples=50)
@given(value=ANYTHING)
@example(value=[0, 0])
def test_any_value_is_refused_or_counts(owner: Any, name: str, value: Any) -> None:
    try:
        whole = owner(**WHOLE[owner] | {name: value})
    except SpecError:
        return
    held = getattr(whole, name)
    assert has_type(held, get_type_hints(owner)[name])
    assert is_same(held, value)
    typed = owner(**{field.name: getattr(whole, field.name) for field in fields(owner)})
    assert (whole, hash(whole)) == (typed, hash(typed))
    if isinstance(whole, ResizeSpec | Nearest | Linear | Cubic | Sizes | Scales | Pad | Crop):
        assert outcome(whole) == outcome(typed)


def has_type(value: Any, hint: Any) -> bool:
    """Say whether a value is of the type that a field is annotated with, and no other that is merely like it."""
    if isinstance(hint, UnionType):
        return any(has_type(value, each) for each in get_args(hint))
    if get_origin(hint) is tuple:
        each, *more = get_args(hint)
        fits = type(value) is tuple and (more == [...] or len(value) == 1 + len(more))
        return fits and all(has_type(entry, each) for entry in value)
    return value is None if hint is NoneType else type(value) is hint


def is_same(held: Any, value: Any) -> bool:
    """Say whether what a field holds is what it was given: the same, of the same word, or of the same entries."""
    if isinstance(held, tuple):
        return len(held) == len(value) and all(map(is_same, held, value))
    if isinstance(held, Enum):
        return value is held or value == held.value
    if isinstance(held, int | float) and not isinstance(held, bool):
        return not isinstance(value, bool | str) and (value == held or float(value) == held or held != held)
    return bool(held == value) or held == {"linear": Linear(), "area": Area()}.get(value)


@given(sizes=ANYTHING, scales=ANYTHING, arithmetic=ANYTHING)
def test_any_argument_of_resize_is_refused_or_counts(sizes: Any, scales: Any, arithmetic: Any) -> None:
    spec = made()
    for given_ in ({"sizes": sizes}, {"scales": scales}, {"arithmetic": arithmetic}):
        try:
            resize(X, spec, **given_)
        except SpecError:
            continue


SPECS = [
    (
        made(coordinates="pytorch_half_pixel", axes=(0, 1)),
        "linear, pytorch_half_pixel: (i + 1/2) * step - 1/2, but 0 for a single output, step = in / out; "
        "sizes 5, 6 on axes 0, 1",
    ),
    (
        made(kernel=Nearest(rounding=Rounding.FLOOR), coordinates="asymmetric", target=Scales((2.0, 1.5))),
        "nearest, asymmetric: floor(i * step), step = 1 / scale; scales 2, 1.5 on all axes",
    ),
    (
        made(kernel=Cubic(a=-0.5, antialias=Antialias.SHRINKING, exclude_outside=True), aspect="not_larger"),
        "cubic a=-0.5, antialiased (weights renormalised at borders), half_pixel: (i + 1/2) * step - 1/2, "
        "step = 1 / scale; sizes 5, 6 (not_larger) on all axes",
    ),
    (
        made(kernel="area", coordinates="align_corners", target="scales", pads=[Pad(axis=0, begin=1, end=0)]),
        "area, align_corners: i * (in - 1) / (out - 1), averaged over what a pixel covers; "
        "zeros around axis 0 (1, 0); scales at run time on all axes",
    ),
    (
        made(coordinates=Crop(roi=((0.0, 0.5), (0.25, 1.0))), target=None),
        "linear, tf_crop_and_resize: start * (in - 1) + i * (end - start) * (in - 1) / (out - 1); "
        "sizes or scales at run time on all axes",
    ),
]


@pytest.mark.parametrize(("spec", "text"), SPECS)
def test_text(spec: ResizeSpec, text: str) -> None:
    assert str(spec) == text
    assert repr(spec).startswith("ResizeSpec(kernel=")


@pytest.mark.parametrize("spec", [spec for spec, _ in SPECS])
def test_copies(spec: ResizeSpec) -> None:
    for twin in (copy.deepcopy(spec), pickle.loads(pickle.dumps(spec)), replace(spec)):
        assert (twin, hash(twin)) == (spec, hash(spec))


def test_tables_for_notebooks() -> None:
    crop = made(coordinates=Crop(roi=((0.0, 0.5), (0.25, 1.0))))
    html = crop._repr_html_()
    assert "<tr><th>mode</th><td>linear, tf_crop_and_resize</td></tr>" in html
    assert f"<tr><th>formula</th><td>{crop.formula}</td></tr>" in html
    assert "<tr><th>target</th><td>sizes 5, 6 on all axes</td></tr>" in html
    assert "<tr><th>roi</th><td>[[0.0, 0.5], [0.25, 1.0]]</td></tr>" in html
    assert "<tr><th>arithmetic</th><td>exact</td></tr>" in html
    op = ResizeOp(name="<b>up</b>", where='m&m.xml:layer[12 "up2"]', spec=made(), dialect="openvino", version=11)
    assert "<td>&lt;b&gt;up&lt;/b&gt;</td>" in op._repr_html_()
    assert "<td>m&amp;m.xml:layer[12 &quot;up2&quot;]</td>" in op._repr_html_()
    assert made().formula in op._repr_html_()
