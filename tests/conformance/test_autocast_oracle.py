"""Autocast against PyTorch: the dtypes of what every operator returns within regions, on the CPU and on CUDA.

PyTorch's fake tensors claim CUDA without a GPU, and so do ours: what its lists for CUDA say shows in their dtypes.
"""

from __future__ import annotations

import itertools
import logging
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pytest
import seeds
from declared import operators
from known_versions import RESULTS, is_not_there
from samples import sampled, samples_of
from sampling import FLOAT16, FLOAT32, Sample, bfloat16

import opwright
from opwright.fake import FakeTensorMode
from opwright_codegen.schema.model import SchemaKind

torch = pytest.importorskip("torch", reason="PyTorch is the oracle: make test ORACLE=1")
theirs_fake = pytest.importorskip("torch._subclasses.fake_tensor")
from excuses import Known, Table  # noqa: E402
from oracle import _DTYPES, copied, to_opwright, to_torch  # noqa: E402

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
SHORT = {"float16": (opwright.float16, torch.float16), "bfloat16": (opwright.bfloat16, torch.bfloat16)}

KNOWN = Table(
    "test_autocast_oracle.KNOWN",
    Known("(linalg_)?matrix_exp", "float16.*prioritize", "PyTorch refuses half where a region is of bfloat16"),
    Known(
        "roll|fft_i?fftshift|unique_dim(_consecutive)?",
        "not RuntimeError",
        "their kernels stack or join copies, and meet autocast there",
    ),
    Known(
        ".*_backward",
        "on (cpu|cuda)",
        "ours are made of operators that autocast casts; backward passes run outside of regions",
    ),
    Known(
        "_euclidean_dist|_safe_softmax|pinverse|linalg_pinv.*",
        "on cuda",
        "PyTorch's fake kernels of these run without autocast, its real ones with it, as the CPU's above do",
    ),
)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def operator(module: Any, name: str) -> Callable[..., Any]:
    base, _, overload = name.partition(".")
    found: Callable[..., Any] = getattr(getattr(module.ops.aten, base), overload or "default")
    return found


def recast(value: Any, dtypes: Iterator[np.dtype[Any]]) -> Any:
    """The value with its float32 arrays in dtypes that are taken from `dtypes` in turn."""
    if isinstance(value, list):
        return [recast(each, dtypes) for each in value]
    if isinstance(value, np.ndarray) and value.dtype == FLOAT32:
        return value.astype(next(dtypes))
    return copied(value)


def variants(one: Sample, short: np.dtype[Any], other: np.dtype[Any]) -> Iterator[Sample]:
    """The sample in float32, in short floats, and in both at once."""
    for cycle in ((FLOAT32,), (short,), (short, FLOAT32), (FLOAT32, short), (other,)):
        dtypes = itertools.cycle(cycle)
        yield Sample(
            tuple(recast(arg, dtypes) for arg in one.args),
            {name: recast(value, dtypes) for name, value in one.kwargs.items()},
        )


def has_float32(one: Sample) -> bool:
    def holds(value: Any) -> bool:
        if isinstance(value, list):
            return any(map(holds, value))
        return isinstance(value, np.ndarray) and value.dtype == FLOAT32 and value.size > 0

    return any(holds(value) for value in (*one.args, *one.kwargs.values()))


def dtypes_of(found: Any) -> Any:
    """The dtypes of results, as PyTorch's and ours are written alike."""
    if isinstance(found, list | tuple):
        return [dtypes_of(each) for each in found]
    if isinstance(found, torch.Tensor):
        return str(_DTYPES.get(found.dtype, "unknown"))
    return str(found.dtype) if isinstance(found, opwright.Tensor) else None


