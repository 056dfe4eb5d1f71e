"""FakeTensorMode: tensors that claim a real device and have no data."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from opwright.context_managers.blocks import ThreadBlock
from opwright.errors import FakeKernelError
from opwright.fake.arrays import META_PLACE, MetaArray, Place, meta_array, place_on, wrap_meta
from opwright.pytree import tensors_of
from opwright_core.arrays import layouts
from opwright_core.arrays.devices import Device, as_device
from opwright_core.arrays.dtypes import FLOATING, REDUCED
from opwright_core.arrays.sizes import is_symbolic, sym_float
from opwright_core.arrays.storage import storage_of
from opwright_core.keys import META, WATCHED
from opwright_core.state import MODES, Modes, active_modes, set_modes
from opwright_core.tensors.tensor import Tensor, wrap_view

if TYPE_CHECKING:
    from opwright.symbolic import ShapeEnv

__all__ = ["FakeTensor", "FakeTensorMode", "active_mode", "is_fake", "mode_of", "new_place"]

_active: Final[ContextVar[FakeTensorMode | None]] = ContextVar("opwright_fake_mode", default=None)
active_mode: Final = _active.get


class FakeTensorMode(ThreadBlock):
    """A maker of fake tensors: shape, strides, dtype and a device ("cuda" needs no GPU), but no data.

    `from_tensor(t)` gives the fake of a tensor. Within `with mode:` every new tensor is fake; operators on fake tensors
    give fake tensors anywhere. With a `shape_env` (`opwright.symbolic.ShapeEnv`) sizes of converted tensors are
    symbolic, unless `static_shapes`, and results whose shape depends on data get unbacked sizes.
    `allow_non_fake_inputs` converts real tensors that meet fake ones; else they raise FakeKernelError. Semantics:
    `torch._subclasses.fake_tensor.FakeTensorMode`.
    """

    _variables = (MODES, _active)

    if TYPE_CHECKING:

        def __enter__(self) -> Self: ...

    def __init__(
        self,
        *,
        allow_non_fake_inputs: bool = False,
        shape_env: ShapeEnv | None = None,
        static_shapes: bool | None = None,
    ) -> None:
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env = shape_env
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self._places: dict[Device, Place] = {}
        self._fakes: dict[int, tuple[weakref.ref[Tensor], Tensor]] = {}

    def place(self, device: Device) -> Place:
        """Return the mode's place on a device."""
        found = self._places.get(device)
        if found is None:
            found = self._places.setdefault(device, Place(device, self))
        return found

    def from_tensor(self, tensor: Tensor, *, static_shapes: bool | None = None, source: str = "") -> Tensor:
        """Return the fake of a tensor: the same one each time, and views of one tensor share their fakes' storage.

        `source` names the tensor where its symbolic sizes are shown. A fake tensor of this mode is returned itself, one
        of another mode raises FakeKernelError.
        """
        if not isinstance(tensor, Tensor):
            raise TypeError(f"from_tensor() expects a Tensor, got {type(tensor).__name__}")
        if type(tensor.array) is MetaArray and (mode := tensor.array.place.mode) is not None:
            if mode is self:
                return tensor
            raise FakeKernelError(OTHER_MODE)
        known = self._fakes.get(id(tensor))
        if known is not None:
            return known[1]
        is_static = self.static_shapes if static_shapes is None else static_shapes
        made = _with_data(self._convert(tensor, is_static, source or f"t{len(self._fakes)}"), tensor)
        if tensor.requires_grad:
            made.requires_grad_()
        self._remember(tensor, made)
        return made

    def _remember(self, tensor: Tensor, made: Tensor) -> None:
        identity, fakes = id(tensor), self._fakes
        reference = weakref.ref(tensor, lambda _: fakes.pop(identity, None))
        fakes[identity] = reference, made

    def _convert(self, tensor: Tensor, is_static: bool, source: str) -> Tensor:
        shape, strides = tensor.shape, tensor.stride()
        base = tensor._base
        offset = 0 if base is None else tensor.storage_offset()
        if not is_static and self.shape_env is not None:
            shape, strides, offset = _symbolic_layout(self.shape_env, shape, strides, offset, source)
        place = self.place(tensor.device)
        if base is None:
            made = wrap_meta(meta_array(shape, strides, tensor.dtype, place))
            if tensor.extra is not None and tensor.extra.storage is not None:
                storage_of(made).resizable = tensor.extra.storage.resizable
            return made
        fake_base = self.from_tensor(base, static_shapes=is_static, source=f"{source}._base")
        size = tensor.dtype.itemsize
        view = fake_base.array.lying(shape, [stride * size for stride in strides], offset * size)
        view.dtype = tensor.dtype
        return wrap_view(fake_base, view)

    def _switch_on(self) -> FakeTensorMode:
        modes = active_modes()
        _active.set(self)
        set_modes(Modes(META, -1) if modes is None else Modes(modes.include | META, modes.mask, modes.top))
        return self

    def __repr__(self) -> str:
        return f"<FakeTensorMode at {id(self):#x}>"


