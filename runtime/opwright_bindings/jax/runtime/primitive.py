"""The primitive of JAX that all operators are: how it is computed, differentiated, transposed and batched.

Note [One primitive]
`jax.custom_jvp` has no rule of its own for gradients, `jax.custom_vjp` none for tangents, and what joins them
(`linear_call`) cannot be batched. A primitive has all three, of any order and in any nesting: each rule binds the
primitive again, with another program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Final

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jax.sharding import NamedSharding, PartitionSpec

from opwright_bindings.jax.runtime.native import is_native, native_call
from opwright_bindings.jax.runtime.private import is_exported, like_block, need_devices, spread_over
from opwright_bindings.jax.runtime.programs import Batch, Call, Form, Program, Tangents, Transposed, linear
from opwright_bindings.jax.runtime.sharded import alike, call_on_mesh, partitioned, refuse_export, warn_of_gathering
from opwright_bindings.jax.runtime.values import array_of, kept_dtype, tensor_of

__all__ = ["PRIMITIVE", "bind", "call"]

PRIMITIVE: Final = Primitive("opwright")
PRIMITIVE.multiple_results = True


def bind(program: Program, operands: Sequence[Any]) -> list[Any]:
    """Return what a program gives for JAX's arrays, traced ones or not."""
    found: list[Any] = PRIMITIVE.bind(*alike(operands), program=program)
    return found


def call(program: Call, operands: Sequence[Any]) -> list[Any]:
    """Return what an operator gives for JAX's arrays, which may lie on several devices."""
    return call_on_mesh(program, operands, bind)


def _forms(values: Sequence[Any]) -> list[Form]:
    return [(tuple(each.shape), np.dtype(each.dtype)) for each in values]


def _results(program: Program, values: Sequence[Any]) -> list[Form]:
    """Return what results look like: without 64 bits where JAX has none."""
    return [(shape, kept_dtype(dtype)) for shape, dtype in program.forms(_forms(values))]


def _abstract(*avals: Any, program: Program) -> list[Any]:
    mesh = jax.sharding.get_abstract_mesh()
    found = _results(program, avals)
    if not mesh.manual_axes:
        return [jax.core.ShapedArray(shape, dtype) for shape, dtype in found]
    return [like_block(avals[0], shape, dtype, mesh) for shape, dtype in found]


def _on_host(program: Program, wanted: Sequence[Form], *arrays: Any) -> tuple[Any, ...]:
    """Return the results as arrays of NumPy: what JAX calls back."""
    if any(0 in shape for shape, _ in wanted) and isinstance(program, Batch) and program.size == 0:
        return tuple([np.empty(shape, dtype) for shape, dtype in wanted])
    found = program.run([tensor_of(each) for each in arrays])
    return tuple([array_of(each, *form) for each, form in zip(found, wanted, strict=True)])


def _traced(*operands: Any, program: Program, on_cpu: bool) -> list[Any]:
    wanted = _results(program, operands)
    found = native_call(program, operands, wanted, has_c=on_cpu)
    if found is not None:
        return found
    described = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in wanted]
    return list(jax.pure_callback(partial(_on_host, program, wanted), described, *operands))


def _is_taken(program: Program, operands: Sequence[Any], on_cpu: bool) -> bool:
    """Whether C or XLA takes the operands as they are."""
    found: list[bool] = []
    wanted = _results(program, operands)
    jax.eval_shape(
        lambda *given: found.append(native_call(program, given, wanted, has_c=on_cpu) is not None), *operands
    )
    return found[0]


def _lowered(context: Any, *values: Any, program: Program, on_cpu: bool) -> Any:
    """Return the operations of a program: of one device's, or of all where XLA chooses who holds what."""
    count, mesh = spread_over(context)
    trace: Callable[..., list[Any]] = partial(_traced, on_cpu=on_cpu)
    is_asked = count > 1 or is_exported(context)
    is_own = is_asked and _is_taken(program, context.avals_in, False)  # XLA computes it, and cuts it as all else
    is_taken = is_own or (is_asked and on_cpu and _is_taken(program, context.avals_in, on_cpu))
    if is_exported(context):
        refuse_export(program, is_taken, is_cut=count > 1 and not is_own)
    if count > 1 and not is_own:
        if not is_taken:
            warn_of_gathering(program)
        if mesh is not None:
            trace = partial(_spread, traced=trace, mesh=mesh, is_cut=is_taken)
    return mlir.lower_fun(trace, multiple_results=True)(context, *values, program=program)


