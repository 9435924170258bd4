"""Child processes: how each is started, what it answers, pools of them, and calls in forks of one.

Everything that this program runs in other processes runs in a ``Worker``, which answers questions sequentially, and is
replaced if it dies or takes too long: the models of a fleet (``each``), single resizes in installed runtimes
(``audit.probe``), and models to verify, each in a fork of a worker (``forks``).
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import json
import math
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any

from ir_interp.errors import IrInterpError
from ir_interp.files.memory import allow_declared, allow_files, bytes_of, limit_process
from ir_interp.files.writing import scratch

from .runtimes.execution import silent_environment

# Start modules of this program as separate processes, whatever lies in the current folder.
#
# That folder may have come with the model. So a child searches modules where Python and this process do, but never
# there; variables such as PYTHONPATH and PYTHONSTARTUP do not reach it.

_START = """\
import json, runpy, sys
own, known, module = json.loads(sys.argv[1])
if own not in sys.path:  # not installed: another version of this program may be
    sys.path.insert(0, own)
sys.path += [place for place in known if place not in sys.path]
sys.argv[:] = [module, *sys.argv[2:]]
from ir_interp.files.memory import limit_process
from ir_interp.imports import guard_program
limit_process()
guard_program()
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
_ISOLATED = "-I"  # without the current folder and PYTHON... variables


@contextmanager
def started(module: str, *arguments: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process that runs a module, named as for ``python -m``; it is killed at the end, if it still runs.

    Its stdin and stdout are pipes, and its stderr is discarded. It must end when its stdin does: that happens however
    this process ends. Its temporary files go into ``folder``. Its memory is limited to the bound.
    """
    setting = json.dumps([str(Path(sys.modules["ir_interp"].__path__[0]).parent), _module_folders(), module])
    unwritten = ["-B"] if sys.dont_write_bytecode else []
    command = [sys.executable, _ISOLATED, *unwritten, "-c", _START, setting, *arguments]
    environment = {**silent_environment(), "TMPDIR": str(folder.absolute())}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=environment, **pipes)  # type: ignore[call-overload]
    try:  # a signal before this line closes the pipe, and thereby ends the child: nobody waits for it
        yield process
    finally:
        process.kill()
        with process:  # closes its streams
            pass


def _module_folders() -> list[str]:
    """Return where this process looks for modules, except the current folder."""
    current = os.path.realpath(Path.cwd())
    return [place for place in sys.path if Path(place).is_absolute() and os.path.realpath(place) != current]


LATER = 60
"""Seconds after the limit at which a process ends itself, if its parent hangs and has not stopped it."""

_LENGTH = struct.Struct("<Q")  # of a pickled message, before it
_STARTS = 3  # of a process that ends before it begins to work


@dataclass(frozen=True, slots=True)
class Died:
    """Stands for the answer if a process ended instead; ``status`` is negative for a signal, as in ``Popen``."""

    status: int

    def __str__(self) -> str:
        return f"the processes that worked on it died, the last with status {self.status}"


@dataclass(frozen=True, slots=True)
class Late:
    """Stands for an answer that took longer than the ``limit`` in seconds."""

    limit: float

    def __str__(self) -> str:
        return f"it was stopped after {self.limit:g} seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The call ``name(item, setting)`` of a ``function``, written ``package.module:name``, for any item.

    ``limit`` is its time limit in seconds, and ``attempts`` the number of processes that one item may kill: by default
    two, since the system may have ended the first for lack of memory.
    """

    function: str
    setting: Any = None
    limit: float = threading.TIMEOUT_MAX
    attempts: int = 2


@cache
def lasting(name: str, idle: float) -> Worker:
    """Return the worker of this name; its process keeps what it loads until ``idle`` seconds without a question."""
    worker = Worker(idle=idle)
    atexit.register(worker.close)
    return worker


class NotStartedError(IrInterpError):
    """Processes end before they begin to work, the last with ``status``."""

    def __init__(self, status: int) -> None:
        super().__init__(f"a process died with status {status} before it began to work")
        self.status = status


class Worker:
    """A process that answers questions sequentially; if it ends, another one takes its place.

    Its temporary files go into ``folder``, by default a new one that lives as long as the process. It ends after
    ``idle`` seconds without a question.
    """

    def __init__(self, folder: Path | None = None, idle: float = threading.TIMEOUT_MAX) -> None:
        self._folder, self._idle = folder, idle
        self._resources = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    def answer(self, question: Question, item: object) -> Any:
        """Return the answer, or Died, or Late. Raises NotStartedError if processes do not even start."""
        status = 0
        for _ in range(question.attempts):
            process = self._waiting_process(question.limit)
            if process is None:
                return Late(question.limit)
            start = time.monotonic()
            try:
                reply = _reply(process, question, item)
            except BaseException:  # a signal: the process must not go on with this item
                self.close()
                raise
            if reply is not None:
                return reply[0]
            status = self.close()
            if time.monotonic() - start >= question.limit:
                return Late(question.limit)
            if self._is_stopped:
                break
        return Died(status)

    @property
    def is_alive(self) -> bool:
        """Whether its process waits for a question."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Kill the process, whatever it is doing; it is not replaced. May be called from any thread."""
        self._is_stopped = True
        if self._process is not None:
            self._process.kill()

    def close(self) -> int:
        """End the process, and remove its temporary files; return its status. The next question starts another."""
        process, self._process = self._process, None
        with suppress(OSError):  # closing its stdin flushes a question that it did not live to read
            self._resources.close()
        return process.returncode if process else 0

    def _waiting_process(self, seconds: float) -> subprocess.Popen[bytes] | None:
        """Return a process that waits for a question; None if it takes longer to start than ``seconds``."""
        if self.is_alive:
            return self._process
        status, begin = self.close(), time.monotonic()
        for _ in range(_STARTS):
            folder = self._folder or self._resources.enter_context(scratch())
            process = self._resources.enter_context(started(_MODULE, str(self._idle), folder=folder))
            self._process = process
            if self._is_stopped:
                process.kill()
            with _killed_after(process, seconds):
                is_ready = _read(process.stdout) is not None
            if is_ready:
                return process
            status = self.close()
            if time.monotonic() - begin >= seconds:
                return None
        raise NotStartedError(status)


_MODULE = "ir_interp.converters.workers"


def _reply(process: subprocess.Popen[bytes], question: Question, item: object) -> tuple[object] | None:
    """Return the answer of a process in a tuple; None if it ends instead, at the latest at the limit."""
    with suppress(OSError), _killed_after(process, question.limit):  # it may have ended before it read the question
        _write(process.stdin, (question.function, item, question.setting, question.limit + LATER))
        reply: tuple[object] | None = _read(process.stdout)
        return reply
    return None


@contextmanager
def _killed_after(process: subprocess.Popen[bytes], seconds: float) -> Iterator[None]:
    """Kill a process after some seconds, unless this context ends before."""
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def named(function: str) -> Callable[..., Any]:
    """Return a function, written ``package.module:name``."""
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)  # type: ignore[no-any-return]


