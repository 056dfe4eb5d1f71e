"""Calls whose output shares memory with an operand, of every operator that writes: what PyTorch and we make of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from declared import functional_of, operators
from oracle import call, copied, difference, dtype_of, numpy_of, to_opwright, to_torch, value_difference
from samples import NO_SAMPLES, SAMPLES
from sampling import Array, Sample

import opwright
from opwright_codegen.schema.model import SchemaKind


@dataclass(frozen=True)
class Shared:
    """A call with one output, and where in one buffer that and an operand lie."""

    name: str
    sample: Sample  # the functional call, or the in-place one
    operand: int  # the number of the argument that shares memory
    result: Array  # what PyTorch gives where no memory is shared
    is_out: bool  # not in place, where the output is the first argument
    how: str

    def __str__(self) -> str:
        return f"{self.name}{self.sample}, argument {self.operand} {self.how}"

    def outcome(self, function: Callable[..., Any], convert: Callable[[Any], Any]) -> Any:
        """What a library returns, or raises, for new tensors, two of which share memory."""
        args = [convert(copied(value)) for value in self.sample.args]
        kwargs = {name: convert(copied(value)) for name, value in self.sample.kwargs.items()}
        source = self.sample.args[self.operand]
        target = self.result if self.is_out else self.sample.args[0]
        buffer = convert(np.zeros(source.size + target.size + 1, source.dtype))
        output = _placed(buffer, target, 1 if self.how == "behind" else 0, self.how == "turned")
        operand = _placed(buffer, source, 1 if self.how == "ahead" else 0, False)
        if self.is_out:
            kwargs["out"] = output
        else:
            output.copy_(args[0])
            args[0] = output
        operand.copy_(args[self.operand])
        args[self.operand] = operand
        return call(function, Sample(tuple(args), kwargs), lambda value: value)


def _placed(buffer: Any, like: Array, start: int, is_turned: bool) -> Any:
    """A view of a buffer."""
    shape = like.shape[::-1] if is_turned else like.shape
    view = buffer[start : start + like.size].view(shape)
    return view.permute(list(range(len(shape)))[::-1]) if is_turned else view


NOT_REFUSED = "right, but PyTorch refuses it"
# PyTorch crashes on calls of these.
CRASHES = ("rrelu_with_noise.out", "upsample_bicubic2d.out", "_upsample_bicubic2d_aa.out")
# PyTorch computes these in float16, rounding each product; here, in float32, so only wider samples are compared.
ROUNDED = ("grid_sampler_2d.out", "grid_sampler_3d.out")


def calls(name: str, most: int) -> Iterator[Shared]:
    """Some calls of an operator with memory shared in every way."""
    functional = functional_of(name)
    found = SAMPLES.get(name) or SAMPLES.get(functional)
    if found is None or name in NO_SAMPLES or functional in NO_SAMPLES or name in CRASHES:
        return
    is_out = operators()[name].schema.kind is SchemaKind.OUT
    seen = 0
    for one in found():
        places = [place for place, value in enumerate(one.args) if isinstance(value, np.ndarray) and value.size > 1]
        if not places or (name in ROUNDED and one.args[places[0]].itemsize == 2):
            continue
        result = _result_of(functional if is_out else name, one)
        if result is None or (places[0] != 0 and not is_out):
            continue
        if isinstance(call(ours(functional if is_out else name), copied_sample(one), to_opwright), Exception):
            continue
        shared = [
            Shared(name, one, place, result, is_out, how)
            for place in places
            if (is_out or place) and one.args[place].dtype == result.dtype
            for how in ("whole", "ahead", "behind", "turned")
        ]
        yield from shared
        seen += bool(shared)
        if seen >= most:
            return


def _result_of(name: str, one: Sample) -> Array | None:
    """What PyTorch returns, if that is one tensor of more than one element."""
    result = call(theirs(name), copied_sample(one), to_torch)
    if isinstance(result, Exception) or not hasattr(result, "numel") or dtype_of(result) is None or result.numel() < 2:
        return None
    return numpy_of(result)


def copied_sample(one: Sample) -> Sample:
    """The same call, whose arrays may be written to."""
    return replace(one, args=tuple(map(copied, one.args)))


def theirs(name: str) -> Any:
    """PyTorch's operator."""
    import torch

    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def ours(name: str) -> Any:
    """Our operator."""
    base, _, overload = name.partition(".")
    return getattr(getattr(opwright.ops.aten, base), overload or "default")


def problem(shared: Shared) -> str | None:
    """What is wrong with our outcome: it is neither an error, nor PyTorch's, nor what the call gives where no memory is
    shared. Where PyTorch refuses, it is an error. None where nothing is wrong."""
    mine = shared.outcome(ours(shared.name), to_opwright)
    other = shared.outcome(theirs(shared.name), to_torch)
    found = difference(mine, other)
    if found is None:
        return None
    if isinstance(mine, Exception):
        return None if "single memory location" in str(mine) else f"{shared}: {found}"
    is_right = value_difference(mine.array, shared.result) is None
    if isinstance(other, Exception):
        return f"{shared}: {NOT_REFUSED if is_right else found}"
    return None if is_right else f"{shared}: {found}"