def _spread(*operands: Any, program: Program, traced: Callable[..., list[Any]], mesh: Any, is_cut: bool) -> list[Any]:
    if is_cut:
        return partitioned(program, operands, traced)
    # A callback has its arrays on one device, which XLA alone has a name for: all around it are on each.
    everywhere = partial(jax.lax.with_sharding_constraint, shardings=NamedSharding(mesh, PartitionSpec()))
    return [everywhere(each) for each in traced(*map(everywhere, operands), program=program)]


@lru_cache(maxsize=4096)
def _compiled(program: Program) -> Any:
    return jax.jit(lambda *operands: PRIMITIVE.bind(*operands, program=program))


def _computed(*operands: Any, program: Program) -> list[Any]:
    """Return the results outside of compiled programs: Python computes them, if C does not, on one device."""
    kept = {device for each in operands if getattr(each, "committed", False) for device in each.devices()}
    if is_native(program) or len(kept) > 1:
        return list(_compiled(program)(*operands))
    made = _on_host(program, _results(program, operands), *operands)
    return [jax.device_put(each, *kept) for each in made]


def _tangents(primals: Sequence[Any], tangents: Sequence[Any], program: Program) -> tuple[list[Any], list[Any]]:
    results = bind(program, primals)
    found = [ad.Zero(jax.typeof(each).to_tangent_aval()) for each in results]
    positions = [position for position, each in enumerate(tangents) if not isinstance(each, ad.Zero)]
    of = [position for position, each in enumerate(results) if jax.numpy.issubdtype(each.dtype, jax.numpy.inexact)]
    if positions and of:
        derived, kept = linear(program, len(primals), positions, of)
        operands = [*[primals[position] for position in kept], *[tangents[position] for position in positions]]
        for position, tangent in zip(of, bind(derived, operands), strict=True):
            found[position] = tangent
    return results, found


def _transposed(cotangents: Sequence[Any], *operands: Any, program: Any) -> list[Any]:
    """Return the cotangents of what a program is linear in: the last operands of a derivative, or of a batch of one."""
    primals = [each for each in operands if not ad.is_undefined_primal(each)]
    given = [position for position, each in enumerate(cotangents) if not isinstance(each, ad.Zero)]
    if not given:
        return [None] * len(operands)
    return [*[None] * len(primals), *_pulled(program, primals, given, [cotangents[position] for position in given])]


def _pulled(program: Any, primals: Sequence[Any], given: Sequence[int], cotangents: Sequence[Any]) -> list[Any]:
    """Return the cotangents of linear operands, for those of the results at `given`."""
    if isinstance(program, Batch):
        dims, own = program.dims[: len(primals)], program.dims[len(primals) :]
        pulled = jax.vmap(lambda primals, grads: _pulled(program.base, primals, given, grads), in_axes=(list(dims), 0))
        found = pulled(list(primals), list(cotangents))
        return [
            each.sum(0) if dim is None else jax.numpy.moveaxis(each, 0, dim)
            for each, dim in zip(found, own, strict=True)
        ]
    assert isinstance(program, (Tangents, Transposed)) and len(primals) == program.count
    if isinstance(program, Tangents):
        other: Program = program.transposed(program.by, [program.of[position] for position in given])
    else:
        other = program.transposed([program.by[position] for position in given], program.of)
    return bind(other, [*primals, *cotangents])


def _batched(operands: Sequence[Any], dims: Sequence[Any], program: Program) -> tuple[list[Any], list[int]]:
    (size, *_) = [each.shape[dim] for each, dim in zip(operands, dims, strict=True) if dim is not None]
    found = call_on_mesh(Batch(program, tuple(dims), size), operands, bind)  # (over the axis of a batch, too)
    return found, [0] * len(found)


PRIMITIVE.def_impl(_computed)
PRIMITIVE.def_abstract_eval(_abstract)
mlir.register_lowering(PRIMITIVE, partial(_lowered, on_cpu=False))
mlir.register_lowering(PRIMITIVE, partial(_lowered, on_cpu=True), platform="cpu")
need_devices(PRIMITIVE)
ad.primitive_jvps[PRIMITIVE] = _tangents
ad.primitive_transposes[PRIMITIVE] = _transposed
batching.primitive_batchers[PRIMITIVE] = _batched
