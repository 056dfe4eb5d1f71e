"""PyTorch's operator database on our operators: values, gradients and fakes of its samples beside PyTorch's own.

`python tests/conformance/operator_database.py [NAME …]` takes all samples of all entries, or of those that are named,
in float32 and one more dtype, and prints what differs and how much agrees.
"""

from __future__ import annotations

import random
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import islice
from typing import Any

import numpy as np
from database_entries import KNOWN_SAMPLES, METHODS, OURS, TIED, is_random, why_left_out
from faking import converted
from known_versions import RESULTS
from oracle import numpy_of, torch

import opwright
import opwright.nn.functional
from opwright.fake import DataDependentOutputError, DynamicOutputShapeError, FakeTensorMode

_NAMES = "bool uint8 int8 int16 int32 int64 uint64 float16 bfloat16 float32 float64 complex64 complex128"
_DTYPES = {getattr(torch, name): getattr(opwright, name) for name in _NAMES.split()}
_FORMATS = {
    getattr(torch, name): getattr(opwright, name)
    for name in ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
}

# How far values may be apart, as a share of the largest number (at least of 1), for what a sum of many of them rounds.
_TOLERANCE = {
    "float16": 2e-2,
    "bfloat16": 1e-1,
    "float32": 2e-4,
    "float64": 1e-8,
    "complex64": 2e-4,
    "complex128": 1e-8,
}
_NOT_KNOWN = (DataDependentOutputError, DynamicOutputShapeError)


def name_of(entry: Any) -> str:
    """What an entry is called: its operator, and which of its ways of being called."""
    return f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else str(entry.name)


@cache
def entries() -> dict[str, Any]:
    """The entries of PyTorch's database by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal import common_utils
        from torch.testing._internal.common_methods_invocations import op_db
    # For each sample these look through the stack: for a TestCase that asks, and for who seeds devices not here.
    common_utils.extract_test_fn = lambda: None
    common_utils.set_rng_seed = _seed
    return {name_of(entry): entry for entry in op_db}


def _seed(seed: int) -> None:
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def ours(entry: Any) -> Callable[..., Any] | None:
    """Our function for an entry: by its name in `opwright`, or a method of Tensor; None where there is none."""
    if (special := OURS.get(name_of(entry), OURS.get(entry.name))) is not None:
        return special
    if entry.name in METHODS:
        return getattr(opwright.Tensor, entry.name)
    found: Any = opwright
    for part in entry.name.removeprefix("torch.").split("."):
        found = getattr(found, part, None)
    return found if found is not None else getattr(opwright.Tensor, entry.name, None)


def dtypes_of(entry: Any) -> list[Any]:
    """PyTorch's dtypes that an entry is tried with: float32, if it serves that, and one that its name chooses."""
    served = sorted((each for each in entry.dtypes if each in _DTYPES), key=str)
    chosen = [torch.float32] if torch.float32 in served else []
    others = [each for each in served if each not in (torch.float32, torch.float64)]
    return chosen + ([others[zlib.crc32(name_of(entry).encode()) % len(others)]] if others else [])


