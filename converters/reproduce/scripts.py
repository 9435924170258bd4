"""Python files that need only NumPy and a runtime, made from the functions by which this program runs it."""

from __future__ import annotations

import ast
import inspect

from ir_interp.text.quoting import docstring, python

from ..runtimes.runner import Run


class _Plain(ast.NodeTransformer):
    """Removes the parts that only type checkers read."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Return an assignment without its annotation."""
        assert node.value is not None
        return ast.Assign([node.target], node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Return a function without annotations."""
        self.generic_visit(node)
        node.returns = None
        for argument in node.args.args:
            argument.annotation = None
        return node


def function(run: Run, name: str) -> str:
    """Return the source of a function that runs models, under another name."""
    (definition,) = ast.parse(inspect.getsource(run)).body
    assert isinstance(definition, ast.FunctionDef)
    definition.name = name
    return ast.unparse(ast.fix_missing_locations(_Plain().visit(definition)))


def script(text: str, run: Run, model: str) -> str:
    """Return a script that runs a model as ``run`` does, and prints how far the result is from the expected one."""
    return f"""{docstring(text)}

import numpy as np


{function(run, "run")}


expected = np.load("expected.npy")
actual = run({python(model)}, np.load("input.npy"))
print("expected", expected.shape, expected.ravel()[:8])
print("actual", actual.shape, actual.ravel()[:8])
same_shape = actual.shape == expected.shape
print("largest difference", np.abs(actual - expected.astype(float)).max() if same_shape else "in shape")
"""
