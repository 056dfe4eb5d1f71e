"""Random programs on symbolic sizes: wherever their guards hold, the program with other sizes runs, and gives the
shapes and strides that the symbolic answer says."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import opwright
from opwright.fake import FakeTensorMode
from opwright.symbolic import ShapeEnv
from opwright.testing.symbolic_results import described

pytestmark = pytest.mark.filterwarnings("ignore")
ShapeEnv()  # imports sympy, which would count for the first example's time

Step = tuple[str, int, int, int]  # an operator of STEPS, two operands by their place, a number
nn = opwright.nn.functional

# Each takes two of the tensors so far, and a small number. What does not fit raises, and is left out of the program.
STEPS: dict[str, Callable[[Any, Any, int], Any]] = {
    "add": lambda a, b, n: a + b,
    "mul": lambda a, b, n: a * b,
    "add last": lambda a, b, n: a + b.sum(-1),
    "outer sum": lambda a, b, n: a.unsqueeze(-1) + b.flatten(),
    "where": lambda a, b, n: opwright.where(a > 0, a, b),
    "matmul": lambda a, b, n: a @ b,
    "matmul transposed": lambda a, b, n: a @ b.transpose(-1, -2),
    "linear": lambda a, b, n: nn.linear(a, b),
    "cat": lambda a, b, n: opwright.cat([a, b], n % 2),
    "cat last": lambda a, b, n: opwright.cat([a, b, a], -1),
    "stack": lambda a, b, n: opwright.stack([a, b], n % 2),
    "expand": lambda a, b, n: a.expand(b.shape),
    "expand in front": lambda a, b, n: a.expand(n + 1, *a.shape),
    "view as": lambda a, b, n: a.view(b.shape),
    "in place": lambda a, b, n: a.clone().add_(b),
    "relu": lambda a, b, n: opwright.relu(a),
    "sum": lambda a, b, n: a.sum(n % 3),
    "mean": lambda a, b, n: a.mean(n % 2, keepdim=True),
    "amax": lambda a, b, n: a.amax(-1),
    "argmax": lambda a, b, n: a.argmax(n % 2).float(),
    "var": lambda a, b, n: a.var(-1),
    "softmax": lambda a, b, n: a.softmax(n % 2),
    "cumsum": lambda a, b, n: a.cumsum(n % 2),
    "sort": lambda a, b, n: a.sort(-1)[0],
    "topk": lambda a, b, n: a.topk(n)[0],
    "layer_norm": lambda a, b, n: nn.layer_norm(a, a.shape[-1:]),
    "t": lambda a, b, n: a.transpose(0, -1),
    "permute": lambda a, b, n: a.permute(*range(1, a.dim()), 0),
    "contiguous": lambda a, b, n: a.contiguous(),
    "clone": lambda a, b, n: a.clone(),
    "flatten": lambda a, b, n: a.flatten(),
    "reshape": lambda a, b, n: a.reshape(-1, a.shape[0]),
    "reshape halves": lambda a, b, n: a.reshape(2, -1),
    "view": lambda a, b, n: a.view(a.shape[0], -1),
    "unflatten": lambda a, b, n: a.unflatten(n % 2, (-1, n)),
    "unsqueeze": lambda a, b, n: a.unsqueeze(n % 3),
    "squeeze": lambda a, b, n: a.squeeze(),
    "squeeze a dim": lambda a, b, n: a.squeeze(n % 3),
    "slice": lambda a, b, n: a[n:],
    "slice end": lambda a, b, n: a[..., :-n],
    "slice step": lambda a, b, n: a[:: n + 1],
    "slice some": lambda a, b, n: a[: n + 2],
    "slice by a size": lambda a, b, n: a[: b.shape[0]],
    "select": lambda a, b, n: a[n],
    "select last": lambda a, b, n: a[..., -n],
    "narrow": lambda a, b, n: a.narrow(-1, 1, a.shape[-1] - n),
    "split": lambda a, b, n: a.split(n + 1)[-1],
    "chunk": lambda a, b, n: a.chunk(n + 1, -1)[-1],
    "diagonal": lambda a, b, n: a.diagonal(n - 2, 0, -1),
    "tril": lambda a, b, n: a.tril(n),
    "flip": lambda a, b, n: a.flip(0),
    "roll": lambda a, b, n: a.roll(n, 0),
    "repeat": lambda a, b, n: a.repeat(n, *[1] * (a.dim() - 1)),
    "pad": lambda a, b, n: nn.pad(a, (n, 1)),
    "unfold": lambda a, b, n: a.unfold(0, 2, n),
    "index": lambda a, b, n: a.new_ones(4)[opwright.zeros(b.shape, dtype=opwright.int64)],
    "embedding": lambda a, b, n: nn.embedding(opwright.zeros(b.shape, dtype=opwright.int64), a.new_ones(2, a.shape[0])),
    "zeros": lambda a, b, n: opwright.zeros(a.shape[0] * n, b.shape[-1] + 1),
    "arange": lambda a, b, n: opwright.arange(0, a.shape[0] + n, n) * 1.0,
    "numel": lambda a, b, n: a.new_ones(b.numel() // n),
    "resize": lambda a, b, n: nn.interpolate(a.unsqueeze(0), scale_factor=1.5),
    "avg_pool": lambda a, b, n: nn.avg_pool1d(a.unsqueeze(0), 2, n),
}


def inputs(*shapes: Sequence[int]) -> list[Any]:
    """What programs begin with: the third one is transposed."""
    return [
        opwright.zeros(*shape[::-1]).t() if place == 2 else opwright.zeros(*shape) for place, shape in enumerate(shapes)
    ]


def run(steps: list[Step], tensors: list[Any]) -> list[Step]:
    """The steps that fit, with the places of their operands; their results are added to the tensors."""
    kept = []
    for name, first, second, number in steps:
        places = first % len(tensors), second % len(tensors)
        try:
            result = STEPS[name](*(tensors[place] for place in places), number)
        except (RuntimeError, IndexError, ValueError):
            continue
        if result.dim() <= 5 and elements(result) <= 5_000:
            tensors.append(result)
            kept.append((name, *places, number))
    return kept


def elements(tensor: Any) -> int:
    """How many elements there are at the hints: no guard on that."""
    return math.prod(size if type(size) is int else size.hint for size in tensor.shape)


def step() -> st.SearchStrategy[Step]:
    return st.tuples(st.sampled_from(list(STEPS)), st.integers(0, 9), st.integers(0, 9), st.integers(1, 3))


@settings(deadline=None, max_examples=200, suppress_health_check=list(HealthCheck))
@given(
    st.lists(step(), min_size=4, max_size=14),
    st.tuples(*[st.integers(1, 8)] * 3),
    st.lists(st.lists(st.integers(-3, 9), min_size=9, max_size=9), min_size=8, max_size=8),
    st.booleans(),
)
def test_the_program_runs_wherever_its_guards_hold(
    steps: list[Step], hints: tuple[int, int, int], changes: list[list[int]], duck_shape: bool
) -> None:
    a, b, c = hints
    env = ShapeEnv(duck_shape=duck_shape)
    mode = FakeTensorMode(shape_env=env)
    fakes = [mode.from_tensor(each) for each in inputs((a, b), (b, c), (a, c), (b,))]
    shapes = [each.shape for each in fakes]
    with mode:
        kept = run(steps, fakes)
    at_hand = {name: symbol.hint for name, symbol in env.symbols.items()}
    assert env.check(at_hand) == []
    assert env.deferred == []
    for change in [[0], *changes]:
        values = {name: max(hint + more, 0) for (name, hint), more in zip(at_hand.items(), change, strict=False)}
        values = at_hand | values
        if env.check(values):
            continue
        event(f"{len(kept)} steps, {'at the hints' if values == at_hand else 'elsewhere'}")
        tensors = inputs(*[[env.evaluate(size, values) for size in shape] for shape in shapes])
        for name, first, second, number in kept:
            tensors.append(STEPS[name](tensors[first], tensors[second], number))
        for place, (fake, real) in enumerate(zip(fakes, tensors, strict=True)):
            made = f"{kept[place - 4] if place > 3 else 'input'} with {values} and guards {env.guards}"
            assert described(fake, values) == described(real, values), made
