"""Expressions as kernels, elementwise or not: what they give is what `meta` says, or they raise, however they are
called; and expressions as composites, which see Tensors, however they are called."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import seeds
from pipeline import generate, imported

import opwright
from opwright import Tensor
from opwright.errors import ContractError
from opwright.fake import FakeTensorMode

# How many expressions are tried with each seed, and each with one of how many pairs of operands.
COUNT = int(os.environ.get("OPWRIGHT_EXPRESSIONS", "50"))
STEP = 1 if "OPWRIGHT_EXPRESSIONS" in os.environ else 10
UNARY = "sqrt exp negative absolute isnan floor logical_not sign square conjugate invert signbit".split()  # noqa: SIM905
BINARY = "add multiply maximum less logaddexp hypot bitwise_and equal true_divide floor_divide power copysign".split()  # noqa: SIM905
OPERATORS = ("+", "-", "*", "/", "%", "**", "<", "&", "|", "<<", "@")
# What is not elementwise, or gives no new memory, or may not.
OTHER = (
    "xp.sum({0}, 0)", "xp.cumsum({0}, 0)", "xp.flip({0}, 0)", "xp.sort({0}, -1)", "xp.asarray({0})", "{0}.T", "{0}[0]",
    "xp.transpose({0})", "xp.squeeze({0})", "xp.ravel({0})", "xp.real({0})", "xp.matmul({0}, {1})", "xp.mean({0})",
    "xp.where({0} > {1}, {0}, {1})", "xp.concatenate(({0}, {1}), 0)", "xp.max({0}, -1)", "{0}",
    "xp.expand_dims({0}, 0)", "xp.zeros_like({0})", "xp.clip({0}, 0, 2)", "xp.broadcast_to({0}, (2, 3))", "2.5",
)  # fmt: skip
OPERANDS = ("self", "y")
NUMBERS = ("2", "0.5", "-1", "inf", "s", "1j", "True")
METAS = (
    "pointwise(self, y)", 'pointwise(self, y, kind="int_to_float")', 'pointwise(self, y, kind="bool")',
    'pointwise(self, y, kind="complex_to_float")', 'pointwise(self, y, accepts="floating complex")',
    "pointwise(self, y, s)", 'pointwise(self, y, kind="bool_to_long")',
)  # fmt: skip
DTYPES = ("bool", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64")
SHAPES = (((2, 3), (2, 3)), ((3,), (2, 3)), ((2, 1), (3,)), ((), (2,)), ((3, 3), (3, 3)), ((2, 0), (1, 1)))


def expression(random: Random, depth: int) -> str:
    """An expression over self and y, most of them elementwise."""
    if depth == 0:
        return random.choice(OPERANDS)
    first, second = (expression(random, random.randrange(depth)) for _ in range(2))
    match random.randrange(6):
        case 0 | 1:
            return f"xp.{random.choice(BINARY)}({first}, {random.choice((second, second, random.choice(NUMBERS)))})"
        case 2:
            return f"xp.{random.choice(UNARY)}({first})"
        case 3:
            return f"({first} {random.choice(OPERATORS)} {random.choice((second, '2', '0.5'))})"
        case 4:
            return f"({random.choice('-~')}{first})"
        case _:
            return random.choice(OTHER).format(first, second)


def schemas(namespace: str, random: Random) -> str:
    return "\n".join(
        f"- func: {namespace}::f{number}(Tensor self, Tensor y, Scalar s=2) -> Tensor\n"
        f"  meta: {random.choice(METAS)}\n"
        f"  dispatch:\n    CPU: {expression(random, 1 + number % 3)!r}\n"
        f"  autogen: f{number}.out, f{number}_"
        for number in range(COUNT)
    ).replace("'", '"')


def operands() -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    random = seeds.numpy_generator(3)
    for index, (first, second) in enumerate((a, b) for a in DTYPES for b in DTYPES):
        for shape, other in SHAPES if first == second else SHAPES[index % len(SHAPES) :][:1]:
            yield tuple((random.uniform(0, 3, s)).astype(d) for s, d in ((shape, first), (other, second)))  # type: ignore[misc]


def result(function: Any, *args: Any, **kwargs: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*args, **kwargs)
        except Exception as error:
            return error


def with_gaps(array: np.ndarray[Any, Any]) -> Tensor:
    """A Tensor that no fast shim serves."""
    return opwright.from_numpy(np.stack((array, array), -1)[..., 0])


def is_one_answer(found: list[Any]) -> bool:
    """Whether all are exceptions, or all are equal, but for the last places."""
    if any(isinstance(each, Exception) for each in found):
        return all(isinstance(each, Exception) for each in found)
    arrays = [each.array if isinstance(each, Tensor) else each for each in found]
    wide = [each.astype(np.complex128) for each in arrays]
    tolerance = 1e-2 if arrays[0].dtype.itemsize == 2 else 1e-5
    return all(np.allclose(each, wide[0], tolerance, tolerance, equal_nan=True) for each in wide)


def difference(found: Any, fake: Any, operands: tuple[Any, ...]) -> str | None:
    """How a result is not what was said of it without data; an exception is nothing of the kind."""
    if isinstance(found, Exception):
        return None
    array = found.array if isinstance(found, Tensor) else found
    if isinstance(fake, Exception):
        return f"{array!r}, where the plan raises {fake!r:.100}"
    if (array.shape, array.dtype) != (fake.shape, fake.dtype):
        return f"{array.dtype}{array.shape}, and {fake.dtype}{fake.shape} is declared"
    if any(np.may_share_memory(array, each) for each in operands):
        return "the memory of an operand"
    return None


@pytest.mark.parametrize("seed", range(1, 3))
def test_results_are_what_meta_says(tmp_path: Path, seed: int) -> None:
    random = seeds.generator(seed)
    text = schemas("exprs", random)
    with imported(generate(tmp_path, text)) as package:
        wrong = []
        declared = text.split("- func: ")[1:]
        for index, (x, y) in enumerate(operands()):
            with FakeTensorMode() as mode:
                fakes = [mode.from_tensor(opwright.from_numpy(each)) for each in (x, y)]
            for number in range(index % STEP, COUNT, STEP):
                function = getattr(package.ops, f"f{number}")
                with mode:
                    fake = result(function, *fakes)
                arrays = x.copy(), y.copy()
                tensors = tuple(opwright.from_numpy(each.copy()) for each in arrays)
                found = {
                    "arrays": result(function, *arrays),
                    "Tensors": result(function, *tensors),
                    "an array and a Tensor": result(function, arrays[0], tensors[1]),
                }
                if not isinstance(fake, Exception):
                    out = np.zeros(fake.shape, fake.dtype)
                    found["out="] = result(function, *arrays, out=out)
                found["Tensors with gaps"] = result(function, *map(with_gaps, (x, y)))
                memory = (*arrays, *(each.array for each in tensors))
                problems = {how: difference(each, fake, memory) for how, each in found.items()}
                wrong += [
                    f"{declared[number]}{how}: {problem}\n{x!r}\n{y!r}" for how, problem in problems.items() if problem
                ]
                if not is_one_answer(list(found.values())):
                    wrong.append(f"{declared[number]}no one answer: {found}\n{x!r}\n{y!r}")
                if not isinstance(found["Tensors"], Exception) and x.shape == fake.shape:
                    same = opwright.from_numpy(x.copy())
                    written = result(getattr(package.ops, f"f{number}_"), same, tensors[1])
                    if written is not same and not isinstance(written, Exception):
                        wrong.append(f"{declared[number]}in place: {written!r}")
                    elif written is same and not is_one_answer([written, found["Tensors"].to(same.dtype)]):
                        wrong.append(f"{declared[number]}in place: {written!r}, not {found['Tensors']}\n{x!r}\n{y!r}")
    assert not wrong, f"{len(wrong)} wrong\n" + "\n".join(wrong[:5])


# Kernels whose result is, or may be, of a lower kind than planned: truths, absolute values, what is made of them.
LOWERED = (
    "xp.isnan(self)", "xp.signbit(self)", "xp.logical_not(self)", "xp.less(self, y)", "xp.equal(self, y % 2)",
    "xp.logical_and(self, y)", "xp.absolute(self)", "xp.abs(self)", "xp.add(xp.absolute(self), xp.absolute(y))",
    "xp.add(self > y, y > self)", "xp.multiply(xp.isfinite(self), 2)", "xp.negative(xp.absolute(self))",
    "xp.equal(self, y) if s == 2 else xp.add(self, y)", "xp.multiply(self, y > 0)", "xp.add(self, y)",
)  # fmt: skip


def test_every_form_of_call_judges_the_kind_of_a_result(tmp_path: Path) -> None:
    """What is written to `out=`, or in place, would be cast without a word."""
    cases = [(kernel, meta) for kernel in LOWERED for meta in (*METAS[:4], METAS[6], "like(self)")]
    text = "\n".join(
        f"- func: lowered::f{number}(Tensor self, Tensor y, *, Scalar s=2) -> Tensor\n"
        f"  meta: {meta}\n  dispatch:\n    CPU: {kernel}\n  autogen: f{number}.out, f{number}_"
        for number, (kernel, meta) in enumerate(cases)
    )
    refused, wrong = 0, []
    with imported(generate(tmp_path, text)) as package:
        for number, case in enumerate(cases):
            function, in_place = (getattr(package.ops, f"f{number}{mark}") for mark in ("", "_"))
            for dtype in DTYPES:
                x, y = np.array([0, 1, 3]).astype(dtype), np.array([1, 1, 2]).astype(dtype)
                with FakeTensorMode() as mode:
                    fake = result(function, *(mode.from_tensor(opwright.from_numpy(each)) for each in (x, y)))
                if isinstance(fake, Exception):
                    continue
                found = [result(function, x, y), result(function, opwright.from_numpy(x), opwright.from_numpy(y))]
                found += [result(function, x, y, out=np.zeros(3, dtype)) for dtype in (fake.dtype, np.complex128)]
                if opwright.can_cast(fake.dtype, opwright.from_numpy(x).dtype):
                    found.append(result(in_place, opwright.from_numpy(x.copy()), opwright.from_numpy(y)))
                    found.append(result(in_place, x.copy(), y))
                refused += isinstance(found[0], ContractError)
                if len({type(each) for each in found if isinstance(each, Exception)}) > 1 or not is_one_answer(found):
                    wrong.append((case, dtype, found))
    assert refused > 150
    assert not wrong, f"{len(wrong)} wrong: {wrong[:5]}"


COMPOSITES = """
- func: composites::methods(Tensor self) -> Tensor
  dispatch: {CompositeImplicitAutograd: self.exp().sum()}
