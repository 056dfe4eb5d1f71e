"""`test_vmap`: a registered rule for `vmap` gives what the operator gives for each sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from opwright.autograd import no_grad
from opwright.batching.tables import REGISTERED
from opwright.namespaces import aten
from opwright.testing import assert_close
from opwright_core.errors import ContractError
from opwright_core.tensors.tensor import Tensor
from opwright_gate.checking.calls import Call

__all__ = ["check_vmap"]


class VmapInfo(NamedTuple):
    """The facts that a rule is told of the `vmap` around the call."""

    batch_size: int
    randomness: str


def check_vmap(call: Call, *, atol: float | None = None, rtol: float | None = None) -> None:
    """Raise ContractError where the rule's result, for a batch of one argument or of all, is not that of a loop over
    the samples; what the rule raises. Without a rule there is nothing to check."""
    rule = REGISTERED.find(call.operator.name)
    if rule is None:
        return
    with no_grad():
        samples = _samples(call)
        for positions, dim in _batches(call):
            _check_batch(rule, samples, positions, dim, atol, rtol)


def _samples(call: Call) -> list[Call]:
    """Return the call, and one with the values of its Tensors in the opposite order if the operator takes them."""
    flipped = call.converted(lambda tensor: tensor.detach().flatten().flip([0]).reshape(list(tensor.shape)))
    try:
        flipped.copied()()
    except Exception:  # the order matters: of sorted values, for instance
        return [call, call]
    return [call, flipped]


def _batches(call: Call) -> Iterator[tuple[list[int], int]]:
    """Yield which operands are batched, and along which dimension: each by itself, then all, at front and back."""
    positions = [p for p, each in enumerate(call.operands) if each.position < call.operator.signature.positional]
    yield from (([position], 0) for position in positions)
    if positions[1:]:
        yield positions, 0
    if positions:
        yield positions, -1


def _check_batch(
    rule: Callable[..., Any],
    samples: list[Call],
    positions: list[int],
    dim: int,
    atol: float | None,
    rtol: float | None,
) -> None:
    operator = samples[0].operator
    wanted = [_mixed(samples, positions, number)() for number in range(len(samples))]
    batched = _mixed(samples, positions, 0)
    dims: dict[int, int] = {}
    for position in positions:
        tensors = [sample.operands[position].tensor.detach() for sample in samples]
        at = tensors[0].dim() if dim == -1 else dim
        dims[position] = at
        batched = _replaced(batched, position, aten["stack.default"](tensors, at))
    split = operator.signature.positional
    kwargs = dict(zip(operator.signature.names[split:], batched.arguments[split:], strict=True))
    info = VmapInfo(len(samples), "error")
    names = ", ".join(batched.operands[position].name for position in positions)
    returned = rule(info, _in_dims(batched, dims), *batched.arguments[:split], **kwargs)
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise ContractError(
            f"the vmap rule of {operator.name} returned {returned!r:.80}: it returns (output, out_dims)"
        )
    for number, sample in enumerate(wanted):
        try:
            found = _taken(returned[0], returned[1], number, len(samples))
            assert_close(found, sample, atol=atol, rtol=rtol, equal_nan=True)
        except (AssertionError, ContractError) as error:
            raise ContractError(
                f"the vmap rule of {operator.name} is wrong with a batch of {names} in dimension "
                f"{list(dims.values())}: sample {number} is not what the operator returns for it\n{error}"
            ) from error


def _mixed(samples: list[Call], positions: list[int], number: int) -> Call:
    """Return one sample's Tensors for what is batched, else the first one's; copies, which the call may write."""
    call = samples[0]
    for position in positions:
        call = _replaced(call, position, samples[number].operands[position].tensor)
    return call.copied()


def _replaced(call: Call, position: int, tensor: Tensor) -> Call:
    operand = call.operands[position]
    value = call.arguments[operand.position]
    if isinstance(value, Tensor):
        return call.with_argument(operand.position, tensor)
    first = next(number for number, each in enumerate(call.operands) if each.position == operand.position)
    held = [index for index, item in enumerate(value) if isinstance(item, Tensor)]
    items = [tensor if index == held[position - first] else item for index, item in enumerate(value)]
    return call.with_argument(operand.position, items)


def _in_dims(call: Call, dims: dict[int, int]) -> tuple[Any, ...]:
    """Return, for each positional argument, the dimension of its batch, None, or a list of these."""
    positions = iter(range(len(call.operands)))

    def dims_of(value: Any) -> Any:
        if isinstance(value, Tensor):
            return dims.get(next(positions))
        if isinstance(value, list | tuple) and any(isinstance(item, Tensor) for item in value):
            return [dims_of(item) for item in value]
        return None

    return tuple([dims_of(value) for value in call.arguments[: call.operator.signature.positional]])


def _taken(output: Any, out_dims: Any, number: int, size: int) -> Any:
    """Return one sample of a rule's output."""
    if isinstance(output, Tensor):
        if out_dims is None:
            return output
        if not isinstance(out_dims, int) or not -output.dim() <= out_dims < output.dim():
            raise ContractError(f"out_dims is {out_dims!r} for an output of shape {tuple(output.shape)}")
        if output.shape[out_dims] != size:
            raise ContractError(
                f"the output has shape {tuple(output.shape)}: its dimension {out_dims} is no batch of {size}"
            )
        return output.select(out_dims, number)
    if isinstance(output, list | tuple):
        each_dims = out_dims if isinstance(out_dims, list | tuple) else [out_dims] * len(output)
        return [_taken(one, dim, number, size) for one, dim in zip(output, each_dims, strict=True)]
    return output
