"""The dispatch keys of PyTorch's that no tensor of ours carries."""

from __future__ import annotations

from typing import Final

from opwright_core.keys import DispatchKey

__all__ = ["is_served_by_autograd_other", "parse_key"]


# Note [Foreign keys]
# PyTorch's schema files name kernels for keys that no tensor of ours carries (SparseCPU, MPS, QuantizedCUDA, …). Such
# a kernel is registered under its key's name, a str in place of a DispatchKey: errors can say that it exists, and
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
        "MKLDNN", "Named", "Negative", "NestedTensor", "OpenCL", "OpenGL", "PythonDispatcher",
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
