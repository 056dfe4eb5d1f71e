"""Out and in-place variants that are generated for composites: what they write, resize and refuse."""

from __future__ import annotations

import numpy as np
import pytest

import opwright
from opwright.fake import FakeTensorMode

aten = opwright.ops.aten


def test_out_is_resized_with_a_warning_if_it_had_elements() -> None:
    x = opwright.tensor([[1.0, float("nan")], [3.0, 5.0]])
    out = opwright.empty([3])
    with pytest.warns(UserWarning, match=r"resized since it had shape \[3\]"):
        assert aten.nanmean.out(x, [0], out=out) is out
    assert out.tolist() == [2.0, 5.0]


def test_an_empty_out_is_resized_without_one(recwarn: pytest.WarningsRecorder) -> None:
    out = opwright.empty([0], dtype="float64")
    aten.kron.out(opwright.tensor([1.0, 2.0]), opwright.tensor([1.0, 10.0]), out=out)
    assert out.tolist() == [1.0, 10.0, 2.0, 20.0]
    assert not recwarn.list


def test_several_results() -> None:
    sign, logabsdet = opwright.empty([0]), opwright.empty([0])
    found = aten.linalg_slogdet.out(opwright.tensor([[2.0, 0.0], [0.0, 4.0]]), sign=sign, logabsdet=logabsdet)
    assert found[0] is sign and found[1] is logabsdet
    assert (sign.item(), logabsdet.item()) == (1.0, pytest.approx(np.log(8.0)))


def test_lists_of_results() -> None:
    out = [opwright.empty([0]), opwright.empty([0])]
    assert aten.unsafe_split.Tensor_out(opwright.tensor([1.0, 2.0, 3.0]), 2, out=out) is None
    assert [each.tolist() for each in out] == [[1.0, 2.0], [3.0]]
    with pytest.raises(RuntimeError, match="2 results do not fit into 1 out tensors"):
        aten.unsafe_split.Tensor_out(opwright.tensor([1.0, 2.0, 3.0]), 2, out=out[:1])


def test_a_factory_makes_what_out_holds() -> None:
    out = opwright.empty([0], dtype="float64")
    aten.hann_window.periodic_out(4, False, out=out)
    assert out.tolist() == pytest.approx([0.0, 0.75, 0.75, 0.0])


@pytest.mark.parametrize(
    "out, message",
    [
        (opwright.empty([0], dtype="int64"), "result type Float can't be cast to the desired output type Long"),
        (opwright.empty([0], device="meta"), "Expected out tensor to have device cpu, but got meta"),
        (opwright.empty([1]).expand([2]), "more than one element of the written-to tensor"),
    ],
    ids=["dtype", "device", "overlap"],
)
def test_what_an_out_may_not_be(out: opwright.Tensor, message: str) -> None:
    with pytest.raises((RuntimeError, opwright.errors.FakeKernelError), match=message):
        aten.nanmean.out(opwright.tensor([[1.0, 2.0]]), [0], out=out)


def test_in_place() -> None:
    x = opwright.tensor([3.0, 4.0])
    assert aten.mvlgamma_(x, 2) is x
    assert x.tolist() == pytest.approx(aten.mvlgamma(opwright.tensor([3.0, 4.0]), 2).tolist())


def test_plain_arrays_are_written_and_not_resized() -> None:
    x, out = np.array([[1.0, 2.0], [3.0, 4.0]]), np.zeros(2)
    assert aten.nanmean.out(x, [0], out=out) is out
    assert out.tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match=r"aten::nanmean.out\(\) would have to resize a plain array"):
        aten.nanmean.out(x, [0], out=np.zeros(3))


def test_without_data() -> None:
    with FakeTensorMode():
        x, out = opwright.empty([2, 3], device="cuda"), opwright.empty([0], device="cuda")
        assert aten.nanmean.out(x, [0], out=out) is out
        assert (out.shape, out.device.type, type(out.array).__name__) == ((3,), "cuda", "MetaArray")
