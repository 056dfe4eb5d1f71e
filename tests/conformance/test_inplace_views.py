"""Writes, views and versions of generated operators, the same programmes as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from both import check, message  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def leaf(t: Any, *values: float) -> Any:
    return t.tensor(list(values or (1.0, 2.0, 3.0)), requires_grad=True)


def matrix(t: Any) -> Any:
    return t.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)


WRITES = {
    "add_": lambda t, x: x.add_(1),
    "mul_": lambda t, x: x.mul_(2.0),
    "zero_": lambda t, x: x.zero_(),
    "copy_": lambda t, x: x.copy_(t.ones(3)),
    "fill_": lambda t, x: x.fill_(3.0),
    "[]": lambda t, x: x.__setitem__(0, 5.0),
    "normal_": lambda t, x: x.normal_(),
    "clamp_": lambda t, x: x.clamp_(min=0.0),
    "index_fill_": lambda t, x: x.index_fill_(0, t.tensor([0]), 1.0),
    "masked_fill_": lambda t, x: x.masked_fill_(t.tensor([True, False, True]), 0.0),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_leaves_and_their_views_are_not_written(write: Any) -> None:
    """And nothing has changed when that is said; both may be written where nothing is recorded."""

    def programme(t: Any) -> Any:
        x = matrix(t)
        caught = []
        for target in (x[0], x.t()[:, 1], x.view(-1)[:3]):
            try:
                write(t, target)
            except RuntimeError:
                caught.append((x.detach().clone(), x._version))
        y = leaf(t)
        try:
            write(t, y)
        except RuntimeError:
            caught.append((y.detach().clone(), y._version))
        with t.no_grad():
            x.view(-1)[:3].mul_(0.0)
            y.add_(1.0)
        return caught, x, x._version, x.is_leaf, y, y.is_leaf

    check(programme)
    assert "a leaf Variable" in message(lambda t: write(t, leaf(t)))
    assert "a view of a leaf" in message(lambda t: write(t, matrix(t)[0]))


VIEWS = {
    "select": lambda x: x[0],
    "slice": lambda x: x[:, 1:],
    "transpose": lambda x: x.t(),
    "view": lambda x: x.view(3, 2),
    "reshape": lambda x: x.reshape(-1),
    "diagonal": lambda x: x.diagonal(),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "narrow": lambda x: x.narrow(1, 0, 2),
    "as_strided": lambda x: x.as_strided((2, 2), (1, 2), 1),
    "unfold": lambda x: x.unfold(1, 2, 2),
    "permute": lambda x: x.permute(1, 0),
    "view of a view": lambda x: x.t()[1:].unsqueeze(0),
    "movedim": lambda x: x.movedim(0, 1),
    "squeeze": lambda x: x.unsqueeze(1).squeeze(1),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_the_base_sees_a_write_to_its_view(view: Any) -> None:
    def programme(t: Any) -> Any:
        x = matrix(t)
        y = x * 2.0
        v = view(y)
        v.mul_(3.0)
        names = y.grad_fn.name(), v._base is y, y._version, v._version
        (y * y).sum().backward()
        return names, y, v, x.grad

    check(programme)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_a_view_sees_a_write_to_its_base(view: Any) -> None:
    def programme(t: Any) -> Any:
        x, w = matrix(t), leaf(t)
        y = x * 2.0
        v = view(y)
        before = v.grad_fn.name()
        y.mul_(w)
        after = v.grad_fn.name()
        (v * v).sum().backward()
        return before != after, after, v, x.grad, w.grad

    check(programme)


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())
def test_a_plain_buffer_comes_to_require_grad(view: Any) -> None:
    def programme(t: Any) -> Any:
        buffer, w = t.zeros(2, 3), t.tensor(2.0, requires_grad=True)
        v, other = view(buffer), buffer[1]
        v.add_(w)
        facts = buffer.requires_grad, buffer.is_leaf, v.requires_grad, other.requires_grad, buffer._version
        (buffer.exp() + 1).sum().backward()
        return facts, buffer, w.grad

    check(programme)


@pytest.mark.parametrize("several", [lambda x: x.unbind(0), lambda x: x.split(1), lambda x: x.chunk(2)])
def test_one_of_several_views_is_not_written(several: Any) -> None:
    assert "multiple views" in message(lambda t: several(matrix(t) * 1.0)[0].mul_(2.0))

    def without_recording(t: Any) -> Any:
        y = matrix(t) * 1.0
        with t.no_grad():
            several(y)[0].mul_(2.0)
        return y, y._version, several(t.ones(2, 3))[1].add_(1)

    check(without_recording)


MODES = ["no_grad", "inference_mode"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("view", [lambda x: x[0], lambda x: x.t()[1]])
def test_views_made_where_nothing_is_recorded(mode: str, view: Any) -> None:
    def made_inside(t: Any) -> Any:
        y = matrix(t) * 1.0
        with getattr(t, mode)():
            v = view(y)
        v.mul_(2.0)

    def all_inside(t: Any) -> Any:
        y = matrix(t) * 1.0
        with getattr(t, mode)():
            view(y).mul_(2.0)
        return y, y._version, y.requires_grad

    text = message(made_inside)
    assert mode.split("_")[0] in text
    check(all_inside)


def test_saved_operands_and_results() -> None:
    changed = {
        "directly": lambda t, x: x.mul_(2.0),
        "by a view": lambda t, x: x[0].mul_(2.0),
        "by an alias": lambda t, x: x.detach().mul_(2.0),
        "by out": lambda t, x: t.add(t.ones(2, 3), 1.0, out=x.detach()),
        "by assignment": lambda t, x: x.detach().__setitem__(0, 1.0),
        "by data": lambda t, x: x.data.mul_(2.0),
        "by numpy": lambda t, x: x.detach().numpy().fill(2.0),
    }

    for how, change in changed.items():

        def operand(t: Any, change: Any = change) -> Any:
            x = matrix(t)
            y = x * 1.0
            z = y * y
            change(t, y)
            z.sum().backward()
            return x.grad

        if how in ("by data", "by numpy"):
            check(operand)
        else:
            text = message(operand)
            assert "is at version 1; expected version 0" in text
            assert "[2, 3]" in text and "output 0 of" in text

    def result(t: Any, name: str) -> Any:
        x = matrix(t)
        y = getattr(x, name)()
        y.add_(1.0)
        y.sum().backward()
        return x.grad

    for name in ("exp", "sqrt", "tanh", "sigmoid", "relu", "reciprocal"):
        assert "output 0 of" in message(lambda t, name=name: result(t, name))
    for name in ("sin", "neg", "abs", "log"):
        check(lambda t, name=name: result(t, name))
    check(lambda t: ((x := leaf(t)), (x + 1.0).mul_(2.0).sum().backward(), x.grad)[2])


def test_operators_that_need_their_old_value() -> None:
    for write in (lambda x: x.pow_(3), lambda x: x.sin_(), lambda x: x.log_(), lambda x: x.mul_(x.detach().clone())):

        def programme(t: Any, write: Any = write) -> Any:
            x = leaf(t)
            y = x * 1.0
            write(y)
            y.sum().backward()
            return y, x.grad

        check(programme)
    assert "modified by an inplace operation" in message(lambda t: (y := leaf(t) * 1.0).mul_(y).sum().backward())


def test_out() -> None:
    assert "don't support automatic differentiation" in message(lambda t: t.add(leaf(t), 1.0, out=t.empty(3)))
    assert "don't support automatic differentiation" in message(lambda t: t.add(t.ones(3), 1.0, out=leaf(t)))

    def programme(t: Any) -> Any:
        out = leaf(t)
        with t.no_grad():
            t.mul(leaf(t), 2.0, out=out)
        resized = t.empty(0)
        t.add(t.ones(2), 1.0, out=resized)
        strided = t.zeros(6)[::2]
        t.add(t.ones(3), 1.0, out=strided)
        return out, out.is_leaf, out._version, resized, resized._version, strided, strided.stride()

    check(programme)
    for wrong in (
        lambda t: t.add(t.ones(3), 0.5, out=t.zeros(3, dtype=t.int64)),
        lambda t: (b := t.ones(6), t.add(b[:4], b[1:5], out=b[2:6])),
        lambda t: t.ones(1).expand(3).add_(1),
        lambda t: t.ones(3).add_(t.ones(2, 3)),
        lambda t: t.ones(3, dtype=t.int64).add_(0.5),
    ):
        assert check(wrong)[0] == "raises"


def test_flags() -> None:
    def programme(t: Any) -> Any:
        plain, w = t.ones(3), leaf(t)
        plain.mul_(w)
        x = leaf(t)
        facts = plain.requires_grad, plain.is_leaf, plain.grad_fn.name(), plain._version
        x.requires_grad_(False)
        kept = x.requires_grad, x.is_leaf, x.grad_fn
        return facts, kept, t.ones(3).requires_grad_().is_leaf, x._version

    check(programme)
    assert "leaf variables" in message(lambda t: (leaf(t) * 1.0).requires_grad_(False))
    message(lambda t: t.tensor([1, 2]).requires_grad_())
    message(lambda t: t.zeros(3, dtype=t.int64, requires_grad=True))


def test_what_views_are() -> None:
    def programme(t: Any) -> Any:
        x = t.ones(4, 6)
        v = x[1:]
        return (
            v._base is x, v.t()[0]._base is x, x.reshape(-1)._base is x, x.t().reshape(-1)._base is None,
            x.contiguous() is x, x.t().contiguous()._base is None, x.detach()._base is None, x.data._base is None,
            x.view(t.int32)._base is None, x.expand(2, 4, 6)._base is x, x.flatten()._base is x, x.T._base is x,
            x.real._base is None, x.to(t.float32) is x, x.clone()._base is None,
        )  # fmt: skip

    check(programme)
    assert "view" in message(lambda t: (matrix(t) * 1.0)[0].detach_())
    check(lambda t: ((y := leaf(t) * 1.0).detach_() is y, y.requires_grad, y.grad_fn, y._version))


def test_inference_tensors() -> None:
    def made(t: Any) -> Any:
        with t.inference_mode():
            return t.ones(3)

    for wrong in (
        lambda t: made(t).add_(1.0),
        lambda t: made(t)[0].add_(1.0),
        lambda t: t.add(t.ones(3), 1.0, out=made(t)),
        lambda t: (leaf(t) * made(t)).sum().backward(),
        lambda t: made(t)._version,
        lambda t: made(t).requires_grad_(),
    ):
        assert check(wrong)[0] == "raises"

    def allowed(t: Any) -> Any:
        x = made(t)
        with t.inference_mode():
            x.add_(1.0)
        return x, x.clone().add_(1.0), x.is_inference(), (leaf(t) + x).is_inference()

    check(allowed)


def test_backward_errors_and_accumulation() -> None:
    texts = {
        message(lambda t: (leaf(t) * 2.0).backward()),
        message(lambda t: t.ones([]).backward()),
        message(lambda t: t.autograd.grad((leaf(t) * 2.0).sum(), leaf(t))),
        message(lambda t: [(y := (leaf(t) ** 2).sum()), y.backward(), y.backward()]),
    }
    assert len(texts) == 4

    def programme(t: Any) -> Any:
        x = leaf(t)
        for _ in range(3):
            (x * x).sum().backward()
        return x.grad

    check(programme)


def test_retained_gradients_follow_writes() -> None:
    def programme(t: Any) -> Any:
        x = leaf(t)
        y = x * 2.0
        y.retain_grad()
        y.mul_(5.0)
        z = y[:2]
        z.retain_grad()
        (z * z).sum().backward()
        return y.grad, z.grad, x.grad, y.retains_grad, z.retains_grad

    check(programme)


def test_data() -> None:
    def programme(t: Any) -> Any:
        x = leaf(t)
        y = x * 1.0
        z = y * y
        y.data.add_(1.0)
        z.sum().backward()
        w = leaf(t)
        w.data = t.ones(2)
        (w * w).sum().backward()
        return x.grad, y._version, w, w.grad, w.is_leaf, w.data.requires_grad

    check(programme)


def test_shape_changes_in_place() -> None:
    def programme(t: Any) -> Any:
        x = matrix(t)
        y = x * 2.0
        y.t_()
        y.unsqueeze_(0)
        y.mul_(3.0)
        (y * y).sum().backward()
        return y, y._version, x.grad

    check(programme)


MEETING = {
    "base": lambda x, windows: x.mul_(2.0),
    "another view": lambda x, windows: windows[..., 0].mul_(2.0),
    "nothing": lambda x, windows: None,
}


@pytest.mark.parametrize("write", MEETING.values(), ids=MEETING.keys())
@pytest.mark.parametrize("size", [2, 3])
def test_windows_that_meet(write: Any, size: int) -> None:
    """An element that several windows show has the gradients of all of them."""

    def programme(t: Any) -> Any:
        x = t.tensor([[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]], requires_grad=True)
        y = x * 1.0
        windows = y.unfold(1, size, 1)
        write(y, windows)
        part = windows.as_strided((2, 2), (1, 1))
        ((windows * windows).sum() + (part * part).sum() + y.sum()).backward()
        return x.grad

    check(programme)
