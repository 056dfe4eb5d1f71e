"""Instances of classes of a program's own as arguments of operators, beside PyTorch's (until 2.13: opaque types)."""

from __future__ import annotations

import enum
from types import SimpleNamespace
from typing import Any

import pytest

import opwright
from opwright.errors import SchemaInferenceError
from opwright.fx import make_fx
from opwright.library import (
    CustomClassBase,
    MemberType,
    custom_op,
    infer_schema,
    opcheck,
    register_custom_class,
    unregister_custom_class,
)
from opwright.registering.custom_classes import find_custom_class, is_declared


class Queue(CustomClassBase):
    def __init__(self, scale: float) -> None:
        self.scale = scale
        self.inner: Inner | None = None


class Inner(CustomClassBase):
    def __init__(self, owner: Queue) -> None:
        self.owner = owner


class Shift:
    def __init__(self, by: int) -> None:
        self.by = by

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shift) and self.by == other.by

    def __hash__(self) -> int:
        return hash(self.by)

    def __fx_repr__(self) -> tuple[str, dict[str, type]]:
        return f"{type(self).__name__}({self.by})", {type(self).__name__: type(self)}


class Hoisted(Shift):
    pass


def _through_its_owner(inner: Inner, node_of: Any, recorder: Any) -> Any:
    node = node_of(inner.owner)
    return None if node is None else recorder.graph.call_function(getattr, (node, "inner"))


register_custom_class(
    Queue, typ="symbolic", guard_fn=lambda queue: [queue.scale > 0], members={"scale": MemberType.USE_REAL}
)
register_custom_class(Inner, typ="symbolic", reconstruct_fn=_through_its_owner)
register_custom_class(Shift, typ="constant")
register_custom_class(Hoisted, typ="constant", hoist=True)


@custom_op("custom_classes::run", mutates_args=())
def run(x: opwright.Tensor, queue: Queue, shift: Shift) -> opwright.Tensor:
    return x * queue.scale + shift.by


@run.register_fake
def _(x: opwright.Tensor, queue: Queue, shift: Shift) -> opwright.Tensor:
    assert type(queue) is Queue
    return opwright.empty_like(x)


@custom_op("custom_classes::of_inner", mutates_args=())
def of_inner(x: opwright.Tensor, inner: Inner) -> opwright.Tensor:
    return x * inner.owner.scale


@custom_op("custom_classes::of_hoisted", mutates_args=())
def of_hoisted(x: opwright.Tensor, shift: Hoisted) -> opwright.Tensor:
    return x + shift.by


@custom_op("custom_classes::doubled", mutates_args=())
def doubled(x: opwright.Tensor, queue: Queue) -> Queue:
    return Queue(queue.scale * 2)


def test_instances_pass_through() -> None:
    assert run(opwright.ones(2), Queue(3.0), Shift(1)).tolist() == [4.0, 4.0]
    assert doubled(opwright.ones(2), Queue(3.0)).scale == 6.0
    name = f"{__name__}.Queue"
    assert str(run._opoverload._schema) == (
        f"custom_classes::run(Tensor x, {name} queue, {__name__}.Shift shift) -> Tensor"
    )


def test_opcheck_and_vmap_take_them() -> None:
    assert set(opcheck(run, (opwright.ones(2), Queue(2.0), Shift(1))).values()) == {"SUCCESS"}
    with pytest.warns(UserWarning, match="no batching rule"):
        found = opwright.vmap(lambda x: run(x, Queue(3.0), Shift(1)))(opwright.ones(3, 2))
    assert found.tolist() == [[4.0, 4.0]] * 3


