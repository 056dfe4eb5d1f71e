"""Signatures read off declarations agree with the parser, for every operator of PyTorch's own file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from opwright.dispatch import schema as _schema
from opwright.dispatch.declarations import split_types

torchgen = pytest.importorskip("torchgen", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle


def test_types_annotations_and_returns() -> None:
    path = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"
    entries = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for entry in entries:
        schema = _schema.parse(entry["func"])
        declaration, arguments, kwarg_only = _schema.operator_parts(schema)
        given, returned = split_types(declaration)
        assert given == [str(argument).removesuffix(_rest(argument)) for argument in schema.arguments]
        assert returned == [str(item).removesuffix(f" {item.name}") for item in schema.returns]
        assert len(arguments) == len(given)
        assert [argument.kwarg_only for argument in schema.arguments] == [n >= kwarg_only for n in range(len(given))]
    assert len(entries) > 2500


def _rest(argument: object) -> str:
    """What follows the type: the name, and the default if there is one."""
    name, default = argument.name, argument.default  # type: ignore[attr-defined]
    return f" {name}" if default is None else f" {name}={default.text}"
