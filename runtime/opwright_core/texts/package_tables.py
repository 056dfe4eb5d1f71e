"""Tables that generated packages may have beside their operators: texts, costs, former versions, references."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

from opwright_core.dispatch.call.operator import Operator

__all__ = ["table_of"]


def table_of(operator: Operator, module: str, name: str) -> Mapping[str, Any]:
    """Return the table `name` of a module of the package that declares an operator; an empty one where there is
    none."""
    return {} if operator.home is None else _table(operator.home.module.rpartition(".ops.")[0], module, name)


@cache
def _table(package: str, module: str, name: str) -> Mapping[str, Any]:
    """Return a table of a package, in which it is looked for once."""
    path = f"{package}.{module}"
    found: Mapping[str, Any] = {} if find_spec(path) is None else getattr(importlib.import_module(path), name)
    return found
