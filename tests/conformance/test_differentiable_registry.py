"""What is registered for autograd, of every operator: a wrapper, parts that have theirs, or a reason to have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sweeps
from declared import functional_of, of_kind
from differentiating import (
    as_tuple,
    call_named,
    derivatives,
    flattened,
    named_arguments,
    one_by_one,
    overload,
    schema_of,
    tensors_of,
)

import opwright
from opwright_codegen.schema.model import SchemaKind
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.tables import registry
from opwright_core.keys import DispatchKey

pytestmark = pytest.mark.filterwarnings("ignore")

# What neither a wrapper nor the entry of an operator explains.
REASONS = {
    "_linalg_check_errors": "it gives nothing",
    "_assert_async": "it gives nothing",
    "_assert_async.msg": "it gives nothing",
    "_local_scalar_dense": "a number has no history",
    "allclose": "a truth value has none",
    "equal": "a truth value has none",
    "detach_": "it takes the history away",
}
KEYS = (DispatchKey.AutogradCPU, DispatchKey.AutogradCUDA, DispatchKey.AutogradMeta)


def all_operators() -> list[Operator]:
    assert opwright.ops.aten.add is not None  # which loads them
    return [operator for name, operator in registry.operators.items() if name.startswith("aten::")]


def source(operator: Operator, key: DispatchKey) -> str:
    with registry.lock:
        return operator.entry(key).source


def reason(operator: Operator) -> str | None:
    """Why nobody records calls of an operator."""
    name = operator.name.removeprefix("aten::")
    schema = operator.schema
    outs = [argument.name for argument in schema.out_arguments]
    if not any(argument.type.is_tensor_like for argument in schema.arguments if argument.name not in outs):
        return "it reads no tensor"
    entry = derivatives().find(f"aten::{name}") or derivatives().find(f"aten::{functional_of(name)}")
    if entry is not None and not entry.derivatives:
        return "its entry says that no result can be differentiated"
    return REASONS.get(name)


@pytest.mark.parametrize("key", KEYS, ids=[key.name for key in KEYS])
def test_every_operator_is_recorded_or_has_a_reason(key: DispatchKey) -> None:
    found = all_operators()
    assert len(found) > 1600
    unexplained = [
        operator.name
        for operator in found
        if source(operator, key) not in ("autograd kernel", "math kernel") and reason(operator) is None
    ]
    assert unexplained == []


def test_variants_are_recorded_if_the_functional_operator_is() -> None:
    """In place and with `out=`: by a wrapper of their own, or by what they are made of."""
    sources = {
        operator.name.removeprefix("aten::"): source(operator, DispatchKey.AutogradCPU) for operator in all_operators()
    }
    names = of_kind(SchemaKind.INPLACE, SchemaKind.OUT, SchemaKind.MUTABLE)
    recorded = ("autograd kernel", "math kernel")
    lost = [name for name in names if sources.get(functional_of(name)) in recorded and sources[name] not in recorded]
    assert [name for name in lost if reason(registry.operators[f"aten::{name}"]) is None] == []


def to_tensors(value: Any) -> Any:
    if isinstance(value, list):
        return [to_tensors(each) for each in value]
    return opwright.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value


def differentiable_call(name: str) -> tuple[dict[str, Any], list[Any]] | None:
    """Arguments and results of a call of the operator that is recorded, if a sample has one."""
    # Some operators refuse that every argument requires grad: running statistics, tolerances.
    for sample, most in ((sample, most) for sample in one_by_one(name) for most in (None, 1)):
        values = {key: to_tensors(value) for key, value in named_arguments(schema_of(name), sample).items()}
        tensors = [each for value in values.values() for each in tensors_of(value)]
        for tensor in [each for each in tensors if each.is_floating_point() or each.is_complex()][:most]:
            tensor.requires_grad_()
        try:
            results = as_tuple(call_named(overload(opwright, name), schema_of(name), values))
        except Exception:
            continue  # a sample of an error
        if any(each is not None and each.requires_grad for each in flattened(results)):
            return values, list(results)
    return None


# Operators of which no call is recorded, though parts of theirs are.
NEVER_RECORDED = {
    **dict.fromkeys(
        [
            f"{name}.{overload}"
            for name in ("not_equal", "less", "less_equal", "greater", "greater_equal")
            for overload in ("Scalar", "Tensor")
        ],
        "a truth value has no history",
    ),
    "argsort.stable": "a place has none",
    **dict.fromkeys(
        [f"linalg_matrix_rank{kind}" for kind in ("", ".tol_tensor", ".atol_rtol_tensor", ".atol_rtol_float")],
        "a rank is a whole number",
    ),
}


@sweeps.over([name for name in of_kind(SchemaKind.OUT) if functional_of(name) != name])
@pytest.mark.calls
def test_out_is_refused_where_gradients_would_be_lost(name: str) -> None:
    functional = functional_of(name)
    found = differentiable_call(functional) if f"aten::{functional}" in registry.operators else None
    if found is None:
        assert functional in NEVER_RECORDED or reason(registry.operators[f"aten::{functional}"]) is not None
        return
    values, results = found
    outs = [argument.name for argument in schema_of(name).out_arguments]
    made = [
        [opwright.full_like(each.detach(), 7) for each in result]
        if isinstance(result, list)
        else opwright.full_like(result.detach(), 7)
        for result in results
    ]
    given = values | dict(zip(outs, made, strict=False))
    with pytest.raises(RuntimeError, match=r"out=.*don't support automatic differentiation"):
        call_named(overload(opwright, name), schema_of(name), given)
    assert all((each.detach().array == 7).all() for each in flattened(tuple(made)) if each.dtype.name != "bool")
    with opwright.no_grad():
        call_named(overload(opwright, name), schema_of(name), given)
