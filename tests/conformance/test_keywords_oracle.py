"""Which names arguments may be given by: of functions, methods and `ops.aten`, the same as in PyTorch.

Each operator is called with a sample that works, one argument after the other by every name there is. Ours take the
schema's `self` besides, where PyTorch's functions take `input` alone.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
from known_differences import KEYWORDS
from known_versions import RENAMED, is_not_there
from samples import SAMPLES
from samples_functional import FUNCTIONS
from sampling import Sample

import opwright
from opwright_core.dispatch.call.keywords import meant

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import to_opwright, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

OTHERS = ("input", "x", "a", "x1", "x2", "axis", "keepdims", "self", "other", "dim", "tensor")
Call = Callable[..., Any]


def works(function: Call, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether the call is one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*args, **kwargs)
        except Exception:
            return False
    return True


def sample_of(name: str) -> Iterator[Sample]:
    """A few samples, among them one with all arguments."""
    every = list(islice((one for one in SAMPLES[name]() if one.args), 20))
    return iter(sorted(every, key=lambda one: -len(one.args))[:3])


def declared() -> list[str]:
    """Operators of both with samples of their own."""
    return [name for name in SAMPLES if hasattr(opwright.ops.aten, name.partition(".")[0]) and not is_not_there(name)]


def names_of(name: str) -> list[str]:
    base, _, overload = name.partition(".")
    packet = getattr(opwright.ops.aten, base)
    return [argument[0] for argument in getattr(packet, overload or "default").arguments]


def spelled(one: Sample, names: list[str], position: int, spelling: str) -> tuple[list[Any], dict[str, Any]]:
    """The call with the arguments from a position on by name, the first of them by this spelling."""
    kwargs = dict(zip(names[position:], one.args[position:], strict=False))
    value = kwargs.pop(names[position])
    return list(one.args[:position]), {spelling: value, **kwargs, **one.kwargs}


def converted(args: list[Any], kwargs: dict[str, Any], to: Call) -> tuple[list[Any], dict[str, Any]]:
    return [to(copy.deepcopy(each)) for each in args], {name: to(copy.deepcopy(each)) for name, each in kwargs.items()}


def problems(name: str, ours: Call, theirs: Call, *, is_method: bool, takes_self: bool) -> list[str]:
    found = []
    names = names_of(name)
    for one in sample_of(name):
        both = [(f, converted(list(one.args), one.kwargs, to)) for f, to in ((ours, to_opwright), (theirs, to_torch))]
        if not all(works(f, *call) for f, call in both):
            continue
        for position in range(int(is_method), min(len(one.args), len(names))):
            for spelling in dict.fromkeys((names[position], *OTHERS)):
                means_another = {meant(spelling, names), spelling} & {*names[:position], *names[position + 1 :]}
                if means_another or (spelling == "self" and takes_self):
                    continue
                args, kwargs = spelled(one, names, position, spelling)
                mine = works(ours, *converted(args, kwargs, to_opwright))
                # By PyTorch's names: what is `self` here is `input` there.
                named = {"input" if takes_self and key == "self" else key: value for key, value in kwargs.items()}
                other = works(theirs, *converted(args, named, to_torch))
                if mine is not other:
                    found.append(f"{spelling}= for {names[position]} {'is not' if other else 'is'} taken")
        break  # the one with the most arguments that works: those with fewer find nothing more
    return [f"{name}: {each}" for each in dict.fromkeys(found) if not KEYWORDS.covers(name, each)]


def functions() -> Iterator[tuple[str, Call, Call]]:
    """Samples' names, and the functions of that name."""
    for name in declared():
        base = name.partition(".")[0]
        for ours, theirs, short in (
            (opwright, torch, base),
            (opwright.linalg, torch.linalg, base.removeprefix("linalg_")),
            (opwright.special, torch.special, base.removeprefix("special_")),
        ):
            if (ours is opwright or short != base) and hasattr(ours, short) and hasattr(theirs, short):
                yield name, getattr(ours, short), getattr(theirs, short)


def test_functions() -> None:
    found = [each for name, *both in functions() for each in problems(name, *both, is_method=False, takes_self=True)]
    assert not found, f"{len(found)}\n" + "\n".join(found)


def test_methods() -> None:
    found = []
    for name in declared():
        base = name.partition(".")[0]
        if not base.startswith("__") and names_of(name)[:1] == ["self"]:
            ours, theirs = getattr(opwright.Tensor, base, None), getattr(torch.Tensor, base, None)
            if ours is not None and theirs is not None:
                found += problems(name, ours, theirs, is_method=True, takes_self=False)
    assert not found, f"{len(found)}\n" + "\n".join(found)


def test_packets_take_the_names_of_schemas_alone() -> None:
    found = []
    for name in declared():
        base = name.partition(".")[0]
        ours, theirs = getattr(opwright.ops.aten, base), getattr(torch.ops.aten, base)
        if base not in RENAMED:
            found += problems(name, ours, theirs, is_method=False, takes_self=False)
    assert not found, f"{len(found)}\n" + "\n".join(found)


def test_one_argument_by_two_names() -> None:
    x, y = opwright.ones(2, 3), torch.ones(2, 3)
    calls: list[Callable[[Any, Any], Any]] = [
        lambda o, t: o.cat([t, t], 0, axis=0),
        lambda o, t: o.cat([t, t], dim=0, axis=0),
        lambda o, t: o.sum(t, 0, axis=0),
        lambda o, t: t.sum(dim=0, axis=0),
        lambda o, t: t.amax(0, False, keepdims=False),
        lambda o, t: o.add(t, t, x2=t),
        lambda o, t: o.exp(t, x=t),
        lambda o, t: o.exp(input=t, a=t),
        lambda o, t: t.exp(input=t),
        lambda o, t: o.zeros_like(t, x=t),
    ]
    for call in calls:
        for module, tensor in ((opwright, x), (torch, y)):
            with pytest.raises(TypeError):
                call(module, tensor)


def test_an_unknown_name_is_told_the_right_one() -> None:
    x = opwright.tensor(np.ones((2, 3), np.float32))
    for call, hint in (
        (lambda: x.sum(axes=0), "'axis'"),
        (lambda: opwright.softmax(x, dims=0), "'dim'"),
        (lambda: opwright.add(x, othr=x), "'other'"),
        (lambda: opwright.zeros(2, dtpye=None), "'dtype'"),
        (lambda: opwright.ops.aten.softmax.int(x, axis=0), "'dim'"),
        (lambda: opwright.ops.aten.sum(x, axis=0), "'dim'"),
    ):
        with pytest.raises(TypeError, match=f"did you mean {hint}"):
            call()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_neural_networks(name: str) -> None:
    ours, theirs = getattr(opwright.nn.functional, name), getattr(torch.nn.functional, name)
    one = next(iter(FUNCTIONS[name](dtype=np.dtype("float32"))))
    for spelling in ("input", "self", "x", "a", "x1"):
        args, kwargs = list(one.args[1:]), {spelling: one.args[0], **one.kwargs}
        if args:  # what follows the first argument is given by name, too
            found = list(inspect.signature(ours).parameters)[1:]
            args, kwargs = [], {**kwargs, **dict(zip(found, args, strict=False))}
        mine, other = (
            works(ours, *converted(args, kwargs, to_opwright)),
            works(theirs, *converted(args, kwargs, to_torch)),
        )
        assert mine is other or spelling == "self", f"{name}: {spelling}= {'is not' if other else 'is'} taken"
