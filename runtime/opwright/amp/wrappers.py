"""The wrappers at the key Autocast that generated packages declare: how an operator's tensors are cast.

A wrapper does one of these for each device, or nothing, by the schema's `autocast:`:

- `lower_precision`: casts to the dtype of the region;
- `float32`: casts to float32;
- `float32_dtype`: passes float32 as the dtype, to the operator or to its overload that takes one, unless one is given;
- `promote`: casts to the widest dtype among its tensors;
- `unchanged`: casts nothing, here and in what the operator's kernel calls;
- `banned: …`: refuses the call, and says what to do instead.

Cast tensors have other keys. So the operator is called anew, with autocast off for the device (Note [Autocast regions]
in `settings`). Where nothing was cast, the kernel below is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from opwright.amp.casts import cast_each, is_eligible, is_on, promoted
from opwright.amp.settings import Excluded, Settings, current, devices_on, exclude
from opwright.pytree import tensors_of
from opwright_core.arrays.dtypes import float32
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.state import active_modes, set_modes
from opwright_core.tensors.tensor import Tensor

__all__ = ["autocast_wrapper"]

Kernel = Callable[..., Any]
# What is called with the settings, the device, the arguments and the kernel below.
Policy = Callable[[Settings, str, tuple[Any, ...], Kernel], Any]
ALL_DEVICES: Final = ""


def autocast_wrapper(
    name: str, policy: str = "", *, with_dtype: str = "", **policies: str
) -> Callable[[Kernel], Kernel]:
    """Return what makes the kernel of an operator at Autocast from the kernel below it: `policy` holds for all devices,
    `policies` for those of a key, `CPU=` or `CUDA=`. `with_dtype` is the overload that `float32_dtype` calls."""
    given = {key.lower(): each for key, each in policies.items()} | ({ALL_DEVICES: policy} if policy else {})

    def make(below: Kernel) -> Kernel:
        operator = find_operator(name)
        made = {device: _policy(operator, each, with_dtype) for device, each in given.items()}
        return _kernel(made, below)

    return make


def _kernel(policies: Mapping[str, Policy], below: Kernel) -> Kernel:
    on_all = policies.get(ALL_DEVICES)

    def kernel(*args: Any) -> Any:
        settings = current()
        for device in devices_on(settings):
            policy = policies.get(device, on_all)
            if policy is not None and _is_among(device, args):
                return _without(settings, device, policy, args, below)
        return below(*args)

    return kernel


def _is_among(device: str, values: Sequence[Any]) -> bool:
    """Whether a tensor of that device is among the values, or in a list of them."""
    for value in values:
        if isinstance(value, Tensor):
            if is_on(value, device):
                return True
        elif type(value) is list and _is_among(device, value):
            return True
    return False


def _without(settings: Settings, device: str, policy: Policy, args: tuple[Any, ...], below: Kernel) -> Any:
    """Call by a policy, with autocast off for a device that it is on for."""
    if settings.devices is not None and len(settings.devices) == 1:
        modes = active_modes()
        try:  # (Note [Interrupted blocks])
            set_modes(exclude(modes))
            return policy(settings, device, args, below)
        finally:
            set_modes(modes)
    with Excluded(device):
        return policy(settings, device, args, below)


# -- policies


def _policy(operator: Operator, text: str, with_dtype: str) -> Policy:
    """Return a policy of an operator by its name in schema files."""
    kind, _, hint = text.partition(": ")
    name = operator.name
    match kind:
        case "lower_precision":
            return _casting(operator, lambda settings, device, _: settings.dtype(device))
        case "float32":
            return _casting(operator, lambda *_: float32)
        case "promote":
            return _casting(
                operator, lambda settings, device, args: promoted(settings.dtype(device), args, device, name)
            )
        case "float32_dtype":
            return _with_dtype(operator, with_dtype)
        case "unchanged":
            return lambda settings, device, args, below: below(*args)
        case "banned":
            return _banned(operator, hint)
    raise ValueError(f"{operator.name} has the autocast policy {text!r}, which this version of Opwright does not know")


def _casting(operator: Operator, dtype: Callable[[Settings, str, tuple[Any, ...]], Any]) -> Policy:
    positions = [position for position, *_ in operator.signature.tensors]

    def call(settings: Settings, device: str, args: tuple[Any, ...], below: Kernel) -> Any:
        wanted = dtype(settings, device, args)
        given: list[Any] | None = None
        for position in positions:
            value = args[position]
            cast = cast_each(wanted, value, device)
            if cast is not value:
                given = list(args) if given is None else given
                given[position] = cast
        return below(*args) if given is None else operator.call(*given)

    return call


def _with_dtype(operator: Operator, with_dtype: str) -> Policy:
    positions = [position for position, each in enumerate(operator.signature.types) if each.startswith("ScalarType")]

    def call(settings: Settings, device: str, args: tuple[Any, ...], below: Kernel) -> Any:
        if not is_eligible(next(tensors_of(args)), device):
            return below(*args)
        if with_dtype:
            return find_operator(with_dtype).call(*args, float32)
        given = list(args)
        for position in positions:
            given[position] = float32 if given[position] is None else given[position]
        return below(*given)

    return call


def _banned(operator: Operator, hint: str) -> Policy:
    def call(settings: Settings, device: str, args: tuple[Any, ...], below: Kernel) -> Any:
        raise RuntimeError(
            f"{operator.name} is unsafe under autocast: {hint}. Or call it in a block of "
            f"opwright.autocast({device!r}, enabled=False), with float32 operands"
        )

    return call
