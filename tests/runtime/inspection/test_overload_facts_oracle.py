"""What operators say of themselves, beside PyTorch's OpOverload and FunctionSchema."""

from __future__ import annotations

from typing import Any

import pytest
from known_versions import RENAMED, is_not_there

import opwright
from opwright_core.dispatch.registry.tables import registry

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle


def facts(op: Any) -> Any:
    schema = op._schema
    return [
        op.name(), op._name, str(op), op.__name__, op.namespace, op._opname, op._overloadname, op.is_view,
        str(op._overloadpacket), schema.is_mutable, schema.name, schema.overload_name, schema._is_view_op(),
        [about(argument) for argument in schema.arguments], [about(result) for result in schema.returns],
    ]  # fmt: skip


def about(argument: Any) -> Any:
    alias = argument.alias_info
    return [
        argument.name, str(argument.type), str(argument.real_type), argument.N, argument.has_default_value(),
        argument.kwarg_only, argument.is_out, argument.is_write,
        alias and (alias.is_write, set(alias.before_set), set(alias.after_set)),
    ]  # fmt: skip


def shared() -> list[tuple[Any, Any]]:
    found = []
    for op in list(registry.operators.values()):
        if op.namespace == "aten" and not is_not_there(op.base):
            packet = getattr(torch.ops.aten, op.base)
            found.append((getattr(packet, op.overload or "default"), op))
    return found


# Declared as copies here: in PyTorch they are lazy views.
CONJUGATES = ["aten.adjoint.default", "aten.conj.default", "aten.mH.default", "aten.matrix_H.default"]


def test_every_operator_says_of_itself_what_pytorchs_does() -> None:
    wrong = [str(op) for theirs, op in shared() if op.base not in RENAMED and facts(theirs) != facts(op)]
    assert sorted(wrong) == CONJUGATES
    assert len(shared()) > 1600


def test_defaults_are_pytorchs_but_for_dtypes_and_formats() -> None:
    wrong = {}
    for theirs, op in shared():
        for a, b in zip(theirs._schema.arguments, op._schema.arguments, strict=True):
            if a.default_value != b.default_value and "int" not in str(a.real_type).lower():
                wrong[op.name] = a.real_type, b.default_value
    assert {str(kind) for kind, _ in wrong.values()} <= {"ScalarType", "MemoryFormat", "Optional[ScalarType]"}


@pytest.mark.parametrize("name", ["softmax", "add", "matmul", "exp", "dropout"])
def test_operators_decompose_where_pytorchs_do(name: str) -> None:
    def overload(lib: Any) -> Any:
        packet = getattr(lib.ops.aten, name)
        return getattr(packet, packet.overloads()[0])

    assert overload(opwright)._can_decompose() == overload(torch)._can_decompose()


def test_decompose_runs_the_composite_kernel() -> None:
    for lib in (torch, opwright):
        x = lib.ones(3, requires_grad=True)
        assert lib.ops.aten.softmax.int.decompose(x, 0).grad_fn.name() == "SoftmaxBackward0"
        assert lib.ops.aten.add.Tensor.decompose(x, x) is NotImplemented


def test_a_name_is_text_and_a_call() -> None:
    op = opwright.ops.aten.add.Tensor
    assert op.name == op.name() == "aten::add.Tensor"
    assert type(op.name()) is str
    assert {"aten::add.Tensor": 1}[op.name] == 1
