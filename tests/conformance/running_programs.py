"""Programmes run by PyTorch and here, step by step, and compared after each.

`python tests/conformance/running_programs.py START COUNT` runs as many as one likes, and prints what differs;
`running_programs.py known` finds seeds for `known_programs.py`.
"""

from __future__ import annotations

import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from known_programs import KNOWN, Known, is_known_error, is_known_history, known_of
from known_versions import oracle_version
from recorded_programs import (
    CASTS,
    HEARD,
    HOOKS,
    INPLACE_VIEWS,
    KINDS,
    MODES,
    PASSES,
    STATES,
    WRITES,
    WRITES_OF_TWO,
    Action,
    forget_hooks,
)

import opwright

STEPS = 30
_CHANGING = (WRITES, WRITES_OF_TWO, INPLACE_VIEWS, STATES, HOOKS)
_MOST = 14  # variables
_LARGEST = 64  # elements of a variable
_FIFTH = (np.float32, np.float16, np.complex64, np.int64)


class Difference(AssertionError):
    """What happened otherwise than in PyTorch, and after which steps."""


@dataclass
class Pair:
    """A tensor in PyTorch, and here."""

    theirs: Any
    ours: Any
    writes: int = 0  # that PyTorch counts more, since kernels of its own write to what they return

    def __post_init__(self) -> None:
        if not (self.theirs.is_inference() or self.ours.is_inference()):
            self.writes = self.theirs._version - self.ours._version


