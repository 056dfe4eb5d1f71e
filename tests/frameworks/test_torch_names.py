"""Names of PyTorch beside layers and optimizers: modules without data, settings, products, draws."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import opwright

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def moved(lib: Any) -> Any:
    from torch import nn

    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).to("meta")
    facts: list[Any] = [(name, each.device.type, tuple(each.shape)) for name, each in model.state_dict().items()]
    facts.append(tuple(model(lib.ones(4, 2, device="meta")).shape))
    source = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    model.load_state_dict(source.state_dict(), assign=True)
    facts.append(bool((model(lib.ones(4, 2)) == source(lib.ones(4, 2))).all()))
    empty = nn.Linear(2, 3, device="meta").to_empty(device="cpu")
    facts += [
        (each.device.type, tuple(each.shape), each.requires_grad, type(each).__name__) for each in empty.parameters()
    ]
    return facts


def placed(lib: Any) -> Any:
    from torch import nn

    with lib.device("meta"):
        model = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3), nn.Embedding(4, 2))
        facts: list[Any] = [(name, each.device.type) for name, each in model.state_dict().items()]
        facts.append([each.device.type for each in (lib.tensor([1.0]), lib.as_tensor(lib.ones(2, device="cpu")))])
    lib.set_default_device("meta")
    facts.append((nn.Linear(2, 3).weight.device.type, str(lib.get_default_device())))
    lib.set_default_device(None)
    return [*facts, lib.ones(1).device.type, str(lib.get_default_device())]


def stored(lib: Any) -> Any:
    x = lib.arange(6.0).view(2, 3)
    storage, typed = x[1:].untyped_storage(), x[1:].storage()
    facts = [storage.nbytes(), storage.size(), storage.data_ptr() == x.data_ptr(), str(storage.device)]
    facts += [typed.size(), typed.nbytes(), len(typed), typed[1], typed.tolist(), typed.element_size()]
    meta = lib.empty(3, 4, device="meta").untyped_storage()
    return [
        *facts,
        meta.nbytes(),
        meta.data_ptr(),
        isinstance(lib.strided, lib.layout),
        isinstance(lib.channels_last, lib.memory_format),
    ]


def converted(lib: Any) -> Any:
    from torch import nn

    model = nn.BatchNorm1d(2).to(lib.float64)
    x = lib.ones(2)
    moved = [x.to(None, lib.float64, False), x.to(None, lib.float64), x.to(None), x.to(None, None, False, True)]
    return [*(each.dtype.itemsize for each in (*model.state_dict().values(), *moved))]


def attended(lib: Any) -> Any:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    x = lib.arange(8.0).view(1, 2, 4)
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], set_priority=True):
        first = lib.nn.functional.scaled_dot_product_attention(x, x, x)
    with sdpa_kernel(SDPBackend.MATH):
        second = lib.nn.functional.scaled_dot_product_attention(x, x, x)
    return first.tolist() == second.tolist(), [(each, SDPBackend.__members__[each].value) for each in ("MATH", "ERROR")]


def multiplied(lib: Any) -> Any:
    a = lib.ones(2, 3, requires_grad=True)
    result = lib.spmm(a, lib.ones(3, 2))
    return result.tolist(), lib.autograd.grad(result.sum(), a)[0].tolist(), lib.dsmm(a, a.t()).tolist()


def set_up(lib: Any) -> Any:
    facts = [lib.get_float32_matmul_precision()]
    lib.set_float32_matmul_precision("high")
    facts.append(lib.get_float32_matmul_precision())
    lib.set_float32_matmul_precision("highest")
    for mode, options in ((True, {}), (True, {"warn_only": True}), (False, {})):
        lib.use_deterministic_algorithms(mode, **options)
        facts.append(lib.are_deterministic_algorithms_enabled())
        facts.append(lib.is_deterministic_algorithms_warn_only_enabled())
        facts.append(lib.get_deterministic_debug_mode())
    lib.set_deterministic_debug_mode("warn")
    facts.append(lib.get_deterministic_debug_mode())
    lib.set_deterministic_debug_mode(0)
    return facts, lib.version.hip, lib.numel(lib.ones(2, 3)), lib.ones(2).is_pinned()


def draws(lib: Any) -> Any:
    lib.manual_seed(4)
    chances = lib.tensor([[0.2, 0.0, 0.8], [0.5, 0.4, 0.1]])
    found = [lib.multinomial(chances, n, replacement).tolist() for n, replacement in ((1, True), (2, False), (7, True))]
    x = lib.ones(2)
    from torch import nn

    shown = repr(nn.Parameter(lib.ones(2)))
    return found, lib.rand(1).item(), lib.broadcast_tensors(x, lib.ones(2))[0] is x, shown


@pytest.mark.parametrize(
    "programme", [moved, placed, stored, converted, attended, multiplied, set_up, draws], ids=lambda each: each.__name__
)
def test_a_program_gives_what_pytorch_gives(programme: Any) -> None:
    expected = programme(torch)
    with opwright.as_torch() as ours:
        assert programme(ours) == expected


def test_what_is_not_here_says_so() -> None:
    with opwright.as_torch() as ours:
        for name in ("script", "trace", "load", "save"):
            with pytest.raises(NotImplementedError, match=f"torch.jit.{name}: there is no TorchScript"):
                getattr(ours.jit, name)(len)
        with pytest.raises(AttributeError, match=r"module 'torch.jit' has no attribute 'fork' under opwright.as_torch"):
            ours.jit.fork  # noqa: B018
        with pytest.raises(TypeError, match="must be bool, not int"):
            ours.use_deterministic_algorithms(1)
        with pytest.raises(TypeError, match="must be Tensor, not list"):
            ours.numel([1])
        with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
            ours.set_deterministic_debug_mode("sometimes")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            ours.set_float32_matmul_precision("low")
        assert "low is not one of 'highest', 'high', or 'medium'" in str(said[0].message)
        assert isinstance(ours.version.__version__, str) and ours.version.cuda is None
        x = ours.ones(2)
        assert x.pin_memory() is x