def test_backward_functions_find_them_in_the_context() -> None:
    @custom_op("custom_classes::scaled", mutates_args=())
    def scaled(x: opwright.Tensor, queue: Queue) -> opwright.Tensor:
        return x * queue.scale

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.queue = inputs[1]

    scaled.register_autograd(lambda ctx, grad: (grad * ctx.queue.scale, None), setup_context=keep)
    x = opwright.ones(2, requires_grad=True)
    scaled(x, Queue(3.0)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_symbolic_instances_are_inputs_and_constants_are_written(mode: Any) -> None:
    made = make_fx(lambda x, queue: run(x * 2, queue, Shift(4)), tracing_mode=mode)(opwright.ones(2), Queue(3.0))
    assert "custom_classes.run.default(mul, queue_1, Shift(4))" in made.code
    assert made(opwright.ones(2), Queue(10.0)).tolist() == [24.0, 24.0]
    assert made.guards.fits(opwright.ones(2), Queue(10.0))
    assert not made.guards.fits(opwright.ones(2), Queue(-1.0))


def test_an_instance_from_elsewhere_is_an_attribute() -> None:
    queue = Queue(3.0)
    made = make_fx(lambda x: run(x, queue, Shift(1)))(opwright.ones(2))
    assert "self._custom_object0" in made.code
    queue.scale = 5.0
    assert made(opwright.ones(2)).tolist() == [6.0, 6.0]


def test_reconstruct_fn_finds_it_through_an_input() -> None:
    def program(x: opwright.Tensor, queue: Queue) -> opwright.Tensor:
        assert queue.inner is not None
        return of_inner(x, queue.inner)

    def owner(scale: float) -> Queue:
        queue = Queue(scale)
        queue.inner = Inner(queue)
        return queue

    made = make_fx(program)(opwright.ones(1), owner(2.0))
    assert "getattr(queue_1, 'inner')" in made.code
    assert made(opwright.ones(1), owner(7.0)).tolist() == [7.0]


def test_a_hoisted_constant_is_an_input_where_it_is_given() -> None:
    made = make_fx(lambda x, shift: of_hoisted(x, shift))(opwright.ones(1), Hoisted(2))
    assert made(opwright.ones(1), Hoisted(7)).tolist() == [8.0]
    assert "Hoisted(7)" in make_fx(lambda x: of_hoisted(x, Hoisted(7)))(opwright.ones(1)).code


def test_a_result_is_followed() -> None:
    made = make_fx(lambda x, queue: run(x, doubled(x, queue), Shift(0)))(opwright.ones(1), Queue(1.0))
    assert made(opwright.ones(1), Queue(4.0)).tolist() == [8.0]


def test_derived_classes_count_and_others_do_not() -> None:
    class Longer(Queue):
        pass

    class Other:
        pass

    assert find_custom_class(Longer) is find_custom_class(Queue)
    assert find_custom_class(Other) is None

    def of(x: opwright.Tensor, other: Other) -> opwright.Tensor:
        return x

    of.__annotations__["other"] = Other
    with pytest.raises(SchemaInferenceError, match="classes given to register_custom_class"):
        infer_schema(of, mutates_args=())
    with pytest.raises(RuntimeError, match=r"unknown type specifier 'nowhere\.Such'"):
        opwright.library.define("custom_classes::named", "(Tensor x, nowhere.Such y) -> Tensor")


def test_a_schema_may_name_a_registered_class() -> None:
    opwright.library.define("custom_classes::named", f"(Tensor x, {__name__}.Queue queue) -> Tensor")
    opwright.library.impl("custom_classes::named", "CPU", lambda x, queue: x * queue.scale)
    assert opwright.ops.custom_classes.named(opwright.ones(1), Queue(2.0)).tolist() == [2.0]


def test_a_class_is_forgotten() -> None:
    class Passing(Shift):
        """A class that is registered for a while."""

    name = f"{__name__}.test_a_class_is_forgotten.Passing"
    with pytest.raises(ValueError, match="is not registered as a custom class"):
        unregister_custom_class(Passing)
    register_custom_class(Passing, typ="constant")
    found = find_custom_class(Passing)
    assert found is not None and found.name == name and is_declared(name)
    unregister_custom_class(Passing)
    inherited = find_custom_class(Passing)
    assert (inherited is None or inherited.name != name) and not is_declared(name)
    with pytest.raises(ValueError, match="is not registered as a custom class"):
        unregister_custom_class(Passing)
    register_custom_class(Passing, typ="constant")
    assert is_declared(name)
    unregister_custom_class(Passing)


class Plain:
    pass


class Colour(enum.Enum):
    RED = 1


REFUSED: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    (int, {"typ": "constant"}, ValueError, "wrap it in a class of your own"),
    (opwright.Tensor, {"typ": "constant"}, ValueError, "wrap it in a class of your own"),
    (Queue, {"typ": "reference"}, ValueError, "'symbolic' or 'constant', not 'reference'"),
    (Plain, {"typ": "symbolic"}, TypeError, "must derive from opwright.library.CustomClassBase"),
    (Plain, {"typ": "constant"}, TypeError, "must define __eq__ and __hash__"),
    (Shift, {"typ": "constant", "guard_fn": lambda shift: []}, TypeError, "leave guard_fn out"),
    (3, {"typ": "constant"}, TypeError, "expects a class, got 3"),
]


