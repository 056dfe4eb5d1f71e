"""Results of generated fake kernels: from a rule's plan to a tensor without data."""

from __future__ import annotations

from opwright.errors import FakeKernelError
from opwright.fake.arrays import MetaArray, Place
from opwright.fake.modes import OTHER_MODE, new_place
from opwright_core.arrays.dtypes import DType
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import TensorSpec
from opwright_core.tensors.tensor import Tensor, new_tensor

__all__ = ["fake", "fake_like", "new_fake", "place_of", "place_of_first"]


def place_of(*arrays: MetaArray | None) -> Place:
    """Return where the results of a call are: with its operands, tensors of no dimension on the CPU aside.

    Raises FakeKernelError for two modes, RuntimeError for two devices.
    """
    found: MetaArray | None = None
    for array in arrays:
        if array is None or (found is not None and array.place is found.place):
            continue
        found = array if found is None else _common(found, array)
    return new_place() if found is None else found.place


def place_of_first(array: MetaArray, *others: MetaArray | None) -> Place:
    """Return where the results of a call are whose operands are on several devices (`copy_`, indexing): with the first.

    Raises FakeKernelError for two modes.
    """
    mode = array.place.mode
    for other in others:
        if other is not None and mode is not None and other.place.mode not in (None, mode):
            raise FakeKernelError(OTHER_MODE)
    return array.place


def _common(first: MetaArray, second: MetaArray) -> MetaArray:
    a, b = first.place, second.place
    if a.mode is not b.mode and a.mode is not None and b.mode is not None:
        raise FakeKernelError(OTHER_MODE)
    if a.device == b.device:
        return first if a.mode is not None else second
    if not second.shape and b.device.type == "cpu":
        return first
    if not first.shape and a.device.type == "cpu":
        return second
    raise RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {a.device} and {b.device}!"
    )


def fake(place: Place, plan: Plan) -> Tensor:
    """Return a new tensor as the plan says."""
    spec: TensorSpec = plan.spec
    array = MetaArray()
    array.shape = spec.shape
    array.strides = spec.steps
    array.dtype = spec.dtype
    array.place = place
    array.offset = 0
    array.base = None
    made = new_tensor()
    made.array = array
    made.keys = place.keys | spec.nondense
    made.edge = None
    made.extra = None
    return made


def new_fake(plan: Plan) -> Tensor:
    """Return a factory's result: on the device the plan says, with the active mode."""
    return fake(new_place(plan.device), plan)


def fake_like(array: MetaArray, dtype: DType) -> Tensor:
    """Return a new tensor laid out as a row-major array, of its dtype or bool: a pointwise result of dense operands."""
    result = MetaArray()
    result.shape = array.shape
    result.strides = array.strides if dtype is array.dtype else tuple([s // array.itemsize for s in array.strides])
    result.dtype = dtype
    result.place = array.place
    result.offset = 0
    result.base = None
    made = new_tensor()
    made.array = result
    made.keys = array.place.keys
    made.edge = None
    made.extra = None
    return made
