"""Give resizes of a whole TFLite file other settings; everything else stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ir_interp.errors import InexactError, ReadError, closest
from ir_interp.resize_op import ResizeOp
from ir_interp.translation.dialect import Semantics
from ir_interp.translation.translate import write

from ...dialects.tflite import DIALECT
from ...reports.conversion_report import Row, expressed
from .packing import unpacked
from .packing import write as write_model
from .schema import schema
from .single_operator import OF_OPERATOR, operator_code, set_options
from .tflite_files import KINDS, load


def rewrite(layers: Sequence[ResizeOp], model: Path, output: Path) -> tuple[Row, ...]:
    """Write ``model`` with the settings of ``layers``, which name resizes by their outputs.

    Raises ReadError for a name that no resize has, an ExceptionGroup of InexactError if TFLite cannot express one, or
    if its output size would change, on which the operators behind it depend.
    """
    there = {op.name: op for op in load(model, Semantics.RUNTIME)}
    for layer in layers:
        if layer.name not in there:
            raise ReadError(f"no resize named {layer.name!r}; {closest(layer.name, there)}", model.name)
    settings, rows, refusals = {}, [], []
    for layer in layers:
        try:
            settings[layer.name], row = _settings(layer, there[layer.name])
            rows.append(row)
        except InexactError as error:
            refusals.append(error)
    if refusals:
        raise ExceptionGroup(f"{len(refusals)} of {len(layers)} resizes have no exact form in tflite", refusals)
    write_model(_changed(model, settings), output)
    return tuple(rows)


def _settings(layer: ResizeOp, there: ResizeOp) -> tuple[dict[str, Any], Row]:
    layer_form = write(layer.spec, DIALECT, shape=there.shape, dtype=there.dtype, name=layer.name)
    if layer_form.spec.target != there.spec.target:
        raise InexactError(layer.name, DIALECT.name, reason="it gives another size, on which other operators depend")
    return dict(layer_form.attributes), Row(
        name=layer.name, source=there, form=expressed(layer_form), grade=layer_form.grade
    )


def _changed(path: Path, settings: dict[str, dict[str, Any]]) -> Any:
    model = unpacked(path)
    for operator, name in _operators(model):
        if name in settings:
            _set(model, operator, settings[name])
    return model


def _operators(model: Any) -> Iterator[tuple[Any, str]]:
    """Yield every resize and the name of its output."""
    of = schema()
    kinds = {getattr(of.BuiltinOperator, kind) for kind in KINDS}
    for graph in model.subgraphs:
        for operator in graph.operators if graph.operators is not None else ():
            code = model.operatorCodes[operator.opcodeIndex]
            if max(code.builtinCode, code.deprecatedBuiltinCode) in kinds:
                name = graph.tensors[operator.outputs[0]].name
                yield operator, name.decode() if isinstance(name, bytes) else name


def _set(model: Any, operator: Any, attributes: dict[str, Any]) -> None:
    operator.opcodeIndex = _code(model, getattr(schema().BuiltinOperator, attributes["op"]))
    set_options(operator, attributes)


def _code(model: Any, number: int) -> int:
    """Return the index of an operator's code, added if the model has none of the version that has both flags."""
    for place, code in enumerate(model.operatorCodes):
        if max(code.builtinCode, code.deprecatedBuiltinCode) == number and code.version >= OF_OPERATOR:
            return place
    model.operatorCodes.append(operator_code(number))
    return len(model.operatorCodes) - 1
