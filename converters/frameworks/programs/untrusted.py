"""Loading a .pt2 file without running code that it holds or names.

``torch.export.load`` unpickles any class, loads compiled code, evaluates expressions of dimensions as Python, imports
the modules of enums, and takes any attribute of torch for an operation. Here it reads tensors, and operations that
compute; it refuses the rest by name.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum
from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from ir_interp.errors import ReadError
from ir_interp.files.archives import Archive

if TYPE_CHECKING:
    from torch.export import ExportedProgram

_TRIED = "PyTorch 2.13 to 2.15"
_NUMBER = re.compile(r"-?[0-9.]+(e[-+]?[0-9]{1,3})?")
_OBJECTS = ("custom_obj", "opaque_obj")
_COMPILED = "aotinductor"
_NAMESPACES = {"aten", "onnx", "onnx_symbolic", "prims", "quantized", "quantized_decomposed", "torchvision"}
_CONTROL_FLOW = {
    "associative_scan", "auto_functionalized", "auto_functionalized_v2", "cond", "map_impl", "scan", "while_loop",
    "wrap_with_autocast", "wrap_with_set_grad_enabled",
}  # fmt: skip
_FUNCTIONS = {
    "Abs", "Add", "And", "Eq", "Equality", "Float", "Ge", "GreaterThan", "Gt", "Integer", "Le", "LessThan", "Lt", "Max",
    "Min", "Mul", "Ne", "Not", "Or", "Pow", "Rational", "StrictGreaterThan", "StrictLessThan", "Symbol", "Unequality",
    "ceiling", "floor",
}  # fmt: skip
"""Functions of SymPy that torch writes in expressions of dimensions, besides its own."""
_POWERS = {"FloatPow", "LShift", "Pow", "PowByNatural"}
_LARGEST_EXPONENT = 64
_SYNTAX = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.Name, ast.Constant,
    ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context,
)  # fmt: skip


def check_members(archive: Archive, name: str) -> None:
    """Raise ReadError if an archive holds pickled objects or compiled code."""
    for member in archive.names:
        for part in PurePosixPath(member.casefold()).parts:  # as torch finds members
            if part.startswith(_OBJECTS):
                raise ReadError(f"{member!r} in the archive is a pickled object, which can run code", name)
            if part == _COMPILED:
                raise ReadError(f"{member!r} in the archive is compiled code, which is not run", name)


@contextmanager
def without_code() -> Iterator[None]:
    """Let ``torch.export.load`` read tensors and operations only. Raises ReadError, without a file, for others."""
    import torch
    from torch.utils import _pytree as pytree

    reader = _private("torch._export.serde.serialize", "GraphModuleDeserializer")
    parse, operator = (_attribute(reader, name) for name in ("_parse_sym_expr", "deserialize_operator"))
    _attribute(pytree, "importlib")
    _private("torch._export.serde.serialize", "_SYM_OPS")
    _private("torch._library.custom_ops", "OPDEFS")

    def checked_expression(own: Any, text: object, *rest: object) -> object:
        if isinstance(text, str):
            _check_expression(text, _FUNCTIONS | own.sympy_functions.keys())
        return parse(own, text, *rest)

    def checked_operator(own: object, name: str) -> object:
        target = operator(own, name)
        if not (isinstance(target, str) or _computes(target)):
            raise ReadError(f"the operation {name!r} does more than compute on tensors; remove it", "")
        return target

    with ExitStack() as replaced:
        for owner, attribute, value in (
            (torch, "load", partial(_load_tensors, torch.load)),
            (reader, "_parse_sym_expr", checked_expression),
            (reader, "deserialize_operator", checked_operator),
            (pytree, "importlib", _Imported),
        ):
            replaced.callback(setattr, owner, attribute, getattr(owner, attribute))
            setattr(owner, attribute, value)
        yield


def _private(module: str, name: str) -> object:
    """Return a private name of torch that the checks replace or ask. Raises ReadError, without a file, if it is gone.

    Without it torch would load the file unchecked.
    """
    try:
        return _attribute(importlib.import_module(module), name)
    except ImportError:
        raise _changed(module) from None


def _attribute(owner: Any, name: str) -> Any:
    if not hasattr(owner, name):
        raise _changed(f"{getattr(owner, '__name__', type(owner).__name__)}.{name}")
    return getattr(owner, name)


def _changed(name: str) -> ReadError:
    import torch

    problem = f"PyTorch {torch.__version__} has no {name}, which keeps a program from running code"
    return ReadError(f"{problem}; expected {_TRIED}; install one of these", "")


def without_guards(program: ExportedProgram) -> ExportedProgram:
    """Return a program without the Python code of its guards, which torch would run. Changes it.

    Raises ReadError for constants and names of inputs that would end a string in the code that torch itself writes.
    """
    from torch.export.graph_signature import ConstantArgument
    from torch.utils import _pytree as pytree

    _attribute(program, "_guards_code")
    program._guards_code = []
    constants = [
        spec.arg.value for spec in program.graph_signature.input_specs if isinstance(spec.arg, ConstantArgument)
    ]
    spec = program.call_spec.in_spec
    leaves: Any = pytree.tree_unflatten(range(spec.num_leaves), spec) if spec else ()
    keys = [getattr(key, "key", "") for path, _ in pytree.tree_flatten_with_path(leaves)[0] for key in path]
    for text in (*constants, *keys):
        if isinstance(text, str) and set(text) & set("'\"\\\r\n"):
            raise ReadError(f"the input {text!r} has a quote, a backslash or a line break; rename it", "")
    return program


def _load_tensors(load: Any, file: object, *_: object, **__: object) -> object:
    """Unpickle tensors and containers only: PyTorch falls back to any class where that fails."""
    return load(file, weights_only=True)


def _check_expression(text: str, functions: set[str]) -> None:
    """Raise ReadError unless an expression of dimensions is arithmetic on names and numbers; SymPy evaluates it."""
    try:
        tree = ast.parse(text, mode="eval")
        is_sound = all(_is_arithmetic(node, functions) for node in ast.walk(tree)) and _has_small_powers(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        is_sound = False
    if not is_sound:
        raise ReadError(f"the dimension {text[:80]!r} is not arithmetic on names and numbers", "")


def _is_arithmetic(node: ast.AST, functions: set[str]) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in functions
        case ast.Constant(value=str(value)):  # Symbol('s0', integer=True), Float('1.5', precision=53)
            return value.isidentifier() or bool(_NUMBER.fullmatch(value))
        case ast.keyword(value=ast.Constant()):
            return True
    return isinstance(node, _SYNTAX) and not isinstance(node, ast.Call)


def _has_small_powers(tree: ast.AST) -> bool:
    """Return whether no power is of a power or large: SymPy computes 9**9**9**9, and runs out of memory."""
    for node in ast.walk(tree):
        operands = _of_power(node)
        if operands and not (_is_small(operands[-1]) and not any(map(_of_power, ast.walk(operands[0])))):
            return False
    return True


def _of_power(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.BinOp(op=ast.Pow() | ast.LShift()):
            return [node.left, node.right]
        case ast.Call(func=ast.Name(id=name)) if name in _POWERS:
            return node.args
    return []


def _is_small(exponent: ast.expr) -> bool:
    """Return whether an exponent is a symbol, or a number of at most _LARGEST_EXPONENT."""
    match exponent:
        case ast.Call(func=ast.Name(id="Integer" | "Rational" | "Float")):
            return all(map(_is_small, exponent.args))
        case ast.UnaryOp(operand=operand):
            return _is_small(operand)
        case ast.Constant(value=str(value)) if _NUMBER.fullmatch(value):
            return abs(float(value)) <= _LARGEST_EXPONENT
        case ast.Constant(value=int() | float() as value):
            return abs(value) <= _LARGEST_EXPONENT
    return isinstance(exponent, ast.Name) or (isinstance(exponent, ast.Call) and ast.unparse(exponent.func) == "Symbol")


def _computes(target: Any) -> bool:
    """Return whether an operation does no more than compute on tensors and numbers."""
    import operator

    import torch
    from torch._export.serde.serialize import _SYM_OPS
    from torch._library.custom_ops import OPDEFS

    if isinstance(target, torch._ops.OpOverload):
        schema = target._schema
        namespace = schema.name.split("::")[0]
        is_known = namespace in _NAMESPACES or schema.name in OPDEFS  # which the calling program defined
        return is_known and all(argument.name != "filename" for argument in schema.arguments)
    if isinstance(target, torch._ops.HigherOrderOperator):
        return target.name() in _CONTROL_FLOW
    return target is operator.getitem or target in _SYM_OPS


class _Imported:
    """Stands for importlib in torch's reader of containers: modules that are imported, to take enums from."""

    @staticmethod
    def import_module(name: str) -> object:
        """Return the enums of an imported module. Raises ReadError for another module."""
        module = sys.modules.get(name)
        if module is None:
            raise ReadError(f"a container names the module {name!r}, which is not imported for it", "")
        return _Enums(module)


class _Enums:
    """The enums of a module, or of a class in it."""

    def __init__(self, owner: object) -> None:
        self._owner = owner

    def __getattr__(self, name: str) -> object:
        value = vars(self._owner).get(name)
        if isinstance(value, type) and (issubclass(value, Enum) or value in (int, float, list, dict, set, tuple, str)):
            return value
        raise ReadError(f"a container names {name!r}, which is no enum", "")