def samples_of(entry: Any, dtype: Any, *, few: int | None = None) -> Iterator[Any]:
    """The samples of an entry; `few`: so many of the first twelve, another few for each entry."""
    torch.default_generator.manual_seed(0)
    requires_grad = entry.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    samples = entry.sample_inputs("cpu", dtype, requires_grad=requires_grad)
    if few is None:
        return iter(samples)
    first = list(islice(samples, 12))
    start = zlib.crc32(f"{name_of(entry)} {dtype}".encode()) % max(len(first), 1)
    step = max(len(first) // few, 1)
    return iter([first[(start + step * number) % len(first)] for number in range(min(few, len(first)))])


def to_ours(value: Any) -> Any:
    """An argument for us, of the strides that PyTorch's has, in memory of its own."""
    if isinstance(value, torch.Tensor):
        return _to_our_tensor(value)
    if isinstance(value, list | tuple):
        items = [to_ours(each) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, torch.dtype | torch.memory_format):
        return _DTYPES[value] if isinstance(value, torch.dtype) else _FORMATS[value]
    if isinstance(value, torch.layout | torch.device):
        return opwright.strided if isinstance(value, torch.layout) else "cpu"
    return value


def _to_our_tensor(value: Any) -> Any:
    """PyTorch's tensor as ours: the same place in a copy of the memory that it is a view of."""
    with torch.no_grad():
        plain = value.detach()
        if plain.is_conj() or plain.is_neg() or plain._is_zerotensor():
            plain = plain.resolve_conj().resolve_neg().clone()
        size = plain.untyped_storage().nbytes() // plain.element_size()
        memory = opwright.from_numpy(numpy_of(plain.as_strided((size,), (1,), 0)).copy())
    tensor = memory.as_strided(plain.shape, plain.stride(), plain.storage_offset())
    return tensor.requires_grad_() if value.requires_grad else tensor


class Sample:
    """One call of an entry, for PyTorch and for us."""

    def __init__(self, entry: Any, sample: Any) -> None:
        self.entry, self.theirs = entry, (sample.input, *sample.args)
        self.kwargs = {name: value for name, value in sample.kwargs.items() if value is not None}
        self.ours = [to_ours(each) for each in self.theirs]
        self.process = sample.output_process_fn_grad
        self.our_kwargs = {name: to_ours(value) for name, value in self.kwargs.items()}

    def __repr__(self) -> str:
        shown = [_shown(each) for each in self.theirs]
        return ", ".join(shown + [f"{name}={_shown(value)}" for name, value in self.kwargs.items()])

    def problems(self) -> Iterator[str]:
        """What differs: of values, then of gradients, then of what is known without data."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            expected = _called(self.entry.op, self.theirs, self.kwargs)
            found = _called(ours(self.entry), self.ours, self.our_kwargs)  # type: ignore[arg-type]
            if isinstance(expected, Exception) or isinstance(found, Exception):
                if not isinstance(expected, Exception):
                    yield f"raises {found!r:.300}"
                elif not isinstance(found, Exception):
                    yield f"PyTorch raises {expected!r:.300}"
                return
            random = is_random(self.entry.name, self.kwargs)
            seen = (found, expected) if random else self.comparable(found, expected)
            yield from _differences("value", *seen, values=not random)
            if not random:
                yield from self.gradient_problems(*seen)
            yield from self.fake_problems(found)

    def comparable(self, found: Any, expected: Any) -> tuple[Any, Any]:
        """What of both results does not depend on the choice among equals: of places, what is there; of
        decompositions, what PyTorch's own tests look at."""
        if self.entry.name in TIED and (isinstance(expected, tuple) or self.entry.name == "argsort"):
            place = TIED[self.entry.name]
            given = self.theirs[1:][place : place + 1]
            dim = self.kwargs.get("dim", given[0] if given else -1)
            return tuple(_taken(*each, dim) for each in ((found, self.ours[0]), (expected, self.theirs[0])))
        return self.process(found), self.process(expected)

    def gradient_problems(self, found: Any, expected: Any) -> Iterator[str]:
        """What differs of the gradients of a random combination of the results."""
        both = zip(flat(found), flat(expected), strict=False)
        pairs = [(a, b) for a, b in both if _wants_gradient(b) and b.dtype in _DTYPES]
        theirs = [each for each in flat([self.theirs, list(self.kwargs.values())]) if _wants_gradient(each)]
        mine = [each for each in flat([self.ours, list(self.our_kwargs.values())]) if _wants_gradient(each)]
        if not pairs or not theirs:
            return
        torch.default_generator.manual_seed(1)
        grads = [torch.randn_like(b) for _, b in pairs]
        wanted = _called(torch.autograd.grad, ([b for _, b in pairs], theirs, grads), {"allow_unused": True})
        if isinstance(wanted, Exception):
            return  # what PyTorch does not differentiate
        ours_ = ([a for a, _ in pairs], mine, [to_ours(each) for each in grads])
        got = _called(opwright.autograd.grad, ours_, {"allow_unused": True})
        if isinstance(got, Exception):
            yield f"gradient raises {got!r:.300}"
            return
        for number, (a, b) in enumerate(zip(got, wanted, strict=True)):
            if a is None or b is None:
                some = a if a is not None else b
                if some is not None and bool((some != 0).any()):
                    yield f"gradient {number} is {'missing' if a is None else 'there'}"
            else:
                yield from _differences(f"gradient {number}", a, b)

    def fake_problems(self, found: Any) -> Iterator[str]:
        """What differs between the real result and that of a call without data."""
        mode = FakeTensorMode(allow_non_fake_inputs=True)
        fakes = converted([self.ours, list(self.our_kwargs.values())], mode.from_tensor, opwright.Tensor)
        with mode:
            got = _called(ours(self.entry), fakes[0], dict(zip(self.our_kwargs, fakes[1], strict=True)))  # type: ignore[arg-type]
        if isinstance(got, _NOT_KNOWN):
            return
        if isinstance(got, Exception):
            yield f"fake raises {got!r:.300}"
            return
        for number, (a, b) in enumerate(zip(flat(got), flat(found), strict=False)):
            if isinstance(b, opwright.Tensor):
                if not isinstance(a, opwright.Tensor):
                    yield f"fake {number} is {type(a).__name__}"
                elif all(isinstance(size, int) for size in a.shape):
                    facts_ = [(tuple(t.shape), t.stride(), t.dtype, t.requires_grad) for t in (a, b)]
                    if facts_[0] != facts_[1]:
                        yield f"fake {number} {facts_[0]}, not {facts_[1]}"


def _taken(result: Any, source: Any, dim: int) -> Any:
    """What came of a call, with what the source has at places in the stead of these."""
    values, places = result if isinstance(result, tuple) else (result, result)
    if not source.ndim:
        return values
    taken = source.detach().gather(dim, places if places.ndim == source.ndim else places.unsqueeze(dim))
    return (values, taken) if isinstance(result, tuple) else taken


def flat(value: Any) -> list[Any]:
    """What lists and tuples hold, one by one."""
    return [each for item in value for each in flat(item)] if isinstance(value, list | tuple) else [value]


def _wants_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor | opwright.Tensor) and value.requires_grad


