"""Keys of dispatch, as bits of an int, and immutable sets of them.

A keyset is an int, so that stubs combine and look keysets up without a call. Private bits say more about a tensor or a
call than its keys do; table entries differ by them too.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from typing import Final

__all__ = [
    "ALIASES", "ARRAYS", "AUTOGRAD", "BACKENDS", "PRIVATE", "RUNTIME", "RUNTIME_KEYS", "DispatchKey", "KeySet",
    "autograd_of", "is_served_by_autograd_other", "parse_key",
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
# (30 to 39 are for Autograd of more backends, 44 to 59 free)
TRACER: Final = 1 << 40
AUTOCAST: Final = 1 << 41
BATCHED: Final = 1 << 42
FRONT_MODE: Final = 1 << 43

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
DENSE_PRIVATEUSE1: Final = PRIVATEUSE1 | ADINPLACEORVIEW | AUTOGRAD_PRIVATEUSE1
DENSE_PRIVATEUSE2: Final = PRIVATEUSE2 | ADINPLACEORVIEW | AUTOGRAD_PRIVATEUSE2
DENSE_PRIVATEUSE3: Final = PRIVATEUSE3 | ADINPLACEORVIEW | AUTOGRAD_PRIVATEUSE3

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


# Note [Foreign keys]
# PyTorch's schema files name kernels for keys that no tensor of ours carries (SparseCPU, MPS, QuantizedCUDA, …). Such
# a kernel is registered under its key's name, a str instead of a DispatchKey: errors can say that it exists, and
# one for a backend that shares AutogradOther makes a composite kernel ambiguous there, as it does in PyTorch.
_FOREIGN_BACKENDS: Final = ("HIP", "XLA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "MTIA", "MAIA")
_ALL_BACKENDS: Final = (*_FOREIGN_BACKENDS, "CPU", "CUDA", "Meta", "PrivateUse1", "PrivateUse2", "PrivateUse3")
_SHARE_AUTOGRAD_OTHER: Final = frozenset(
    (
        "FPGA", "Vulkan", "Metal", "CustomRNGKeyId", "MkldnnCPU",
        *(flavour + backend for flavour in ("Quantized", "Sparse", "SparseCsr") for backend in _ALL_BACKENDS),
    )
)  # fmt: skip
_FOREIGN: Final = _SHARE_AUTOGRAD_OTHER | frozenset(
    (
        *_FOREIGN_BACKENDS,
        *("Autograd" + backend for backend in _FOREIGN_BACKENDS),
        *("NestedTensor" + backend for backend in _ALL_BACKENDS),
        *("Autocast" + backend for backend in (*_FOREIGN_BACKENDS, "PrivateUse1")),
        "AutogradFunctionality", "AutogradNestedTensor", "BatchedNestedTensor", "CompositeImplicitAutogradNestedTensor",
        "Conjugate", "Dense", "FuncTorchBatchedDecomposition", "FuncTorchGradWrapper", "FuncTorchVmapMode", "IDEEP",
        "MKLDNN", "Named", "Negative", "NestedTensor", "OpenCL", "OpenGL", "PreDispatch", "PythonDispatcher",
        "PythonTLSSnapshot", "Quantized", "Sparse", "SparseCsr", "TESTING_ONLY_GenericMode",
        "TESTING_ONLY_GenericWrapper", "VmapMode", "ZeroTensor",
    )
)  # fmt: skip


def parse_key(text: str) -> DispatchKey | str:
    """Return the key of that name, or the name of a foreign key (Note [Foreign keys]). Raises ValueError."""
    return text if text in _FOREIGN else DispatchKey.parse(text)


def is_served_by_autograd_other(key: DispatchKey | str) -> bool:
    """Whether the key is a backend without an Autograd key of its own."""
    return key in _SHARE_AUTOGRAD_OTHER


class KeySet:
    """An immutable set of runtime keys. Alias keys add nothing to it, as in PyTorch.

    `bits` is the int that tensors carry. Private bits travel along in it and do not count in comparison.
    """

    __slots__ = ("bits",)
    bits: int

    def __init__(self, keys: int | DispatchKey | str | Iterable[DispatchKey | str] = 0) -> None:
        object.__setattr__(self, "bits", key_bits(keys))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a KeySet is immutable: {name} cannot be set")

    @classmethod
    def full(cls) -> KeySet:
        """Return every runtime key, and the private bits."""
        return cls(RUNTIME | PRIVATE)

    @classmethod
    def after(cls, key: DispatchKey | str) -> KeySet:
        """Return the keys dispatched to after `key`, and the private bits: a kernel at `key` masks with them."""
        return cls(key_bits(key) - 1 & RUNTIME | PRIVATE)

    def add(self, key: DispatchKey | str) -> KeySet:
        """Return the set with `key`."""
        return KeySet(self.bits | key_bits(key))

    def remove(self, key: DispatchKey | str) -> KeySet:
        """Return the set without `key`."""
        return KeySet(self.bits & ~key_bits(key))

    def has(self, key: DispatchKey | str) -> bool:
        """Whether `key` is in the set."""
        return self.bits & key_bits(key) != 0

    __contains__ = has

    def highest(self) -> DispatchKey:
        """Return the key that is dispatched to first; Undefined for the empty set."""
        return next(iter(self), DispatchKey.Undefined)

    def __or__(self, other: KeySet) -> KeySet:
        return KeySet(self.bits | other.bits) if isinstance(other, KeySet) else NotImplemented

    def __and__(self, other: KeySet) -> KeySet:
        return KeySet(self.bits & other.bits) if isinstance(other, KeySet) else NotImplemented

    def __sub__(self, other: KeySet) -> KeySet:
        return KeySet(self.bits & ~(other.bits & RUNTIME)) if isinstance(other, KeySet) else NotImplemented

    def __iter__(self) -> Iterator[DispatchKey]:
        bits = self.bits
        return (key for key in RUNTIME_KEYS if bits & key.value)

    def __len__(self) -> int:
        return (self.bits & RUNTIME).bit_count()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeySet) and (self.bits ^ other.bits) & RUNTIME == 0

    def __hash__(self) -> int:
        return hash(self.bits & RUNTIME)

    def __reduce__(self) -> tuple[type[KeySet], tuple[tuple[DispatchKey, ...]]]:
        return KeySet, (tuple(self),)

    def __repr__(self) -> str:
        return f"KeySet({', '.join(key.name for key in self)})"


def key_bits(keys: int | DispatchKey | str | Iterable[DispatchKey | str]) -> int:
    """Return the bits of a key, its name, several of them, or of an int that is bits already."""
    if isinstance(keys, int):
        return keys
    if isinstance(keys, KeySet):
        return keys.bits
    if isinstance(keys, DispatchKey):
        return keys.bit
    if isinstance(keys, str):
        return DispatchKey.parse(keys).bit
    bits = 0
    for key in keys:
        bits |= key_bits(key)
    return bits
