"""Keys of dispatch, as bits of an int, and immutable sets of them.

A keyset is an int, so that stubs combine and look keysets up without a call. Private bits say more about a tensor or a
call than its keys do; table entries differ by them too.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Final

__all__ = [
    "ALIASES", "ARRAYS", "AUTOGRAD", "BACKENDS", "PRIVATE", "RUNTIME", "RUNTIME_KEYS", "DispatchKey", "autograd_of",
]  # fmt: skip

# Note [Bits]
# A keyset is an int of up to 60 bits; the highest is dispatched to first. Python keeps 30 bits of an int in a digit,
# and an int of two digits takes a call some ns more: so what ordinary tensors carry lies below 2**30, and what few
# calls use above. Private bits are the lowest, so that `keys & (key - 1)` keeps them.

# Of a tensor: it requires grad; it is a view; it is not dense (strides other than exactly the contiguous
# ones, no dimension, or a dtype that computes in a wider one). Of a call: `no_grad`, inference mode, anomaly mode or
# the Python dispatcher is on. Of both: the tensor has a tangent; some tensor may have one.
GRAD: Final = 1 << 0
VIEW: Final = 1 << 1
NONDENSE: Final = 1 << 2
TANGENT: Final = 1 << 3
NO_GRAD: Final = 1 << 4
INFERENCE: Final = 1 << 5
ANOMALY: Final = 1 << 6
PYTHON_DISPATCHER: Final = 1 << 7
# (8 is free, and 11 and 12 are for more backends)
CPU: Final = 1 << 9
CUDA: Final = 1 << 10
PRIVATEUSE1: Final = 1 << 13
PRIVATEUSE2: Final = 1 << 14
PRIVATEUSE3: Final = 1 << 15
META: Final = 1 << 16
BACKEND_SELECT: Final = 1 << 17
BACK_MODE: Final = 1 << 18
PYTHON: Final = 1 << 19
FUNCTIONALIZE: Final = 1 << 20
# (21 is for Conjugate)
ADINPLACEORVIEW: Final = 1 << 22
AUTOGRAD_OTHER: Final = 1 << 23
AUTOGRAD_PRIVATEUSE3: Final = 1 << 24
AUTOGRAD_PRIVATEUSE2: Final = 1 << 25
AUTOGRAD_PRIVATEUSE1: Final = 1 << 26
AUTOGRAD_META: Final = 1 << 27
AUTOGRAD_CUDA: Final = 1 << 28
AUTOGRAD_CPU: Final = 1 << 29
# (30 to 39 are for Autograd of more backends, 45 to 59 free)
TRACER: Final = 1 << 40
AUTOCAST: Final = 1 << 41
BATCHED: Final = 1 << 42
FRONT_MODE: Final = 1 << 43
PRE_DISPATCH: Final = 1 << 44  # a class with `__torch_function__`

PRIVATE: Final = GRAD | VIEW | NONDENSE | TANGENT | NO_GRAD | INFERENCE | ANOMALY | PYTHON_DISPATCHER
BACKENDS: Final = CPU | CUDA | PRIVATEUSE1 | PRIVATEUSE2 | PRIVATEUSE3 | META
AUTOGRAD: Final = (
    AUTOGRAD_CPU | AUTOGRAD_CUDA | AUTOGRAD_META
    | AUTOGRAD_PRIVATEUSE1 | AUTOGRAD_PRIVATEUSE2 | AUTOGRAD_PRIVATEUSE3 | AUTOGRAD_OTHER
)  # fmt: skip

TRACKED: Final = AUTOGRAD | ADINPLACEORVIEW  # an inference tensor has none of these
# `keys & WRITE_BITS` is ADINPLACEORVIEW where a tensor may be written without a closer look: no view, no inference
# tensor.
WRITE_BITS: Final = ADINPLACEORVIEW | VIEW

# Where somebody looks at every call: dispatch modes below Autograd, a recorder above it.
WATCHED: Final = PYTHON | TRACER

# What a contiguous tensor of each backend carries.
DENSE_CPU: Final = CPU | ADINPLACEORVIEW | AUTOGRAD_CPU
DENSE_CUDA: Final = CUDA | ADINPLACEORVIEW | AUTOGRAD_CUDA
DENSE_META: Final = META | ADINPLACEORVIEW | AUTOGRAD_META

# The keys of a call that goes to a CPU kernel alone: no mode, no autograd.
CPU_ALONE: Final = DENSE_CPU | VIEW | NONDENSE | NO_GRAD

# Not a keyset: the table entry for plain NumPy arrays alone, with no mode switched on.
ARRAYS: Final = -1
# Nor is this: the entry for redispatch to no key at all. (A call without keys begins where a backend is selected.)
NO_KEYS: Final = -2


class DispatchKey(enum.Enum):
    """A runtime key, whose value is its bit, or an alias key, which stands for several of them."""

    Undefined = 0
    CPU = CPU
    CUDA = CUDA
    PrivateUse1 = PRIVATEUSE1
    PrivateUse2 = PRIVATEUSE2
    PrivateUse3 = PRIVATEUSE3
    Meta = META
    BackendSelect = BACKEND_SELECT
    BackMode = BACK_MODE
    Python = PYTHON
    Functionalize = FUNCTIONALIZE
    ADInplaceOrView = ADINPLACEORVIEW
    AutogradOther = AUTOGRAD_OTHER
    AutogradPrivateUse3 = AUTOGRAD_PRIVATEUSE3
    AutogradPrivateUse2 = AUTOGRAD_PRIVATEUSE2
    AutogradPrivateUse1 = AUTOGRAD_PRIVATEUSE1
    AutogradMeta = AUTOGRAD_META
    AutogradCUDA = AUTOGRAD_CUDA
    AutogradCPU = AUTOGRAD_CPU
    Tracer = TRACER
    Autocast = AUTOCAST
    Batched = BATCHED
    FrontMode = FRONT_MODE
    PreDispatch = PRE_DISPATCH
    Autograd = "Autograd"
    CompositeImplicitAutograd = "CompositeImplicitAutograd"
    CompositeExplicitAutograd = "CompositeExplicitAutograd"
    CompositeExplicitAutogradNonFunctional = "CompositeExplicitAutogradNonFunctional"

    __hash__ = object.__hash__  # members are singletons, and Enum's own hash is a Python function

    bit: int  # 0 for Undefined and for alias keys, which are not runtime keys
    is_alias: bool

    def __init__(self, value: int | str) -> None:
        self.is_alias = isinstance(value, str)
        self.bit = 0 if isinstance(value, str) else value

    @classmethod
    def parse(cls, text: str) -> DispatchKey:
        """Return the key of that name; PyTorch's names are known too. Raises ValueError."""
        found = cls.__members__.get(PYTORCH_NAMES.get(text, text))
        if found is None:
            raise ValueError(f"could not parse dispatch key {text!r}; the keys are {', '.join(cls.__members__)}")
        return found

    def __reduce_ex__(self, protocol: object) -> tuple[Callable[[str], DispatchKey], tuple[str]]:
        return DispatchKey.parse, (self.name,)  # bits may move

    def __repr__(self) -> str:
        return f"DispatchKey.{self.name}"


