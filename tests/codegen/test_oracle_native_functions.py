"""PyTorch's own native_functions.yaml: our operators are torchgen's, one by one."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from opwright_codegen.documents.files import read_source
from opwright_codegen.errors import Errors
from opwright_codegen.read.entries import read_tags
from opwright_codegen.read.files import read
from opwright_codegen.read.model import Operator, OperatorSet
from opwright_codegen.schema.names import DISPATCH_KEYS

torchgen = pytest.importorskip("torchgen", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle

FOLDER = Path(torchgen.__file__).parent / "packaged" / "ATen" / "native" if hasattr(torchgen, "__file__") else Path()


@cache
def ours() -> OperatorSet:
    return read([FOLDER / "native_functions.yaml"], FOLDER / "tags.yaml")


@cache
def theirs() -> dict[str, Any]:
    from torchgen.gen import parse_native_yaml

    parsed = parse_native_yaml(str(FOLDER / "native_functions.yaml"), str(FOLDER / "tags.yaml"))
    return {f"{f.namespace}::{f.func.name}": f for f in parsed.native_functions}


@cache
def their_kernels() -> dict[str, dict[str, str]]:
    from torchgen.gen import parse_native_yaml

    parsed = parse_native_yaml(str(FOLDER / "native_functions.yaml"), str(FOLDER / "tags.yaml"))
    kernels: dict[str, dict[str, str]] = defaultdict(dict)
    for key, index in parsed.backend_indices.items():
        for name, metadata in index.index.items():
            kernels[f"aten::{name}"][str(key)] = metadata.kernel
    return kernels


def pairs() -> list[tuple[Operator, Any]]:
    return [(operator, theirs()[name]) for name, operator in ours().operators.items()]


def own_kernels(operator: Operator) -> dict[str, str]:
    """Without those that a delegating operator inherits: torchgen keeps these with the out variant alone."""
    inherited = ()
    if operator.structured_delegate is not None:
        inherited = ours().operators[f"aten::{operator.structured_delegate}"].dispatch
    return {key: kernel.text.rpartition("::")[2] for key, kernel in operator.dispatch if (key, kernel) not in inherited}


def test_same_operators_in_the_same_order() -> None:
    assert list(ours().operators) == list(theirs())


@pytest.mark.parametrize(
    "field",
    [
        "structured", "structured_inherits", "python_module", "category_override", "device_guard", "tags",
        "manual_kernel_registration", "manual_cpp_binding", "use_const_ref_for_mutable_tensors",
    ],
)  # fmt: skip
def test_same_value_of(field: str) -> None:
    for operator, other in pairs():
        assert getattr(operator, field) == getattr(other, field), operator.name


def test_same_schemas() -> None:
    for operator, other in pairs():
        # Lists print with a space after each comma here, and without one there.
        assert str(operator.schema).replace(", ", ",") == f"aten::{other.func}".replace(", ", ",")


def test_same_kinds() -> None:
    # They write their self, whatever they are called; torchgen calls them functional.
    mutable = {"aten::set_data", "aten::record_stream", "aten::retain_grad"}
    for operator, other in pairs():
        expected = "mutable" if operator.name in mutable else other.func.kind().name
        assert operator.kind.value == expected, operator.name


def test_same_kernels() -> None:
    for operator, _ in pairs():
        assert own_kernels(operator) == their_kernels().get(operator.name, {}), operator.name


def test_delegating_operators_inherit_the_keys_of_their_out_variant() -> None:
    from torchgen.model import STRUCTURED_DISPATCH_KEYS

    structured = {str(key) for key in STRUCTURED_DISPATCH_KEYS}
    delegating = [operator for operator in ours().operators.values() if operator.structured_delegate is not None]
    for operator in delegating:
        out = ours().operators[f"aten::{operator.structured_delegate}"]
        assert operator.base_name == out.name
        assert {key for key, _ in operator.dispatch} >= {key for key, _ in out.dispatch} & structured
    assert {operator.name for operator in delegating} == {name for name, f in theirs().items() if f.structured_delegate}


def test_same_delegates_and_names() -> None:
    for operator, other in pairs():
        assert operator.structured_delegate == (other.structured_delegate and str(other.structured_delegate))
        assert list(operator.autogen) == [str(name) for name in other.autogen]
        assert set(operator.variants) == {variant.name for variant in other.variants}
        assert operator.device_check == other.device_check.name
        assert set(operator.cpp_no_default_args) == other.cpp_no_default_args


def test_same_views() -> None:
    for operator, other in pairs():
        assert operator.is_view_like == other.is_view_op, operator.name


def test_same_precomputed_values() -> None:
    for operator, other in pairs():
        if other.precomputed is None:
            assert operator.precomputed is None
            continue
        assert operator.precomputed is not None
        replaced = {name: list(map(str, made)) for name, made in operator.precomputed.replace}
        assert replaced == {name: list(map(str, made)) for name, made in other.precomputed.replace.items()}
        assert list(map(str, operator.precomputed.add)) == list(map(str, other.precomputed.add))


def test_same_ufunc_loops() -> None:
    for operator, other in pairs():
        loops = {loop.key: (loop.name, set(loop.dtypes)) for loop in operator.ufunc_inner_loop}
        assert loops == {
            str(key): (loop.name, {str(dtype) for dtype in loop.supported_dtypes})
            for key, loop in other.ufunc_inner_loop.items()
        }


def test_same_generated_operators_and_lines() -> None:
    for operator, other in pairs():
        assert operator.generated == ("generated" in other.tags)
        assert operator.location.line == other.loc.line


def test_same_groups() -> None:
    from torchgen.gen import get_grouped_native_functions
    from torchgen.model import NativeFunctionsGroup

    grouped = get_grouped_native_functions(list(theirs().values()))
    expected = {
        frozenset(str(f.func.name) for f in group.functions())
        for group in grouped
        if isinstance(group, NativeFunctionsGroup)
    }
    found = {
        frozenset(operator.name.removeprefix("aten::") for operator in group.members)
        for group in ours().groups
        if group.out is not None and len(group.members) > 1
    }
    assert found == expected


def test_every_dispatch_key_of_torchgen_is_known() -> None:
    from torchgen.model import DispatchKey

    assert {key for key in DispatchKey.__members__ if key not in ("Undefined", "CatchAll")} <= DISPATCH_KEYS


def test_our_tags_are_pytorchs() -> None:
    errors = Errors()
    packaged = read_tags(read_source(FOLDER / "tags.yaml"), errors)
    shipped = read_tags(read_source(Path(__file__).parents[2] / "schemas" / "tags.yaml"), errors)
    assert not errors
    assert list(shipped) == list(packaged)
