"""Random programmes of recorded calls, writes, views and backward passes, side by side with PyTorch, step by step."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from recorded_programs import KINDS, MODES, VIEWS, WRITES, WRITES_OF_TWO, Action

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

STEPS = 30
SEEDS = 300


class Difference(AssertionError):
    """What happened otherwise than in PyTorch, and after which steps."""


@dataclass
class Pair:
    """A tensor in PyTorch, and here."""

    theirs: Any
    ours: Any
    writes: int = 0  # that PyTorch counts more, since kernels of its own write to what they return

    def __post_init__(self) -> None:
        if not self.theirs.is_inference():
            self.writes = self.theirs._version - self.ours._version


@dataclass
class Programme:
    """A programme as it is drawn and run, one step at a time, with both libraries."""

    seed: int
    pairs: list[Pair] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    modes: list[tuple[ExitStack, int]] = field(default_factory=list)
    is_over: bool = False

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        numbers = np.random.default_rng(self.seed)
        for place, shape in enumerate([(2, 3), (3,), (2, 3), (3, 3)]):
            values = numbers.uniform(-1, 1, shape)
            if place % 2 and self.seed % 4 == 3:
                values = values + 1j * numbers.uniform(-1, 1, shape)
            pair = Pair(torch.tensor(values), opwright.tensor(values))
            if place != 2:
                pair.theirs.requires_grad_(), pair.ours.requires_grad_()
            self.pairs.append(pair)

    def run(self, steps: int) -> None:
        try:
            for _ in range(steps):
                if not self.is_over:
                    self.step()
        finally:
            while self.modes:
                self.modes.pop()[0].close()

    def step(self) -> None:
        self.modes = [*self._open_modes()]
        if not self.modes and self.random.random() < 0.12:
            name = self.random.choice(list(MODES))
            stack = ExitStack()
            stack.enter_context(MODES[name](torch))
            stack.enter_context(MODES[name](opwright))
            self.modes.append((stack, self.random.randint(1, 4)))
            self.lines.append(f"with {name}:")
        table, count, _ = self.random.choices(KINDS, [weight for *_, weight in KINDS])[0]
        name = self.random.choice(list(table))
        places = [self.random.randrange(len(self.pairs)) for _ in range(max(count, 1))]
        if count < 0:
            leaves = [place for place, pair in enumerate(self.pairs) if is_trained(pair.theirs)]
            places += leaves[:5]
            if not leaves:
                return
        if not self._is_comparable(name, table is VIEWS, *[self.pairs[place].theirs for place in places]):
            return
        self.lines.append(f"  {name} of {', '.join(f'v{place}' for place in places)}")
        self.act(
            table[name],
            [self.pairs[place] for place in places],
            is_gradient=count < 0,
            is_write=table in (WRITES, WRITES_OF_TWO),
        )

    def _is_comparable(self, name: str, is_view: bool, first: Any, *others: Any) -> bool:
        """Whether both libraries do the same on purpose."""
        if is_view and first.requires_grad and not torch.is_grad_enabled():
            return False  # in PyTorch it requires grad, and has no history
        if name == "x.requires_grad_()" and any(pair.theirs._base is first for pair in self.pairs):
            return False  # in PyTorch its views require grad then, and have no history
        if name in ("x.detach_()", "x.data") and first.is_inference():
            return False  # PyTorch lets writes to these pass
        if name in ("x.t_()", "x.unsqueeze_(0)") and first.requires_grad and not torch.is_grad_enabled():
            return False  # PyTorch forgets to tell the leaf, or what was recorded
        if name == "x.copy_(y)" and first.untyped_storage().data_ptr() == others[0].untyped_storage().data_ptr():
            return False  # PyTorch refuses what it cannot copy in order
        if name == "x[0] = 1" and 0 in first.stride():
            return False  # PyTorch refuses a number as it would a tensor
        if "out=" in name and first.shape != others[0].shape:
            return False  # PyTorch resizes before it says what is wrong
        return not torch.is_inference_mode_enabled() or ("detach" not in name and "data" not in name)

    def _open_modes(self) -> Iterator[tuple[ExitStack, int]]:
        for stack, left in self.modes:
            if left:
                yield stack, left - 1
            else:
                stack.close()
                self.lines.append("# end")

    def act(self, action: Action, given: list[Pair], *, is_gradient: bool, is_write: bool) -> None:
        theirs = self._outcome(lambda: action(torch, *[pair.theirs for pair in given]))
        ours = self._outcome(lambda: action(opwright, *[pair.ours for pair in given]))
        if isinstance(theirs, Exception) or isinstance(ours, Exception):
            self.lines[-1] += f"  # {type(theirs).__name__}"
            if class_of(theirs) != class_of(ours):
                raise self.difference("outcome", ours, theirs)
            if is_write:
                self.is_over = True  # PyTorch may have resized, or written to, what must not be
                return
        elif not is_write:
            self._keep(theirs, ours, is_gradient)
        is_recorded = torch.is_grad_enabled() and any(pair.theirs.requires_grad for pair in given)
        for place, pair in enumerate(self.pairs):
            self.compare(f"v{place}", pair, is_recorded)

    def _outcome(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            return error

    def _keep(self, theirs: Any, ours: Any, is_gradient: bool) -> None:
        """New tensors become variables."""
        left, right = (list(each) if isinstance(each, list | tuple) else [each] for each in (ours, theirs))
        if len(left) != len(right):
            raise self.difference("number of results", len(left), len(right))
        for mine, other in zip(left, right, strict=True):
            if (mine is None) != (other is None):
                raise self.difference("a result", mine, other)
            if (
                mine is None
                or any(other is pair.theirs for pair in self.pairs)
                or not (other.is_floating_point() or other.is_complex())
            ):
                continue
            self.lines[-1] += f" -> v{len(self.pairs)}"
            self.pairs.append(Pair(other.clone(), mine.clone()) if is_gradient else Pair(other, mine))
        if len(self.pairs) > 14:
            del self.pairs[4]
            self.lines.append("del v4")

    def compare(self, what: str, pair: Pair, is_recorded: bool) -> None:
        for name, fact in FACTS.items():
            theirs, ours = (self._outcome(lambda fact=fact, each=each: fact(each)) for each in (pair.theirs, pair.ours))
            if isinstance(theirs, Exception) or isinstance(ours, Exception):
                theirs, ours = class_of(theirs), class_of(ours)
            if name == "grad_fn" and theirs == "RuntimeError" and not ours and not is_recorded:
                self.is_over = True  # PyTorch minds writes that are not recorded
                return
            theirs = theirs - pair.writes if name == "version" else theirs
            if ours != theirs and "AsStridedBackward" not in (ours, theirs):
                raise self.difference(f"{name} of {what}", ours, theirs)
        mine, other = pair.ours.data.numpy(), pair.theirs.data.numpy()
        if not np.allclose(mine, other, rtol=1e-9, atol=1e-9, equal_nan=True):
            raise self.difference(f"value of {what}", mine, other)

    def difference(self, what: str, ours: Any, theirs: Any) -> Difference:
        lines = "\n".join(self.lines)
        return Difference(f"seed {self.seed}: {what}: {ours!r:.300}, PyTorch {theirs!r:.300}\n{lines}")


def class_of(outcome: Any) -> str:
    if not isinstance(outcome, Exception):
        return ""
    names = (each.__name__ for each in type(outcome).__mro__ if each.__module__ == "builtins")
    return next(name for name in names if name != "NotImplementedError")  # a kind of RuntimeError


def is_trained(tensor: Any) -> bool:
    """Whether a tensor is a leaf that requires grad. A view that has lost its history raises."""
    try:
        return bool(tensor.is_leaf and tensor.requires_grad)
    except RuntimeError:
        return False


def name_of_node(tensor: Any) -> str | None:
    """Without the number of the overload, which follows PyTorch's schemas."""
    node = tensor.grad_fn
    if node is None:
        return None
    name = node.name().removeprefix("torch::autograd::").rstrip("s0123456789")
    return str(name).replace("ReshapeAlias", "View")


# What both must say of a tensor. A base, and a count of writes, are not noted of inference tensors.
FACTS: dict[str, Callable[[Any], Any]] = {
    "shape": lambda tensor: tuple(tensor.shape),
    "grad_fn": name_of_node,
    "requires_grad": lambda tensor: tensor.requires_grad,
    "is_leaf": lambda tensor: tensor.is_leaf,
    "is_inference": lambda tensor: tensor.is_inference(),
    "version": lambda tensor: tensor.is_inference() or tensor._version,
    "is a view": lambda tensor: tensor.is_inference() or tensor._base is not None,
}


@pytest.mark.parametrize("start", range(0, SEEDS, 25))
def test_programmes(start: int) -> None:
    for seed in range(start, start + 25):
        Programme(seed).run(STEPS)