def _shown(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype)[6:]}{list(value.shape)}"
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, list | tuple) else repr(value)


def _called(function: Callable[..., Any], args: Iterable[Any], kwargs: dict[str, Any]) -> Any:
    torch.default_generator.manual_seed(0)
    opwright.manual_seed(0)
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return error


def _differences(what: str, found: Any, expected: Any, *, values: bool = True) -> Iterator[str]:
    got, wanted = flat(found), flat(expected)
    if len(got) != len(wanted):
        yield f"{what}: {len(got)} results, not {len(wanted)}"
        return
    for a, b in zip(got, wanted, strict=True):
        if not isinstance(b, torch.Tensor):
            same = a == b or (a != a and b != b) or type(a).__name__ == type(b).__name__
            if isinstance(b, bool | int | float | str) and not same:
                yield f"{what} {a!r}, not {b!r}"
        elif not isinstance(a, opwright.Tensor):
            yield f"{what} is {type(a).__name__}, not a Tensor"
        elif b.dtype in _DTYPES:
            facts_ = (tuple(a.shape), a.dtype), (tuple(b.shape), _DTYPES[b.dtype])
            if facts_[0] != facts_[1]:
                yield f"{what} {facts_[0]}, not {facts_[1]}"
            elif values and b.numel():
                yield from _value_difference(what, a.detach().array, _numbers(b))