def outcome(function: Callable[..., Any], one: Sample, convert: Callable[[Any], Any]) -> Any:
    args = [convert(copied(arg)) for arg in one.args]
    kwargs = {name: convert(copied(value)) for name, value in one.kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return dtypes_of(function(*args, **kwargs))
        except Exception as error:
            return error


Convert = Callable[[Any], Any]


def compared(name: str, device: str, most: int, on: Convert, on_torch: Convert) -> list[str]:
    """What differs for an operator: so many samples in regions of one short float, the first as it is in the other."""
    found = []
    chosen = [one for one in samples_of(name) if has_float32(one)][:most]
    for one in chosen:
        found += differences(name, device, "bfloat16", variants(one, bfloat16, FLOAT16), on, on_torch)
    for one in chosen[:1]:
        found += differences(name, device, "float16", [one], on, on_torch)
    return found


def differences(
    name: str, device: str, short: str, forms: Iterable[Sample], on: Convert, on_torch: Convert
) -> Iterator[str]:
    """What differs in a region, of what PyTorch computes there."""
    ours, theirs = SHORT[short]
    for each in forms:
        with torch.autocast(device, theirs) if device == "cpu" else region(torch, theirs):
            wanted = outcome(operator(torch, name), each, on_torch)
        if isinstance(wanted, Exception) and "autocast" not in str(wanted):
            continue
        with opwright.autocast(device, ours):
            mine = outcome(operator(opwright, name), each, on)
        problem = f"{name}{each} on {device} in {short}: {mine!r:.200}, not {wanted!r:.100}"
        if is_alike(mine, wanted):
            continue
        plain = outcome(operator(opwright, name), each, on), outcome(operator(torch, name), each, on_torch)
        is_known = KNOWN.covers(name, problem) or RESULTS.covers(name, problem)
        if is_alike(*plain) and not is_known:  # else it is no matter of autocast
            yield problem


def is_alike(mine: Any, wanted: Any) -> bool:
    return isinstance(mine, Exception) if isinstance(wanted, Exception) else bool(mine == wanted)


class region:
    """PyTorch's region for CUDA, which `torch.autocast` would leave off without a GPU."""

    def __init__(self, module: Any, dtype: Any) -> None:
        self.dtype = dtype

    def __enter__(self) -> None:
        torch.set_autocast_enabled("cuda", True)
        torch.set_autocast_dtype("cuda", self.dtype)

    def __exit__(self, *_: object) -> None:
        torch.set_autocast_enabled("cuda", False)
        torch.set_autocast_dtype("cuda", torch.float16)
        torch.clear_autocast_cache()


def report(found: list[str]) -> None:
    if found:
        pytest.fail(f"{len(found)} differences\n" + "\n".join(found[:40]), pytrace=False)


@pytest.mark.parametrize("device", ["CPU", "CUDA"])
def test_what_is_cast_is_what_pytorch_casts(device: str) -> None:
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    known = set(torch._C._dispatch_get_all_op_names())
    found, wanted = set(), set()
    for name, each in operators().items():
        if is_not_there(name):
            continue
        qualified = f"aten::{name}"
        policy = dict(each.autocast).get(device) or dict(each.autocast).get("")
        if policy not in (None, "unchanged"):
            found.add(name)
        if qualified in known and has_kernel(qualified, f"Autocast{device}"):
            wanted.add(name)
    assert found == wanted
    assert len(found) > 85


def functional_names() -> list[str]:
    return [name for name in sampled(SchemaKind.FUNCTIONAL) if not is_not_there(name)]


def test_dtypes_on_the_cpu() -> None:
    report([each for name in functional_names() for each in compared(name, "cpu", 2, to_opwright, to_torch)])


def test_operators_in_place_on_the_cpu() -> None:
    report([each for name in sampled(SchemaKind.INPLACE) for each in compared(name, "cpu", 1, to_opwright, to_torch)])


def test_dtypes_on_cuda() -> None:
    theirs, ours = theirs_fake.FakeTensorMode(), FakeTensorMode()

    def on(value: Any) -> Any:
        if isinstance(value, list):
            return [on(each) for each in value]
        if not isinstance(value, np.ndarray):
            return to_opwright(value)
        return opwright.empty(list(value.shape), dtype=value.dtype, device="cuda")

    def on_torch(value: Any) -> Any:
        if isinstance(value, list):
            return [on_torch(each) for each in value]
        if not isinstance(value, np.ndarray):
            return to_torch(value)
        return torch.empty(value.shape, dtype=to_torch(value.dtype), device="cuda")

    with theirs, ours:
        report([each for name in functional_names() for each in compared(name, "cuda", 1, on, on_torch)])


@pytest.mark.parametrize("short", SHORT)
def test_a_network_and_its_gradients(short: str) -> None:
    """Dtypes of all steps, values and gradients to the digits that the short dtype has."""
    ours, theirs = SHORT[short]
    random = seeds.numpy_generator(3)
    shapes = {"images": (2, 3, 6, 6), "kernels": (4, 3, 3, 3), "weight": (64, 5), "gain": (5,), "slope": (4,)}
    values = {name: random.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}

    def steps(library: Any, given: dict[str, Any]) -> list[Any]:
        functional = library.nn.functional
        maps = functional.prelu(
            functional.conv2d(given["images"], given["kernels"], None, 1, 1)[:, :, :4, :4], given["slope"]
        )
        scores = maps.flatten(1) @ given["weight"]
        normed = functional.layer_norm(scores, [5], given["gain"])
        joined = library.cat([normed, scores.float(), library.stack([scores, scores]).sum(0)], 1)
        loss = functional.cross_entropy(joined, library.tensor([1, 7]))
        return [maps, scores, normed, joined, loss]

    mine = {name: opwright.tensor(value, requires_grad=True) for name, value in values.items()}
    other = {name: torch.tensor(value, requires_grad=True) for name, value in values.items()}
    with opwright.autocast("cpu", ours):
        found = steps(opwright, mine)
    with torch.autocast("cpu", theirs):
        wanted = steps(torch, other)
    assert dtypes_of(found) == dtypes_of(wanted)
    found[-1].backward()
    wanted[-1].backward()
    for name in values:
        a, b = mine[name].grad, other[name].grad
        assert a is not None and dtypes_of(a) == dtypes_of(b) == "float32"
        assert np.allclose(a.array, b.numpy(), rtol=0.05, atol=0.02), name
    assert np.allclose(found[-1].item(), wanted[-1].item(), rtol=0.01)


@pytest.mark.parametrize("short", SHORT)
def test_transforms_within_regions_and_regions_within_transforms(short: str) -> None:
    ours, theirs = SHORT[short]
    values = seeds.numpy_generator(5).uniform(-1, 1, (2, 3, 3)).astype(np.float32)

    def found(library: Any, func: Any, dtype: Any) -> list[Any]:
        x, w = library.tensor(values[0]), library.tensor(values[1])
        weight = library.tensor(values[1], requires_grad=True)

        def total(v: Any) -> Any:
            return (x @ v).float().sum() + (x @ weight).float().sum()

        def inside(v: Any) -> Any:
            with library.autocast("cpu", dtype):
                return library.cat([x @ v, x]).sum()

        with library.autocast("cpu", dtype):
            results = [x @ weight, func.grad(total)(w), *func.jvp(lambda v: x @ v, (w,), (w,)), x @ weight]
            results += [func.grad(func.grad(lambda v: ((v * w) @ w).float().sum().exp() / 9))(w[0, 0])]
            results += [func.vmap(lambda a: a @ weight)(x), func.vmap(library.nn.functional.l1_loss)(x.to(dtype), w)]
            results += [func.vmap(lambda a: library.cat([a, a.to(dtype)]))(x), func.jacrev(lambda v: (x @ v).sum(0))(w)]
        results += [func.grad(inside)(w), func.jvp(inside, (w,), (w,))[1]]
        return [*results, func.vmap(func.grad(inside))(library.stack([w, x]))]

    mine, other = found(opwright, opwright.func, ours), found(torch, torch.func, theirs)
    assert dtypes_of(mine) == dtypes_of(other)
    for a, b in zip(mine, other, strict=True):
        assert np.allclose(a.detach().float().array, b.detach().float().numpy(), rtol=0.03, atol=0.03)