@dataclass
class Programme:
    """A programme as it is drawn and run, one step at a time, with both libraries.

    Steps that are known to differ are left out, but for those of `dared`: that they differ is then to be seen.
    """

    seed: int
    dared: Known | None = None
    has_dared: bool = False
    pairs: list[Pair] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    modes: list[tuple[ExitStack, int]] = field(default_factory=list)
    is_over: bool = False

    def __post_init__(self) -> None:
        forget_hooks()
        self.random = random.Random(self.seed)
        numbers = np.random.default_rng(self.seed)
        dtypes = [np.float64] * 4 + [_FIFTH[self.seed % 4]]
        for place, (shape, dtype) in enumerate(zip([(2, 3), (3,), (2, 3), (3, 3), (2, 3)], dtypes, strict=True)):
            values = numbers.uniform(-1, 1, shape)
            if dtype is np.complex64 or (place % 2 and self.seed % 4 == 3):
                values = values + 1j * numbers.uniform(-1, 1, shape)
            elif dtype is not np.float64:
                values = (3 * values).astype(dtype)
            pair = Pair(torch.tensor(values), opwright.tensor(values))
            if place != 2 and dtype is not np.int64:
                pair.theirs.requires_grad_(), pair.ours.requires_grad_()
            self.pairs.append(pair)
            self.lines.append(f"v{place} = {dtype.__name__}{shape}")

    def run(self, steps: int = STEPS) -> None:
        """Draw and run so many steps. Raises Difference."""
        try:
            for _ in range(steps):
                if not self.is_over:
                    self.step()
        finally:
            while self.modes:
                self.modes.pop()[0].close()

    def step(self) -> None:
        """Draw and run a step, unless the libraries do otherwise on purpose. Raises Difference."""
        self.modes = [*self._open_modes()]
        if not self.modes and self.random.random() < 0.16:
            self._enter_mode()
        table, count, _ = self.random.choices(KINDS, [weight for *_, weight in KINDS])[0]
        name = self.random.choice(list(table))
        places = [self.random.randrange(len(self.pairs)) for _ in range(max(count, 1))]
        if count < 0:
            leaves = [place for place, pair in enumerate(self.pairs) if is_trained(pair.theirs)]
            places += leaves[:5]
            if not leaves:
                return
        given = [self.pairs[place].theirs for place in places]
        known = known_of(name, given, [pair.theirs for pair in self.pairs])
        if known and known != [self.dared]:
            return
        self.has_dared |= bool(known)
        self.lines.append(f"  {name} of {', '.join(f'v{place}' for place in places)}")
        self.act(table[name], [self.pairs[place] for place in places], table)

    def _enter_mode(self) -> None:
        name = self.random.choice(list(MODES))
        stack = ExitStack()
        stack.enter_context(MODES[name](torch))
        stack.enter_context(MODES[name](opwright))
        self.modes.append((stack, self.random.randint(1, 4)))
        self.lines.append(f"with {name}:")

    def _open_modes(self) -> Iterator[tuple[ExitStack, int]]:
        for stack, left in self.modes:
            if left:
                yield stack, left - 1
            else:
                stack.close()
                self.lines.append("# end")

    def act(self, action: Action, given: list[Pair], table: dict[str, Action]) -> None:
        """Run an action with both, and compare the outcomes and all that may have changed. Raises Difference."""
        theirs = outcome(lambda: action(torch, *[pair.theirs for pair in given]))
        ours = outcome(lambda: action(opwright, *[pair.ours for pair in given]))
        if isinstance(theirs, Exception) or isinstance(ours, Exception):
            self.lines[-1] += f"  # {type(theirs).__name__}"
            if isinstance(theirs, Exception) and is_known_error(theirs, [pair.theirs for pair in given]):
                self.is_over = True
                return
            if not (is_as(theirs, ours) or are_of_one_call(theirs, ours) or are_of_complex_numbers(theirs, ours)):
                raise self.difference("outcome", ours, theirs)
            if table in (WRITES, WRITES_OF_TWO, INPLACE_VIEWS, PASSES):
                self.is_over = True  # PyTorch may have resized, or written to, what must not be; gradients are in part
                return
        elif not any(table is each for each in _CHANGING):
            self._keep(theirs, ours, table)
        is_looked_at = self.random.random() < 0.4  # which brings the history of a view up to date
        for place, pair in enumerate(self.pairs):
            self.compare(f"v{place}", pair, is_looked_at)
        self.compare_heard()

    def _keep(self, theirs: Any, ours: Any, table: dict[str, Action]) -> None:
        """New tensors become variables: gradients as copies."""
        left, right = (list(each) if isinstance(each, list | tuple) else [each] for each in (ours, theirs))
        if len(left) != len(right):
            raise self.difference("number of results", len(left), len(right))
        for mine, other in zip(left, right, strict=True):
            if (mine is None) != (other is None):
                raise self.difference("a result", mine, other)
            if mine is None or other.numel() > _LARGEST:
                continue
            place = next((place for place, pair in enumerate(self.pairs) if other is pair.theirs), None)
            if place is not None:
                if mine is not self.pairs[place].ours:
                    raise self.difference("a result", "another tensor", f"v{place}")
                continue
            if not (other.is_floating_point() or other.is_complex() or table is CASTS):
                continue
            self.lines[-1] += f" -> v{len(self.pairs)}"
            pair = copies(other, mine) if table is PASSES else Pair(other, mine)
            if pair.writes < 0:
                raise self.difference("writes to a new tensor", mine._version, other._version)
            self.pairs.append(pair)
        while len(self.pairs) > _MOST:
            del self.pairs[5]
            self.lines.append("del v5")

    def compare(self, what: str, pair: Pair, is_looked_at: bool) -> None:
        """Whether both say the same of a tensor. Raises Difference."""
        facts = {**FACTS, **HISTORY} if is_looked_at else FACTS
        for name, fact in facts.items():
            theirs, ours = (outcome(lambda fact=fact, each=each: fact(each)) for each in (pair.theirs, pair.ours))
            if isinstance(theirs, Exception) or isinstance(ours, Exception):
                theirs, ours = class_of(theirs), class_of(ours)
            theirs = theirs - pair.writes if name == "version" and type(theirs) is int else theirs
            if ours != theirs and not (name in ("grad_fn", "is_leaf") and is_known_history(pair.theirs)):
                raise self.difference(f"{name} of {what}", ours, theirs)
        self.compare_values(f"value of {what}", pair.ours.data, pair.theirs.data, is_shared=True)
        mine, other = pair.ours.grad, gradient_of(pair.theirs)
        if (mine is None) != (other is None):
            raise self.difference(f"gradient of {what}", mine, other)
        if mine is not None:
            self.compare_values(f"gradient of {what}", mine.data, other.data)

    def compare_heard(self) -> None:
        """Whether the hooks of both heard the same. Raises Difference."""
        ours, theirs = (sorted(HEARD[name], key=lambda one: one[0]) for name in ("opwright", "torch"))
        if [number for number, _ in ours] != [number for number, _ in theirs]:
            raise self.difference("hooks", ours, theirs)
        for (number, mine), (_, other) in zip(ours, theirs, strict=True):
            self.compare_values(f"what hook {number} heard", mine, other)
        for name in HEARD:
            HEARD[name].clear()

    def compare_values(self, what: str, ours: Any, theirs: Any, *, is_shared: bool = False) -> None:
        """Whether elements are the same. Of a variable, ours take over the last bits of theirs: what is rounded
        otherwise must not decide what the next steps do. Raises Difference."""
        mine, other = ours.resolve_conj().numpy(), theirs.resolve_conj().numpy()
        if mine.dtype != other.dtype or mine.shape != other.shape:
            raise self.difference(what, (mine.dtype, mine.shape), (other.dtype, other.shape))
        bound = max(BOUNDS.get(str(dtype), 1e-9) for dtype in (mine.dtype, *(pair.ours.dtype for pair in self.pairs)))
        with np.errstate(all="ignore"):
            if not np.allclose(mine, other, rtol=bound, atol=bound, equal_nan=True):
                raise self.difference(what, mine, other)
        if is_shared and not ours.is_conj():
            mine[...] = other

    def difference(self, what: str, ours: Any, theirs: Any) -> Difference:
        """What differs, after which steps."""
        lines = "\n".join(self.lines)
        return Difference(f"seed {self.seed}: {what}: {ours!r:.300}, PyTorch {theirs!r:.300}\n{lines}")


