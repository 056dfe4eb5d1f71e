"""Answers that tensors without data cannot give: sizes and values that depend on data; the fake kernel that asks."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final

from opwright.errors import DataDependentOutputError, DynamicOutputShapeError
from opwright.fake.arrays import MetaArray, Place
from opwright_core.arrays.dtypes import COMPLEX, FLOATING, bool_
from opwright_core.arrays.sizes import guard_or_false
from opwright_core.keys import ADINPLACEORVIEW, AUTOGRAD
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.fake.modes import FakeTensorMode
    from opwright.symbolic import ShapeEnv

__all__ = ["FakeContext", "constant_of", "dynamic_size", "no_data", "number_of", "read_item", "running"]


class FakeContext:
    """The requests of a running fake kernel (`opwright.library.get_ctx()`)."""

    def __init__(self, operator: str, mode: FakeTensorMode | None) -> None:
        self.operator = operator
        self._mode = mode

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """Return a size that depends on data: an unbacked SymInt in [min, max].

        Raises DynamicOutputShapeError where the FakeTensorMode has no ShapeEnv, ValueError for a `min` below 0 and a
        `max` below `min`.
        """
        if type(min) is not int or type(max) not in (int, type(None)):
            raise ValueError(f"new_dynamic_size(min={min}, max={max}): both are ints that are known")
        if min < 0:
            raise ValueError(f"new_dynamic_size(min={min}): a size is never below 0")
        if max is not None and max < min:
            raise ValueError(f"new_dynamic_size(min={min}, max={max}): no size is in that range")
        env = _env_for_sizes(self._mode, f"{self.operator}: the size of a result")
        return env.create_unbacked_symint(min=min, max=max, source=f"a size of {self.operator}")

    create_unbacked_symint = new_dynamic_size  # PyTorch's older name


running: Final[ContextVar[FakeContext | None]] = ContextVar("opwright_fake_kernel", default=None)


def dynamic_size(place: Place, what: str, most: int | None = None, least: int = 0) -> Any:
    """Return an unbacked size for a result; `least` and `most` bound it, where they are known.

    Raises DynamicOutputShapeError without a ShapeEnv.
    """
    env = _env_for_sizes(place.mode, what)
    known = least if type(least) is int else 0
    return env.create_unbacked_symint(min=known, max=most if type(most) is int else None, source=what)


def _env_for_sizes(mode: FakeTensorMode | None, what: str) -> ShapeEnv:
    """Return the environment that makes sizes from data. Raises DynamicOutputShapeError where there is none."""
    env = None if mode is None else mode.shape_env
    if env is None or not env.allow_dynamic_output_shape_ops:
        raise DynamicOutputShapeError(
            f"{what} depends on data, and a tensor without data cannot say it. With "
            "FakeTensorMode(shape_env=opwright.symbolic.ShapeEnv()) it becomes a symbolic size"
        )
    return env


def read_item(array: MetaArray, what: str) -> Any:
    """Return the only element of an array without data: an unbacked number, where the mode has a ShapeEnv for it.

    Raises DataDependentOutputError elsewhere.
    """
    mode = array.place.mode
    env: ShapeEnv | None = None if mode is None else mode.shape_env
    dtype = array.dtype
    if env is None or not env.allow_scalar_outputs or dtype in COMPLEX:
        raise no_data(array, what)
    if dtype is bool_:
        return env.create_unbacked_symbool()
    if dtype in FLOATING:
        return env.create_unbacked_symfloat()
    return env.create_unbacked_symint(min=-(2**63), max=2**63 - 1)


def constant_of(tensor: Tensor) -> Any:
    """Return the only element of a tensor that a FakeTensorMode made of a number, or of a view of one; None where it is
    not known, as after a write to its memory."""
    extra, array = tensor.extra, tensor.array
    root = array.root
    constant = getattr(root, "constant", None)
    if constant is None:
        return None
    is_as_made = extra is None or extra.storage is None or extra.storage.version == 0
    is_counted = tensor.keys & (AUTOGRAD | ADINPLACEORVIEW)
    is_element = array is root or (array.dtype is root.dtype and guard_or_false(array.size == 1))
    return constant if is_as_made and is_counted and is_element else None


def number_of(value: Any) -> Any:
    """Return the number that a fake tensor was made of, None for any other value."""
    return constant_of(value) if isinstance(value, Tensor) and type(value.array) is MetaArray else None


def no_data(array: MetaArray, what: str) -> DataDependentOutputError:
    """Return the error of a call that reads data."""
    place = array.place
    kind = "fake" if place.mode is not None else "meta" if place.device.type == "meta" else "wrapper"
    context = running.get()
    # A fake kernel of ours is nothing that the caller can change: the error names his call alone.
    operator = "" if context is None or context.operator.startswith("aten::") else context.operator
    inside = f" in the fake kernel of {operator}" if operator else ""
    hint = (
        "Compute with tensors instead; a size that depends on data is get_ctx().new_dynamic_size() there"
        if operator
        else "Call it on the real tensor, or keep the value in a tensor"
    )
    return DataDependentOutputError(
        f"{what} reads the data of a {kind} tensor{inside} ({array.dtype}{list(array.shape)} on {place.device}), "
        f"which has none. {hint}"
    )
