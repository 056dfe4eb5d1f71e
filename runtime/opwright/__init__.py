"""Opwright: array operators declared once, dispatched by device, on NumPy and CuPy.

The public names are PyTorch's: `opwright.tensor`, `opwright.add`, `opwright.ops.aten.add.Tensor`, `opwright.library`,
`opwright.dispatch`. Each is loaded when it is first named: `import opwright` loads nothing, so that a package of one's
own operators, which imports `opwright_core.abi` alone, does not load ATen. `__init__.pyi`, for editors and type
checkers, is written from the same table (`facade_stub.py`).
"""

import sys as _sys
from math import e, inf, nan, pi  # noqa: F401

from opwright import providers as _providers  # noqa: F401 (it fills the table of the core)
from opwright.facade import of_package as _of_package
from opwright_core import __version__ as __version__

newaxis = None

# The public names by the module that has them; `half=float16` has another name there. Beside these, the operators of
# `opwright_aten.ops` are names here.
_HOMES = {
    "opwright.amp.regions": "autocast",
    "opwright.amp.settings": (
        "clear_autocast_cache get_autocast_dtype is_autocast_cache_enabled is_autocast_enabled "
        "set_autocast_cache_enabled set_autocast_dtype set_autocast_enabled"
    ),
    "opwright_core.arrays.devices": "device=Device",
    "opwright_core.arrays.dtypes": (
        "bfloat16 bool=bool_ cdouble=complex128 cfloat=complex64 complex64 complex128 double=float64 dtype=DType "
        "float=float32 float16 float32 float64 get_default_dtype half=float16 int=int32 int8 int16 int32 int64 "
        "long=int64 set_default_dtype short=int16 uint8 uint16 uint32 uint64"
    ),
    "opwright_core.arrays.formats": (
        "Layout MemoryFormat channels_last=MemoryFormat.channels_last channels_last_3d=MemoryFormat.channels_last_3d "
        "contiguous_format=MemoryFormat.contiguous_format layout=Layout memory_format=MemoryFormat "
        "preserve_format=MemoryFormat.preserve_format strided=Layout.strided"
    ),
    "opwright_core.arrays.promotion": "result_type",
    "opwright_core.arrays.size": "Size",
    "opwright_core.arrays.sizes": (
        "check guard_or_false guard_or_true sym_float sym_int sym_ite sym_max sym_min"
    ),
    "opwright.autograd": (
        "enable_grad inference_mode is_grad_enabled is_inference_mode_enabled no_grad set_grad_enabled"
    ),
    "opwright.backends.registered_backends": "register_backend",
    "opwright.batching.transform": "vmap",
    "opwright.creation.checks": (  # private in PyTorch, too, and in nearly every fake kernel
        "_assert _check _check_index _check_is_size _check_not_implemented _check_tensor_all _check_tensor_all_with "
        "_check_type _check_value _check_with"
    ),
    "opwright.creation.construction": "as_tensor asarray from_dlpack from_numpy tensor",
    "opwright.namespaces": "ops",
    "opwright.errors": (
        "ArgumentError AutogradError DataDependentOutputError DispatchError DynamicOutputShapeError FakeKernelError "
        "RegistrationError"
    ),
    "opwright_core.random_state.generator": "Generator default_generator initial_seed manual_seed seed",
    "opwright_core.keys": "DispatchKey",
    "opwright.inspection.call_trees": "trace_calls",
    "opwright.metadata.dtype_limits": "can_cast finfo iinfo is_complex is_floating_point promote_types",
    "opwright.methods.distances": "cdist",
    "opwright.methods.functional": (  # in place of the operators' stubs, whose signatures are others
        "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod chain_matmul "
        "einsum lu meshgrid norm split stft tensordot unique unique_consecutive unravel_index"
    ),
    "opwright.methods.indexing": "nonzero",
    "opwright.methods.low_rank": "pca_lowrank svd_lowrank",
    "opwright.methods.printing": "set_printoptions",
    "opwright.methods.typed": (
        "BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor IntTensor LongTensor "
        "ShortTensor"
    ),
    "opwright.python_dispatch.default_device": "get_default_device set_default_device",
    "opwright.pytree": "is_tensor",
    "opwright.random": "get_rng_state set_rng_state",
    "opwright.serialization": "load save",
    "opwright.symbolic.numbers": "SymBool SymFloat SymInt",
    "opwright.symbolic.questions": "check_is_size statically_known_true sym_not sym_sqrt sym_sum",
    "opwright.metadata.tags": "Tag",
    "opwright.threads": "get_num_threads set_num_threads",
    "opwright_core.tensors.tensor": "Tensor",
    "opwright.utils.torch_alias": "as_torch",
}  # fmt: skip
# The modules that are names here.
_MODULES = (
    "_subclasses", "amp", "array_api", "autograd", "cuda", "dispatch", "fake", "fake_profile", "fft", "func", "fx",
    "library", "linalg", "masked", "nn", "overrides", "plugins", "python_dispatch", "random", "return_types",
    "rules", "signal", "special", "symbolic", "testing", "threads", "utils",
)  # fmt: skip
__getattr__, __dir__ = _of_package(_HOMES, _MODULES)
if "threadpoolctl" in _sys.modules:
    from opwright.threads import register_with_threadpoolctl as _register_with_threadpoolctl

    _register_with_threadpoolctl()
