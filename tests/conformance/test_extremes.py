"""Every operator with extreme arguments: what PyTorch gives, or an error that says what is wrong; never one of NumPy's
about the arrays inside, nor one of Python's about its own numbers.

One sample of each operator; `--slow` tries more of them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sweeps
from declared import of_kind
from excuses import Known, Table
from extremes import variations
from samples import SAMPLES
from sampling import Sample

import opwright
from opwright_codegen.schema.model import SchemaKind

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import call, copied, difference, to_opwright, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

# Operators that are not called with extreme numbers, and why.
NOT_TRIED = Table(
    "test_extremes.NOT_TRIED",
    Known("col2im|_reshape_alias_copy", "", "PyTorch writes and reads outside its memory"),
    Known("(linalg_)?matrix_power", "", "as many products as the power says"),
    Known("mvlgamma|special_multigammaln", "", "as many terms as the number says"),
    Known(
        "(tensor_split.sections|[hvd]split.int|combinations|unsafe_chunk|chunk|vander|fft.*)",
        "",
        "as many parts as asked for",
    ),
    Known("(new_)?empty(_like|_strided|_permuted)?.*", "", "its values are arbitrary"),
)
# Differences that stay, and why.
EXPECTED = Table(
    "test_extremes.EXPECTED",
    Known(".*_loss|binary_cross_entropy.*|kl_div", ": (shape|values)", "reductions are 0, 1 and 2, and another a sum"),
    Known("(huber|smooth_l1)_loss_backward", "values", "a limit below 0, or none, is refused by the loss itself"),
    Known("_[cp]dist_backward", "-inf", "a norm of such an order is refused by the distance itself"),
    Known(
        "upsample_nearest.*_backward",
        r"inf|1e[+]308|1180591620717411303424",
        "PyTorch's backward kernel takes other places than its own",
    ),
    Known("pow.Scalar|float_power.Scalar", "nan[+]infj", "NaN to the power of 0 is 1, as of real numbers"),
    Known("(special_)?polygamma", "values", "its order becomes a float in PyTorch, which knows not if it is odd"),
    Known("_?cdist.*", r"1e[+]308", "a power that underflows, in PyTorch's kernel, to another value"),
    Known("linalg_lstsq", "rcond", "no singular value is above a bound that is NaN, or as high as the largest one"),
    Known("triu_indices", ": shape", "PyTorch's count of elements overflows"),
)


def overload(root: Any, name: str) -> Any:
    base, _, rest = name.partition(".")
    return getattr(getattr(root.ops.aten, base), rest or "default")


def is_clear(error: Exception) -> bool:
    """Whether an error is one that we raise, in words of our own; MemoryError is Python's word for it, too."""
    if isinstance(error, MemoryError):
        return True
    if type(error).__module__ not in ("builtins", "opwright.errors"):
        return False
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    raised_in = "" if traceback is None else Path(traceback.tb_frame.f_code.co_filename).parts
    if "site-packages" in raised_in:
        return False
    own = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError)
    words = "ufunc|array is too big|Maximum allowed|C long|C ssize_t|pad_width|to integer|must be real|not supported "
    words += "between"
    is_own = type(error).__module__ == "opwright.errors" or type(error) in own or "does not fit 64 bits" in str(error)
    return is_own and re.search(words, str(error)) is None


def problem(name: str, sample: Sample) -> str | None:
    """What is wrong with our answer to a call."""
    opwright.manual_seed(7)
    torch.default_generator.manual_seed(7)
    mine = call(overload(opwright, name), Sample(tuple(map(copied, sample.args)), sample.kwargs), to_opwright)
    if isinstance(mine, Exception):
        return None if is_clear(mine) else f"raises {type(mine).__name__}: {mine}"
    other = call(overload(torch, name), Sample(tuple(map(copied, sample.args)), sample.kwargs), to_torch)
    return None if isinstance(other, Exception) else difference(mine, other)


def small_samples(name: str, count: int) -> list[Sample]:
    def size(sample: Sample) -> int:
        return sum(each.size for each in (*sample.args, *sample.kwargs.values()) if isinstance(each, np.ndarray))

    found = [one for one in SAMPLES[name]() if size(one) < 300]
    return sweeps.spread(found, count)[:count]


NAMES = [name for name in of_kind(SchemaKind.FUNCTIONAL) if name in SAMPLES and not NOT_TRIED.covers(name, "")]


@pytest.mark.parametrize("name", NAMES)
def test_extremes(name: str, request: pytest.FixtureRequest) -> None:
    found = []
    with np.errstate(all="ignore"):
        for one in small_samples(name, 8 if request.config.getoption("--slow") else 1):
            for drawn in variations(name, one):
                told = problem(name, drawn)
                if told is not None and not EXPECTED.covers(name, f"{drawn}: {told}"):
                    found.append(f"{name}{drawn}: {told}")
    if found:
        pytest.fail(f"{len(found)} problems\n" + "\n".join(found[:6]), pytrace=False)