def _write(stream: IO[bytes] | None, message: object) -> None:
    assert stream is not None
    body = pickle.dumps(message)
    stream.write(_LENGTH.pack(len(body)) + body)
    stream.flush()


def _read(stream: IO[bytes] | None) -> Any:
    body = _message(stream)
    return None if body is None else pickle.loads(body)


def _message(stream: IO[bytes] | None) -> bytes | None:
    """Return the message of the other side, unpickled; None if it has ended, even in the middle of a message."""
    assert stream is not None
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    return body if len(body) == length else None


# The process itself


def _main(idle: float) -> None:
    """Answer questions until none has come for a while."""
    waiting = queue.SimpleQueue[bytes]()
    threading.Thread(target=_listen, args=(waiting,), daemon=True).start()
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # runtimes print to stdout, which must not mix with answers
        _write(answers, "ready")
        with suppress(queue.Empty):
            while True:
                function, item, setting, seconds = pickle.loads(waiting.get(timeout=idle))
                _end_after(seconds)
                answer = named(function)(item, setting)
                _end_after(0)
                _write(answers, (answer,))
    os._exit(0)  # the other thread may still read


def _listen(waiting: queue.SimpleQueue[bytes]) -> None:
    """Forward questions. End this process with the other one, whatever it is doing: then the pipe has ended."""
    with open(0, "rb", closefd=False) as questions:
        while (message := _message(questions)) is not None:
            waiting.put(message)
    os._exit(1)


def _end_after(seconds: float) -> None:
    """Let the system end this process at a time, whatever it is doing; 0 cancels that."""
    if hasattr(signal, "alarm"):
        signal.alarm(math.ceil(min(seconds, _LONGEST_ALARM)))


_LONGEST_ALARM = 2**31 - 1  # the limit of alarm: questions without a limit ask for more


# Distribute items over processes, and take their answers as they come.
#
# An item whose process ends is tried once more; if that ends another one, it costs only itself. So does an item that
# exceeds its time limit.

_IDLE = 60.0  # seconds without an item, after which a process that is kept for a cluster ends


