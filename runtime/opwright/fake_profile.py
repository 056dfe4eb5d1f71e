"""Fake kernels from recorded calls: for an operator that has none, the ranks, dtypes and devices seen so far say it.

A profile is what one call's tensors looked like; sizes are not in it, so those of results are unbacked symbols. Names
are those of PyTorch's `torch._library.fake_profile`. Files are JSON, which is YAML too.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from opwright.errors import FakeKernelError
from opwright.fake.arrays import meta_array, wrap_meta
from opwright.fake.modes import new_place
from opwright.library import Library, get_ctx
from opwright_core.arrays import layouts
from opwright_core.arrays.devices import Device, as_device
from opwright_core.arrays.dtypes import DType, as_dtype, dtype_name
from opwright_core.dispatch.call.operator import Operator, find_operator
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "MissingOpProfile",
    "OpProfile",
    "TensorMetadata",
    "load_op_profiles",
    "save_op_profiles",
    "unsafe_generate_fake_kernels",
]

_VERSION: Final = 1


class MissingOpProfile(FakeKernelError):
    """An error: no recorded call looks like this one."""


@dataclass(frozen=True, slots=True)
class TensorMetadata:
    """The part of a tensor that a profile keeps."""

    rank: int
    dtype: DType
    device: Device

    @staticmethod
    def of(tensor: Tensor) -> TensorMetadata:
        """Return the metadata of a tensor."""
        return TensorMetadata(tensor.ndim, tensor.dtype, tensor.device)

    def __str__(self) -> str:
        return f"{dtype_name(self.dtype)} of rank {self.rank} on {self.device}"


# Of one argument or result: a tensor's, a list's, or None for what is no tensor.
Seen = TensorMetadata | tuple["Seen", ...] | None


@dataclass(frozen=True, slots=True)
class OpProfile:
    """One call: what its arguments were, in the order of the declaration, and what came out."""

    args_profile: tuple[Seen, ...]
    out_profile: Seen

    @staticmethod
    def record(op: Operator | str, /, *args: Any, **kwargs: Any) -> OpProfile:
        """Call an operator on real tensors, and say what went in and came out."""
        operator = _operator(op)
        bound = operator.signature.bind(args, kwargs)
        seen = tuple(_seen(value) for value in bound)
        return OpProfile(seen, _seen(operator(*args, **kwargs)))


def _seen(value: Any) -> Seen:
    if isinstance(value, Tensor):
        return TensorMetadata.of(value)
    if isinstance(value, list | tuple):
        found = tuple(_seen(item) for item in value)
        return found if any(item is not None for item in found) else None
    return None


def _operator(op: Operator | str) -> Operator:
    return op if isinstance(op, Operator) else find_operator(_qualified(op))


def _qualified(name: str) -> str:
    """Return `namespace::name.overload`, from that or from `namespace.name.overload`."""
    if "::" not in name:
        namespace, _, rest = name.partition(".")
        name = f"{namespace}::{rest}"
    return name.removesuffix(".default")


@contextlib.contextmanager
def unsafe_generate_fake_kernels(op_profiles: Mapping[str, Iterable[OpProfile]]) -> Iterator[list[Library]]:
    """Handle operators on fake tensors as their profiles say, by qualified name, within the block.

    A call that looks like a recorded one gets new row-major tensors of the recorded ranks, dtypes and devices, whose
    sizes are unbacked (the FakeTensorMode needs a ShapeEnv); another raises MissingOpProfile. Unsafe, since results may
    depend on more than a profile keeps. The operators' own fake kernels are back afterwards. Raises DispatchError for a
    name that is no operator.
    """
    libraries: list[Library] = []
    try:
        for name, profiles in op_profiles.items():
            operator = _operator(name)
            library = Library(operator.namespace, "FRAGMENT")
            libraries.append(library)
            library.register_fake(operator, _fake_kernel(operator, list(profiles)))
        yield libraries
    finally:
        for library in libraries:
            library.destroy()


def _fake_kernel(operator: Operator, profiles: list[OpProfile]) -> Callable[..., Any]:
    def answer(*args: Any, **kwargs: Any) -> Any:
        seen = tuple(_seen(value) for value in operator.signature.bind(args, kwargs))
        for profile in profiles:
            if profile.args_profile == seen:
                return _made(profile.out_profile)
        recorded = "\n".join(f"  {_shown(profile.args_profile)}" for profile in profiles)
        raise MissingOpProfile(
            f"{operator.name}: no recorded profile looks like this call, of {_shown(seen)}. Recorded:\n{recorded}\n"
            "Record one, with OpProfile.record(op, *args) on real tensors, or register a fake kernel"
        )

    return answer


def _shown(seen: Seen) -> str:
    if isinstance(seen, tuple):
        return f"({', '.join(_shown(item) for item in seen if item is not None)})"
    return str(seen)


def _made(seen: Seen) -> Any:
    if isinstance(seen, tuple):
        return tuple(_made(item) for item in seen)
    if seen is None:
        return None
    context = get_ctx()
    shape = tuple([context.new_dynamic_size() for _ in range(seen.rank)])
    return wrap_meta(meta_array(shape, layouts.contiguous_strides(shape), seen.dtype, new_place(seen.device)))


def save_op_profiles(op_profiles: Mapping[str, Iterable[OpProfile]], file: str | Path) -> None:
    """Write profiles, by qualified name, to a file."""
    operators = {
        name: [{"args": _packed(profile.args_profile), "out": _packed(profile.out_profile)} for profile in profiles]
        for name, profiles in op_profiles.items()
    }
    Path(file).write_text(json.dumps({"version": _VERSION, "operators": operators}, indent=2) + "\n", encoding="utf-8")


def load_op_profiles(file: str | Path) -> dict[str, set[OpProfile]]:
    """Return the profiles that `save_op_profiles` wrote. Raises RuntimeError for a file of another version or form."""
    try:
        data = json.loads(Path(file).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise RuntimeError(f"{file} holds no operator profiles: {error}") from None
    version = data.get("version") if isinstance(data, dict) else None
    if version != _VERSION:
        raise RuntimeError(
            f"{file}: unable to load outdated profiles: they are of version {version}, this is {_VERSION}; "
            "record them anew"
        )
    try:
        return {
            name: {OpProfile(_tuple(each["args"]), _unpacked(each["out"])) for each in profiles}
            for name, profiles in data["operators"].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise RuntimeError(f"{file}: the operator profiles are malformed: {error!r}") from None


def _packed(seen: Seen) -> Any:
    if isinstance(seen, tuple):
        return [_packed(item) for item in seen]
    if seen is None:
        return None
    return {"rank": seen.rank, "dtype": dtype_name(seen.dtype), "device": str(seen.device)}


def _unpacked(data: Any) -> Seen:
    if isinstance(data, list):
        return _tuple(data)
    if data is None:
        return None
    if type(data["rank"]) is not int or data["rank"] < 0:
        raise ValueError(f"a rank is an int of at least 0, not {data['rank']!r}")
    return TensorMetadata(data["rank"], as_dtype(data["dtype"]), as_device(data["device"]))


def _tuple(data: Any) -> tuple[Seen, ...]:
    return tuple(_unpacked(item) for item in data)
