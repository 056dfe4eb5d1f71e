"""Views against PyTorch: where they begin, and whose memory they share."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Any

import pytest
from declared import operators
from known_versions import RESULTS
from samples import SAMPLES
from sampling import COMPLEX64, FLOAT32, make, sample

import opwright
from opwright_codegen.schema.model import SchemaKind

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import call, difference, to_opwright, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

# Whether these copy is known when they run; they are here with those that never do.
MAYBE = ("atleast_1d", "atleast_2d", "atleast_3d", "atleast_1d.Sequence", "broadcast_tensors")


def views() -> list[str]:
    """The functional operators whose results may share memory with an argument."""
    return [
        name
        for name, operator in operators().items()
        if operator.schema.kind is SchemaKind.FUNCTIONAL
        and (name in MAYBE or any(each.annotation is not None for each in operator.schema.returns))
    ]


def overload(ops: Any, name: str) -> Any:
    base, _, rest = name.partition(".")
    return getattr(getattr(ops.aten, base), rest or "default")


def leaves(value: Any, kind: type) -> Iterator[Any]:
    if isinstance(value, kind):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each, kind)


@pytest.mark.parametrize("name", views())
def test_views_share_memory_and_begin_where_pytorchs_do(name: str) -> None:
    for one in SAMPLES[name]():
        if isinstance(call(overload(torch.ops, name), one, to_torch), Exception):
            continue
        mine, other = [to_opwright(arg) for arg in one.args], [to_torch(arg) for arg in one.args]
        results = overload(opwright.ops, name)(*mine, **one.kwargs)
        expected = overload(torch.ops, name)(*other, **{key: to_torch(value) for key, value in one.kwargs.items()})
        storages = [each.untyped_storage() for each in leaves(mine, opwright.Tensor)]
        pointers = [each.untyped_storage().data_ptr() for each in leaves(other, torch.Tensor)]
        pairs = zip(leaves(results, opwright.Tensor), leaves(expected, torch.Tensor), strict=True)
        for ours, theirs in pairs:
            shared = ours.untyped_storage() in storages
            assert shared == (theirs.untyped_storage().data_ptr() in pointers) or not theirs.numel(), f"{name}{one}"
            if shared and theirs.numel():
                assert ours.storage_offset() == theirs.storage_offset(), f"{name}{one}"


def test_a_view_in_place_keeps_its_storage() -> None:
    x = opwright.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    view = x[1]
    assert x.t_() is x
    x[0, 1] = 9.0
    assert view.tolist() == [9.0, 5.0, 6.0]
    assert x.untyped_storage() is view.untyped_storage()
    assert x.as_strided_([2], [1], 3).tolist() == [9.0, 5.0]
    with pytest.raises(RuntimeError, match="plain array"):
        opwright.ops.aten.t_(x.numpy())


def test_views_of_another_dtype_reach_the_whole_storage() -> None:
    x, y = opwright.zeros([3, 4], dtype=opwright.float32), torch.zeros(3, 4)
    mine, other = x[1].view(opwright.int16), y[1].view(torch.int16)
    assert (mine.storage_offset(), mine.stride()) == (other.storage_offset(), other.stride())
    mine.as_strided([2], [1], 22).fill_(1)
    other.as_strided([2], [1], 22).fill_(1)
    assert x.tolist() == y.tolist()
    with pytest.raises(RuntimeError, match="out of bounds"):
        mine.as_strided([2], [1], 23)


@pytest.mark.parametrize("name", ["T", "mT", "H", "mH", "real", "imag"])
def test_attributes_are_pytorchs(name: str) -> None:
    for array in (make((2, 3), COMPLEX64), make((2, 3), FLOAT32), make((2, 2, 3), COMPLEX64), make((3,), FLOAT32)):
        one = sample(array)
        problem = difference(call(attrgetter(name), one, to_opwright), call(attrgetter(name), one, to_torch))
        assert problem is None or RESULTS.covers(name, problem), f"{name}{one}: {problem}"


def test_parts_of_complex_numbers_are_written_through() -> None:
    x, y = opwright.zeros([2], dtype=opwright.complex64), torch.zeros(2, dtype=torch.complex64)
    for each in (x, y):
        each.real = 2.0
        each.imag[1] = 3.0
    assert x.tolist() == y.tolist()


# PyTorch declares these as views, and makes lazy ones of complex numbers. Here their conjugates are new tensors.
DECLARED_OTHERWISE = ("conj", "mH", "adjoint", "matrix_H")


def test_what_shares_memory_is_declared_as_in_pytorch() -> None:
    """Which arguments and results have alias annotations, and which of them are written to."""
    differing = []
    for name, operator in operators().items():
        theirs = getattr(
            getattr(torch.ops.aten, name.partition(".")[0], None), name.partition(".")[2] or "default", None
        )
        if theirs is None:
            continue
        schema = theirs._schema
        wanted = [each.alias_info and each.alias_info.is_write for each in (*schema.arguments, *schema.returns)]
        declared = (*operator.schema.arguments, *operator.schema.returns)
        if [each.annotation and each.annotation.write for each in declared] != wanted:
            differing.append(name)
    assert sorted(differing) == sorted(DECLARED_OTHERWISE)


def test_conjugates_are_new_tensors_and_real_numbers_their_own() -> None:
    x = opwright.tensor([1 + 2j, 3 - 1j])
    for conjugate in (x.conj(), x.reshape(1, 2).mH, x.reshape(1, 2).adjoint(), x.reshape(1, 2).H):
        conjugate.mul_(2)
    assert x.tolist() == [1 + 2j, 3 - 1j]
    y = opwright.ones(2, 3)
    assert y.conj() is y
    assert y.mH._base is y
