"""A dialect is added by one file, or by one entry point, and by nothing else (docs/adding-a-dialect.md)."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_interp import ReadError, ResizeSpec, SpecError
from ir_interp.converters import dialects
from ir_interp.translation.dialect import Attributes, Context, Dialect, since
from tests.support import laws
from tests.support.clones import Clone, copied
from tests.support.places import ROOT

PAGE = (ROOT / "docs" / "adding-a-dialect.md").read_text(encoding="utf-8")
(EXAMPLE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
NAMES = ", ".join(sorted([*dialects.own(), "keras"]))


def installed(folder: Path, name: str, module: str, source: str) -> None:
    """Put a distribution with one entry point, and the module that it names, into a folder."""
    (folder / f"{module}.py").write_text(source, encoding="utf-8")
    about = folder / f"brings_{name}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: brings-{name}\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[{dialects.GROUP}]\n{name} = {module}\n", encoding="utf-8")


@pytest.fixture(scope="module", params=["a file", "an entry point"])
def clone(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A copy of the project with one more file; or the project itself, and a package beside it."""
    folder = tmp_path_factory.mktemp("added")
    if request.param == "an entry point":
        installed(folder, "keras", "keras_dialect", EXAMPLE)
        return Clone(ROOT, folder)
    clone = copied(folder)
    (folder / "converters" / "dialects" / "keras.py").write_text(EXAMPLE, encoding="utf-8")
    return clone


IMAGE = {"shape": [1, 4, 6, 3], "dtype": "float32"}
LAYER = {"name": "up", "input": IMAGE, "interpolation": "bilinear", "size": [2, 3]}


@pytest.fixture
def layers(tmp_path: Path) -> Path:
    path = tmp_path / "layers.json"
    path.write_text(json.dumps({"dialect": "keras", "layers": [LAYER]}), encoding="utf-8")
    return path


def test_the_command_line_names_it(clone: Clone, layers: Path, tmp_path: Path) -> None:
    (_, text), converted, misspelled = clone.commands(
        ("convert", "--help"),
        ("convert", layers, tmp_path / "up.onnx", "--quiet"),
        ("convert", tmp_path / "up.onnx", tmp_path / "x.json", "--dialect", "kera"),
    )
    assert f"One of: {NAMES}." in re.sub(r"[\s│]+", " ", str(text))
    assert converted == [0, ""]
    message = f"error: unknown dialect 'kera'; expected one of {NAMES}; did you mean 'keras'?\n"
    assert misspelled == [2, message]


def test_its_layers_are_read_run_and_written(clone: Clone, layers: Path, tmp_path: Path) -> None:
    x = np.random.default_rng(0).random((1, 4, 6, 3), np.float32)
    np.save(tmp_path / "x.npy", x)
    (code, inspected), *others = clone.commands(
        ("inspect", layers),
        ("run", layers, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy"),
        ("convert", layers, tmp_path / "up.onnx"),
        ("convert", tmp_path / "up.onnx", tmp_path / "back.json", "--dialect", "keras"),
        ("run", tmp_path / "back.json", "--input", tmp_path / "x.npy", "--output", tmp_path / "z.npy"),
    )
    assert (code, "keras" in str(inspected)) == (0, True)
    assert [code for code, _ in others] == [0] * 4
    back = json.loads((tmp_path / "back.json").read_text())
    assert back == {
        "dialect": "keras",
        "version": 3,
        "layers": [LAYER | {"data_format": "channels_last", "size": [2.0, 3.0]}],
    }
    assert np.load(tmp_path / "y.npy").shape == (1, 8, 18, 3)
    np.testing.assert_array_equal(np.load(tmp_path / "z.npy"), np.load(tmp_path / "y.npy"))


def test_the_laws_hold_it(clone: Clone) -> None:
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "keras")
    assert re.search(r"^\d+ passed", clone.run("-m", "pytest", "tests/translation/test_laws.py", *options), re.M)


def test_the_matrix_has_its_column(clone: Clone, tmp_path: Path) -> None:
    clone.run("docs/make_matrix.py", str(tmp_path / "matrix.md"))
    lines = (tmp_path / "matrix.md").read_text(encoding="utf-8").splitlines()
    assert f"| resize | {NAMES.replace(', ', ' | ')} |" in lines
    column = sorted([*dialects.own(), "keras"]).index("keras") + 2
    rows = (line.split("|") for line in lines if line.startswith("|"))
    cells = {title: row[column].strip() for row in rows for title in row[1].strip().split("<br>")}
    assert cells["linear, half_pixel, scales 2"] == "exact (3)"
    (linear,) = (title for title in cells if title.startswith("linear: ") and "half_pixel," in title)
    assert cells[linear] == "no"


