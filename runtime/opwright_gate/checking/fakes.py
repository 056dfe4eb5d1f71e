"""`test_faketensor`: results without data are what the real ones are, with fixed and with symbolic sizes."""

from __future__ import annotations

from typing import Any

from opwright.autograd import no_grad
from opwright.errors import DataDependentOutputError, DynamicOutputShapeError
from opwright.fake import FakeTensorMode
from opwright.metadata.tags import Tag
from opwright.symbolic import ShapeEnv
from opwright_core.dispatch.call.operator import Operator
from opwright_core.errors import ContractError, DispatchError
from opwright_core.keys import DispatchKey
from opwright_core.texts.dispatch_errors import missing
from opwright_gate.checking.batched import check_batched
from opwright_gate.checking.calls import Call
from opwright_gate.checking.comparison import difference
from opwright_gate.checking.other_sizes import with_other_sizes

__all__ = ["call_fake", "check_fake", "may_refuse"]


def check_fake(call: Call) -> None:
    """Raise ContractError where the fake kernel is missing, or says something else than the operator does, with the
    sizes of the sample, symbolic ones, or others; what it raises, where it raises."""
    with no_grad():
        for env, kind in ((None, ""), (ShapeEnv(), ", with symbolic sizes")):
            _compare(call, env, kind)
        for resized in with_other_sizes(call):
            shapes = " and ".join(f"{each.name} of shape {tuple(each.tensor.shape)}" for each in resized.operands)
            _compare(resized, None, f" with other sizes than the sample's, {shapes}")
    check_batched(call)


def _compare(call: Call, env: ShapeEnv | None, kind: str) -> None:
    real = call.copied()
    wanted = real()
    mode = FakeTensorMode(shape_env=env)
    original = call.copied()
    fake = original.converted(mode.from_tensor)
    try:
        found = call_fake(fake, mode)
    except (DataDependentOutputError, DynamicOutputShapeError) as error:
        if may_refuse(call.operator, error, env):
            return
        raise
    problem = difference(fake, found, real, wanted, env)
    if problem is not None:
        raise ContractError(
            f"the fake kernel of {call.operator.name} is wrong{kind}: {problem}\n"
            f"Declaration: {call.operator.name}{call.operator.declaration}"
        )


def may_refuse(operator: Operator, error: Exception, env: ShapeEnv | None) -> bool:
    """Whether a fake kernel is right to say that only data tells: sizes without symbols for them, or the result of an
    operator with the tag `data_dependent_output`."""
    if isinstance(error, DynamicOutputShapeError):
        return env is None
    return Tag.data_dependent_output in operator.tags


def call_fake(fake: Call, mode: FakeTensorMode) -> Any:
    """Return the result of a call in a mode. Raises ContractError where there is no fake kernel."""
    try:
        with mode:
            return fake()
    except DispatchError as error:
        if str(error) != str(missing(fake.operator, DispatchKey.Meta, 0)):
            raise
        raise ContractError(_missing(fake.operator)) from error


def _missing(operator: Operator) -> str:
    signature = operator.signature
    made = f"opwright.empty_like({signature.names[signature.tensors[0].position]})" if signature.tensors else "..."
    split = signature.positional
    names = [*signature.names[:split], *(["*"] if signature.names[split:] else []), *signature.names[split:]]
    return (
        f"{operator.name} has no fake kernel: nobody can say what its result looks like without data. Register a "
        "function that makes one of the right shape, strides, dtype and device, for example\n"
        f'    @opwright.library.register_fake("{operator.name}")\n'
        f"    def _({', '.join(names)}): return {made}"
    )
