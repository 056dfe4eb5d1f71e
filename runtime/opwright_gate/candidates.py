"""Candidates: one function in a file, as an operator that keeps to one declaration."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import numpy as np

from opwright.library import custom_op
from opwright_core.dispatch.call.operator import find_operator
from opwright_gate.references import of_tensors, reference

__all__ = ["NAMESPACE", "load_candidate", "loading_line"]

NAMESPACE: Final = "candidate"
_KEPT: Final[list[Any]] = []
_NAME: Final = re.compile(r"(?:\w+::)?([A-Za-z_]\w*)(?:\.\w+)?\s*\(")


def loading_line(file: str, against: str, by: str = "", meta: str = "") -> str:
    """Return the line of Python that loads a candidate: a module of the gate."""
    words = ", ".join(map(repr, [file, against, *([by, meta] if by or meta else [])]))
    return f"from opwright_gate.candidates import load_candidate; load_candidate({words})"


def load_candidate(file: str, against: str, by: str = "", meta: str = "") -> str:
    """Define the function of a file as an operator of the namespace `candidate`; return its name.

    `against` is a schema, `"softmax(Tensor x, int dim) -> Tensor"`, or the name of an operator, `"aten::softmax.int"`,
    whose schema, fake kernel and values it then is to have. The function has the schema's name, or is the only one of
    the file; parameters that are Tensors in the schema are given NumPy arrays unless they are annotated otherwise. `by`
    is the reference, `"module:function"`, and `meta` the formula of the fake kernel. Raises ValueError.
    """
    known = None
    if not _NAME.match(against):
        known = find_operator(against.removesuffix(".default"))
        against = f"{known.base}{known.declaration}"
    found = _NAME.match(against)
    if found is None:
        raise ValueError(f"{against!r} is neither a schema, f(Tensor x) -> Tensor, nor an operator's name")
    base = found[1]
    schema = against[against.index("(") :]
    function = _function(_loaded(file), base)
    name = f"{NAMESPACE}::{base}"
    written = set(re.findall(r"Tensor\(\w+!\)[?\[\]]* (\w+)", schema))
    options: dict[str, Any] = {"meta": meta} if meta else {}
    op = custom_op(name, _with_arrays(function, schema), mutates_args=written, schema=schema, **options)
    if known is not None and not meta:
        op.register_fake(lambda *args, **kwargs: known(*args, **kwargs))
        reference(name, of_tensors(known.call))
    if by:
        module, _, attribute = by.partition(":")
        reference(name, getattr(importlib.import_module(module), attribute))
    _KEPT.append(op)
    return name


def _loaded(file: str) -> ModuleType:
    """Import a file as a program in its folder imports it: by its own name, unless another module has that."""
    folder, stem = str(Path(file).resolve().parent), Path(file).stem
    is_free = stem.isidentifier() and stem not in sys.modules and importlib.util.find_spec(stem) is None
    spec = importlib.util.spec_from_file_location(stem if is_free else f"_candidate_{stem}", file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{file} is no file of Python")
    if folder not in sys.path:
        sys.path.append(folder)  # also for what pickles and modules beside it name
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _function(module: ModuleType, name: str) -> Callable[..., Any]:
    """Return the function of that name, or the only one. Raises ValueError."""
    found = getattr(module, name, None)
    if callable(found):
        return found  # type: ignore[no-any-return]
    functions = [
        each
        for key, each in vars(module).items()
        if inspect.isfunction(each) and each.__module__ == module.__name__ and not key.startswith("_")
    ]
    if len(functions) != 1:
        there = ", ".join(each.__name__ for each in functions) or "no function"
        raise ValueError(f"{module.__file__} has no function {name}: there is {there}")
    return functions[0]


def _with_arrays(function: Callable[..., Any], schema: str) -> Callable[..., Any]:
    """Have parameters annotated so that they are given arrays where nothing else is said; return the function."""
    annotations = dict(getattr(function, "__annotations__", {}))
    parameters = list(inspect.signature(function).parameters)
    types = [each.strip().lstrip("*, ") for each in schema[1 : schema.rindex("->")].rpartition(")")[0].split(",")]
    for parameter, text in zip(parameters, [each for each in types if each], strict=False):
        if text.startswith("Tensor") and "[" not in text.partition(" ")[0]:
            annotations.setdefault(parameter, np.ndarray)
    function.__annotations__ = annotations
    return function
