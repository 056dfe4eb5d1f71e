"""The rule of operators on core dimensions, in the notation of NumPy's generalized ufuncs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opwright_core.arrays import layouts
from opwright_core.arrays.annotations import Batched, CoreDimensions, Cores, DtypeKinds
from opwright_core.arrays.dtypes import as_dtype, opmath
from opwright_core.plans.operands import check_accepted
from opwright_core.plans.plan import Plan
from opwright_core.plans.specs import SpecCache, TensorSpec
from opwright_core.rules.core_dimensions import CoreSizes, read_signature

_known = SpecCache()


def gufunc(
    signature: CoreDimensions,
    *operands: Cores,
    dtype: object = None,
    accepts: DtypeKinds | None = None,
    batched: Batched = True,
    **sizes: int | str,
) -> Plan:
    """Plan an operator on the last dimensions, named in `signature` as NumPy does (`"(m,k),(k,n)->(m,n)"`); the ones
    before broadcast.

    A dimension may be a number (`(3),(3)->(3)`), be missing (`(m?,n),(n,p?)->(m?,p?)`), or be 1 where others are not
    (`(n),(n|1)->()`), as NEP 20 has it: the kernel gets operands as they are. Sizes of the result are formulas of the
    others (`(n)->(n+1)`), or said by name: `gufunc("(n,d)->(p)", x, p=n*(n-1)//2)`, `gufunc("(n,d)->(n,k)", x, k=k)`
    with an argument `k`; in Python a formula is a text, `p="n*(n-1)//2"`. In a schema file a signature of several
    results, `gufunc("(q),(n)->(q),(n)", q, n)`, is one such rule for each.

    Operands must have one dtype; the result is contiguous. `accepts` lists the kinds of dtypes that are handled, as
    for `pointwise`; without `batched` there are no dimensions before the named ones. Raises RuntimeError naming the
    sizes that do not fit, or the dtypes.
    """
    seen: list[Any] = [signature, dtype, accepts, batched]
    if sizes:
        seen += sizes.items()
    for operand in operands:
        seen += (operand.shape, operand.dtype)
    key = tuple(seen)
    spec = _known.get(key)
    if spec is None:
        try:
            spec = gufunc_spec(signature, operands, dtype, batched, sizes)
            check_accepted(accepts, spec.common)
        except RuntimeError as error:
            error.__dict__["operands"] = operands  # whose names the operator knows (`kernel_sources`)
            raise
        _known.keep(key, spec)
    return Plan(spec, operands)


def gufunc_spec(
    signature: str, operands: Sequence[Any], dtype: object, batched: bool, given: Mapping[str, int | str]
) -> TensorSpec:
    sizes = CoreSizes(read_signature(signature), given)
    batches = sizes.split([operand.shape for operand in operands], batched=batched)
    common = as_dtype(operands[0].dtype)
    for operand in operands[1:]:
        if operand.dtype != common:
            raise RuntimeError(f"expected operands of one dtype, but got: {common} != {operand.dtype}")
    shape = layouts.broadcast_shapes(batches) + sizes.result()
    result = common if dtype is None else as_dtype(dtype)
    compute = opmath(common)
    casts = tuple(operand.dtype is not compute for operand in operands)
    return TensorSpec(shape, layouts.contiguous_strides(shape), result, common, compute, None, casts)
