"""Fixtures of the runtime's tests: operators made by hand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from opwright.inspection import schema as _schema
from opwright.registering.kernels import undefine
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.tables import registry

_numbers = itertools.count()


class Maker:
    """Defines operators in a namespace of its own."""

    def __init__(self) -> None:
        self.namespace = f"test{next(_numbers)}"
        self.made: list[Operator] = []

    def __call__(self, schema: str) -> Operator:
        """Define the operator of a schema without namespace."""
        parsed = _schema.parse(schema)
        operator = Operator(f"{self.namespace}::{parsed.name}", _schema.declaration_of(parsed))
        self.made.append(operator)
        return operator

    def close(self) -> None:
        with registry.lock:
            for operator in self.made:
                undefine(operator)
                registry.kernels.pop(operator.name, None)


@pytest.fixture
def define() -> Iterator[Maker]:
    maker = Maker()
    yield maker
    maker.close()
