"""What operators tell of themselves."""

from __future__ import annotations

import copy
import inspect
import pickle
import pydoc
from typing import Any

import pytest
from conftest import Maker

import opwright
from opwright_core import core
from opwright_core.dispatch.call.operator import Operator
from opwright_core.dispatch.call.packets import Packet, find_packet, packet

aten = opwright.ops.aten


def test_signatures_of_operators(define: Maker) -> None:
    operator = define("f.x(Tensor(a!) self, int from, str s='a, b', *, int[2] size=1) -> (Tensor(a!), Tensor[])")
    shown = inspect.signature(operator)
    assert list(shown.parameters) == ["self", "from_", "s", "size"]
    assert shown.parameters["s"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert shown.parameters["size"].kind is inspect.Parameter.KEYWORD_ONLY
    assert shown.parameters["s"].default == "a, b"
    assert shown.parameters["self"].annotation == "Tensor(a!)"
    assert shown.return_annotation == "(Tensor(a!), Tensor[])"
    assert inspect.signature(packet(f"{define.namespace}::f")) == shown
    assert list(inspect.signature(define("g() -> ()")).parameters) == []


def test_the_signature_of_several_overloads_takes_what_each_takes(define: Maker) -> None:
    define("f.dim(Tensor self, int dim, bool keepdim=False, *, int? dtype=None) -> (Tensor, Tensor)")
    define("f(Tensor self, *, int? dtype=None) -> Tensor")
    define("f.other(Tensor self, Tensor other) -> Tensor")
    define("f.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)")
    assert str(inspect.signature(find_packet(f"{define.namespace}::f"))) == (
        "(self: 'Tensor', other: 'Tensor' = ..., dim: 'int' = ..., keepdim: 'bool' = False, *, dtype: 'int?' = None, "
        "out: 'Tensor(a!)' = ...) -> '(Tensor, Tensor) | Tensor | Tensor(a!)'"
    )


def test_the_classes_keep_their_own() -> None:
    assert list(inspect.signature(Packet).parameters) == ["name"]
    assert "declaration" in inspect.signature(Operator).parameters


def test_signatures_and_help_of_generated_functions() -> None:
    assert list(inspect.signature(opwright.mm).parameters)[:2] == ["self", "mat2"]
    if core.fast is not None:  # a function of Python has its own
        for name in ("mm", "add", "sum"):
            assert inspect.signature(getattr(aten, name)) == inspect.signature(getattr(opwright, name))
    for name in ("add", "sum", "copy_", "split"):
        shown = pydoc.plain(pydoc.render_doc(getattr(aten, name).stub))
        for overload in aten.__getattr__(name).operators.values():
            assert overload.name + overload.declaration in shown


def test_names() -> None:
    operator = aten.add.Tensor
    assert (str(operator), operator.__name__, operator.namespace) == ("aten.add.Tensor", "add.Tensor", "aten")
    assert (str(aten.add), aten.add.__name__) == ("aten.add", "add")
    assert str(aten.mm.default) == "aten.mm.default"
    assert operator.overloadpacket is aten.add
    assert str(operator._schema) == str(operator.schema) == operator.name + operator.declaration
    assert "pt2_compliant_tag" in operator.tags


def test_schemas_say_whether_they_may_replace_others() -> None:
    assert aten.add.Tensor._schema.is_backward_compatible_with(aten.add.Tensor._schema)
    assert not aten.sub.Tensor._schema.is_backward_compatible_with(aten.add.Tensor._schema)


def test_registered_keys() -> None:
    assert aten.add.Tensor.has_kernel_for_dispatch_key("CPU")
    assert not aten.add.Tensor.has_kernel_for_dispatch_key("AutogradCPU")
    with pytest.raises(opwright.RegistrationError, match="could not parse dispatch key 'cpu'"):
        aten.add.Tensor.has_kernel_for_dispatch_key("cpu")


@pytest.mark.parametrize(
    "value", [opwright.ops, aten, aten.add, aten.add.Tensor, opwright.add], ids=["ops", "aten", "add", "Tensor", "stub"]
)
def test_copies_and_pickles_are_the_same_object(value: Any) -> None:
    assert copy.copy(value) is value
    assert copy.deepcopy([value])[0] is value
    assert pickle.loads(pickle.dumps(value)) is value


def test_limits_of_dtypes() -> None:
    assert opwright.finfo().eps == opwright.finfo("float32").eps == opwright.finfo(opwright.complex64).eps
    assert float(opwright.finfo(opwright.bfloat16).eps) == 2**-7
    assert opwright.iinfo("int8").max == 127
    with pytest.raises(TypeError, match="iinfo"):
        opwright.finfo(opwright.int32)
    with pytest.raises(TypeError, match="finfo"):
        opwright.iinfo(opwright.float32)
    assert opwright.is_floating_point(opwright.tensor(1.0))
    assert not opwright.is_floating_point(opwright.int8)
    assert opwright.is_complex(opwright.tensor(1j).numpy())


def test_layout() -> None:
    assert opwright.tensor(1).layout is opwright.strided