- func: composites::numbers(Tensor self) -> Tensor
  dispatch: {CompositeImplicitAutograd: self * 2.5}
- func: composites::explicit(Tensor self) -> Tensor
  dispatch: {CompositeExplicitAutograd: (self * 2.5).relu()}
- func: composites::operators(Tensor self, Tensor? other=None, *, Tensor[] more=[]) -> Tensor
  dispatch: {CompositeImplicitAutograd: sigmoid(self) * self.float()}
- func: composites::named(Tensor self, Tensor[] others) -> (Tensor, Tensor[])
  dispatch: {CompositeImplicitAutograd: hostile_kernels:named}
- func: composites::viewed(Tensor(a) self) -> Tensor(a)
  dispatch: {CompositeImplicitAutograd: self.t()}
- func: composites::scaled_(Tensor(a!) self) -> Tensor(a!)
  dispatch: {CompositeImplicitAutograd: self.mul_(2)}
"""
KERNELS = "def named(self, others):\n    return self.double() * 2, [(other / 2).sum(-1) for other in others]\n"


def test_composites_see_tensors(tmp_path: Path) -> None:
    with imported(generate(tmp_path, COMPOSITES, kernels=KERNELS)) as package:
        ops = package.ops
        library = opwright.library.Library("composites", "FRAGMENT")
        library.define("registered(Tensor self) -> Tensor")
        library.impl("registered", lambda self: (self * 2.5).exp(), "CompositeImplicitAutograd")
        library.define("registered_explicitly(Tensor self) -> Tensor")
        library.impl("registered_explicitly", lambda self: (self / 2).exp(), "CompositeExplicitAutograd")
        more = opwright.ops.composites
        for dtype in ("int32", "float32", "bool", "float16"):
            array = np.arange(6).reshape(2, 3).astype(dtype)
            tensor = opwright.from_numpy(array)
            functions = (ops.methods, ops.numbers, ops.explicit, ops.operators, ops.viewed)
            for function in (*functions, more.registered, more.registered_explicitly):
                found, wanted = function(array), function(tensor)
                assert type(found) is np.ndarray and found.dtype == wanted.dtype, function
                assert np.array_equal(found, wanted.numpy()), function
            first, others = ops.named(array, [array, array[:1]])
            assert first.dtype == np.float64 and [type(each) for each in others] == [np.ndarray] * 2
            assert others[1].dtype == opwright.div(tensor, 2).dtype
            assert np.shares_memory(ops.viewed(array), array)
            if dtype != "bool":
                written = array.copy()
                assert ops.scaled_(written) is written and np.array_equal(written, array * 2)
