"""However the program ends, its children end with it, and what it kept for a while goes."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from ir_interp.converters import workers
from ir_interp.files.writing import scratch
from tests.support.graphs import save_model
from tests.support.places import ROOT

ENDLESS = """g (float[1,1,8,8] x) => (float[1,1,k,l] y)
<float[4] s = {1,1,2,2}, bool[1] on = {1}, int64[1] turns = {9223372036854775807}> {
    u = Resize <mode = "nearest"> (x, "", s)
    y = Loop (turns, on, u) <body = b (int64 i, bool c, float[1,1,k,l] v) => (bool d, float[1,1,k,l] w) {
        d = Identity (c)
        w = Identity (v)
    }>
}"""
OLD = 3600
PROCESSES = 1 if os.environ.get(workers.VARIABLE) == "0" else 2
"""A worker, and the fork of it that runs a model."""
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="processes are listed in /proc")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with a model that never ends, and a folder of temporary files."""
    monkeypatch.chdir(tmp_path)
    Path("temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    save_model(Path("a.onnx"), ENDLESS)
    return tmp_path


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """Start children with the usual signals: a shell's background jobs ignore two, and children inherit that."""
    ignored = [number for number in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


def left() -> list[str]:
    return sorted(path.name for place in (Path(), Path("temporary")) for path in place.glob(".ir-interp-*"))


def children(process: int) -> list[int]:
    """Return the processes that one has started, and theirs."""
    own = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [each for child in map(int, own) for each in (child, *children(child))]


def running(process: int) -> bool:
    state = Path(f"/proc/{process}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] not in "ZX"


def until(true: object, seconds: float = 60) -> bool:
    """Wait until a function says so."""
    assert callable(true)
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(true())


@pytest.fixture
def endless() -> Iterator[subprocess.Popen[bytes]]:
    """Return the program, while a child of it runs what never ends."""
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from ir_interp.cli.main import entry; entry()"
    command = [sys.executable, "-c", code, "convert", "a.onnx", "a.xml"]
    with subprocess.Popen(command) as process:
        try:
            assert until(lambda: len(children(process.pid)) == PROCESSES and any(Path("temporary").rglob("errors.txt")))
            yield process
        finally:
            process.kill()


@LINUX
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=lambda each: each.name)
def test_a_signal_ends_everything(number: signal.Signals, endless: subprocess.Popen[bytes]) -> None:
    known = children(endless.pid)
    assert len(left()) == 2
    endless.send_signal(number)
    code = endless.wait(timeout=30)
    assert code == 128 + number
    assert until(lambda: not any(map(running, known)), 10)
    assert left() == []
    assert not Path("a.xml").exists()


WAITS = "import time; open('began', 'w').close(); time.sleep(60)"
BEGINS = {
    "in an import": ("sys.path.insert(0, 'slow')",),
    "in a call that makes another error of it": (
        "import ir_interp.cli.main as program",
        f"waits = type('Waits', (), dict(__set_name__=lambda *_: exec({WAITS!r})))",
        "program._program_command = lambda: lambda **_: type('Holder', (), dict(waits=waits()))",
    ),
}


@LINUX
@pytest.mark.parametrize("where", BEGINS)
def test_an_interrupt_ends_without_a_word(where: str) -> None:
    Path("slow").mkdir()
    Path("slow", "typer.py").write_text(WAITS)
    start = ("import sys", f"sys.path.insert(0, {str(ROOT)!r})", "import ir_interp_program")
    command = [sys.executable, "-c", "\n".join([*start, *BEGINS[where], "ir_interp_program.entry()"])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            assert until(Path("began").exists)
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (process.returncode, said) == (128 + signal.SIGINT, b"")


@LINUX
def test_being_killed_ends_the_children(endless: subprocess.Popen[bytes]) -> None:
    known = children(endless.pid)
    endless.kill()
    endless.wait(timeout=30)
    assert until(lambda: not any(map(running, known)), 10)
    assert len(left()) == 2


@LINUX
def test_the_next_run_removes_what_was_left(endless: subprocess.Popen[bytes]) -> None:
    endless.kill()
    endless.wait(timeout=30)
    assert len(left()) == 2
    for place in (Path(), Path("temporary")):
        for path in place.glob(".ir-interp-*"):
            os.utime(path, (time.time() - OLD,) * 2)
        with scratch(place) as inside:
            assert list(place.glob(".ir-interp-*")) == [inside]
    assert left() == []


def test_what_is_in_use_stays() -> None:
    """Even when it is old; and so does what is new, for it may not be locked yet."""
    Path("temporary", ".ir-interp-new").mkdir()
    with scratch(Path("temporary")) as first:
        os.utime(first, (time.time() - OLD,) * 2)
        with scratch(Path("temporary")) as second:
            assert first.is_dir()
        assert not second.exists()
    assert left() == [".ir-interp-new"]


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    Path("temporary", ".ir-interp-link").symlink_to(tmp_path / "precious")
    Path("temporary", ".ir-interp-file").touch()
    old = Path("temporary", ".ir-interp-old")
    old.mkdir()
    (old / "inner").symlink_to(tmp_path / "precious")
    for each in (old, tmp_path / "precious"):
        os.utime(each, (time.time() - OLD,) * 2)
    with scratch(Path("temporary")):
        pass
    assert left() == [".ir-interp-file", ".ir-interp-link"]
    assert (tmp_path / "precious" / "file").exists()


def test_a_file_system_without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    """There nobody knows what is in use, so everything stays; what is its own goes all the same."""

    def fail(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", fail)
    old = Path("temporary", ".ir-interp-old")
    old.mkdir()
    os.utime(old, (time.time() - OLD,) * 2)
    with scratch(Path("temporary")) as inside:
        assert inside.is_dir()
    assert left() == [".ir-interp-old"]


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="other systems have no such signal")
def test_a_child_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Should its parent hang: this one does not stop it."""
    monkeypatch.setattr(workers, "LATER", 0)
    monkeypatch.setattr(threading.Timer, "start", lambda _: None)
    question = workers.Question(function="operator:pow", setting=10**12, limit=1, attempts=1)
    with closing(workers.Worker()) as one:
        process = one._waiting_process(60)
        assert process is not None
        assert one.answer(question, 3) == workers.Late(1)
    assert process.returncode == -signal.SIGALRM


def test_under_nohup_a_hangup_is_ignored() -> None:
    lines = (
        "import os, signal, sys",
        f"sys.path.insert(0, {str(ROOT)!r})",
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)",
        "import ir_interp.cli.main as program",
        "program.main = lambda: os.kill(os.getpid(), signal.SIGHUP) or 7",
        "program.entry()",
    )
    assert subprocess.run([sys.executable, "-c", "\n".join(lines)], check=False).returncode == 7