def copies(theirs: Any, ours: Any) -> Pair:
    """Row-major copies: how a gradient lies in memory is another matter."""
    first, second = torch.contiguous_format, opwright.contiguous_format
    return Pair(theirs.clone(memory_format=first), ours.clone(memory_format=second))


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or raises."""
    try:
        return call()
    except Exception as error:
        return error


def class_of(outcome: Any) -> str:
    """The built-in class of an error; nothing of what is none."""
    if not isinstance(outcome, Exception):
        return ""
    names = (each.__name__ for each in type(outcome).__mro__ if each.__module__ == "builtins")
    return next(name for name in names if name != "NotImplementedError")  # a kind of RuntimeError


def is_as(theirs: Any, ours: Any) -> bool:
    """Whether both end alike; an error here may be of several classes, one of which is PyTorch's."""
    return class_of(theirs) == class_of(ours) or (isinstance(ours, TypeError) and isinstance(theirs, TypeError))


def are_of_one_call(theirs: Any, ours: Any) -> bool:
    """Whether both refuse a call that has a wrong dimension, and something else wrong: which is told first differs."""
    return {class_of(theirs), class_of(ours)} == {"IndexError", "RuntimeError"}


def are_of_complex_numbers(theirs: Any, ours: Any) -> bool:
    """Whether both refuse complex numbers, or real ones instead, for which PyTorch has TypeErrors since 2.15."""
    is_new = (oracle_version() or (0, 0)) >= (2, 15)
    return is_new and (class_of(theirs), class_of(ours)) == ("TypeError", "RuntimeError") and "complex" in str(theirs)


def is_trained(tensor: Any) -> bool:
    """Whether a tensor is a leaf that requires grad. A view that has lost its history raises."""
    try:
        return bool(tensor.is_leaf and tensor.requires_grad)
    except RuntimeError:
        return False


def gradient_of(tensor: Any) -> Any:
    """PyTorch's `grad`, without its warning for what is no leaf."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tensor.grad
    except RuntimeError:  # a view that has lost its history
        return None


def name_of_node(tensor: Any) -> str | None:
    """Without the number of the overload, which follows PyTorch's schemas."""
    node = tensor.grad_fn
    if node is None:
        return None
    name = node.name().removeprefix("torch::autograd::").rstrip("s0123456789")
    return str(name).replace("ReshapeAlias", "View")


def strides_of(tensor: Any) -> Any:
    """Of the dimensions where they matter."""
    return [step for size, step in zip(tensor.shape, tensor.stride(), strict=True) if size > 1 and tensor.numel()]


# How far apart elements of both may be in a programme with tensors of these dtypes. (Of integers float32 is computed.)
BOUNDS = {"float16": 1e-2, "float32": 1e-4, "complex64": 1e-4, "int64": 1e-4}
# What both must say of a tensor. A base, and a count of writes, are not noted of inference tensors.
FACTS: dict[str, Callable[[Any], Any]] = {
    "shape": lambda tensor: tuple(tensor.shape),
    "strides": strides_of,
    "requires_grad": lambda tensor: tensor.requires_grad,
    "is_inference": lambda tensor: tensor.is_inference(),
    "version": lambda tensor: tensor.is_inference() or tensor._version,
    "is a view": lambda tensor: tensor.is_inference() or tensor._base is not None,
    "is_conj": lambda tensor: tensor.is_conj(),
}
# And what asks for its history, which a write may have changed.
HISTORY: dict[str, Callable[[Any], Any]] = {
    "grad_fn": name_of_node,
    "is_leaf": lambda tensor: tensor.is_leaf,
    "output_nr": lambda tensor: tensor.output_nr,
    "retains_grad": lambda tensor: tensor.retains_grad,
}


def differs(known: Known, seed: int) -> bool:
    """Whether a programme shows a known difference."""
    programme = Programme(seed, known)
    try:
        programme.run()
    except Difference:
        return programme.has_dared
    return False


def find_seeds(most: int = 20_000) -> None:
    """Print, for each known difference, the first programme that shows it."""
    warnings.simplefilter("ignore")
    for known in KNOWN:
        seed = next((seed for seed in range(most) if differs(known, seed)), None)
        print(f"{seed}: {known.actions}, {known.holds.__name__}: {known.reason}", flush=True)


def main(start: int, count: int) -> None:
    """Run programmes, and say how many differ."""
    warnings.simplefilter("ignore")
    wrong = 0
    for seed in range(start, start + count):
        try:
            Programme(seed).run()
        except Difference as difference:
            wrong += 1
            print(f"{difference}\n", flush=True)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
    print(f"{count} programmes from seed {start}: {wrong} differ")


if __name__ == "__main__":
    if sys.argv[1:] == ["known"]:
        find_seeds()
    else:
        main(*map(int, sys.argv[1:]))