OTHER_MODE: Final = (
    "fake tensors of two FakeTensorModes met: a computation has one mode. Make all its tensors with the same mode "
    "(mode.from_tensor of the real ones)"
)


def _symbolic_layout(
    env: ShapeEnv, shape: layouts.Shape, strides: layouts.Shape, offset: int, source: str
) -> tuple[Any, Any, Any]:
    """Return sizes as symbols, and strides in terms of them where they follow from sizes."""
    sizes = tuple([env.create_symbol(size, f"{source}.size({dim})") for dim, size in enumerate(shape)])
    steps: dict[int, Any] = {}
    follows: dict[int, Any] = {1: 1}
    for dim in sorted(range(len(shape)), key=lambda dim: (strides[dim], shape[dim])):
        step = follows.get(strides[dim])
        if step is None:
            step = strides[dim] if strides[dim] == 0 else env.create_symbol(strides[dim], f"{source}.stride({dim})")
        steps[dim] = step
        follows.setdefault(strides[dim] * shape[dim], step * sizes[dim])
    start = env.create_symbol(offset, f"{source}.storage_offset()") if offset else 0
    return sizes, tuple(steps[dim] for dim in range(len(shape))), start


class _FakeTensorType(type):
    """The type of fake tensors: they are Tensors whose array has no data, and have no class of their own."""

    def __instancecheck__(cls, value: object) -> bool:
        return is_fake(value)


class FakeTensor(Tensor, metaclass=_FakeTensorType):
    """The class by which `isinstance` knows fake tensors."""

    __slots__ = ()

    fake_mode: FakeTensorMode  # (of every Tensor, for there is no class of fake ones: `Valued`)

    def __new__(cls, *args: object, **kwargs: object) -> FakeTensor:
        """Refuse: fake tensors come from a mode."""
        raise TypeError("FakeTensor is not to be made by itself: use FakeTensorMode().from_tensor(tensor)")


def is_fake(value: object) -> bool:
    """Whether the value is a fake tensor: one without data that claims a device. (Meta tensors claim none.)"""
    return isinstance(value, Tensor) and type(value.array) is MetaArray and value.array.place.mode is not None


def mode_of(args: Any) -> FakeTensorMode | None:
    """Return the mode of the first fake tensor among arguments, lists of them included."""
    for tensor in tensors_of(args):
        if type(tensor.array) is MetaArray and tensor.array.place.mode is not None:
            return tensor.array.place.mode
    return None


def new_place(device: object = None) -> Place:
    """Return the place of a new tensor without data: the active mode's on the device asked for, or the meta device."""
    mode = active_mode()
    if mode is None:
        return META_PLACE if device is None else place_on(as_device(device))
    return mode.place(as_device("cpu" if device is None else device))


def as_fake_on(tensor: Tensor, device: object) -> Tensor:
    """Return a new tensor's stand-in on a device, the tensor's own for None."""
    made = _stand_in(tensor, new_place(tensor.device if device is None else device))
    array = tensor.array
    if type(array) is np.ndarray and array.size == 1:
        made.array.constant = (array.astype(np.float32) if array.dtype in REDUCED else array).item()
    return made


def as_fake_beside(tensor: Tensor, other: Tensor) -> Tensor:
    """Return a new tensor's stand-in where another one without data is."""
    return _stand_in(tensor, other.array.place)


def as_fake(tensor: Tensor, mode: FakeTensorMode | None) -> Tensor:
    """Return a real tensor's stand-in: the mode's fake of it, or one on its device without a mode."""
    if type(tensor.array) is MetaArray:
        return tensor
    if mode is not None:
        return mode.from_tensor(tensor)
    return _stand_in(tensor, place_on(tensor.device))


def fake_number(tensor: Tensor, number: Any, fakes: Sequence[Tensor]) -> Tensor:
    """Return the stand-in of a tensor that was made of a number, beside other fakes; of a symbolic number it holds that
    number instead of data."""
    mode = mode_of(fakes) or active_mode()
    if not is_symbolic(number):
        return as_fake(tensor, mode)
    place = place_on(tensor.device) if mode is None else mode.place(tensor.device)
    made = wrap_meta(meta_array(tensor.shape, tensor.stride(), tensor.dtype, place))
    made.array.constant = sym_float(number) if tensor.dtype in FLOATING else number
    return made


def _stand_in(tensor: Tensor, place: Place) -> Tensor:
    return _with_data(wrap_meta(meta_array(tensor.shape, tensor.stride(), tensor.dtype, place)), tensor)


def _with_data(made: Tensor, tensor: Tensor) -> Tensor:
    """Return the stand-in of a tensor; where dispatch modes look, which may want it, with the tensor itself."""
    modes = active_modes()
    if modes is not None and modes.include & WATCHED:
        made.array.lifted = tensor
    return made