def each(question: Question, items: Sequence[object], count: int) -> Generator[tuple[int, Any]]:
    """Yield the number of every item, and its answer or the failure instead, from ``count`` processes.

    Raises IrInterpError if processes do not even start.
    """
    crew = [Worker() for _ in range(max(1, min(count, len(items))))]
    idle = queue.SimpleQueue[Worker]()

    def ask(item: object) -> object:
        worker = idle.get()
        try:
            return worker.answer(question, item)
        finally:
            idle.put(worker)

    # Contexts end in reverse: workers are stopped first, so that no thread waits for an answer, and closed last.
    with ExitStack() as closed, ThreadPoolExecutor(len(crew)) as threads, ExitStack() as stopped:
        for worker in crew:
            idle.put(worker)
            closed.callback(worker.close)
            stopped.callback(worker.stop)
        pending: dict[Future[object], int] = {}
        for number, item in enumerate(items):
            pending[threads.submit(ask, item)] = number
            if len(pending) == len(crew):
                yield from _answered(pending)
        while pending:
            yield from _answered(pending)


def _answered(pending: dict[Future[object], int]) -> Iterator[tuple[int, object]]:
    """Wait for an answer, and yield those that are there."""
    for future in wait(pending, return_when=FIRST_COMPLETED).done:
        yield pending.pop(future), future.result()


def answer(question: Question, item: object) -> object:
    """Return the answer to one item, or the failure instead, from a process that is kept for the next one.

    For threads that are not this program's own, such as those of a cluster's workers.
    """
    try:
        worker = _kept.get_nowait()
    except queue.Empty:
        worker = Worker(idle=_IDLE)
        atexit.register(worker.close)
    try:
        return worker.answer(question, item)
    finally:
        _kept.put(worker)


_kept = queue.SimpleQueue[Worker]()


# Calls that each run in a separate process, forked from a worker that has already imported their modules.
#
# Importing a runtime takes longer than most models run, and a verification runs several. Loading a model does as well,
# so a fork may wait for the next call of its name. Only Linux ends a fork with its parent, so elsewhere calls of the
# same imports share a worker, and a large one has a worker of its own.

VARIABLE = "IR_INTERP_FORKS"
"""The environment variable that is 0 where a fork may hang, as under an emulator with threads of its own."""

_MOST_BYTES, _MOST_FORKS = 2**26, 16
"""The most bytes of a call whose process is kept, and the most such forks, so 1 GiB in all.

A trial of a quantised model needs 10 processes.
"""

