"""Gradients of tensors without data: of the shapes and dtypes of the real ones, first and second."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import sweeps
from differentiating import case_names, composites, inputs_of, unfiltered
from differentiating_twice import Twice, size_of
from faking import converted
from samples import SAMPLES
from sampling import Sample

import opwright
from opwright.fake import DataDependentOutputError, DynamicOutputShapeError, FakeTensorMode

pytestmark = pytest.mark.filterwarnings("ignore")

MAX_ELEMENTS = 200


def real(value: Any) -> Any:
    """An argument with tensors for arrays."""
    return converted(value, lambda array: opwright.from_numpy(array.copy()))


def described(gradients: dict[Any, Any]) -> dict[Any, tuple[Any, ...] | None]:
    """What is known of gradients without data."""
    return {
        key: None if each is None else (tuple(each.shape), str(each.dtype), str(each.device), each.requires_grad)
        for key, each in gradients.items()
    }


def problems(name: str, sample: Sample) -> Iterator[str | None]:
    """What differs between real and fake gradients; nothing for a sample without any."""
    try:
        call = Twice(opwright, real, name, sample)
        first = call.gradients(3)
        second = call.second(first, 5)
    except Exception:
        return  # a sample of an error
    if not first:
        return
    mode = FakeTensorMode()

    def fake(value: Any) -> Any:
        return converted(real(value), mode.from_tensor, opwright.Tensor)

    with mode:
        try:
            fake_call = Twice(opwright, fake, name, sample)
        except (DataDependentOutputError, DynamicOutputShapeError):
            return  # a composite that reads values
        fake_first = fake_call.gradients(3)
        fake_second = fake_call.second(fake_first, 5)
    for ours, theirs in ((fake_first, first), (fake_second, second)):
        left, right = described(ours), described(theirs)
        yield None if left == right else f"{sample}: {left}, not {right}"


def compare(name: str) -> int:
    """Fail if a fake call of one of the operator's samples has other gradients; how many were compared."""
    samples = sorted(unfiltered(name), key=lambda one: size_of(one) > MAX_ELEMENTS or not size_of(one))
    compared = (found for sample in samples if (found := list(problems(name, sample))))
    tried = [each for found in islice(compared, sweeps.count(2, 3)) for each in found]
    found = [each for each in tried if each is not None]
    if found:
        pytest.fail("\n".join(found), pytrace=False)
    return len(tried)


# Operators without a second derivative, and why.
ONCE = {"_ctc_loss": "its gradient is computed by a kernel of its own"}


@sweeps.over([name for name in case_names() if inputs_of(name) and name not in ONCE])
@pytest.mark.once  # fakes and formulas are Python in both modes
def test_fake_gradients(name: str) -> None:
    if not compare(name):
        pytest.fail("no sample has a gradient", pytrace=False)


@sweeps.over([name for name in composites() if name in SAMPLES])
def test_composites(name: str) -> None:
    compare(name)
