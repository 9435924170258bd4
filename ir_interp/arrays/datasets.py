"""Datasets and DataTrees of xarray: variables with the named dimensions are resized, others are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import xarray

from ir_interp.errors import SpecError


def resized(x: Any, names: Sequence[Any], resize: Callable[[Any], Any]) -> Any:
    """Return a Dataset or a DataTree whose variables are resized along the dimensions ``names`` by ``resize``.

    Raises SpecError if ``names`` is empty, if no variable has them, or if one has only some of them.
    """
    if not names:
        raise SpecError("each variable has its own axes; name the dimensions, as in {'y': 512, 'x': 512}")
    if isinstance(x, xarray.DataTree):
        if not any(_has(node.dataset, names) for node in x.subtree):
            raise SpecError(f"no variable has the dimensions {', '.join(map(str, names))}")
        datasets = {node.path: _of_variables(node.to_dataset(), names, resize) for node in x.subtree}
        return xarray.DataTree.from_dict(datasets, name=x.name)
    if not _has(x, names):
        raise SpecError(f"no variable has the dimensions {', '.join(map(str, names))}")
    return _of_variables(x, names, resize)


def _has(x: Any, names: Sequence[Any]) -> bool:
    return any(set(names) <= set(variable.dims) for variable in x.data_vars.values())


def _of_variables(x: Any, names: Sequence[Any], resize: Callable[[Any], Any]) -> Any:
    variables = {}
    for name, variable in x.data_vars.items():
        missing = [name for name in names if name not in variable.dims]
        if missing and len(missing) < len(names):
            problem = f"variable {name!r} has some of the dimensions to resize, but not {missing[0]!r}"
            raise SpecError(f"{problem}; drop the variable first")
        variables[name] = variable if missing else resize(variable)
    return xarray.Dataset(variables, attrs=x.attrs) if variables else x
