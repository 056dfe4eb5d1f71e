"""Signatures read off declarations agree with the parser, for every operator of PyTorch's own file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from opwright.inspection import schema as _schema
from opwright_core.dispatch.package.declarations import REQUIRED, read

torchgen = pytest.importorskip("torchgen", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle


def test_types_annotations_and_returns() -> None:
    path = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native" / "native_functions.yaml"
    entries = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for entry in entries:
        schema = _schema.parse(entry["func"])
        arguments, returned, names = read(_schema.declaration_of(schema))
        assert [(each.name, each.is_keyword_only) for each in arguments] == [
            (each.name, each.kwarg_only) for each in schema.arguments
        ]
        assert [each.annotated for each in arguments] == [
            str(argument).removesuffix(_rest(argument)) for argument in schema.arguments
        ]
        for ours, parsed in zip(arguments, schema.arguments, strict=True):
            assert (ours.default is REQUIRED) == (parsed.default is None)
            if parsed.default is not None:
                assert _plain(ours.default) == _plain(parsed.default.value), entry["func"]
        assert list(returned) == [str(item).removesuffix(f" {item.name}") for item in schema.returns]
        assert list(names) == [item.name or "" for item in schema.returns]
    assert len(entries) > 2500


def _plain(value: object) -> str:
    """A default without what words in it stand for: lists as tuples, enumerators by their names."""
    if isinstance(value, list | tuple):
        return f"({', '.join(map(_plain, value))})"
    name = getattr(value, "name", value)
    return repr({"Mean": 1, "Sum": 2}.get(name, name) if isinstance(name, str) else name)


def _rest(argument: object) -> str:
    """What follows the type: the name, and the default if there is one."""
    name, default = argument.name, argument.default  # type: ignore[attr-defined]
    return f" {name}" if default is None else f" {name}={default.text}"
