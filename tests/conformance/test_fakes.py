"""Every operator on fake tensors: shapes, strides, dtypes, devices, offsets and shared memory are those of the real
call; where one raises, so does the other."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sweeps
from declared import functional_of, of_kind, operators
from faking import Call, called, converted_call, fake_difference, operator, with_own_memory
from samples import sampled, samples_of
from sampling import Sample
from sweeps import share

import opwright
from opwright.fake import FakeTensorMode
from opwright.fake.arrays import META_PLACE
from opwright.symbolic import ShapeEnv
from opwright.testing import Sample as Drawn
from opwright.testing import samples
from opwright.testing.layouts import SITUATIONS
from opwright_codegen.schema.model import SchemaKind
from opwright_core.arrays.devices import Device
from opwright_core.arrays.dtypes import complex64, float32, int64
from opwright_core.keys import DispatchKey

pytestmark = pytest.mark.filterwarnings("ignore")

FUNCTIONAL_AND_IN_PLACE = sampled(SchemaKind.FUNCTIONAL, SchemaKind.INPLACE, SchemaKind.MUTABLE)


def our_call(one: Sample) -> Call:
    call = list(one.args), one.kwargs
    return converted_call(call, lambda array: opwright.from_numpy(with_own_memory(array)))


def check(name: str, problems: Iterator[tuple[Any, str | None]]) -> None:
    found = [f"{name}{one}: {problem}" for one, problem in problems if problem is not None]
    if found:
        pytest.fail(f"{len(found)} differences\n" + "\n".join(found[:8]), pytrace=False)


@sweeps.over(FUNCTIONAL_AND_IN_PLACE)
def test_fake_is_real(name: str) -> None:
    every = samples_of(name)
    every = sweeps.spread(every, sweeps.count(20, len(every)))
    check(name, ((one, fake_difference(name, our_call(one), FakeTensorMode())) for one in every))


@sweeps.over(FUNCTIONAL_AND_IN_PLACE)
@pytest.mark.once  # symbolic sizes are Python in both modes
def test_symbolic_is_concrete(name: str) -> None:
    """With symbolic sizes: the answer, at the sizes of the sample, is that of the real call."""
    every = sweeps.spread(samples_of(name), sweeps.count(8, 25))
    check(name, ((one, fake_difference(name, our_call(one), FakeTensorMode(shape_env=ShapeEnv()))) for one in every))


@sweeps.over(of_kind(SchemaKind.OUT))
@pytest.mark.calls
@pytest.mark.parametrize("filled", [False, True], ids=["resized", "strided"])
def test_out(name: str, filled: bool) -> None:
    """Into empty tensors, which grow, and into every second element of ones that fit, which stay as they are."""

    def each(one: Sample) -> str | None:
        results = called(operator(functional_of(name)), our_call(one))
        results = list(results) if isinstance(results, tuple) else [results]
        if not all(isinstance(result, opwright.Tensor) for result in results):
            return None
        args, kwargs = our_call(one)
        # (a functional one returns running statistics after what `out` is for)
        outs = {out: out_like(result, filled) for out, result in zip(written(name), results, strict=False)}
        return fake_difference(name, (args, {**kwargs, **outs}), FakeTensorMode())

    every = sweeps.spread(samples_of(name), sweeps.count(5, 12))
    check(name, ((one, each(one)) for one in every))


def written(name: str) -> list[str]:
    return [argument.name for argument in operators()[name].schema.out_arguments]


def out_like(result: opwright.Tensor, filled: bool) -> opwright.Tensor:
    if not filled:
        return opwright.empty([0], dtype=result.dtype)
    return opwright.from_numpy(np.zeros((*result.shape, 2), result.dtype)[..., 0])


@sweeps.over(operators())
@pytest.mark.calls
@pytest.mark.once  # most of it draws, by fake kernels; without the core `test_fake_is_real` tells
def test_drawn_samples(name: str) -> None:
    """Calls that `opwright.testing` draws, of one dtype of three (with --slow of each), each operator's in a situation
    of its own; functional ones with symbolic sizes too."""
    situation = SITUATIONS[zlib.crc32(name.encode()) % len(SITUATIONS)]
    modes = [None, ShapeEnv] if operators()[name].schema.kind is SchemaKind.FUNCTIONAL else [None]

    def each(one: Drawn) -> Iterator[str | None]:
        for make_env in modes:
            mode, own = FakeTensorMode(shape_env=make_env and make_env()), one.copied()
            yield fake_difference(name, (list(own.args), own.kwargs), mode)

    dtypes = share([float32, int64, complex64], 1, name)
    drawn = samples(f"aten::{name}", dtypes=dtypes, situations=[situation])
    check(name, ((one, problem) for one in drawn for problem in each(one)))


# Operators with kernels and no fake one, and why.
WITHOUT_FAKE_KERNEL: dict[str, str] = {}


def test_every_kernel_has_a_fake_one() -> None:
    without = {
        name
        for name in operators()
        if DispatchKey.CPU in operator(name).registrations and DispatchKey.Meta not in operator(name).registrations
    }
    assert without == WITHOUT_FAKE_KERNEL.keys()


@pytest.mark.parametrize("device", ["cpu", "cuda", "meta"])
def test_every_operator_is_served_without_data(device: str) -> None:
    """A GPU need not be there."""
    place = META_PLACE if device == "meta" else FakeTensorMode().place(Device(device))
    for name in operators():
        if name not in WITHOUT_FAKE_KERNEL:
            assert operator(name).resolve(place.keys)
