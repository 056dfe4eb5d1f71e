"""`to_out_variant` beside PyTorch's, for every operator; and what `define` refuses beside what PyTorch's refuses."""

from __future__ import annotations

from typing import Any

import pytest

import opwright
from opwright.errors import RegistrationError
from opwright.library import Library, check_out_variant, to_out_variant
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.registry.tables import registry

torch: Any = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle


def _found(find: Any, op: Any) -> str | None:
    """The overload that is found, None where there is none, `not functional` where that is an error."""
    try:
        found = find(op)
    except RuntimeError:
        return "not functional"
    return None if found is None else str(found).rpartition(".")[2]


def test_every_operator_has_the_out_variant_that_it_has_in_pytorch() -> None:
    from torch._library._out_variant import to_out_variant as theirs

    opwright.ops.aten.add  # noqa: B018 (defines them all)
    different = {}
    found = 0
    for name, operator in list(registry.operators.items()):
        their_op = getattr(getattr(torch.ops.aten, operator.base, None), operator.overload or "default", None)
        if operator.namespace != "aten" or their_op is None:
            continue
        ours, wanted = _found(to_out_variant, operator), _found(theirs, their_op)
        found += ours not in (None, "not functional")
        if ours != wanted and not (wanted is not None and wanted not in operator.siblings):  # we lack the variant
            different[name] = (ours, wanted)
    assert not different and found > 500


@pytest.mark.parametrize(
    "declared",
    [
        "(Device d=cpu) -> ()", "(Device d='cpu') -> ()", "(Device? d=cuda) -> ()", "(Device? d=None) -> ()",
        "(Device[] d=[cpu]) -> ()", "(int n=1, ...) -> ()", "(int n, ...) -> ()", "(int n, *, int m=1, ...) -> ()",
        "(*, int m, ...) -> ()", "(Tensor? t=None, ...) -> ()", "(int a=1, int b) -> ()",
        "(int a, *, int b=1, int c) -> ()",
    ],
)  # fmt: skip
def test_define_takes_what_pytorchs_takes(declared: str) -> None:
    taken = []
    for module, error in ((torch, RuntimeError), (opwright, RegistrationError)):
        with module.library._scoped_library("out_variants", "FRAGMENT") as library:
            try:
                library.define(f"f{declared}")
                taken.append(True)
            except error:
                taken.append(False)
    assert taken[0] == taken[1]


def test_variants_of_ones_own() -> None:
    with opwright.library._scoped_library("outs_of_own", "FRAGMENT") as library:
        _check_own(library)


def _check_own(library: Library) -> None:
    for schema in (
        "f(Tensor x, int n=1) -> Tensor",
        "f.wrong(Tensor x, int n=2, *, Tensor(a!) out) -> Tensor(a!)",
        "f.out(Tensor x, int n=1, *, Tensor(a!) out) -> Tensor(a!)",
        "g(Tensor x) -> Tensor",
        "g.out(Tensor x, *, Tensor(a!) out, Tensor(b!) other) -> (Tensor(a!), Tensor(b!))",
    ):
        library.define(schema, tags="out" if "out" in schema.partition("(")[0] or "wrong" in schema else ())
    f, g = opwright.ops.outs_of_own.f, opwright.ops.outs_of_own.g
    assert to_out_variant(f.default) is f.out
    check_out_variant(f.default, f.out)
    assert to_out_variant(g.default) is None
    with pytest.raises(AssertionError, match=r"g has no out variant[\s\S]*g\.out\(Tensor x"):
        check_out_variant(g.default, g.out)
    with pytest.raises(AssertionError, match=r"is outs_of_own::f\.out, not outs_of_own::f\.wrong"):
        check_out_variant(f.default, f.wrong)
    with pytest.raises(RuntimeError, match=r"outs_of_own::f\.out has no out variant, since it is not functional"):
        to_out_variant(f.out)
    assert isinstance(f.out, Operator)
