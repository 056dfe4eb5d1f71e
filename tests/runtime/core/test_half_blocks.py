"""Pointwise operators on half and bfloat16 compute in float32, a block at a time: as the whole does, and rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import seeds

import opwright

SHAPES = ((), (3,), (17,), (9001,), (100, 301))
SPECIAL = (0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 65504.0, -65504.0, 6e-8, 3.3e38, -3.3e38, 0.5)
FUNCTIONS: dict[str, Any] = {
    "add": lambda x, y, z: opwright.add(x, y, alpha=2),
    "add, much": lambda x, y, z: opwright.add(x, y, alpha=60000),
    "add a number": lambda x, y, z: opwright.add(x, 1.25, alpha=2),
    "sub": lambda x, y, z: opwright.sub(x, y, alpha=0.3),
    "rsub": lambda x, y, z: opwright.rsub(x, y, alpha=2),
    "addcmul": lambda x, y, z: opwright.addcmul(x, y, z, value=0.5),
    "addcdiv": lambda x, y, z: opwright.addcdiv(x, y, z, value=0.5),
    "lerp, near": lambda x, y, z: opwright.lerp(x, y, 0.3),
    "lerp, far": lambda x, y, z: opwright.lerp(x, y, 0.7),
    "lerp": opwright.lerp,
    "a row": lambda x, y, z: opwright.add(x, y[:1] if y.ndim else y, alpha=2),
    "turned": lambda x, y, z: opwright.addcmul(x.mT, y.mT, z.mT) if x.ndim > 1 else x * 1,
    "no dimension": lambda x, y, z: opwright.addcmul(x, y.flatten()[0], z),
    "neg": lambda x, y, z: -x,
    "abs": lambda x, y, z: x.abs(),
    "copysign": lambda x, y, z: opwright.copysign(x, y),
    "hardtanh": lambda x, y, z: opwright.nn.functional.hardtanh(x),
    "gelu": lambda x, y, z: opwright.nn.functional.gelu(x, approximate="tanh"),
    "clamp": opwright.clamp,
    "masked_fill": lambda x, y, z: x.masked_fill(y > 0, 0.5),
}
WRITES: dict[str, Any] = {
    "add_": lambda x, y, z: x.add_(y),
    "add_, alpha": lambda x, y, z: x.add_(y, alpha=2),
    "itself": lambda x, y, z: x.add_(x, alpha=2),
    "sub_": lambda x, y, z: x.sub_(y, alpha=0.5),
    "mul_": lambda x, y, z: x.mul_(y),
    "mul_, a number": lambda x, y, z: x.mul_(1.5),
    "div_, a number": lambda x, y, z: x.div_(1e-30),
    "addcmul_": lambda x, y, z: x.addcmul_(y, z, value=2),
    "lerp_": lambda x, y, z: x.lerp_(y, 0.6),
    "sigmoid_": lambda x, y, z: x.sigmoid_(),
    "out": lambda x, y, z: opwright.addcdiv(y, z, y, out=x),
    "out, alpha": lambda x, y, z: opwright.add(y, z, alpha=2, out=x),
    "out, overlapping": lambda x, y, z: opwright.add(x[1:], x[1:], out=x[1:]) if x.ndim else x,
}


def drawn(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return a tensor of ordinary numbers and of special ones."""
    values = np.asarray(rng.standard_normal(shape), np.float32)
    picked = np.where(rng.random(shape) < 0.3, rng.choice(np.float32(SPECIAL), shape), values)
    return opwright.from_numpy(np.asarray(picked, np.float32)).to(dtype)


def check(name: str, found: Any, wide: Any) -> None:
    """Compare a result with one of float32 that is rounded, to the bit but for NaN."""
    expected = wide.to(found.dtype).numpy()
    is_nan = np.isnan(expected)
    assert found.shape == wide.shape, name
    np.testing.assert_array_equal(np.isnan(found.numpy()), is_nan, err_msg=name)
    bits, wanted = found.contiguous().numpy().view(np.uint16), np.ascontiguousarray(expected).view(np.uint16)
    np.testing.assert_array_equal(bits.reshape(wide.shape)[~is_nan], wanted.reshape(wide.shape)[~is_nan], name)


@pytest.mark.parametrize("dtype", [opwright.float16, opwright.bfloat16])
def test_blocks_give_what_the_whole_gives(dtype: Any) -> None:
    rng = seeds.numpy_generator(2)
    for shape in SHAPES:
        operands = [drawn(rng, dtype, shape) for _ in range(3)]
        wide = [each.float() for each in operands]
        for name, function in FUNCTIONS.items():
            for _ in range(2):  # planned by Python, then by the plan that is kept
                check(f"{name} of {shape}", function(*operands), function(*wide))
        for name, function in WRITES.items():
            expected = wide[0].clone()
            function(expected, *wide[1:])
            for _ in range(2):
                found = operands[0].clone()
                function(found, *operands[1:])
                check(f"{name} of {shape}", found, expected)


def test_errors_are_told_once_as_numpy_is_set() -> None:
    x, zero = opwright.ones(10, dtype=opwright.float16), opwright.zeros(10, dtype=opwright.float16)
    for _ in range(3):
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            opwright.addcdiv(x, x, zero)
        assert opwright.addcdiv(x, x, zero).isinf().all()


@pytest.mark.parametrize("dtype", [opwright.float16, opwright.bfloat16])
def test_fills(dtype: Any) -> None:
    for number in (0, 1, -2.5, 0.1, 3.14159, np.inf, np.nan):
        expected = np.full(9, number).astype(dtype)
        for found in (opwright.full((9,), number, dtype=dtype), opwright.empty(9, dtype=dtype).fill_(number)):
            np.testing.assert_array_equal(found.float().numpy(), expected.astype(np.float32))
