"""Names of schema files: keys of `dispatch:`, PyTorch's and ours; the namespace and the kernel of who names none."""

from opwright_codegen.errors import nearest
from opwright_codegen.schema.model import FunctionSchema, SchemaKind

PYTORCHS = "aten"  # the namespace of PyTorch's operators, which its schema files do not write
BACKENDS = (
    "CPU", "CUDA", "HIP", "XLA", "MTIA", "MPS", "IPU", "XPU", "HPU", "VE", "Lazy", "Meta",
    "PrivateUse1", "PrivateUse2", "PrivateUse3",
)  # fmt: skip
# A backend's kernels come in these flavours: `SparseCPU` is the CPU kernel for sparse tensors.
FUNCTIONALITIES = ("", "Quantized", "Sparse", "SparseCsr", "NestedTensor", "Autograd")

COMPOSITE_KEYS = (
    "CompositeImplicitAutograd",
    "CompositeImplicitAutogradNestedTensor",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)

# Keys that belong to no backend, or to one that has no further flavours.
_SINGLE_KEYS = (
    "ADInplaceOrView", "Autocast", "AutocastCPU", "AutocastCUDA", "AutocastXPU", "Autograd", "AutogradFunctionality",
    "AutogradNestedTensor", "AutogradOther", "BackendSelect", "Batched", "BatchedNestedTensor", "Conjugate",
    "CustomRNGKeyId", "Dense", "FPGA", "FuncTorchBatched", "FuncTorchBatchedDecomposition",
    "FuncTorchDynamicLayerBackMode", "FuncTorchDynamicLayerFrontMode", "FuncTorchGradWrapper", "FuncTorchVmapMode",
    "Functionalize", "IDEEP", "MAIA", "MKLDNN", "Metal", "MkldnnCPU", "Named", "Negative", "NestedTensor", "OpenCL",
    "OpenGL", "PreDispatch", "Python", "PythonDispatcher", "PythonTLSSnapshot", "Sparse", "SparseCsr",
    "TESTING_ONLY_GenericMode", "TESTING_ONLY_GenericWrapper", "Tracer", "VmapMode", "Vulkan", "ZeroTensor",
)  # fmt: skip

DISPATCH_KEYS = frozenset(
    (*_SINGLE_KEYS, *COMPOSITE_KEYS, *(flavour + backend for flavour in FUNCTIONALITIES for backend in BACKENDS))
)

# What people write instead of a key, in small letters.
OTHER_NAMES = {
    **dict.fromkeys(("gpu", "nvidia", "cupy", "cudnn"), "CUDA"),
    **dict.fromkeys(("numpy", "host", "x86", "native"), "CPU"),
    **dict.fromkeys(("rocm", "amd"), "HIP"),
    **dict.fromkeys(("tpu", "jax"), "XLA"),
    **dict.fromkeys(("apple", "mac"), "MPS"),
    **dict.fromkeys(("npu", "privateuseone"), "PrivateUse1"),
    **dict.fromkeys(("intel", "sycl"), "XPU"),
    **dict.fromkeys(("fake", "shape", "abstract"), "Meta"),
    **dict.fromkeys(("default", "all", "any", "composite", "*"), "CompositeExplicitAutograd"),
}


def key_hint(word: str) -> str:
    """Return the hint for a word that is no dispatch key."""
    near = OTHER_NAMES.get(word.lower()) or nearest(word, sorted(DISPATCH_KEYS))
    return f"did you mean {near!r}?" if near else "for example CPU, CUDA, Meta, CompositeExplicitAutograd"


# Where the kernel of a structured out variant handles the whole group; for other keys each variant brings its own.
STRUCTURED_KEYS = frozenset(("MPS", "CUDA", "CPU", "XPU", "MTIA"))
# Where `ufunc_inner_loop` makes the kernel.
UFUNC_KEYS = ("CPU", "CUDA")
# Where an expression is the kernel.
EXPRESSION_KEYS = ("CPU", "CUDA")

# Under which derivatives.yaml may have formulas of their own; all others have those of `Default`.
AUTOGRAD_KEYS = ("AutogradNestedTensor", *(f"Autograd{backend}" for backend in BACKENDS))


def default_kernel_name(schema: FunctionSchema) -> str:
    """Return the name of the kernel that an operator without `dispatch` has, as in torchgen."""
    return f"{schema.name.base}_out" if schema.kind is SchemaKind.OUT else schema.name.base
