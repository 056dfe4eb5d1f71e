"""Arguments converted to their declared types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import Maker

from opwright.errors import ArgumentError, GuardOnDataDependentError
from opwright.registering.kernels import register
from opwright.symbolic import ShapeEnv, sym_float
from opwright_core.arrays.devices import Device
from opwright_core.arrays.formats import Layout, MemoryFormat
from opwright_core.dispatch.call.conversion import Mismatch, converter, is_int_list
from opwright_core.keys import GRAD
from opwright_core.random_state.generator import Generator
from opwright_core.tensors.tensor import wrap

GENERATOR = Generator()
FLOAT32 = np.dtype("float32")

TAKEN: list[tuple[str, Any, Any]] = [
    ("int", np.int8(3), 3),
    ("int", wrap(np.array(3)), 3),
    ("int", wrap(np.array([2.5])), 2),
    ("int?", None, None),
    ("SymInt", True, 1),
    ("float", 2, 2.0),
    ("float", np.float32(0.5), 0.5),
    ("float", np.array([[2]]), 2.0),
    ("bool", 0, False),
    ("bool", np.True_, True),
    ("bool?", None, None),
    ("str", "a", "a"),
    ("Scalar", np.int64(3), 3),
    ("Scalar", np.float32(0.5), 0.5),
    ("Scalar", np.bool_(True), True),
    ("Scalar", 2**63, 2**63),
    ("Scalar", wrap(np.array(1)), 1),
    ("Scalar", np.array(2.5), 2.5),
    ("complex", 1, 1 + 0j),
    ("int[2]", 3, [3, 3]),
    ("int[2]", (1, 2), [1, 2]),
    ("int[]", np.array([1, 2]), [1, 2]),
    ("SymInt[]", wrap(np.array([1, 2])), [1, 2]),
    ("int[2]?", None, None),
    ("float[2]", 1, [1.0, 1.0]),
    ("bool[3]", [True, 0, 1], [True, False, True]),
    ("Scalar[]", [1, 2.5], [1, 2.5]),
    ("str[]", ("a", "b"), ["a", "b"]),
    ("ScalarType", "float32", FLOAT32),
    ("ScalarType", np.float32, FLOAT32),
    ("ScalarType?", None, None),
    ("ScalarType[]", [np.float32, "int64"], [FLOAT32, np.dtype("int64")]),
    ("Device", "cpu", Device("cpu")),
    ("Device[]", ["cpu"], [Device("cpu")]),
    ("Layout", Layout.strided, Layout.strided),
    ("Layout[]", ["strided"], [Layout.strided]),
    ("MemoryFormat", MemoryFormat.channels_last, MemoryFormat.channels_last),
    ("MemoryFormat[]", [MemoryFormat.channels_last], [MemoryFormat.channels_last]),
    ("Generator?", GENERATOR, GENERATOR),
]


@pytest.mark.parametrize(("declared", "value", "expected"), TAKEN, ids=lambda x: repr(x)[:30])
def test_taken(declared: str, value: Any, expected: Any) -> None:
    result = converter(declared)(value)
    assert result == expected
    assert type(result) is type(expected)
    if isinstance(expected, list):
        assert [type(item) for item in result] == [type(item) for item in expected]


REFUSED: list[tuple[str, Any]] = [
    ("int", 1.0),
    ("int", np.float64(1)),
    ("int", "1"),
    ("int", None),
    ("int", 2**63),
    ("int", wrap(np.array([1, 2]))),
    ("float", "1"),
    ("float", 1j),
    ("float", 10**400),
    ("bool", "yes"),
    ("bool", []),
    ("str", 1),
    ("Scalar", wrap(np.array([1]))),
    ("Scalar", wrap(np.array(1.0)).requires_grad_()),
    ("Scalar", "1"),
    ("Scalar", 2**64),
    ("int[]", 1),
    ("int[]", [1, None]),
    ("int[]", {1: 2}),
    ("int[]", "12"),
    ("int[2]", 1.5),
    ("int[]", np.ones((2, 2), int)),
    ("str[]", "ab"),
    ("ScalarType", 1),
    ("ScalarType", "floaty"),
    ("Device", "nowhere"),
    ("Layout", "sparse"),
    ("MemoryFormat", 1),
    ("Generator", 1),
]


@pytest.mark.parametrize(("declared", "value"), REFUSED, ids=repr)
def test_refused(declared: str, value: Any) -> None:
    with pytest.raises(Mismatch):
        converter(declared)(value)


def test_errors_name_the_element(define: Maker) -> None:
    operator = define("f(int[] sizes) -> ()")
    with pytest.raises(ArgumentError, match=r"expected int\[\] for argument 'sizes' .*: element 1 is str 'x'"):
        operator([1, "x"])
    with pytest.raises(ArgumentError, match="expected int"):
        operator.convert(0, "x")


def test_a_tensor_that_requires_grad_converts_with_a_warning() -> None:
    tensor = wrap(np.array(2.0))
    tensor.keys |= GRAD
    with pytest.warns(UserWarning, match="requires_grad"):
        assert converter("float")(tensor) == 2.0


def test_lists_of_framework_objects_reach_the_kernel(define: Maker) -> None:
    operator = define("f(ScalarType[] a, Layout[] b, MemoryFormat[] c) -> ()")
    seen: list[Any] = []
    register(operator, "CompositeExplicitAutograd", lambda *args: seen.extend(args))
    operator([np.float32], [Layout.strided], [MemoryFormat.preserve_format])
    assert seen == [[FLOAT32], [Layout.strided], [MemoryFormat.preserve_format]]


def test_lists_of_ints_pass_without_conversion() -> None:
    convert = converter("int[]")
    let_through = [
        value for value in ([], [1], [1.0], [True], (1,), [None], ["a"], [np.int64(1)], 1) if is_int_list(value)
    ]
    assert let_through == [[], [1]]
    assert [convert(value) for value in let_through] == [[], [1]]


def test_symbolic_numbers_stay_where_the_declaration_lets_them() -> None:
    env = ShapeEnv()
    size, other = env.create_symbol(5), env.create_symbol(7)
    ratio, wide = other / size, other > size + 100
    kept = [("SymInt", size), ("SymFloat", ratio), ("SymBool", wide), ("SymInt?", size)]
    kept += [("Scalar", each) for each in (size, ratio, wide)]
    for declared, value in kept:
        assert converter(declared)(value) is value
    assert converter("SymInt[]")((size, 3, -1)) == [size, 3, -1] and converter("SymInt[2]")(size) == [size, size]
    assert converter("Scalar[]")([ratio, 2.5]) == [ratio, 2.5]
    assert converter("SymFloat")(size) is sym_float(size)
    assert env.guards == []
    assert converter("int[]")([size, 3]) == [5, 3] and converter("bool")(wide) is False
    assert [str(guard).split("  ")[0] for guard in env.guards] == ["s0 == 5", "not (s1 > s0 + 100)"]
    assert converter("float")(other / 2) == 3.5 and converter("complex")(other) == 7
    assert type(converter("int")(other)) is int
    assert len(env.guards) == 4
    for declared, value in [("SymInt", other / 2), ("SymInt[]", [ratio]), ("str", size), ("Device", size)]:
        with pytest.raises(Mismatch):
            converter(declared)(value)
    unbacked = env.create_unbacked_symint()
    assert converter("SymInt[]")([unbacked]) == [unbacked]
    with pytest.raises(GuardOnDataDependentError):
        converter("int")(unbacked)
