"""The program ``ir-interp``: its commands, and what becomes of errors.

Errors of usage have the form of all others: one line, which names the option.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Annotated, Any, TextIO

import typer

from ir_interp.cli.commands import Listed, Program, remember
from ir_interp.errors import IrInterpError, closest, hint, is_refusal, leaves
from ir_interp.files.memory import limit_process, memory_refusal, unforeseen
from ir_interp.imports import guard_program
from ir_interp.plain_text import flags_stay, printable
from ir_interp.version import show_config


def usage_error_text(error: Any) -> str:
    """Return what to print for an error of typer: help where nothing was asked for, else one line."""
    kind = type(error).__name__
    if kind == "NoArgsIsHelpError":
        return str(error.format_message())
    problem = printable(_PROBLEMS.get(kind, _other)(error))
    path = error.ctx.command_path if getattr(error, "ctx", None) else ""
    separator = " See" if problem.endswith("?") else "; see"
    return f"error: {problem}{separator} `{path} --help`" if path else f"error: {problem}"


def _bad_value(error: Any) -> str:
    return f"{_named(error.param)}: {_sentence(error.message)}" if error.param else _sentence(error.message)


def _missing(error: Any) -> str:
    return f"{_named(error.param)} is missing" if error.param else _other(error)


def _named(parameter: Any) -> str:
    flags = [flag for flag in parameter.opts if flag.startswith("-")]
    return str(flags[0] if flags else parameter.metavar)


def _no_option(error: Any) -> str:
    known = [flag for parameter in error.ctx.command.params for flag in (*parameter.opts, *parameter.secondary_opts)]
    return f"no option {error.option_name}{hint(error.option_name, known)}"


def _other(error: Any) -> str:
    """Return the message of any other error; for an unknown command, with those that exist."""
    commands = getattr(error.ctx and error.ctx.command, "commands", {})
    unknown = [word for word in _words(error.message) if commands and word not in commands]
    if unknown:
        return f"no command {unknown[0]!r}; {closest(unknown[0], list(commands))}"
    return _sentence(error.format_message())


def _words(message: str) -> list[str]:
    """Return what stands in quotes at the start of a message, as in ``No such command 'bogus'.``."""
    return message.split("'")[1:2] if message.startswith("No such command") else []


def _sentence(message: str) -> str:
    """Return a message of typer as the middle of a line."""
    message = message.strip().removesuffix(".").removeprefix("Value error, ")  # of pydantic, which reads choices
    return message[:1].lower() + message[1:]


_PROBLEMS = {"BadParameter": _bad_value, "MissingParameter": _missing, "NoSuchOption": _no_option}


NOT_EXACT = 1  # exit code, also of findings and differences
BAD_INPUT = 2  # exit code, as of Click's own errors of usage
_CLEANING = 3.0  # seconds in which what is temporary is removed

_COMMANDS = (
    Listed("Diagnose", "audit", "diagnosis", "Predict how each runtime computes each resize; find mistakes"),
    Listed("Diagnose", "compare", "conversion", "Compare the outputs of two models, or two images"),
    Listed("Diagnose", "explain", "explanation", "Explain a finding, a resize or a preprocessing pipeline"),
    Listed("Diagnose", "inspect", "explanation", "Summarise a model and list its resizes"),
    Listed("Diagnose", "plot", "explanation", "Plot where a resize samples and how it weighs"),
    Listed("Change", "convert", "conversion", "Convert a model or layer and prove the result"),
    Listed("Change", "fix", "diagnosis", "Repair likely exporter mistakes in an ONNX model"),
    Listed("Change", "preprocess", "images", "Move preprocessing into a model, exactly as in training"),
    Listed("Images", "run", "images", "Resize an array, image or Zarr store"),
    Listed("Images", "identify", "images", "Find which library call resized an image"),
    Listed("Runtimes", "reproduce", "diagnosis", "Write a minimal reproduction of a runtime's fault"),
)
"""The commands, in the order of help. Only the module of the one that is called is imported."""


class _Commands(Program):
    listed = _COMMANDS


app = typer.Typer(
    name="ir-interp",
    cls=_Commands,
    help="Exact image resizes for ONNX, OpenVINO, TensorRT and image libraries.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _show_versions(is_set: bool) -> None:
    if is_set:
        print(show_config())
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=_show_versions,
            help="Show the versions of this program and of the runtimes.",
        ),
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 done, 1 not exact or not equal, 2 bad input or usage."""
    remember(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _call(arguments)
    except (IrInterpError, ExceptionGroup) as error:
        for problem in leaves(error):
            _report(str(problem))
        return NOT_EXACT if is_refusal(error) else BAD_INPUT
    except MemoryError as error:
        _report(memory_refusal(error))
        return BAD_INPUT
    except OSError as error:
        _report(_refusal(error))
        return BAD_INPUT
    except (typer.Exit, typer.Abort) as stop:
        return int(getattr(stop, "exit_code", BAD_INPUT))
    except Exception as error:
        if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # typer's usage errors, of any release
            _report(usage_error_text(error), title="")
            return int(error.exit_code)
        if os.environ.get("IR_INTERP_TRACEBACK"):
            raise
        _report(unforeseen(error))
        return BAD_INPUT
    return int(code or 0)


def _report(problem: str, title: str = "error: ") -> None:
    """Print an error, if it can be: the exit code reports it in any case."""
    text = printable(problem) if title else problem
    with suppress(OSError):
        print(f"{title}{text}", file=sys.stderr, flush=True)


def _call(arguments: Sequence[str] | None) -> int | None:
    try:
        with flags_stay():
            code: int | None = _program_command()(args=arguments, prog_name="ir-interp", standalone_mode=False)
        sys.stdout.flush()
        return code
    finally:
        if _Stopped.code:  # and what ended on the way made another error of that, or none
            sys.exit(_Stopped.code)


@cache
def _program_command() -> Callable[..., int | None]:
    """Return the program as typer makes it of all its commands, which takes as long as a small conversion."""
    return typer.main.get_command(app)


def _refusal(error: OSError) -> str:
    """Return what the system refused, and why."""
    reason = error.strerror or str(error)
    if error.filename is not None:
        return f"{error.filename}: {reason}"
    return reason if _is_written(sys.stdout) else f"standard output cannot be written: {reason}"


def _is_written(stream: TextIO) -> bool:
    """Say whether all that was printed could be written."""
    try:
        stream.flush()
    except OSError:
        return False
    return True


def entry() -> None:
    """Run as a program, which cleans up when it is stopped, and prints only what a terminal can show."""
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal of another encoding would end the program at the first name that it cannot show.
            stream.reconfigure(errors="backslashreplace")
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        # Windows has no SIGHUP.
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _stop)
    guard_program()
    code = limited()
    for stream in (sys.stdout, sys.stderr):
        if not _is_written(stream):  # Python would try once more at its end, and print a traceback
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def _open_missing_streams() -> None:
    """Discard what is printed to a stream that the caller closed: the next file that is opened would receive it."""
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            place = os.open(os.devnull, os.O_RDWR)
            if place != descriptor:
                os.dup2(place, descriptor)
                os.close(place)
            setattr(sys, name, open(descriptor, "r" if name == "stdin" else "w", closefd=False))  # noqa: SIM115


def limited() -> int:
    """Run one command, which may take no more memory than the bound."""
    try:
        limit_process()
    except IrInterpError as error:
        _report(str(error))
        return BAD_INPUT
    return main()


class _Stopped:
    """The exit code that a signal asked for, and when; 0 before there is one."""

    code = 0
    time = 0.0


def _stop(number: int, _: object) -> None:
    """End as a program does that a signal ends, but by an exception, so that what is temporary goes.

    What catches that exception may go on: another signal, after the time that cleaning up takes, ends it at once.
    """
    if not _Stopped.code:
        _Stopped.code, _Stopped.time = 128 + number, time.monotonic()
        sys.exit(_Stopped.code)
    if time.monotonic() > _Stopped.time + _CLEANING:
        os._exit(128 + number)
