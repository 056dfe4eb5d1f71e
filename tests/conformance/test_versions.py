"""Versions and views of every operator against PyTorch: which arguments a call counts writes of, and what its results
are views of. Fakes count and refer as real tensors do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pytest
from declared import functional_of, of_kind, operators
from differentiating import flattened
from faking import converted, operator
from samples import samples_of
from sampling import Sample

import opwright
from opwright.fake import FakeTensorMode
from opwright_codegen.schema.model import SchemaKind

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
from oracle import call, copied, dtype_of, to_opwright, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

VIEWS = [name for name, declared in operators().items() if declared.schema.is_view]
MOST = 5  # samples of an operator: what counts is the operator, hardly ever the arguments

# Operators whose versions or views are others than PyTorch's, and why.
OTHERWISE: dict[str, str] = {
    "empty.out": "counts as every out variant does",
    "kron.out": "counts as every out variant does",
    "fft_ihfft2.out": "PyTorch counts nothing for one dimension",
    "fft_ihfftn.out": "likewise",
    "linalg_matmul.out": "PyTorch counts twice where it multiplies a vector",
    "matmul.out": "likewise",
    "nanmean.out": "PyTorch counts twice",
    "svd.U": "PyTorch counts what it does on the way to V, too",
    "native_batch_norm.out": "a composite, which counts what it writes to the running statistics",
    "_batch_norm_with_update": "likewise",
    "rrelu_with_noise": "a composite, which counts what it writes to the noise",
    "rrelu_with_noise_": "a composite, which counts what it writes to the noise",
    "lift_fresh": "an alias; PyTorch gives the tensor itself",
}
# Operators of PyTorch that crash on samples.
CRASHES = ("rrelu_with_noise.out",)


class Outcome(NamedTuple):
    """What a call leaves: its result, how many writes each tensor among its arguments counted, and of each tensor in
    the result which arguments it is, whether it is a view, and which arguments are its base."""

    result: Any
    writes: list[int]
    views: list[tuple[list[int], bool, list[int]]]


def outcome(function: Any, one: Sample, convert: Callable[[Any], Any]) -> Outcome:
    args = [convert(copied(value)) for value in one.args]
    kwargs = {name: convert(copied(value)) for name, value in one.kwargs.items()}
    given = list(tensors([args, list(kwargs.values())]))
    before = [tensor._version for tensor in given]
    result = call(lambda: function(*args, **kwargs), Sample(()), convert)
    writes = [tensor._version - old for tensor, old in zip(given, before, strict=True)]

    def places(wanted: Any) -> list[int]:
        return [number for number, tensor in enumerate(given) if tensor is wanted]

    views = [(places(each), each._base is not None, places(each._base)) for each in tensors([result])]
    return Outcome(result, writes, views)


def to_fake(mode: FakeTensorMode, value: Any) -> Any:
    return converted(to_opwright(value), mode.from_tensor, opwright.Tensor)


def tensors(values: list[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple):
            yield from tensors(list(value))
        elif isinstance(value, opwright.Tensor | torch.Tensor):
            yield value


def theirs(name: str) -> Any:
    base, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, base), overload or "default")


def mixed_samples_of(name: str) -> list[Sample]:
    """The samples, some of all kinds first."""
    every = samples_of(name)
    step = max(1, len(every) // MOST)
    return [*every[::step], *(one for number, one in enumerate(every) if number % step)]


def problems(name: str, what: str, one: Sample) -> Iterator[str | None]:
    """How ours and a fake's differ from PyTorch's, None where they do not; nothing for a call that either refuses."""
    mine, other = outcome(operator(name), one, to_opwright), outcome(theirs(name), one, to_torch)
    if isinstance(mine.result, Exception) or isinstance(other.result, Exception):
        return
    with FakeTensorMode() as mode:
        fake = outcome(operator(name), one, partial(to_fake, mode))
    found, wanted = getattr(mine, what), getattr(other, what)
    yield None if found == wanted else f"{name}{one}: {found}, not {wanted}"
    if not isinstance(fake.result, Exception):
        found = getattr(fake, what)
        yield None if found == wanted else f"{name}{one}: the fake has {found}, not {wanted}"


def compare(name: str, what: str, samples: Iterable[Sample]) -> None:
    """Fail where ours and a fake's differ from PyTorch's, of the first few samples that both take."""
    compared = (found for one in samples if (found := list(problems(name, what, one))))
    tried = [each for found in islice(compared, MOST) for each in found]
    wrong = [each for each in tried if each is not None]
    if name in OTHERWISE:
        assert wrong
    elif wrong or not tried:
        pytest.fail("\n".join(wrong) or "nothing compared", pytrace=False)


@pytest.mark.parametrize("name", of_kind(SchemaKind.INPLACE, SchemaKind.MUTABLE))
def test_writes(name: str) -> None:
    compare(name, "writes", mixed_samples_of(name))


@pytest.mark.calls
@pytest.mark.parametrize("name", [name for name in of_kind(SchemaKind.OUT) if name not in CRASHES])
def test_writes_to_out(name: str) -> None:
    compare(name, "writes", (found for one in mixed_samples_of(name) if (found := with_outs(name, one)) is not None))


def with_outs(name: str, one: Sample) -> Sample | None:
    """The call with a tensor for each result; None where PyTorch raises, or has another dtype than we."""
    found = outcome(theirs(functional_of(name)), one, to_torch).result
    results = list(found) if isinstance(found, tuple) else [found]
    schema = operators()[name].schema
    tensors = flattened(results)
    if len(tensors) < len(results) or not all(isinstance(each, torch.Tensor) and dtype_of(each) for each in tensors):
        return None
    outs = {argument.name: like(result) for argument, result in zip(schema.out_arguments, results, strict=False)}
    known = {argument.name for argument in schema.arguments}  # a factory's dtype is that of `out`
    return Sample(one.args, {**{key: value for key, value in one.kwargs.items() if key in known}, **outs})


def like(result: Any) -> Any:
    if isinstance(result, list):
        return [like(each) for each in result]
    return np.zeros(result.shape, dtype_of(result))


@pytest.mark.parametrize("name", VIEWS)
def test_views(name: str) -> None:
    compare(name, "views", mixed_samples_of(name))
