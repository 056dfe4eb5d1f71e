"""The examples in the docstrings of the installed PyTorch's `torch.library`, run with `import opwright as torch`."""

from __future__ import annotations

import ast
import gc
import importlib
import inspect
import re
from typing import Any

import numpy as np
import pytest

import opwright

pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.usefixtures("operators_are_dropped")]

# Statements that are left out, with those that use what they make.
NOT_HERE = {
    "torch.compile": "there is no compiler",
}
# What is no Python, or fails in PyTorch as well.
REPAIRED = {">>> which": ">>> # which", "# ...": "pass", " y, = inputs": " _, y = inputs"}
# Examples, and how many of their statements run.
EXAMPLES = {
    "custom_op": 35, "infer_schema": 3, "define": 7, "impl": 14, "register_kernel": 10, "register_autocast": 8,
    "register_fake": 14, "register_autograd": 19, "register_torch_dispatch": 9, "register_vmap": 16, "get_kernel": 11,
    "opcheck": 7, "CustomOpDef.set_kernel_enabled": 6, "CustomOpDef.register_kernel": 10,
    "CustomOpDef.register_fake": 11, "CustomOpDef.register_autograd": 19, "CustomOpDef.register_vmap": 16,
    "CustomOpDef.register_autocast": 8, "Library.define": 2, "Library.impl": 3, "Library.fallback": 3,
}  # fmt: skip


def statements(name: str) -> list[ast.stmt]:
    """The statements of a docstring's example, on the CPU, in a namespace of its own."""
    found: Any = importlib.import_module("torch.library")
    for part in name.split("."):
        found = getattr(found, part)
    text = inspect.cleandoc(found.__doc__)
    for wrong, right in REPAIRED.items():
        text = text.replace(wrong, right)
    text = "\n".join(match[1] for match in re.finditer(r"^ *(?:>>>|\.\.\.) ?(.*)$", text, re.MULTILINE))
    text = re.sub(r"\bimport torch\b", "import opwright as torch", text).replace("from torch", "from opwright")
    namespace = f"docstring_{name.lower().replace('.', '_')}"
    return ast.parse(re.sub(r"\bmylib\b", namespace, text.replace("cuda", "cpu"))).body


def names_in(node: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, context)}


@pytest.mark.filterwarnings("ignore:the kernel of .* is overridden")
@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name: str) -> None:
    library = opwright.library
    names: dict[str, Any] = {"torch": opwright, "Tensor": opwright.Tensor, "np": np, "__name__": "docstring"}
    names |= {known: getattr(library, known) for known in ("Library", "custom_op", "infer_schema")}
    left_out: set[str] = set()
    count = 0
    for statement in statements(name):
        text = ast.unparse(statement)
        if any(missing in text for missing in NOT_HERE) or left_out & names_in(statement, ast.Load):
            made = {statement.name} if isinstance(statement, ast.FunctionDef) else names_in(statement, ast.Store)
            left_out |= made - names.keys()
            continue
        exec(compile(ast.Module([statement], []), f"<example of {name}>", "exec"), names)
        count += 1
    names.clear()
    gc.collect()
    assert count == EXAMPLES[name]