def _numbers(tensor: Any) -> np.ndarray:
    """PyTorch's tensor as an array, also one that only says that it is zero."""
    return numpy_of(torch.zeros_like(tensor) if tensor._is_zerotensor() else tensor.detach().resolve_neg())


def _value_difference(what: str, got: np.ndarray, wanted: np.ndarray) -> Iterator[str]:
    tolerance = _TOLERANCE.get(str(wanted.dtype), 0)
    if tolerance:
        kind = np.complex128 if wanted.dtype.kind == "c" else np.float64
        got, wanted = np.asarray(got).astype(kind), wanted.astype(kind)
    largest = np.abs(np.where(np.isfinite(wanted), wanted, 0)).max(initial=1) if tolerance else 0
    if not np.allclose(got, wanted, rtol=tolerance, atol=tolerance * largest, equal_nan=bool(tolerance)):
        yield f"{what} {np.ravel(got).tolist()!r:.200}, not {np.ravel(wanted).tolist()!r:.200}"


def agreement(entry: Any, dtype: Any, *, few: int | None = None) -> tuple[Counter[str], list[str]]:
    """How many samples agree, differ for a known reason, and differ; and what differs."""
    counts: Counter[str] = Counter()
    found = []
    for each in samples_of(entry, dtype, few=few):
        sample = Sample(entry, each)
        problems = list(sample.problems())
        known = all(
            any(table.covers(name_of(entry), f"{sample!r}: {text}") for table in (KNOWN_SAMPLES, RESULTS))
            for text in problems
        )
        counts["known" if problems and known else "differ" if problems else "agree"] += 1
        counts.update(f"{kind} differ" for kind in {_kind_of(problem) for problem in problems})
        if problems and not known:
            found.append(f"{name_of(entry)}({sample!r}): {'; '.join(problems)}")
    return counts, found


def _kind_of(problem: str) -> str:
    return "fakes" if problem.startswith("fake") else "gradients" if problem.startswith("gradient") else "values"


def errors_of(entry: Any) -> Iterator[str]:
    """What wrong calls of an entry give that PyTorch refuses, other than an error of the class of PyTorch's."""
    for each in entry.error_inputs("cpu"):
        if isinstance(each.sample_input.kwargs.get("out"), torch.Tensor | list | tuple):
            continue  # they share memory, which copies do not
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                sample = Sample(entry, each.sample_input)
            except (TypeError, KeyError, ValueError):
                continue  # on the device meta, of a dtype that NumPy has not, or of more than 64 dimensions
            expected = _called(entry.op, sample.theirs, sample.kwargs)
            found = _called(ours(entry), sample.ours, sample.our_kwargs)  # type: ignore[arg-type]
        if isinstance(expected, Exception) and not isinstance(found, type(expected)):
            text = repr(found) if isinstance(found, Exception) else "no error"
            yield f"{sample!r}: {text:.200}, but PyTorch raises {expected!r:.200}"


def main(names: list[str]) -> None:
    """Take all samples, and print what differs, and the share of samples whose values, gradients and fakes agree."""
    total: Counter[str] = Counter()
    for name, entry in entries().items():
        if (names and name not in names and entry.name not in names) or why_left_out(name) is not None:
            continue
        if ours(entry) is None:
            print("MISSING", name)
            continue
        for dtype in dtypes_of(entry):
            counts, found = agreement(entry, dtype)
            total += counts
            if found:
                print(name, dtype, dict(counts), *found[:3], sep="\n   ", flush=True)
    count = max(sum(total[each] for each in ("agree", "known", "differ")), 1)
    print(f"{count} samples: {dict(total)}, {100 * total['agree'] / count:.2f} % agree")
    shares = {kind: 100 * (1 - total[f"{kind} differ"] / count) for kind in ("values", "gradients", "fakes")}
    print(", ".join(f"{kind} {share:.2f} %" for kind, share in shares.items()))


if __name__ == "__main__":
    main(sys.argv[1:])
