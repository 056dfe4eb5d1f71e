"""Operators given to JAX judged on four devices that XLA plays: each dimension of each operand cut, beside the whole.

Drawn operands are made longer along what is cut, so that devices have blocks of one size.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from opwright.dimensions.cutting import lengthened
from opwright.dimensions.rule import DimensionRule
from opwright_bindings.jax.runtime.primitive import call
from opwright_bindings.jax.runtime.programs import Call, Form, Slot
from opwright_bindings.jax.runtime.rules import rule_of_program
from opwright_bindings.jax.runtime.values import array_of, tensor_of
from opwright_core.dispatch.call.operator import Operator
from opwright_core.tensors.tensor import Tensor

__all__ = ["judge"]

_DEVICES: Final = 4
_TOLERANCES: Final = {"float16": 1e-2, "bfloat16": 3e-2, "float32": 1e-4, "complex64": 1e-4}
_QUICKLY: Final = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}  # is it compiled
_GATHERS: Final = re.compile(r"= [^=]* all-gather(?:-start)?\(")
Arrays = Sequence[np.ndarray[Any, Any]]


@contextlib.contextmanager
def judge() -> Iterator[Callable[[Operator, Sequence[Any]], tuple[str, Sequence[str]]]]:
    """Have XLA play devices, and give what says how a call differs on them, "" where it does not; nothing
    is missing. It takes all arguments, ours."""
    with contextlib.suppress(RuntimeError):  # (JAX has been used: then it has the devices, or has not)
        jax.config.update("jax_num_cpu_devices", _DEVICES)
    devices = jax.devices("cpu")[:_DEVICES]
    if len(devices) < _DEVICES:
        raise RuntimeError("JAX has been used before with fewer devices of the CPU")
    line, square = (np.array(devices).reshape(shape) for shape in ((4,), (2, 2)))
    meshes = [
        Mesh(line, ("x",), axis_types=(AxisType.Explicit,)),
        Mesh(square, ("x", "y"), axis_types=(AxisType.Explicit,) * 2),
    ]
    has_wide = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)  # for all threads: callbacks have their own
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield lambda operator, values: (_problem(operator, values, meshes), ())
    finally:
        jax.config.update("jax_enable_x64", has_wide)


def _problem(operator: Operator, values: Sequence[Any], meshes: Sequence[Mesh]) -> str:
    arrays: list[np.ndarray[Any, Any]] = []
    slotted = tuple([_slotted(value, arrays) for value in values])
    program = Call(operator.name, (repr(slotted),), slotted)
    if any(array.size == 0 for array in arrays):
        return ""
    rule = rule_of_program(program, _forms(arrays))
    if len(rule.factors) == len(rule.of_kind("whole")):
        return ""
    longer = lengthened(rule, arrays, _DEVICES)
    try:
        whole = _whole(program, longer)
        rule = rule_of_program(program, _forms(longer))
    except Exception:
        return ""  # other arguments say what sizes are
    for mesh, cuts in _cuts(rule, meshes):
        if why := _wrong(program, rule, longer, whole, mesh, cuts):
            said = ", ".join([f"{rule.operands[place][dim]!r} of operand {place + 1}" for place, dim, _ in cuts])
            return f"{rule}: sharded at {said}: {why}"
    return ""


def _slotted(value: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, Tensor):
        arrays.append(np.array(value.resolve_conj().resolve_neg().detach().numpy()))
        return Slot(len(arrays) - 1)
    return [_slotted(each, arrays) for each in value] if isinstance(value, (list, tuple)) else value


def _forms(arrays: Arrays) -> tuple[Form, ...]:
    return tuple([(array.shape, array.dtype) for array in arrays])


def _whole(program: Call, arrays: Arrays) -> list[np.ndarray[Any, Any]]:
    found = program.run([tensor_of(array) for array in arrays])
    return [array_of(each, tuple(each.shape), each.dtype) for each in found]


Cut = tuple[int, int, str]  # of which operand, at which dimension, over which axis


def _cuts(rule: DimensionRule, meshes: Sequence[Mesh]) -> Iterator[tuple[Mesh, list[Cut]]]:
    """Yield each dimension of each operand alone over one axis, and two of one operand over two."""
    line, square = meshes
    two: list[Cut] = []
    for place, own in enumerate(rule.operands):
        dims = [dim for dim, name in enumerate(own) if rule.kind(name).word != "whole"]
        yield from ((line, [(place, dim, "x")]) for dim in dims)
        if len(dims) > 1 and not two:
            two = [(place, dim, axis) for dim, axis in zip(dims[-2:], ("x", "y"), strict=True)]
    if two:
        yield square, two


def _wrong(program: Call, rule: DimensionRule, arrays: Arrays, whole: Arrays, mesh: Mesh, cuts: Sequence[Cut]) -> str:
    """Return how results on devices differ from the whole ones, "" where they do not."""
    axes = {rule.operands[place][dim]: axis for place, dim, axis in cuts}
    for place, dim, axis in cuts:
        kind, block = rule.kind(rule.operands[place][dim]), arrays[place].shape[dim] // mesh.shape[axis]
        if arrays[place].shape[dim] % mesh.shape[axis] or block < kind.before + kind.after:
            return ""
    with jax.set_mesh(mesh):
        given = [jax.device_put(each, NamedSharding(mesh, _spec(cuts, n))) for n, each in enumerate(arrays)]
        try:
            compiled = jax.jit(lambda *operands: call(program, operands)).lower(*given).compile(_QUICKLY)
            found = compiled(*given)
            read = [np.asarray(each) for each in found]
        except Exception as error:
            return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    for own, one, values, other in zip(rule.results, found, read, whole, strict=True):
        if why := _different(values, other):
            return why
        wanted = PartitionSpec(*[axes.get(name) for name in own])
        if one.sharding.spec != wanted:
            return f"the result lies as {one.sharding.spec}, and not {wanted}"
    count = len(_GATHERS.findall(compiled.as_text()))
    is_again = any(rule.kind(name).word == "again" for name in axes)
    return f"{count} all-gathers" if count and not is_again else ""


def _spec(cuts: Sequence[Cut], number: int) -> PartitionSpec:
    own = {dim: axis for place, dim, axis in cuts if place == number}
    return PartitionSpec(*[own.get(dim) for dim in range(max(own, default=-1) + 1)])


def _different(found: np.ndarray[Any, Any], whole: np.ndarray[Any, Any]) -> str:
    if found.shape != whole.shape or found.dtype != whole.dtype:
        return f"{found.dtype}{list(found.shape)}, and not {whole.dtype}{list(whole.shape)}"
    tolerance = _TOLERANCES.get(str(whole.dtype), 1e-9)
    is_close = np.isclose(found, whole, rtol=tolerance, atol=tolerance, equal_nan=True)
    if is_close.all():
        return ""
    at = tuple(np.argwhere(~is_close)[0].tolist())
    return f"{found[at]:g} at {list(at)}, and not {whole[at]:g}"
