"""Programs that change their buffers: each run starts from what the one before it left."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from ir_interp.errors import UnsupportedLayerError

if TYPE_CHECKING:
    import torch.fx
    from torch.export import ExportedProgram


def check_stateless(program: ExportedProgram, name: str) -> None:
    """Raise UnsupportedLayerError, under ``name``, for a program that changes its buffers: a second run differs.

    Exporters leave the change out, and a proof of the first run would not show it.
    """
    changed = ", ".join(_changed(program))
    if changed:
        problem = f"the program changes its buffers ({changed}), which a model does not keep between runs"
        raise UnsupportedLayerError(f"{problem}; export the module in evaluation mode, its state as inputs", name)


def _changed(program: ExportedProgram) -> list[str]:
    """Return the names of the buffers that an operation writes, or a view of which it writes."""
    signature = program.graph_signature
    changed = dict.fromkeys(signature.buffers_to_mutate.values())  # of a program without operations in place
    buffers = dict(signature.inputs_to_buffers)
    for node in program.graph.nodes:
        written, viewed = _effects(node)
        changed |= dict.fromkeys(buffers[argument.name] for argument in written if argument.name in buffers)
        for argument in viewed:
            if argument.name in buffers and _may_share(node, argument):
                buffers[node.name] = buffers[argument.name]
    return list(changed)


def _may_share(node: torch.fx.Node, argument: torch.fx.Node) -> bool:
    """Return whether a result may be a view: one of another element type, as of ``to``, is a copy."""
    result, before = (known.meta.get("val") for known in (node, argument))
    return bool(getattr(result, "dtype", None) == getattr(before, "dtype", None))


def _effects(node: torch.fx.Node) -> tuple[list[torch.fx.Node], list[torch.fx.Node]]:
    """Return the arguments that a node writes, and those of which its result is a view, as its schema has them."""
    if node.target is operator.getitem:
        return [], list(node.all_input_nodes)
    schema: Any = getattr(node.target, "_schema", None)
    if schema is None:
        return [], []
    known = dict(zip((argument.name for argument in schema.arguments), node.args, strict=False)) | node.kwargs
    aliases = {argument.name: argument.alias_info for argument in schema.arguments if argument.alias_info is not None}
    nodes: dict[str, Any] = {name: known[name] for name in aliases if hasattr(known.get(name), "meta")}
    return [value for name, value in nodes.items() if aliases[name].is_write], list(nodes.values())