_CAN_FORK = sys.platform == "linux" and os.environ.get(VARIABLE) != "0"
_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of prctl


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A ``function`` of an ``argument``, ``package.module:name``, that returns an exit code, and its requirements.

    It may take ``seconds``, and as much memory as the bound allows beyond ``files``, for a model whose tensors are of
    ``declared`` bytes. ``imports`` are the modules that it needs. Its temporary files go into ``folder``. A small call
    with a ``name`` runs in the fork of the previous call of this name, which may have kept what it loaded.
    """

    function: str
    argument: Any
    folder: Path
    imports: tuple[str, ...]
    seconds: int
    files: tuple[Path, ...]
    declared: float = 0.0
    name: str = ""

    @property
    def is_small(self) -> bool:
        """Whether its process may be kept for the next call."""
        return self.declared + bytes_of(self.files) <= _MOST_BYTES

    @property
    def errors(self) -> Path:
        """The file that takes its stderr."""
        return self.folder.absolute() / "errors.txt"


@contextmanager
def forks() -> Iterator[Forks]:
    """Yield a runner of calls; nested contexts share it, in one thread."""
    outer = _CURRENT.get()
    if outer and outer.owner == os.getpid():
        yield outer
        return
    inner = Forks()
    token = _CURRENT.set(inner)
    try:
        yield inner
    finally:
        _CURRENT.reset(token)
        inner.close()


@dataclass(slots=True)
class Forks:
    """Runs calls, in forks of one worker where possible, otherwise in a worker for each kind of imports."""

    owner: int = field(default_factory=os.getpid)
    _workers: dict[tuple[str, ...], Worker] = field(default_factory=dict)

    def run(self, call: Call) -> tuple[int, str]:
        """Run a call; return its exit code, negative for a signal, and its stderr.

        Raises TimeoutError if it takes longer than its seconds; it is stopped then.
        """
        call.errors.write_bytes(b"")
        # The worker lives longer than this call: settings that the caller changes meanwhile are part of each question.
        setting = Path.cwd(), {**silent_environment(), "TMPDIR": str(call.folder.absolute())}
        answer = _asked(self._worker(call), call, setting, "_in_a_fork") if _CAN_FORK else self._alone(call, setting)
        if isinstance(answer, Late):
            raise TimeoutError
        code = answer.status if isinstance(answer, Died) else answer
        return code, call.errors.read_text(encoding="utf-8", errors="replace")

    def _alone(self, call: Call, setting: _Setting) -> int | Died | Late:
        """Run a call in the worker of its imports, which is kept for small calls."""
        worker = self._worker(call, call.imports)
        if call.is_small and os.name == "posix":  # Windows locks the files that a process maps
            # A process may die of what earlier calls have loaded: then the call runs in another one.
            return _asked(worker, call, setting, "_code", attempts=2 if worker.is_alive else 1)
        worker.close()
        answer = _asked(worker, call, setting, "_code")
        worker.close()
        return answer

    def _worker(self, call: Call, imports: tuple[str, ...] = ()) -> Worker:
        return self._workers.setdefault(imports, Worker(call.folder.parent))

    def close(self) -> None:
        """End the workers, and with them their forks."""
        while self._workers:
            self._workers.popitem()[1].close()


def _asked(worker: Worker, call: Call, setting: _Setting, function: str, attempts: int = 1) -> int | Died | Late:
    question = Question(function=f"{__name__}:{function}", setting=setting, limit=call.seconds, attempts=attempts)
    try:
        answer: int | Died | Late = worker.answer(question, call)
        return answer
    except NotStartedError as error:
        return Died(error.status)


_CURRENT: ContextVar[Forks | None] = ContextVar("forks", default=None)


# In the worker


_Setting = tuple[Path, Mapping[str, str]]


def _in_a_fork(call: Call, setting: _Setting) -> int:
    """Run a call in a fork of this process, and return its exit code."""
    _import(call)
    fork = _FORKS.pop(call.name, None)
    code = fork.code(call, setting) if fork else None
    if fork and code is None:
        fork.end()  # it held what earlier calls had loaded, and that may have been too much
    if fork is None or code is None:
        fork = _forked()
        code = fork.code(call, setting)
    if code is None:
        return fork.end()
    if call.name and call.is_small:
        _FORKS[call.name] = fork
    else:
        fork.end()
    if len(_FORKS) > _MOST_FORKS:
        _FORKS.pop(next(iter(_FORKS))).end()
    return code


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fork:
    """A fork of this process, and the pipes to it."""

    process: int
    calls: IO[bytes]
    codes: IO[bytes]

    def code(self, call: Call, setting: _Setting) -> int | None:
        """Return the exit code of a call; None if the process ends instead."""
        with suppress(BrokenPipeError):
            _write(self.calls, (call, setting))
            code: int | None = _read(self.codes)
            return code
        return None

    def end(self) -> int:
        """End the process, unless it has ended; return its status."""
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)
        with suppress(BrokenPipeError):
            self.calls.close()
        self.codes.close()
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


_FORKS: dict[str, _Fork] = {}
"""Forks that wait for the next call of their name; the one that has waited longest comes first."""


def _forked() -> _Fork:
    """Fork this process; the fork runs calls until it is ended or this process ends."""
    (theirs, calls), (codes, answers) = os.pipe(), os.pipe()
    worker = os.getpid()
    child = os.fork()
    if child:
        os.close(theirs)
        os.close(answers)
        return _Fork(process=child, calls=os.fdopen(calls, "wb"), codes=os.fdopen(codes, "rb"))
    try:
        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
        with os.fdopen(theirs, "rb") as questions, os.fdopen(answers, "wb") as stream:
            while os.getppid() == worker:  # otherwise the parent ended before the line above
                _write(stream, _code(*_read(questions)))
    finally:
        os._exit(1)


def _code(call: Call, setting: _Setting) -> int:
    try:
        return _here(call, setting)
    except Exception:  # of any kind, from the code of the call
        traceback.print_exc()
        return 1


def _import(call: Call) -> None:
    """Import the modules of a call; if that fails, the call itself will report it."""
    with suppress(Exception):
        for module in (call.function.partition(":")[0], *call.imports):
            importlib.import_module(module)


def _here(call: Call, setting: _Setting) -> int:
    """Run a call in this process, and return its exit code."""
    folder, environment = setting
    os.chdir(folder)
    with call.errors.open("ab") as errors:
        os.dup2(errors.fileno(), 2)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # it remembers the folder of an earlier call
    limit_process()
    allow_files(*call.files)
    allow_declared(call.declared)
    try:
        code: int = named(call.function)(call.argument)
        return code
    finally:
        sys.stderr.flush()


if __name__ == "__main__":
    _main(float(sys.argv[1]))
