"""What arguments of each type take and what kernels receive, beside `torch.ops`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import opwright
from opwright_core.dispatch.call.conversion import Mismatch, converter
from opwright_core.tensors.tensor import wrap

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
pytestmark = pytest.mark.oracle

TYPES = """
    int SymInt float complex bool str Scalar int? float? bool? str? Scalar?
    int[] SymInt[] int[2] SymInt[2] float[] float[2] bool[] bool[2] Scalar[] str[] int[]? int[2]? float[]?
""".split()  # noqa: SIM905
# Arrays stand for tensors here: each side makes its own of them.
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -3, 2**62, 2**63, 2**64, 2**70, -(2**63), -(2**63) - 1, 1.0, 1.5, float("inf"), 1 + 2j),
    *(
        "",
        "a",
        [],
        (),
        [1],
        [1, 2],
        (1, 2),
        [1, 2, 3],
        [1.5, 2],
        [True, False],
        [None],
        [1, None],
        ["a"],
        [1, "a"],
        [[1]],
    ),
    *(range(2), {1: 2}, {1}, {"a": 1}, b"a", object()),
    *(np.int64(3), np.int8(3), np.uint8(3), np.float64(2.5), np.float32(2.5), np.float32(2), np.bool_(True)),
    *([np.int64(1), 2], [np.float64(1)], [np.float32(1)]),
]
TENSORS = [
    np.array(3),
    np.array(2.5),
    np.array(True),
    np.array([3]),
    np.array([1, 2]),
    np.array([1.5, 2]),
    np.ones((2, 2)),
]

# Where ours refuses what `torch.ops` takes in silence: a dict or set as the list of its keys, a str as a list of
# letters, bytes as a str or as a list of ints.
STRICT = (dict, set, str, bytes)


def is_lenient(declared: str, value: Any) -> bool:
    """Where ours takes what `torch.ops` refuses: NumPy numbers are numbers; one number stands for a list of given size,
    and a tensor without dimensions for a Scalar, as for PyTorch's own functions; tensors of one dimension are lists of
    numbers."""
    base = declared.rstrip("?")
    if base == "Scalar[]" and isinstance(value, list):
        return any(isinstance(item, np.generic) for item in value)
    if base == "Scalar":
        return getattr(value, "shape", None) == ()  # NumPy numbers have one, too
    return base.endswith("[2]") or ("[" in base and hasattr(value, "shape"))


@pytest.fixture(scope="module")
def library() -> Iterator[Any]:
    made = torch.library.Library("opwright_conversion", "DEF")
    for number, declared in enumerate(TYPES):
        made.define(f"f{number}({declared} x) -> ()")
        made.impl(f"f{number}", lambda x: SEEN.append(x), "CompositeExplicitAutograd")
    yield made
    made._destroy()


SEEN: list[Any] = []


def theirs(number: int, value: Any) -> Any:
    """What a PyTorch kernel receives, or Mismatch."""
    SEEN.clear()
    try:
        getattr(torch.ops.opwright_conversion, f"f{number}").default(value)
    except Exception:
        return Mismatch
    return SEEN[0]


def ours(declared: str, value: Any) -> Any:
    try:
        return converter(declared)(value)
    except Mismatch:
        return Mismatch


def same(a: Any, b: Any) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and repr(a) == repr(b)


@pytest.mark.parametrize("declared", TYPES)
@pytest.mark.usefixtures("library")
def test_values(declared: str) -> None:
    number = TYPES.index(declared)
    pairs = [(value, value) for value in VALUES]
    pairs += [(torch.tensor(array), wrap(array)) for array in TENSORS]
    agreed = 0
    for given, own in pairs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected, found = theirs(number, given), ours(declared, own)
        if same(found, expected):
            agreed += 1
        elif expected is Mismatch:
            assert is_lenient(declared, own), f"{declared} takes {own!r} as {found!r}, PyTorch refuses it"
        else:
            assert found is Mismatch, f"{declared} makes {found!r} of {own!r}, PyTorch {expected!r}"
            assert isinstance(own, STRICT), f"{declared} refuses {own!r}, PyTorch makes {expected!r} of it"
    assert agreed > 20


FUNCTIONS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "one bound": lambda L, x, t: L.clamp(x, 0.2, t(0.5)),
    "the other": lambda L, x, t: L.clamp(x, t(0.2), 0.5),
    "by names": lambda L, x, t: x.clamp(min=0.2, max=t(0.5)),
    "both": lambda L, x, t: L.nn.functional.hardtanh(x, t(-0.1), t(0.5)),
    "alpha": lambda L, x, t: L.add(x, x, alpha=t(2.0)),
    "alpha of a method": lambda L, x, t: x.sub(x, alpha=t(2.0)),
    "alpha in place": lambda L, x, t: x.clone().add_(x, alpha=t(2.0)),
    "of no dimensions": lambda L, x, t: L.add(t(1.0), t(2.0), alpha=t(3.0)),
    "beta and alpha": lambda L, x, t: L.addmm(x, x, x, beta=t(2.0), alpha=t(0.5)),
    "value": lambda L, x, t: L.addcmul(x, x, x, value=t(2.0)),
    "fill_": lambda L, x, t: x.clone().fill_(t(2.0)),
    "full": lambda L, x, t: L.full((2,), t(2.0)),
    "full of int": lambda L, x, t: L.full((2,), t(2)),
    "full_like": lambda L, x, t: L.full_like(x, t(3.0)),
    "arange": lambda L, x, t: L.arange(t(0), t(5)),
    "linspace": lambda L, x, t: L.linspace(t(0.0), 1, 3),
    "vector_norm": lambda L, x, t: L.linalg.vector_norm(x, t(2.0)),
    "threshold": lambda L, x, t: L.nn.functional.threshold(x, t(0.1), t(2.0)),
    "correction": lambda L, x, t: L.std(x, dim=0, correction=t(1)),
    "pow": lambda L, x, t: L.pow(t(2.0), x),
    "comparison": lambda L, x, t: L.eq(x, t(0.5)),
    "maximum": lambda L, x, t: L.max(x, t(0.5)),
    "one dimension": lambda L, x, t: L.add(x, x, alpha=t([2.0])),
    "with a gradient": lambda L, x, t: L.add(x, x, alpha=t(2.0, requires_grad=True)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_tensors_without_dimensions_are_numbers(name: str) -> None:
    given = np.linspace(0, 1, 4, dtype=np.float32).reshape(2, 2)
    results = []
    for library in (torch, opwright):
        try:
            results.append(FUNCTIONS[name](library, library.tensor(given), library.tensor).numpy())
        except TypeError:
            results.append(None)
    wanted, found = results
    assert (wanted is None) == (found is None)
    if wanted is not None:
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
