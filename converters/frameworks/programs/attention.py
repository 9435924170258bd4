"""Attention in a program, in a form that every exporter writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch.fx
    from torch.export import ExportedProgram


def of_any_layout(program: ExportedProgram) -> ExportedProgram:
    """Return a program that computes the same, whatever the rank and the strides of attention are.

    Exporters write attention in primitive operations, whose strides differ from those of torch's kernel, so that a
    view of its output fails. A copy has the same strides in both, and a reshape takes any. The dynamo exporter also
    requires a single batch axis.
    """
    import torch

    aten, graph = torch.ops.aten, program.graph
    for node in list(graph.nodes):
        if node.target is aten.view.default:
            node.target = aten.reshape.default
        elif node.target is aten.scaled_dot_product_attention.default:
            _replace_attention(node)
    program.graph_module.recompile()
    return program


def _replace_attention(node: torch.fx.Node) -> None:
    """Let the users of attention read a copy of it, computed with one batch axis if it has none, or several."""
    import torch

    aten, graph = torch.ops.aten, node.graph
    with graph.inserting_after(node):
        copy = graph.call_function(aten.clone.default, (node,), {"memory_format": torch.contiguous_format})
    copy.meta = dict(node.meta)
    node.replace_all_uses_with(copy, lambda user: user is not copy and user.op != "output")
    shape, has_mask = node.meta["val"].shape, len(node.args) > 3 or "attn_mask" in node.kwargs
    is_static = all(isinstance(length, int) for length in shape)
    if len(shape) == 3 or (len(shape) > 4 and is_static and not has_mask):
        with graph.inserting_before(copy):
            batch = [_with_one_batch(graph, tensor, len(shape)) for tensor in node.args[:3]]
            attended: Any = node.target
            attended = graph.call_function(attended, (*batch, *node.args[3:]), dict(node.kwargs))
            back = (aten.squeeze.dim, 0) if len(shape) == 3 else (aten.reshape.default, list(shape))
            copy.args = (graph.call_function(back[0], (attended, back[1])),)
        if not node.users:
            graph.erase_node(node)


def _with_one_batch(graph: torch.fx.Graph, tensor: Any, rank: int) -> torch.fx.Node:
    """Return a tensor of attention with a single axis before heads, rows and columns."""
    import torch

    aten = torch.ops.aten
    if rank == 3:
        return graph.call_function(aten.unsqueeze.default, (tensor, 0))
    return graph.call_function(aten.flatten.using_ints, (tensor, 0, rank - 4))