@pytest.mark.parametrize(("cls", "options", "error", "text"), REFUSED)
def test_what_is_refused(cls: Any, options: dict[str, Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text.replace(".", r"\.")):
        register_custom_class(cls, **options)


def test_an_enumeration_is_a_constant_by_itself() -> None:
    register_custom_class(Colour, typ="constant")


@pytest.mark.oracle
def _theirs() -> SimpleNamespace:
    """PyTorch's functions, by the names of 2.14."""
    torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
    if hasattr(torch.library, "register_custom_class"):
        return SimpleNamespace(torch=torch, register=torch.library.register_custom_class, old={})
    from torch._library.opaque_object import register_opaque_type

    return SimpleNamespace(
        torch=torch, register=register_opaque_type, old={"symbolic": "reference", "constant": "value"}
    )


@pytest.mark.oracle
@pytest.mark.parametrize(("cls", "options", "error", "text"), REFUSED[:-1])
def test_pytorch_refuses_these_too(cls: Any, options: dict[str, Any], error: type[Exception], text: str) -> None:
    theirs = _theirs()
    typ = theirs.old.get(options["typ"], "none of them")
    given = theirs.torch.Tensor if cls is opwright.Tensor else cls
    with pytest.raises((ValueError, TypeError, AssertionError)):
        theirs.register(given, **{**options, "typ": typ})


@pytest.mark.oracle
def test_the_graph_is_pytorchs() -> None:
    theirs = _theirs()
    torch = theirs.torch
    from torch._opaque_base import OpaqueBase
    from torch.fx.experimental.proxy_tensor import make_fx as make_theirs

    class Theirs(OpaqueBase):
        scale = 3.0

    Theirs.__qualname__ = "Theirs"
    theirs.register(Theirs, typ=theirs.old.get("symbolic", "symbolic"))
    theirs.register(Shift, typ=theirs.old.get("constant", "constant"))

    def function(x: Any, queue: Any, shift: Any) -> Any:
        return x * queue.scale + shift.by

    function.__annotations__ = {"x": torch.Tensor, "queue": Theirs, "shift": Shift, "return": torch.Tensor}
    op = torch.library.custom_op("custom_classes::run", function, mutates_args=())
    op.register_fake(lambda x, queue, shift: torch.empty_like(x))
    made = make_theirs(lambda x, queue: op(x, queue, Shift(4)), tracing_mode="fake")(torch.ones(2), Theirs())
    ours = make_fx(lambda x, queue: run(x, queue, Shift(4)), tracing_mode="fake")(opwright.ones(2), Queue(3.0))
    for code in (made.code, ours.code):
        assert "custom_classes.run.default(x_1, queue_1, Shift(4))" in code
