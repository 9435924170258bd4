"""Zarr stores of others: no code of theirs runs, nothing outside of them is read, nothing hangs."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import command, command_in_a_fork, forks_of_commands
from tests.support.graphs import save_model

pytest.importorskip("zarr", reason="pip install 'ir-interp[dask]'")

V2: dict[str, Any] = {"zarr_format": 2, "shape": [4, 4], "chunks": [4, 4], "dtype": "<f4", "order": "C"}
V2 |= {"fill_value": 0, "compressor": None, "filters": None}
TEXTS = {"dtype": "|O", "fill_value": "", "filters": [{"id": "vlen-utf8"}]}
PICKLE = {"id": "pickle"}


class Attack:
    """What makes a file where it is unpickled."""

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return os.system, ("touch PWNED",)


V3 = {
    "zarr_format": 3,
    "node_type": "array",
    "shape": [4, 4],
    "data_type": "float32",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 4]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0.0,
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
}


def store(chunk: bytes | None = None, **changes: Any) -> None:
    Path("a.zarr").mkdir()
    Path("a.zarr/.zarray").write_text(json.dumps(V2 | changes))
    if chunk is not None:
        Path("a.zarr/0.0").write_bytes(chunk)


def link(target: str) -> None:
    store()
    Path("a.zarr/0.0").symlink_to(target)


def pipe(name: str) -> None:
    store()
    if not name[0].isdigit():
        Path("a.zarr/.zarray").unlink()
    os.mkfifo(f"a.zarr/{name}")


def metadata(text: str) -> None:
    Path("a.zarr").mkdir()
    Path("a.zarr/zarr.json").write_text(text)


def twice() -> None:
    store()
    Path("a.zarr/zarr.json").write_text("{}")


def group() -> None:
    metadata('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    Path("a.zarr/c/0").mkdir(parents=True)
    Path("a.zarr/c/0/0").write_bytes(b"")


def group_of_a_broken_array() -> None:
    store(order="1e-09")
    Path("a.zarr").rename("0")
    Path("a.zarr").mkdir()
    Path("a.zarr/.zgroup").write_text('{"zarr_format": 2}')
    Path("0").rename("a.zarr/0")


TWO_VERSIONS = "a.zarr: zarr.json and .zarray both describe an array; expected one of them"
ATTACK = pickle.dumps(Attack())
UNPICKLES = "a.zarr: its codecs unpickle, which would run code from the file; expected codecs without pickle"
STORES: dict[str, tuple[Callable[[], object], str]] = {
    "pickle behind texts": (lambda: store(ATTACK, **TEXTS | {"filters": [{"id": "vlen-utf8"}, PICKLE]}), UNPICKLES),
    "pickle as compression": (lambda: store(ATTACK, **TEXTS, compressor=PICKLE), UNPICKLES),
    "pickle alone": (lambda: store(ATTACK, dtype="|O", filters=[PICKLE]), "a.zarr: not a Zarr array: "),
    "no length of a chunk": (
        lambda: store(chunks=[0, 4]),
        "a.zarr: chunks of shape [0, 4]; expected at least 1 along ",
    ),
    "a negative length": (lambda: store(shape=[-4, 4]), "a.zarr: not a Zarr array: "),
    "a huge shape": (
        lambda: store(shape=[10**9, 10**9], chunks=[10**9, 10**9]),
        "resizing [1000000000, 1000000000] to [2000000000, 2000000000] needs 44.7 GiB",
    ),
    "a chunk cut off": (
        lambda: store(b"\0", compressor={"id": "zlib", "level": 1}),
        "a.zarr: a chunk cannot be read: ",
    ),
    "a chunk too short": (lambda: store(b"\0"), "a.zarr: a chunk cannot be read: "),
    "a pipe as chunk": (lambda: pipe("0.0"), "a.zarr: a chunk cannot be read: Not a regular file"),
    "pipes as metadata": (lambda: pipe("zarr.json"), "a.zarr: not a Zarr array: Not a regular file"),
    "a pipe as old metadata": (lambda: pipe(".zarray"), "a.zarr: not a Zarr array: Not a regular file"),
    "a device as chunk": (lambda: link("/dev/zero"), "a.zarr: a chunk cannot be read: Not a regular file"),
    "a link out of the store": (
        lambda: link("../secret"),
        "a.zarr: a chunk cannot be read: 0.0 points outside the store",
    ),
    "a list": (lambda: metadata("[]"), "a.zarr: not a Zarr array: "),
    "deep": (lambda: metadata("[" * 10**5), "a.zarr: not a Zarr array: "),
    "two versions": (twice, TWO_VERSIONS),
    "a group with something else in it": (group, "a.zarr: a Zarr group; expected an array in it"),
    "half of it": (lambda: metadata('{"zarr_format": 3, "node_type": "array"}'), "a.zarr: not a Zarr array: "),
    "attributes that are a list": (
        lambda: metadata(json.dumps(V3 | {"attributes": [1]})),
        "a.zarr: its attributes are not a JSON object; expected names with values",
    ),
    "a group of a broken array": (
        group_of_a_broken_array,
        "a.zarr: a Zarr group; expected an array in it, as in a.zarr/0; it has arrays that cannot be listed: ",
    ),
    "a codec that nobody knows": (
        lambda: metadata(json.dumps({"zarr_format": 3, "node_type": "array", "codecs": [{"name": "gone"}]})),
        "a.zarr: not a Zarr array: ",
    ),
}


@pytest.fixture(scope="module", autouse=True)
def _forks() -> Iterator[None]:
    with forks_of_commands():
        yield


@pytest.mark.sampled(6)
@pytest.mark.parametrize("kind", STORES)
def test_a_hostile_store_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path)
    save, reason = STORES[kind]
    save_model(Path("a.onnx"), 'g (float[a,b] x) => (float[c,d] y) <float[2] s = {2,2}> { [up] y = Resize (x, "", s) }')
    Path("secret").write_bytes(bytes(64))
    save()
    line = ("run", "a.onnx", "--input=a.zarr", "--output=b.zarr")
    code, printed, errors = command_in_a_fork(tmp_path_factory.mktemp("fork"), *line, imports=("zarr",))
    assert (code, printed) == (2, "")
    assert errors.splitlines()[-1].startswith(f"error: {reason}"), errors
    assert "Warning" not in errors
    assert not Path("PWNED").exists()
    assert not list(Path().glob("b.zarr*"))


def test_links_inside_of_a_store_are_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    link("other")
    Path("a.zarr/other").write_bytes(bytes(64))
    Path("b.zarr").symlink_to("a.zarr")
    save_model(Path("a.onnx"), 'g (float[a,b] x) => (float[c,d] y) <float[2] s = {2,2}> { [up] y = Resize (x, "", s) }')
    assert command(capsys, "run", "a.onnx", "--input=b.zarr", "--output=c.zarr")[::2] == (0, "")
    assert Path("c.zarr").is_dir()


@pytest.mark.parametrize("planted", ["b.zarr.partial", "b.zarr.partial.done"])
def test_nothing_is_written_through_a_planted_link(
    planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    store(bytes(64))
    Path("outside").mkdir()
    Path("outside/file").write_text("precious")
    Path(planted).symlink_to("outside" if planted.endswith("partial") else "outside/file")
    run = ("run", "a.zarr", "--like", "opencv:linear", "--sizes", "2,2", "--output", "b.zarr")
    problem = f"error: {planted} is a link, through which nothing is written; remove it\n"
    assert command(capsys, *run) == (2, "", problem)
    assert [path.name for path in Path("outside").iterdir()] == ["file"]
    assert Path("outside/file").read_text() == "precious"


@pytest.mark.parametrize("planted", ["pipe", "link", "folder"])
def test_an_unfinished_result_holds_regular_files(
    planted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of another, with the journal of the same call: neither waited for nor written through."""
    monkeypatch.chdir(tmp_path)
    Path("outside").mkdir()
    store(chunks=[2, 2])
    Path("a.zarr/1.1").write_bytes(b"short")  # so that the resize ends with an unfinished result
    run = ("run", "a.zarr", "--like", "opencv:linear", "--sizes", "4,4", "--output", "b.zarr")
    assert command(capsys, *run)[0] == 2
    assert Path("b.zarr.partial/.zarray").is_file()
    path = Path("b.zarr.partial") / ("1" if planted == "folder" else ".zarray")
    path.unlink(missing_ok=True)
    os.mkfifo(path) if planted == "pipe" else path.symlink_to("../outside")
    Path("a.zarr/1.1").unlink()
    problem = f"{path} is a link, a pipe or a device, which no unfinished resize has"
    remedy = "remove b.zarr.partial and b.zarr.partial.done"
    assert command(capsys, *run) == (2, "", f"error: {problem}; {remedy}\n")
    assert not list(Path("outside").iterdir())


def test_a_file_that_is_no_journal_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    store(bytes(64))
    Path("b.zarr.partial.done").write_text("precious")
    run = ("run", "a.zarr", "--like", "opencv:linear", "--sizes", "2,2", "--output", "b.zarr")
    assert command(capsys, *run)[0] == 2
    assert Path("b.zarr.partial.done").read_text() == "precious"