# Where PyTorch says it otherwise: it has one Autocast key per device, and functorch's names are long.
PYTORCH_NAMES: Final = {
    "AutocastCPU": "Autocast",
    "AutocastCUDA": "Autocast",
    "FuncTorchBatched": "Batched",
    "FuncTorchDynamicLayerFrontMode": "FrontMode",
    "FuncTorchDynamicLayerBackMode": "BackMode",
    "CatchAll": "CompositeImplicitAutograd",
}

# From the first dispatched to to the last.
RUNTIME_KEYS: Final = tuple(sorted((k for k in DispatchKey if k.bit), key=lambda k: -k.bit))
RUNTIME: Final = sum(k.bit for k in RUNTIME_KEYS)
ALIASES: Final = {
    DispatchKey.Autograd: AUTOGRAD,
    DispatchKey.CompositeImplicitAutograd: BACKENDS | AUTOGRAD,
    DispatchKey.CompositeExplicitAutograd: BACKENDS,
    DispatchKey.CompositeExplicitAutogradNonFunctional: BACKENDS,
}

_AUTOGRAD_OF: Final = {
    CPU: AUTOGRAD_CPU,
    CUDA: AUTOGRAD_CUDA,
    META: AUTOGRAD_META,
    PRIVATEUSE1: AUTOGRAD_PRIVATEUSE1,
    PRIVATEUSE2: AUTOGRAD_PRIVATEUSE2,
    PRIVATEUSE3: AUTOGRAD_PRIVATEUSE3,
}


def autograd_of(backend: int) -> int:
    """Return the Autograd bit of a backend bit."""
    return _AUTOGRAD_OF[backend]


def key_bits(keys: int | DispatchKey | str | Iterable[DispatchKey | str]) -> int:
    """Return the bits of a key, its name, several of them, or of an int that is bits already."""
    if isinstance(keys, int):
        return keys
    if isinstance(keys, DispatchKey):
        return keys.bit
    if isinstance(keys, str):
        return DispatchKey.parse(keys).bit
    if (bits := getattr(keys, "bits", None)) is not None:  # a KeySet (`opwright_core.keysets`)
        return int(bits)
    bits = 0
    for key in keys:
        bits |= key_bits(key)
    return bits
