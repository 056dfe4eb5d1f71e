"""Random programmes of calls, views and writes: as they are, and as `functionalize` makes them.

`python tests/conformance/functional_programs.py START COUNT` runs as many as one likes, and prints what differs.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from functionalizing import differences, functionalized, wrong_calls
from recorded_programs import BINARY, CASTS, FUNCTIONAL, INPLACE_VIEWS, VIEWS, WRITES, WRITES_OF_TWO, Action

import opwright
from opwright.pytree import tree_leaves
from opwright.utils._python_dispatch import TorchDispatchMode

# What autograd does not see, or refuses where views are recorded: not for programmes whose gradients are compared.
_NOT_RECORDED = (
    "x.detach()", "x.data", "x.data[0]", "x.data = y", "x.detach_()", "x.unbind()", "x.split(2)", "x.chunk(2)",
    "x.split([1, …])", "x.tensor_split(2)", "x.real", "x.view(dtype)", "x.resize_(2)", "x.as_strided_(mT)",
    "x.as_strided_(x[..., 1:])", "x.unsafe_split(2)", "x.unsafe_chunk(2)", "x.unsafe_split([1, …])",
    "x.view(torch.int64)",
    # Recorded as of its input alone, while the functional program takes it from the whole memory: what lies in memory
    # between the elements of a diagonal gets a gradient there, and none here.
    "x.as_strided", "x.as_strided(…, 1)",
)  # fmt: skip
# What no operator does, or (of views) autograd alone refuses.
_NO_OPERATOR = ("x.data = y", "x.data", "x.data[0]", "x.detach_()")
ONE: dict[str, Action] = {**FUNCTIONAL, **CASTS, **VIEWS, **WRITES, **INPLACE_VIEWS}
TWO: dict[str, Action] = {**BINARY, **WRITES_OF_TWO}
OTHERS: dict[str, Action] = {
    "x.unfold(-1, 2, 1)": lambda t, x: x.unfold(-1, 2, 1),
    "x.expand, filled": lambda t, x: x.expand(2, *x.shape).fill_(0.25),
    "x.resize_(2)": lambda t, x: x.resize_(2) if x.numel() >= 2 else None,
    "x[x > 0] = 1": lambda t, x: x.__setitem__(x > 0, 1.0),
    "x[[0]] += 1": lambda t, x: x.__setitem__([0], x[[0]] + 1),
    "x[::2].neg_()": lambda t, x: x[::2].neg_(),
    "x.view_as_complex": lambda t, x: t.view_as_complex(x[..., :2].contiguous()),
    "view_as_real(x).mul_(2)": lambda t, x: t.view_as_real(x).mul_(2),
    "x.diagonal().add_(1)": lambda t, x: x.diagonal().add_(1),
    "x.fill_diagonal_": lambda t, x: x.fill_diagonal_(0.5),
    "x.normal_()": lambda t, x: x.normal_(),
    "x.uniform_()": lambda t, x: x.uniform_(),
    "x.movedim(0, -1)": lambda t, x: x.movedim(0, -1),
    "x.as_strided(…, 1)": lambda t, x: x.as_strided((2,), (2,), 1),
    "x.view(torch.int64)": lambda t, x: x.view(t.int64),
    "x.index_fill_": lambda t, x: x.index_fill_(-1, t.tensor([0]), 0.5),
    "tensor().add_": lambda t, x: t.tensor([1.0, 2.0]).add_(x.sum()),
    "out=empty": lambda t, x: t.sin(x, out=t.empty(0, dtype=x.dtype)),
    "out=zeros[::2]": lambda t, x: t.sin(x[0], out=t.zeros(6, dtype=x.dtype)[::2]),
    "max(x, 0, out=…)": lambda t, x: t.max(x, 0, out=(t.empty(0, dtype=x.dtype), t.empty(0, dtype=t.int64))),
}
ACTIONS: dict[str, tuple[Action, int]] = {
    **{name: (action, 1) for name, action in {**ONE, **OTHERS}.items() if name not in _NO_OPERATOR},
    **{name: (action, 2) for name, action in TWO.items() if name not in _NO_OPERATOR},
}
RECORDED = [name for name in ACTIONS if name not in _NOT_RECORDED]
# Without views, fresh tensors lie otherwise: they are filled in another order.
WITHOUT_RANDOM = [name for name in ACTIONS if name not in ("x.normal_()", "x.uniform_()")]
_MOST = 14
_LARGEST = 64
# What eager calls let pass: with results that are undefined; parts of numbers by strides.
_REFUSED = ("several elements are one place of memory", "has no functional form")


class Step(NamedTuple):
    """An action, by its name, and the variables that it takes, counted round."""

    name: str
    first: int
    second: int


class Undefined(Exception):
    """A write to elements that are one place of memory."""


class _Defined(TorchDispatchMode):
    """A block in which writes to memory that is read otherwise by the same call raise Undefined: what is read depends
    on the order of elements, where the call does not refuse it."""

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        bound = func.signature.bind(tuple(args), dict(kwargs or {}))
        written = [bound[place] for place in func.signature.written]
        before = [(each, each.array) for each in written if isinstance(each, opwright.Tensor)]
        is_pointwise = "pointwise" in func.tags
        read = [value for place, value in enumerate(bound) if place not in func.signature.written]
        others = [each.detach().array for each in tree_leaves(read) if isinstance(each, opwright.Tensor)]
        rooms = [each.untyped_storage().array for each, _ in before]
        result = func(*args, **(kwargs or {}))
        if any(each.untyped_storage().array is not room for (each, _), room in zip(before, rooms, strict=True)):
            raise Undefined  # it grew: views that were there go on with what was (in PyTorch they do not)
        for each, array in before:
            for other in others:
                for own in (array, each.array):
                    if np.shares_memory(own, other) and not (is_pointwise and _is_same(own, other)):
                        raise Undefined
        return result


def _is_same(first: Any, second: Any) -> bool:
    pointers = [each.__array_interface__["data"][0] for each in (first, second)]
    return pointers[0] == pointers[1] and first.shape == second.shape and first.strides == second.strides


def inputs(seed: int, dtype: Any = np.float64) -> list[Any]:
    """Tensors of some shapes, the second a view of the first where the seed says so."""
    numbers = np.random.default_rng(seed)
    made = []
    for shape in [(2, 3), (3,), (2, 3), (3, 3)]:
        values = numbers.uniform(-1, 1, shape)
        if dtype is np.complex64:
            values = values + 1j * numbers.uniform(-1, 1, shape)
        made.append(opwright.tensor((values if dtype is not np.int64 else values * 3).astype(dtype)))
    if seed % 3 == 1:
        made[1] = made[3][1]
    if seed % 5 == 2:
        made[0] = made[0].t()
    return made


def programme(steps: Sequence[Step]) -> Callable[..., Any]:
    """The function that makes these steps, and gives all variables and what errors said."""

    def run(*given: Any) -> Any:
        variables, errors = [*given], []
        for name, first, second in steps:
            action, count = ACTIONS[name]
            places = [first % len(variables), second % len(variables)][:count]
            shapes = [each.shape for each in variables]
            try:
                result = action(opwright, *[variables[place] for place in places])
            except (RuntimeError, IndexError, TypeError, ValueError) as error:
                if any(each in str(error) for each in _REFUSED) or shapes != [
                    each.shape for each in variables
                ]:  # `out` was resized before
                    raise Undefined from error
                errors.append(f"{name}: {type(error).__name__}")
                continue
            several = result if isinstance(result, list | tuple) else [result]
            for each in several:
                if isinstance(each, opwright.Tensor) and each.numel() <= _LARGEST and len(variables) < _MOST:
                    variables.append(each)
        return variables, errors

    return run


def problems(steps: Sequence[Step], seed: int, dtype: Any = np.float64, remove: str = "mutations") -> Iterator[str]:
    """In what the functionalised programme is not the eager one: results, inputs, what it called."""
    run = programme(steps)
    ours, eager = inputs(seed, dtype), inputs(seed, dtype)
    opwright.manual_seed(seed)
    found, recorder = functionalized(run, ours, remove)
    if isinstance(found, Undefined):
        return
    opwright.manual_seed(seed)
    try:
        with _Defined():
            expected = run(*eager)
    except Undefined:
        return
    with_strides = remove == "mutations"
    yield from differences(found, expected, with_strides=with_strides)
    yield from (f"input: {each}" for each in differences(ours, eager, with_strides=with_strides))
    yield from wrong_calls(recorder, ours, remove)


def gradient_problems(steps: Sequence[Step], seed: int) -> Iterator[str]:
    """In what its gradients are not the eager ones."""
    from opwright.func import functionalize

    run = programme(steps)

    def of_leaves(*leaves: Any) -> Any:
        return run(*[leaf * 1.0 for leaf in leaves])

    found: list[Any] = []
    for function in (of_leaves, functionalize(of_leaves)):
        leaves = [each.detach().clone().requires_grad_() for each in inputs(0)]
        opwright.manual_seed(seed)
        try:
            with nullcontext() if found else _Defined():
                variables, errors = function(*leaves)
        except Undefined:
            return
        recorded = [each for each in variables if each.requires_grad]
        total = sum((each * each.conj()).real.sum() for each in recorded)
        try:
            grads = opwright.autograd.grad(total, leaves, allow_unused=True) if recorded else ()
        except RuntimeError:
            if not found:  # a saved tensor was written: without writes that does not happen
                return
            raise
        if found and errors != found[0][1]:  # autograd refuses some writes, for which functional calls have formulas
            return
        found.append(([0.0 if each is None else each for each in grads], errors))
    for ours, eager in zip(found[1][0], found[0][0], strict=True):
        if not (isinstance(ours, opwright.Tensor) and isinstance(eager, opwright.Tensor)):
            if not (np.asarray(_array(ours)) == 0).all() or not (np.asarray(_array(eager)) == 0).all():
                yield f"{ours} instead of {eager}"
        elif not np.allclose(_array(ours), _array(eager), equal_nan=True):
            yield f"{ours} instead of {eager}"


def _array(value: Any) -> Any:
    return value.detach().numpy() if isinstance(value, opwright.Tensor) else value


def drawn(seed: int, length: int, names: Sequence[str]) -> list[Step]:
    """Steps by a seed."""
    numbers = random.Random(seed)
    return [Step(numbers.choice(names), numbers.randrange(99), numbers.randrange(99)) for _ in range(length)]


def main(start: int, count: int, length: int = 30) -> None:
    """Run programmes, shorten those that fail, and print them."""
    warnings.simplefilter("ignore")
    for seed in range(start, start + count):
        dtype = (np.float64, np.float64, np.complex64, np.float32, np.int64)[seed % 5]
        kinds: list[tuple[str, Sequence[str], Check]] = [
            ("values", list(ACTIONS), partial(problems, seed=seed, dtype=dtype)),
            ("copies", WITHOUT_RANDOM, partial(problems, seed=seed, dtype=dtype, remove="mutations_and_views")),
            ("gradients", RECORDED, partial(gradient_problems, seed=seed)),
        ]
        for kind, names, check in kinds:
            steps = drawn(seed, length, names)
            if _tried(check, steps):
                shorter = shortened(steps, check)
                print(seed, kind, dtype.__name__, [tuple(step) for step in shorter], _tried(check, shorter)[:2])


Check = Callable[[list[Step]], Iterator[str]]


def _tried(check: Check, steps: list[Step]) -> list[str]:
    try:
        return list(check(steps))
    except Exception as error:
        return [repr(error)]


def shortened(steps: list[Step], check: Check) -> list[Step]:
    """The steps without those that the problem does not need."""
    place = 0
    while place < len(steps):
        fewer = steps[:place] + steps[place + 1 :]
        if _tried(check, fewer):
            steps = fewer
        else:
            place += 1
    return steps


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
