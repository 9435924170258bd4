"""The version of this program and of the packages that it computes with."""

from __future__ import annotations

import platform
from dataclasses import dataclass

VERSION = "0.1.0"
_RUNTIMES = ("onnxruntime", "openvino", "onnx")


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The versions, the processor, the BLAS and the loops of this process.

    They affect the speed of ``resize``, never its results.

    ``processor`` is the class that decides how runtimes add products of 8-bit integers: without VNNI, sums may
    saturate. ``loops`` names the compiled loops of the extra ``fast``, or why there are none; ``threads`` is the number
    of threads that share a large resize.
    """

    packages: str
    processor: str
    python: str
    numpy: str
    blas: str
    loops: str
    threads: int

    def __str__(self) -> str:
        rows = [
            f"{name}: {getattr(self, name)}" for name in ("processor", "python", "numpy", "blas", "loops", "threads")
        ]
        return "\n".join([self.packages, *rows])


def show_config() -> Configuration:
    """Return the versions, the BLAS and its kernels, and whether compiled loops are used; ``print`` shows it.

    Its field ``loops`` is as ``numba 0.62.1``, or ``none: numba is not installed``.

    Examples:
        >>> ir_interp.show_config().packages.split()[0]
        'ir-interp'

    """
    import numpy as np

    from ir_interp.executor.arrays.threads import blas, threads
    from ir_interp.executor.compiled import loop_runner
    from ir_interp.processor import processor

    return Configuration(
        packages=versions(),
        processor=processor().value,
        python=f"{platform.python_version()}, {platform.machine()}",
        numpy=np.__version__,
        blas=blas(),
        loops=loop_runner.state(),
        threads=threads(),
    )


def versions() -> str:
    """Return the versions of this program and of the installed runtimes."""
    from importlib import metadata  # late: it takes a while

    known = [f"ir-interp {VERSION}"]
    for name in _RUNTIMES:
        try:
            known.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            known.append(f"{name} (not installed)")
    return ", ".join(known)
