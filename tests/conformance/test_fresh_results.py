"""What an operator declares new is nobody's view: it may be detached and written in place. PyTorch says of which
results this holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from declared import of_kind, operators
from differentiating import flattened
from faking import operator
from samples import NO_SAMPLES, samples_of
from sampling import Sample
from sweeps import share

import opwright
from opwright_codegen.schema.model import SchemaKind

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import call, copied, to_opwright, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

MOST = 6  # samples of an operator
RECORDED = "recorded"
MODES = ("enable_grad", RECORDED, "no_grad", "inference_mode")
FRESH = [
    name for name in of_kind(SchemaKind.FUNCTIONAL) if not operators()[name].schema.is_view and name not in NO_SAMPLES
]


def has_own_views(library: Any, function: Any, one: Sample, mode: str, convert: Callable[[Any], Any]) -> list[bool]:
    """Of each tensor in the result of a call, whether it is a view of what is no argument, nor what one is a view of;
    nothing of a call that is refused."""

    def given(value: Any) -> Any:
        made = convert(copied(value))
        for each in tensors([made]):
            if mode == RECORDED and (each.is_floating_point() or each.is_complex()):
                each.requires_grad_()
        return made

    args, kwargs = [given(value) for value in one.args], {name: given(value) for name, value in one.kwargs.items()}
    taken = list(tensors([*args, *kwargs.values()]))
    with getattr(library, "enable_grad" if mode == RECORDED else mode)():
        result = call(lambda: function(*args, **kwargs), Sample(()), convert)
    bases = [each._base for each in tensors([result])]
    return [base is not None and not any(base is each or base is each._base for each in taken) for base in bases]


def tensors(values: Any) -> Iterator[Any]:
    return (each for each in flattened(values) if isinstance(each, opwright.Tensor | torch.Tensor))


def theirs(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def problems(name: str) -> Iterator[str]:
    for one in share(samples_of(name), MOST, name):
        for mode in MODES:
            ours = has_own_views(opwright, operator(name), one, mode, to_opwright)
            if not any(ours):
                continue
            wanted = has_own_views(torch, theirs(name), one, mode, to_torch)
            if len(wanted) == len(ours) and any(a and not b for a, b in zip(ours, wanted, strict=True)):
                yield f"{name}{one}, {mode}: {ours}, not {wanted}"


@pytest.mark.parametrize("name", FRESH)
def test_results_are_views_of_nothing_else(name: str) -> None:
    found = list(problems(name))
    if found:
        pytest.fail("\n".join(found), pytrace=False)
