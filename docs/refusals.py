"""What emitters refuse, read from their sources: for docs/make_layers.py."""

from __future__ import annotations

import ast
import contextlib
import inspect
import textwrap
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

_PACKAGE = "ir_interp.converters.ir_to_onnx"


def of(emit: Callable[..., Any]) -> list[str]:
    """Return the reasons for which an emitter, or a function of its package that it calls, refuses a layer."""
    found: dict[str, None] = {}
    for function in _called(emit, set()):
        with contextlib.suppress(OSError):  # what dataclasses add has no source
            found |= dict.fromkeys(_reasons(function))
    return list(found)


def _reasons(function: FunctionType) -> Iterator[str]:
    """Yield sentences, with dots for what a layer fills in."""
    source = textwrap.dedent(inspect.getsource(function))
    for node in ast.walk(ast.parse(source)) if source.startswith(("def ", "@")) else ():
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "refusal":
            continue
        reason = node.args[0]
        if isinstance(reason, ast.Constant):
            yield str(reason.value)
        elif isinstance(reason, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "..." for part in reason.values)
        else:
            for _, _, each in function.__globals__.get("_REFUSED", {}).values():
                yield each


def _called(function: Any, seen: set[Any]) -> Iterator[FunctionType]:
    """Yield a function and those of the package that it names, in any depth."""
    if isinstance(function, type) and function.__module__.startswith(_PACKAGE):
        for method in vars(function).values():
            yield from _called(getattr(method, "fget", method), seen)
    if not isinstance(function, FunctionType) or function in seen or not function.__module__.startswith(_PACKAGE):
        return
    seen.add(function)
    yield function
    for cell in function.__closure__ or ():
        for held in cell.cell_contents.values() if isinstance(cell.cell_contents, dict) else (cell.cell_contents,):
            yield from _called(held, seen)
    names = set(_names(function.__code__))
    for name in sorted(names & function.__globals__.keys()):
        held = function.__globals__[name]
        if isinstance(held, ModuleType) and held.__name__.startswith(_PACKAGE):
            for inner in sorted(names & vars(held).keys()):
                yield from _called(vars(held)[inner], seen)
        yield from _called(held, seen)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)
