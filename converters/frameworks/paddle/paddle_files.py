"""Paddle programs (.pdmodel, with weights in the .pdiparams beside): described and run by Paddle, in a process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ir_interp.array_types import Array
from ir_interp.files.stored_arrays import StoredArray

from ...sources.framework_process import Process
from ...sources.model_description import Description, Resize
from . import FRAMEWORK

_PROCESS = Process(framework=FRAMEWORK, child="paddle_child")


def weights(path: Path) -> Path:
    """Return the file of a program's weights."""
    return path.with_suffix(".pdiparams")


def described(path: Path) -> Description:
    """Return what a program holds.

    Raises ReadError for a file that is no program, or without Paddle, IrInterpError if that dies.
    """
    return _PROCESS.described(path)


def function(path: Path) -> Callable[..., dict[str, Array]]:
    """Return a program as a function of its inputs, in order, to its outputs by name, which Paddle computes."""
    return _PROCESS.function(path)


def write_skeleton(path: Path, target: Path, least: int) -> dict[str, StoredArray]:
    """Write a program to ``target`` whose weights of ``least`` bytes or more are inputs; return these.

    Raises as ``described``.
    """
    stored = _PROCESS.answer("write_skeleton", str(path.absolute()), (str(target.absolute()), least), path.name)
    return dict(stored)


def write_resize(operation: Resize, array: Array, path: Path) -> Array:
    """Write an operation on images like ``array`` as a program of its own; return what Paddle computes.

    Raises ReadError without Paddle, IrInterpError if that refuses it.
    """
    FRAMEWORK.check_installed(path.name)
    return np.asarray(_PROCESS.answer("write_resize", array, (operation, str(path.absolute())), path.name))
