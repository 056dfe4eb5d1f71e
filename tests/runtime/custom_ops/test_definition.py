"""What `custom_op` takes and refuses, and what a definition leaves behind."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import pickle
import types
from typing import Any

import numpy as np
import pytest

import opwright
from opwright import Tensor
from opwright.errors import DispatchError, RegistrationError
from opwright.library import CustomOpDef, Library, custom_op
from opwright_core.dispatch.registry.tables import registry

pytestmark = pytest.mark.usefixtures("operators_are_dropped")


@custom_op("lasting::double", mutates_args=())
def double(x: Tensor, times: int = 2) -> Tensor:
    """Twice as much."""
    return x * times


@pytest.fixture
def x() -> Tensor:
    return opwright.tensor([1.0, 2.0])


def define(name: str = "made::f", **options: Any) -> CustomOpDef:
    def f(x: Tensor, k: int = 1) -> Tensor:
        return x + k

    return custom_op(name, f, **({"mutates_args": ()} | options))


def test_a_definition_is_callable_in_every_way(x: Tensor) -> None:
    op = define()
    assert op(x).tolist() == op(x=x, k=1).tolist() == op(x, 1).tolist() == [2, 3]
    assert opwright.ops.made.f(x, k=2).tolist() == opwright.ops.made.f.default(x, 2).tolist() == [3, 4]
    assert op._opoverload is opwright.ops.made.f.default
    assert str(op._opoverload.schema) == "made::f(Tensor x, SymInt k=1) -> Tensor"
    assert repr(op) == "<CustomOpDef(made::f)>"


def test_wrong_arguments_name_the_operator_the_argument_and_its_value(x: Tensor) -> None:
    op = define()
    for args, message in [
        ((x, "a"), r"made::f\(\) expected SymInt for argument 'k' \(position 1\), got str 'a'"),
        (("x",), r"made::f\(\) expected Tensor for argument 'x' \(position 0\), got str 'x'"),
        ((None,), r"made::f\(\) expected Tensor for argument 'x' \(position 0\), got None"),
        (([x],), r"made::f\(\) expected Tensor for argument 'x' \(position 0\), got list"),
    ]:
        with pytest.raises(TypeError, match=message):
            op(*args)
        with pytest.raises(TypeError, match=message):
            opwright.ops.made.f(*args)


def test_it_shows_the_function_it_is_made_of() -> None:
    assert double.__name__ == "double" and double.__doc__ == "Twice as much."
    assert str(inspect.signature(double)) == "(x: 'Tensor', times: 'int' = 2) -> 'Tensor'"
    assert double.__wrapped__.__name__ == "double"


def test_a_name_needs_a_namespace_and_may_have_an_overload(x: Tensor) -> None:
    for name in ("f", "::f", "ns::", "a b::f", "ns::f.", "ns::f.g.h"):
        with pytest.raises(ValueError, match="no qualified name of an operator"):
            define(name)
    two = define("made::f.two")
    assert opwright.ops.made.f.two(x, 2).tolist() == opwright.ops.made.f(x, 2).tolist() == two(x, 2).tolist()


def test_mutates_args_cannot_be_left_out() -> None:
    with pytest.raises(TypeError, match="mutates_args"):
        custom_op("made::f", lambda x: x)  # type: ignore[call-arg]


def test_what_is_no_function_with_annotations_is_said_to_be_so() -> None:
    def f(x: Tensor, k: int) -> Tensor:
        return x

    for function, kind in [(functools.partial(f, k=1), "partial"), (len, "builtin"), (Tensor, "class")]:
        with pytest.raises(ValueError, match=kind):
            custom_op("made::f", function, mutates_args=())
    assert "made::f" not in registry.operators
    op = custom_op("made::f", functools.partial(f, k=1), mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match=r"<locals>.f at .*test_definition.py:\d+"):
        op(opwright.ones(2))


def test_a_parameter_named_self_can_be_passed_by_name(x: Tensor) -> None:
    @custom_op("made::f", mutates_args=())
    def f(self: Tensor, text: str = 'it\'s "so"') -> Tensor:
        assert text == 'it\'s "so"'
        return self.clone()

    assert f(self=x).tolist() == f(x).tolist() == [1, 2]


def test_names_that_rendered_code_uses_itself_may_be_parameters(x: Tensor) -> None:
    @custom_op("made::f", mutates_args=())
    def f(result: Tensor, function: int, modes: float, type: str, kernel: bool, node: int = 3) -> Tensor:
        assert (function, modes, type, kernel, node) == (1, 2.0, "t", True, 3)
        return result + function

    assert f(x, 1, 2, "t", True).tolist() == f(result=x, function=1, modes=2, type="t", kernel=True).tolist() == [2, 3]
    assert f(x.requires_grad_(), 1, 2, "t", True).requires_grad


def test_a_schema_that_disagrees_with_mutates_args_defines_nothing() -> None:
    def f(x: Tensor) -> None: ...

    with pytest.raises(ValueError, match=r"mutates_args is \[\], but .* writes to \['x'\]"):
        custom_op("made::f", f, mutates_args=(), schema="(Tensor(a!) x) -> ()")
    assert "made::f" not in registry.operators
    with pytest.raises(RegistrationError, match="made::f"):
        custom_op("made::f", f, mutates_args=(), schema="(Tensr x) -> ()")
    with pytest.raises(ValueError, match=r'made::f: expected a schema without a name, like "\(Tensor x\)'):
        custom_op("made::f", f, mutates_args=(), schema="f(Tensor x) -> ()")
    assert "made::f" not in registry.operators


def test_a_schema_may_be_given(x: Tensor) -> None:
    op = custom_op(
        "made::f", lambda x, n: [x + i for i in range(n)], mutates_args=(), schema="(Tensor x, int n=2) -> Tensor[]"
    )
    assert [each.tolist() for each in op(x)] == [[1, 2], [2, 3]]


def test_a_name_that_a_library_has_is_taken() -> None:
    library = Library("made", "FRAGMENT")
    library.define("f(Tensor x) -> Tensor")
    with pytest.raises(RegistrationError, match="made::f is defined multiple times"):
        define()
    library.destroy()
    define()


def test_defining_again_in_the_same_place_replaces_with_a_notice(x: Tensor) -> None:
    def make(k: int) -> CustomOpDef:
        @custom_op("made::g", mutates_args=())
        def g(x: Tensor) -> Tensor:
            return x + k

        return g

    old = make(1)
    overload = old._opoverload
    with pytest.warns(UserWarning, match=r"made::g is defined anew by .*make.<locals>.g at .*test_definition.py:\d+"):
        new = make(10)
    assert new(x).tolist() == old(x).tolist() == opwright.ops.made.g(x).tolist() == overload(x).tolist() == [11, 12]
    del new
    gc.collect()
    assert old(x).tolist() == [11, 12]
    del old
    gc.collect()
    assert "made::g" not in registry.operators


def test_defining_again_forgets_what_was_registered_before(x: Tensor) -> None:
    def make() -> CustomOpDef:
        @custom_op("made::g", mutates_args=())
        def g(x: Tensor) -> Tensor:
            return x + 1

        return g

    old = make()
    old.register_kernel("cpu", lambda x: x + 5)
    old.register_fake(lambda x: x)
    assert old(x).tolist() == [6, 7]
    with pytest.warns(UserWarning):
        new = make()
    assert new(x).tolist() == [2, 3]
    with pytest.raises(DispatchError, match="no fake kernel"):
        new(x.to(device="meta"))
    old.register_kernel("cpu", lambda x: x + 5)  # of the one that took its place
    assert new(x).tolist() == [6, 7]


def test_another_signature_in_the_same_place_replaces_too(x: Tensor) -> None:
    source = "@custom_op('made::cell', mutates_args=())\ndef cell(x: Tensor{}) -> Tensor:\n    return x + {}\n"
    module = types.ModuleType("notebook")
    module.__dict__.update(custom_op=custom_op, Tensor=Tensor)

    def run(parameters: str, value: str) -> CustomOpDef:
        exec(compile(source.format(parameters, value), "cells.py", "exec"), module.__dict__)
        return module.cell  # type: ignore[no-any-return]

    old = run("", "1")
    assert old(x).tolist() == [2, 3]
    with pytest.warns(UserWarning, match="defined anew"):
        new = run(", k: int", "k")
    assert new(x, 3).tolist() == old(x, 3).tolist() == opwright.ops.made.cell(x, 3).tolist() == [4, 5]


def test_defining_again_elsewhere_is_an_error_that_names_both_places(x: Tensor) -> None:
    def make_elsewhere() -> CustomOpDef:
        return custom_op("made::f", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")

    first = define()
    places = r"first by .*define.<locals>.f at .*test_definition.py:\d+, then by .*make_elsewhere"
    with pytest.raises(RegistrationError, match=f"made::f is defined twice: {places}"):
        make_elsewhere()
    assert first(x).tolist() == [2, 3]


def test_it_goes_with_the_last_reference(x: Tensor) -> None:
    op = define()
    op(x)
    overload = op._opoverload
    del op
    gc.collect()
    assert "made::f" not in registry.operators
    with pytest.raises(DispatchError, match="no longer defined"):
        overload(x)
    with pytest.raises(AttributeError):
        opwright.ops.made.f  # noqa: B018


def test_pickle_and_copy_give_the_same_operator(x: Tensor) -> None:
    assert pickle.loads(pickle.dumps(double)) is double
    assert copy.deepcopy(double) is copy.copy(double) is double
    assert pickle.loads(pickle.dumps(double._opoverload)) is double._opoverload
    op = define()
    data = pickle.dumps(op)
    del op
    gc.collect()
    with pytest.raises(RegistrationError, match="defines no custom operator made::f"):
        pickle.loads(data)


def test_device_types(x: Tensor) -> None:
    op = define(device_types="cpu")
    assert op(x).tolist() == [2, 3]
    with pytest.raises(DispatchError, match="no fake kernel"):
        op(x.to(device="meta"))
    op.register_kernel(["cpu", "cuda"], lambda x, k: x - k)
    assert op(x).tolist() == [0, 1]
    with pytest.raises(RuntimeError, match=r"Expected one of cpu, .* device type"):
        op.register_kernel("nothing", lambda x, k: x)
    with pytest.raises(RuntimeError, match=r"Expected one of cpu, .* device type"):
        define("made::other", device_types="nothing")
    assert "made::other" not in registry.operators


def test_without_tensors_calls_go_by_the_device() -> None:
    with pytest.raises(ValueError, match="are required to have a `device"):

        @custom_op("made::zeros", mutates_args=(), device_types="cpu")
        def without(n: int) -> Tensor:
            return opwright.zeros(n)

    assert "made::zeros" not in registry.operators

    @custom_op("made::zeros", mutates_args=(), device_types="cpu")
    def zeros(n: int, device: opwright.device) -> Tensor:
        assert isinstance(device, opwright.device)
        return opwright.zeros(n, device=device)

    assert zeros(2, "cpu").tolist() == zeros(2, device=opwright.device("cpu")).tolist() == [0, 0]
    zeros.register_fake(lambda n, device: opwright.empty(n, device="meta"))
    assert zeros(2, "meta").is_meta

    @custom_op("made::two", mutates_args=())
    def two() -> int:
        return 2

    assert two() == 2


def test_tags_are_given_once_and_the_tag_for_compilers_always() -> None:
    for tags in (opwright.Tag.core, "core", [opwright.Tag.core], ("core", opwright.Tag.core)):
        assert define(tags=tags)._opoverload.tags == (opwright.Tag.core, opwright.Tag.pt2_compliant_tag)
    assert define()._opoverload.tags == (opwright.Tag.pt2_compliant_tag,)
    with pytest.raises(ValueError, match="the tags are core, "):
        define(tags="fast")


def test_dispatch_shows_where_kernels_come_from(x: Tensor) -> None:
    op = define()
    op.register_kernel("cpu", lambda x, k: np)
    table = opwright.dispatch.table("made::f")
    assert table["CPU"].source == "kernel" and "test_definition.py" in table["CPU"].where
    assert table["CUDA"].source == "default backend kernel" and "define.<locals>.f" in table["CUDA"].where
    assert table["AutogradCPU"].source == "autograd kernel"


def test_a_kernel_registered_later_through_a_library_replaces(x: Tensor) -> None:
    op = define()
    assert op(x).tolist() == [2, 3]
    library = Library("made", "IMPL", "CPU")
    library.impl("f", lambda x, k=1: x * 10)
    assert op(x).tolist() == [10, 20]
    library.destroy()
    assert op(x).tolist() == [2, 3]


def test_guards_and_redispatch_reach_it(x: Tensor) -> None:
    op = define()
    seen = []

    def autograd(keyset: opwright.dispatch.KeySet, x: Tensor, k: int = 1) -> Tensor:
        seen.append(k)
        return op._opoverload.redispatch(keyset & opwright.dispatch.KeySet.after("AutogradCPU"), x, k)  # type: ignore[no-any-return]

    library = Library("made", "IMPL", "AutogradCPU")
    library.impl("f", autograd, with_keyset=True)
    assert op(x, 2).tolist() == [3, 4] and seen == [2]
    with opwright.dispatch.below_autograd():
        assert op(x, 3).tolist() == [4, 5] and seen == [2]
    library.destroy()


def test_a_schema_that_is_given_leaves_arrays_to_annotations() -> None:
    def largest(x: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        return np.asarray(x.max(-1)), np.asarray(x.argmax(-1))

    op = custom_op("made::largest", largest, mutates_args=(), schema="(Tensor x) -> (Tensor, Tensor)")
    values, places = op(opwright.tensor([[1.0, 3.0], [5.0, 2.0]]))
    assert (values.tolist(), places.tolist()) == ([3.0, 5.0], [1, 0])