# What another package may get wrong


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Let the registry look anew, before and after."""
    _forget()
    yield
    _forget()


def _forget() -> None:
    for function in (dialects.get, dialects.own, dialects._brought):
        function.cache_clear()


@pytest.mark.parametrize(
    ("name", "source", "problem"),
    [
        ("broken", "import no_such_module", "cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'"),
        ("broken", "1 / 0", "cannot be loaded: ZeroDivisionError: division by zero"),
        ("broken", "", "has no DIALECT"),
        ("broken", "DIALECT = 'tflite'", "has a DIALECT of type str, not Dialect"),
        ("broken", EXAMPLE, "has a DIALECT named 'keras'; expected 'broken'"),
        (
            "broken",
            EXAMPLE.replace('"scales":', '"scale":'),
            "cannot be loaded: SpecError: dialect 'keras': numbers has 'scale'; expected one of a, axes, box, "
            "extrapolation, gap, pads_begin, pads_end, roi, scales, sizes; did you mean 'scales'?",
        ),
    ],
)
@pytest.mark.usefixtures("forgotten")
def test_a_package_that_brings_no_dialect(
    name: str, source: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(tmp_path, name, "the_broken_one", source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "the_broken_one", raising=False)
    with pytest.raises(ReadError) as caught:
        dialects.get(name)
    assert str(caught.value) == f"entry point 'broken = the_broken_one' of brings-broken 1.0 {problem}"
    assert name in dialects.names()
    assert all(dialects.get(each).name == each for each in dialects.own())


@pytest.mark.usefixtures("forgotten")
def test_a_name_that_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of them is meant nobody can say."""
    installed(tmp_path, "tflite", "another_tflite", EXAMPLE.replace('"keras"', '"tflite"'))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ReadError) as caught:
        dialects.get("tflite")
    assert str(caught.value) == (
        "2 dialects are named 'tflite': the built-in one, entry point 'tflite = another_tflite' of brings-tflite 1.0; "
        "remove all but one"
    )
    assert all(dialects.get(each).name == each for each in dialects.own() if each != "tflite")


@pytest.mark.usefixtures("forgotten")
def test_two_packages_with_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("one", "other"):
        folder = tmp_path / module
        folder.mkdir()
        installed(folder, "keras", f"{module}_keras", EXAMPLE)
        about = (folder / "brings_keras-1.0.dist-info").rename(folder / f"{module}-1.0.dist-info")
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        monkeypatch.syspath_prepend(folder)
    with pytest.raises(ReadError, match=r"2 dialects are named 'keras': entry point 'keras = .*; remove"):
        dialects.get("keras")


# A dialect that lies fails a law


def example(**changes: Any) -> Dialect:
    namespace: dict[str, Any] = {}
    exec(EXAMPLE, namespace)
    dialect: Dialect = namespace["DIALECT"]
    return replace(dialect, **changes)


def _forgetful(attributes: Attributes, context: Context) -> ResizeSpec:
    spec = example().read(attributes, context)
    assert isinstance(attributes, dict)
    attributes.clear()
    return spec


def _unready(attributes: Attributes, context: Context) -> ResizeSpec:
    return example().read({**attributes, "size": tuple(attributes.get("size", (2, 2)))}, context)


def _nearest_only(attributes: Attributes, context: Context) -> ResizeSpec:
    if attributes["interpolation"] != "nearest":
        raise SpecError("nearest only")
    return example().read(attributes, context)


LIES: dict[str, tuple[Dialect, Callable[[Any], None]]] = {
    "a word that is not the default goes omitted": (
        example(omitted={"interpolation": "bilinear"}),
        laws.what_is_written_reads_back,
    ),
    "reading changes what is read": (example(read=_forgetful), laws.reading_changes_nothing_that_it_is_given),
    "reading crashes": (example(read=_unready), laws.reading_ends_in_a_spec_or_a_refusal),
    "a word that is never allowed": (example(read=_nearest_only), laws.every_word_is_some_spec_s),
    "a version that takes nothing": (example(versions=(3, 2)), laws.some_rank_is_taken),
    "too many words": (
        example(
            vocabulary={**example().vocabulary, **{f"flag {n}": dict.fromkeys((0, 1), since(3)) for n in range(11)}}
        ),
        laws.the_product_stays_small,
    ),
}


def obey(law: Callable[[Any], None], dialect: Dialect) -> None:
    for each in [dialect] if law in laws.OF_A_DIALECT else laws.places(dialect):
        law(each)


@pytest.mark.parametrize("lie", LIES)
def test_a_dialect_that_lies_breaks_a_law(lie: str) -> None:
    dialect, law = LIES[lie]
    with pytest.raises((AssertionError, TypeError)):
        obey(law, dialect)


@pytest.mark.parametrize("law", [*laws.OF_A_DIALECT, *laws.OF_A_PLACE], ids=lambda law: law.__name__)
def test_a_dialect_that_does_not_lie_breaks_none(law: Callable[[Any], None]) -> None:
    obey(law, example())
