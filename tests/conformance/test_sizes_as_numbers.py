"""A symbolic number in place of an operand: the traced graph computes with the number of its input, not of the example.

Each operator that declares a Scalar, and each that takes a number for a Tensor, gets a size (or what is made of one)
there. The graph is traced with one size and called with another; its guards say where it holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sweeps
from declared import operators
from faking import Call, converted_call, operator, with_own_memory
from samples import sampled, samples_of
from sampling import Sample, bfloat16

import opwright
from opwright.fx.experimental.proxy_tensor import make_fx
from opwright.symbolic import GuardOnDataDependentError
from opwright_codegen.schema.model import SchemaKind
from opwright_core.inputs.wrapped_numbers import takes_numbers

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.once]

SYMBOLS: dict[str, Callable[[Any], Any]] = {
    "size": lambda x: x.shape[0],
    "half of a size": lambda x: x.shape[0] * 0.5,
    "item()": lambda x: x.sum().item(),
    "size from data": lambda x: opwright.nonzero(x).shape[0],
}


def places(name: str) -> list[int | str]:
    """The positions or names of the arguments of an operator where a number may stand."""
    called = operator(name)
    return [
        argument.name if argument.is_keyword_only else position
        for position, argument in enumerate(called.arguments)
        if argument.type in ("Scalar", "Scalar?") or (argument.type == "Tensor" and takes_numbers(called, position))
    ]


def test_every_kind_of_operator_is_tried() -> None:
    assert places("mul.Tensor") == [0, 1]
    assert places("add.Tensor") == [0, 1, "alpha"]


def with_number(call: Call, place: int | str, number: Any) -> Call | None:
    args, kwargs = list(call[0]), dict(call[1])
    if isinstance(place, str):
        kwargs[place] = number
    elif place < len(args):
        args[place] = number
    else:
        return None
    return args, kwargs


def values_of(result: Any) -> Any:
    if isinstance(result, opwright.Tensor):
        array = np.asarray(result.detach().resolve_conj().resolve_neg())
        return str(result.dtype), array.astype(np.float64) if array.dtype == bfloat16 else array
    return [values_of(each) for each in result] if isinstance(result, list | tuple) else result


def difference(name: str, one: Sample, place: int | str, symbol: Callable[[Any], Any]) -> str | None:
    call = converted_call((list(one.args), one.kwargs), lambda array: opwright.from_numpy(with_own_memory(array)))

    def run(probe: Any) -> Any:
        args, kwargs = with_number(call, place, symbol(probe))  # type: ignore[misc]
        return operator(name)(*args, **kwargs)

    example, other = opwright.ones(3), opwright.ones(5)
    if with_number(call, place, 0) is None:
        return None
    try:
        expected = run(other)
        run(example)
    except Exception:  # a number that the operator does not take there
        return None
    try:
        graph = make_fx(run, tracing_mode="symbolic")(example)
    except GuardOnDataDependentError:
        return None
    assert graph.guards is not None
    if graph.guards.check(other):
        return None
    try:
        np.testing.assert_equal(values_of(graph(other)), values_of(expected))
    except AssertionError as error:
        return f"{error}\n{graph.code}"
    return None


TAKING = [
    name
    for name in sampled(SchemaKind.FUNCTIONAL)
    if "nondeterministic_seeded" not in operators()[name].tags and places(name)
]


@sweeps.over(TAKING)
def test_a_graph_computes_with_the_size_of_its_input(name: str) -> None:
    every = sweeps.spread(samples_of(name), sweeps.count(2, 8))
    for place in places(name):
        for one in every:
            for kind, symbol in SYMBOLS.items():
                found = difference(name, one, place, symbol)
                assert found is None, f"{name}{one}, {place} is {kind}: {found}"


def assigned(x: Any, index: Any, number: Any) -> Any:
    made = x.clone()
    made[index] = number
    return made


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    **{
        f"{name}(number, x)": lambda x, number, name=name: getattr(opwright, name)(number, x)  # type: ignore[misc]
        for name in ("mul", "add", "sub", "div", "floor_divide", "true_divide", "pow", "rsub", "fmod", "eq", "lt", "ge")
    },
    "number // x": lambda x, number: number // x,
    "mul with out=": lambda x, number: opwright.mul(number, x, out=opwright.empty_like(x)),
    "two numbers": lambda x, number: opwright.ops.aten.add.Tensor(number, number),
    "a saved number": lambda x, number: opwright.autograd.grad(opwright.div(number, x.requires_grad_()).sum(), x)[0],
    "vmap": lambda x, number: opwright.func.vmap(lambda y: opwright.sub(number, y))(x),
    "func.grad": lambda x, number: opwright.func.grad(lambda y: opwright.div(number, y).sum())(x),
    "func.jvp": lambda x, number: opwright.func.jvp(lambda y: opwright.div(number, y), (x,), (x,))[1],
    "functionalize": lambda x, number: opwright.func.functionalize(lambda y: opwright.mul(number, y).add_(1))(x),
    "item() of its tensor": lambda x, number: opwright.scalar_tensor(number).item() * x,
    "tensor(number)": lambda x, number: opwright.tensor(number) + x,
    "asarray(number)": lambda x, number: opwright.asarray(number) * x,
    "x[mask] = number": lambda x, number: assigned(x, x > 0, number),
    "x[index] = number": lambda x, number: assigned(x, opwright.tensor([1]), number),
    "alpha": lambda x, number: opwright.add(x, x, alpha=number),
}


# A backward pass is below autograd.
BACKWARD = ("a saved number", "func.grad", "func.jvp")


@pytest.mark.parametrize(
    ("program", "pre_dispatch"),
    [(each, False) for each in PROGRAMS] + [(each, True) for each in PROGRAMS if each not in BACKWARD],
)
def test_a_program_computes_with_the_size_of_its_input(program: str, pre_dispatch: bool) -> None:
    example, other = opwright.ones(3), 2 * opwright.ones(5)
    for kind, symbol in SYMBOLS.items():

        def run(x: Any, symbol: Callable[[Any], Any] = symbol) -> Any:
            return PROGRAMS[program](x, symbol(x))

        graph = make_fx(run, tracing_mode="symbolic", pre_dispatch=pre_dispatch)(example.clone())
        assert graph.guards is not None
        assert not graph.guards.check(other), kind
        np.testing.assert_equal(values_of(graph(other.clone())), values_of(run(other.clone())), err_msg=kind)
