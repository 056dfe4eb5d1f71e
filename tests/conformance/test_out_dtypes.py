"""`out=` of every dtype, of every operator that has it: taken or refused as by PyTorch, with the same numbers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from excuses import Known, Table

import opwright

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from declared import functional_of, of_kind, operators  # noqa: E402
from oracle import call, copied, dtype_of, numpy_of, to_opwright, to_torch  # noqa: E402
from overlapping import CRASHES, copied_sample, ours, theirs  # noqa: E402
from samples import NO_SAMPLES, SAMPLES  # noqa: E402
from sampling import DTYPES, Sample  # noqa: E402

from opwright_codegen.schema.model import SchemaKind  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

MOST = 6  # samples of an operator, of operands of other dtypes each
# For what a dtype rounds, and libraries of functions differ by.
TOLERANCE = {1: 0, 2: 2e-2, 4: 1e-4, 8: 1e-4, 16: 1e-9}

KNOWN = Table(
    "test_out_dtypes.KNOWN",
    Known(
        r"(add|sub|mul|div|floor_divide)\.Scalar\w*|(remainder|bitwise_\w+)\.Scalar_Tensor_out",
        "PyTorch refuses",
        "`add(x, 2, out=)` calls this overload; PyTorch's function calls that of tensors, which casts",
    ),
    Known("sum.out|prod.out", "PyTorch refuses", "`sum(x, out=)` calls this overload, which PyTorch's function lacks"),
    Known(
        r"conj_physical.out|_native_batch_norm_legit.no_stats_out",
        "PyTorch refuses",
        "kernels of their own: results are cast as those of elementwise operators",
    ),
    Known(r"mean.dtype_out", "complex.*PyTorch refuses", "averages are in the dtype of `out`, as sums are"),
    Known(r"(std|var)\.\w+", "complex.*PyTorch refuses", "real results are cast to complex ones, as elsewhere"),
    Known(r"(std|var).correction_out", "float16.*PyTorch refuses", "PyTorch has no kernel for short floats"),
    Known("fft_ifft.out", "complex.*PyTorch refuses", "PyTorch casts results of complex numbers only"),
    Known(
        "gelu_backward.grad_input",
        "float32.*PyTorch refuses",
        "PyTorch calls oneDNN, which takes no such `out`",
        only="some CPUs",
    ),
    Known("linspace.Scalar_Tensor_out", "uint8: PyTorch refuses", "a negative number is cast as one of a tensor is"),
    Known("_fft_(c2c|c2r|r2c).out", "refused", "internal: PyTorch checks nothing and casts unsafely"),
    Known(r"\w+_window\.\w+", "complex.*refused", "a window is real: complex ones are asked for in no other way"),
    Known(r"(lin|log)space\.(Scalar|Tensor)_\w+", "bool: refused", "`linspace` of numbers takes no bool either"),
    Known("nansum.out", "complex.*refused", "`nansum` takes no complex numbers"),
)  # fmt: skip


def compared() -> list[str]:
    """The operators that have `out=`; not those whose results are random, or left as they were."""
    return [
        name
        for name in of_kind(SchemaKind.OUT)
        if "nondeterministic_seeded" not in operators()[name].tags
        and not any(word in name for word in ("rand", "empty"))
    ]


def calls(name: str) -> Iterator[tuple[Sample, list[np.ndarray]]]:
    """Calls of an operator with operands of several dtypes, and what PyTorch returns of them, zeroed."""
    functional = functional_of(name)
    found = SAMPLES.get(name) or SAMPLES.get(functional)
    if found is None or name in NO_SAMPLES or functional in NO_SAMPLES or name in CRASHES:
        return
    seen = set()
    for one in found():
        dtypes = tuple(str(each.dtype) for arg in one.args for each in flat(arg) if isinstance(each, np.ndarray))
        if (dtypes, str(one.kwargs)) in seen:
            continue
        results = [
            call(find(functional), copied_sample(one), to) for find, to in ((theirs, to_torch), (ours, to_opwright))
        ]
        wanted = flat(results[0])
        if isinstance(results[1], Exception) or not all(isinstance(each, torch.Tensor) for each in wanted):
            continue
        if all(dtype_of(each) is not None for each in wanted) and any(each.numel() for each in wanted):
            seen.add((dtypes, str(one.kwargs)))
            yield one, [np.zeros(tuple(each.shape), dtype_of(each)) for each in wanted]
        if len(seen) == MOST:
            return


def flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def written(
    find: Callable[[str], Any], to: Callable[[Any], Any], name: str, one: Sample, outs: list[np.ndarray]
) -> Any:
    """What a library writes to arrays, or raises."""
    names = [argument.name for argument in operators()[name].schema.out_arguments]
    given = [to(copied(out)) for out in outs]
    args = [to(copied(value)) for value in one.args]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            find(name)(
                *args, **{key: to(value) for key, value in one.kwargs.items()}, **dict(zip(names, given, strict=True))
            )
    except Exception as error:
        return error
    return [numpy_of(each) if isinstance(each, torch.Tensor) else each.array for each in given]


def problems(name: str) -> Iterator[str]:
    for one, base in calls(name):
        if len(base) != len(operators()[name].schema.out_arguments):
            return
        differs = set()
        for number, own in enumerate(base):
            for dtype in sorted(DTYPES, key=lambda each: each != own.dtype):  # its own first
                outs = [np.zeros(own.shape, dtype) if each is own else each for each in base]
                wanted = written(theirs, to_torch, name, one, outs)
                found = written(ours, to_opwright, name, one, outs)
                case = f"{one}, result {number}: {own.dtype} to {dtype}"
                if isinstance(wanted, Exception) != isinstance(found, Exception):
                    yield f"{case}: {'PyTorch refuses' if isinstance(wanted, Exception) else f'refused: {found}'}"
                elif isinstance(wanted, Exception) or number in differs:
                    continue
                elif not is_close(found[number], wanted[number], own.dtype):
                    differs.add(number)
                    if dtype != own.dtype:  # (what differs in its own dtype is known of the operator)
                        yield f"{case}: {found[number].tolist()!r:.150}, not {wanted[number].tolist()!r:.150}"


def is_close(found: np.ndarray, wanted: np.ndarray, own: np.dtype) -> bool:
    bound = max(TOLERANCE[each.itemsize] if each.kind not in "biu" else 0 for each in (own, wanted.dtype))
    with np.errstate(all="ignore"):
        a, b = found.astype(np.complex128), wanted.astype(np.complex128)
        return bool(np.allclose(a, b, rtol=bound, atol=bound, equal_nan=True))


@pytest.mark.calls
@pytest.mark.parametrize("name", compared())
def test_dtypes_of_out(name: str) -> None:
    if not hasattr(getattr(torch.ops.aten, name.partition(".")[0], None), name.partition(".")[2] or "default"):
        pytest.skip("PyTorch has no such overload")
    wrong = [found for found in problems(name) if not KNOWN.covers(name, found)]
    assert not wrong, "\n".join(wrong[:5])


def test_what_functions_take_where_an_operand_is_a_number() -> None:
    for name, args in {"add": (2,), "mul": (2,), "div": (2,), "eq": (2,), "clamp": (0,), "neg": (), "any": ()}.items():
        for dtype in ("float64", "float32", "bool", "uint8"):
            kinds = []
            for library in (torch, opwright):
                out = library.zeros(() if name == "any" else 3, dtype=getattr(library, dtype))
                try:
                    getattr(library, name)(library.ones(3), *args, out=out)
                    kinds.append(out.tolist())
                except RuntimeError:
                    kinds.append("refused")
            assert kinds[0] == kinds[1], (name, dtype)


@pytest.mark.parametrize("name", ["neg", "argmax", "relu", "amax", "isnan", "square", "any"])
def test_fakes_refuse_the_same(name: str) -> None:
    accepted = {"square": "float64", "any": "uint8"}
    for dtype in ("float64", "uint8"):
        with opwright.fake.FakeTensorMode():
            x = opwright.ones(3)
            out = opwright.empty((0,), dtype=getattr(opwright, dtype))
            if accepted.get(name) == dtype:
                assert getattr(opwright, name)(x, out=out) is out
            else:
                with pytest.raises(RuntimeError, match=r"dtype|can't be cast"):
                    getattr(opwright, name)(x, out=out)
