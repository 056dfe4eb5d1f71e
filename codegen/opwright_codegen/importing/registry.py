"""The operators of a namespace of PyTorch's registry as findings: kernels that call PyTorch, and what it alone has.

The registry is listed by `opwright_bindings.torch.runtime.listing`, in a process in which PyTorch is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from opwright_codegen.importing.found import Findings, FoundOperator, Hole
from opwright_codegen.records import dataclass

__all__ = ["Listed", "gradients_of", "read_registry"]

_IMPLICIT: Final = "CompositeImplicitAutograd"
_COMPOSITES: Final = frozenset((_IMPLICIT, "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional"))
# Tags of operators whose results nobody knows without the values.
_OF_VALUES: Final = frozenset(("dynamic_output_shape", "data_dependent_output"))
_OUT: Final = "it is left out"
_NOT_SERVING: Final = frozenset(("Meta", "Autograd", "AutogradCPU", "FuncTorchBatched", "BackendSelect"))

# Defaults that PyTorch prints as numbers of its enumerations.
_NUMBERED: Final = re.compile(r"\b(ScalarType|MemoryFormat|Layout)(\?? \w+=)([0-9]+)\b")
_FRESH: Final = re.compile(r"\(\$[0-9]+! -> \)")  # `Tensor!`: a set that has no other member
_NAMES: Final = {
    "ScalarType": (
        *("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64"),
        *("complex128", "bool", "qint8", "quint8", "qint32", "bfloat16"),
    ),
    "MemoryFormat": ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d"),
    "Layout": ("strided",),
}


@dataclass(frozen=True, slots=True)
class Listed:
    """One operator as the registry has it: `keys` are those that have kernels."""

    name: str
    schema: str | None
    tags: tuple[str, ...]
    keys: frozenset[str]

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Listed:
        """Return one entry of the listing."""
        schema = entry["schema"]
        if schema is not None:
            schema = _FRESH.sub("!", _NUMBERED.sub(_named_default, schema))
        return cls(entry["name"], schema, tuple(entry["tags"]), frozenset(entry["keys"]))

    @property
    def is_composite(self) -> bool:
        return not self.keys.isdisjoint(_COMPOSITES)

    @property
    def has_key(self) -> bool:
        """Whether an argument may say which kernel is called."""
        arguments = (self.schema or "").partition(" -> ")[0].partition("(")[2]
        return "Tensor" in arguments or "Device" in arguments

    @property
    def may_have_gradient(self) -> bool:
        """Whether PyTorch has code for a gradient, and the operator takes and returns tensors, and is no out
        variant."""
        arguments, _, returns = (self.schema or "").partition(" -> ")
        has_code = not self.keys.isdisjoint(("Autograd", "AutogradCPU", _IMPLICIT))
        return has_code and "Tensor" in arguments and "Tensor" in returns and "out" not in self.tags


def read_registry(listed: Collection[Listed], where: str, has_cuda: bool) -> Findings:
    """Return the operators with kernels for the CPU, or for CUDA where PyTorch was built with it, and the holes."""
    operators, holes = [], []
    for each in listed:
        keys = _served(each, has_cuda)
        if each.schema is None:
            holes.append(Hole(where, each.name, "it has kernels and no schema: nobody has declared it"))
        elif not keys:
            holes.append(_no_kernel(each, where))
        elif not each.has_key:
            holes.append(
                Hole(where, each.name, "it takes no tensor and no device, which say whose kernel is called", _OUT)
            )
        else:
            meta, problem = _meta(each)
            keys += meta
            operators.append(FoundOperator(each.schema, where, {", ".join(keys): f"torch:{each.name}"}, each.tags))
            holes += [Hole(where, each.name, said, hint) for said, hint in (*problem, *_left(each))]
    return Findings(tuple(operators), tuple(holes))


def gradients_of(listed: Collection[Listed]) -> frozenset[str]:
    """Return the names of operators that PyTorch may differentiate."""
    return frozenset(each.name for each in listed if each.may_have_gradient)


def _named_default(found: re.Match[str]) -> str:
    kind, middle, number = found.groups()
    names = _NAMES[kind]
    return f"{kind}{middle}{names[int(number)] if int(number) < len(names) else number}"


def _served(listed: Listed, has_cuda: bool) -> list[str]:
    return [
        key
        for key, is_there in (("CPU", True), ("CUDA", has_cuda))
        if is_there and (listed.is_composite or key in listed.keys)
    ]


def _no_kernel(listed: Listed, where: str) -> Hole:
    others = ", ".join(sorted(listed.keys - _NOT_SERVING - {"Functionalize"}))
    problem = f"it has kernels for {others} alone" if others else "it has no kernel in this build of PyTorch"
    return Hole(where, listed.name, problem, _OUT, "no kernel for the CPU")


def _meta(listed: Listed) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the key of a fake kernel where PyTorch has one that we can ask, and what is missing where not."""
    if not _OF_VALUES.isdisjoint(listed.tags):
        return [], [("what it returns depends on values: no fake", "declare a kernel under Meta")]
    if listed.is_composite or "Meta" in listed.keys:
        return ["Meta"], []
    return [], [("PyTorch has no fake of it", "declare `meta:`")]


def _left(listed: Listed) -> Iterator[tuple[str, str]]:
    """Yield what only PyTorch has."""
    if listed.may_have_gradient:
        yield "its gradient, if it has one, is PyTorch's alone", "derivatives.yaml has its entry, as a comment"
    if "FuncTorchBatched" in listed.keys:
        yield "its rule for vmap is PyTorch's alone", "it is called for each sample; `dims:` declares a rule"
