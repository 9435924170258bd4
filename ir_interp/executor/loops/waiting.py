# mypy: disable-error-code="untyped-decorator,no-untyped-call"
"""Waiting for other threads without sleeping and without Python's lock, which numba releases."""

from __future__ import annotations

import platform
import sys

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.base import BaseContext
from numba.core.types import Type
from numba.core.typing.context import Context
from numba.core.typing.templates import Signature

from ir_interp.executor.loops.compilation import compiled
from ir_interp.executor.loops.vectors import Typed, Values, array_data, intrinsic
from ir_interp.shapes import Array

_RESTS = 2000  # pauses; a tenth of a millisecond on Intel's processors, about as long as waking a thread takes
_WAITS = 20 * _RESTS  # what a thread does between two looks at the rows that are left may take longer
_UNLOCKED = 100  # pauses, in which the caller releases Python's lock: a thread that finds it locked would sleep
_HAS_PAUSE = platform.machine().lower() in ("x86_64", "amd64")


@compiled
def rest(ended: Array, calls: Array, seen: int) -> None:
    """Add one to ``ended``, and wait until ``calls`` is another number than ``seen``, but not for long."""
    _increase(ended)
    for _ in range(_RESTS):
        if _loaded(calls) != seen:
            for _ in range(_UNLOCKED):
                _pause()
            return
        _pause()


@compiled
def wait(ended: Array, count: int) -> None:
    """Wait until ``ended`` is ``count``, but not for long."""
    for _ in range(_WAITS):
        if _loaded(ended) == count:
            return
        _pause()


@compiled
def processor() -> int:
    """Return the number of the processor that runs this thread; -1 where the system does not tell."""
    number: int = _processor()
    return number


@intrinsic
def _processor(context: Context) -> Typed:
    def made(_: BaseContext, builder: ir.IRBuilder, __: Signature, ___: Values) -> ir.Value:
        number = ir.IntType(32)
        if not sys.platform.startswith("linux"):
            return ir.Constant(number, -1)
        return builder.call(
            cgutils.get_or_insert_function(builder.module, ir.FunctionType(number, []), "sched_getcpu"), []
        )

    return types.int32(), made


@intrinsic
def _loaded(context: Context, number: Type) -> Typed:
    """Return a number that another thread may change."""

    def made(target: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
        return builder.load_atomic(array_data(target, builder, signature, values, 0), "acquire", 8)

    return types.int64(number), made


@intrinsic
def _increase(context: Context, number: Type) -> Typed:
    """Add one to a number, after all that this thread has written."""

    def made(target: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
        pointer = array_data(target, builder, signature, values, 0)
        builder.atomic_rmw("add", pointer, ir.Constant(ir.IntType(64), 1), "acq_rel")
        return target.get_dummy_value()

    return types.none(number), made


@intrinsic
def _pause(context: Context) -> Typed:
    """Let another thread of the same core go on, where the processor has an instruction for it."""

    def made(target: BaseContext, builder: ir.IRBuilder, _: Signature, __: Values) -> ir.Value:
        if _HAS_PAUSE:
            nothing = ir.FunctionType(ir.VoidType(), [])
            builder.call(cgutils.get_or_insert_function(builder.module, nothing, "llvm.x86.sse2.pause"), [])
        return target.get_dummy_value()

    return types.none(), made
