"""Opwright: array operators declared once, dispatched by device, on NumPy and CuPy.

The public names are PyTorch's: `opwright.tensor`, `opwright.add`, `opwright.ops.aten.add.Tensor`, `opwright.library`,
`opwright.dispatch`.
"""

import warnings
from functools import partial as _partial
from math import e, inf, nan, pi
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from opwright import autograd, dispatch, library, plugins
from opwright import methods as _methods  # noqa: F401 (it gives Tensor its methods)
from opwright import served as _served  # noqa: F401 (it says what answers for rooms above)
from opwright.arrays.devices import Device as device
from opwright.arrays.dtypes import DType as dtype
from opwright.arrays.dtypes import (
    bfloat16,
    complex64,
    complex128,
    finfo,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    is_complex,
    is_floating_point,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from opwright.arrays.dtypes import bool_ as bool
from opwright.arrays.dtypes import complex64 as cfloat
from opwright.arrays.dtypes import complex128 as cdouble
from opwright.arrays.dtypes import float16 as half
from opwright.arrays.dtypes import float32 as float
from opwright.arrays.dtypes import float64 as double
from opwright.arrays.dtypes import int16 as short
from opwright.arrays.dtypes import int32 as int
from opwright.arrays.dtypes import int64 as long
from opwright.arrays.formats import Layout, MemoryFormat
from opwright.arrays.generator import Generator, default_generator, initial_seed, manual_seed, seed
from opwright.arrays.promotion import can_cast, promote_types, result_type
from opwright.arrays.registered_backends import register_backend
from opwright.arrays.size import Size
from opwright.arrays.sizes import (
    SymBool,
    SymFloat,
    SymInt,
    check,
    check_is_size,
    guard_or_false,
    guard_or_true,
    statically_known_true,
    sym_float,
    sym_int,
    sym_ite,
    sym_max,
    sym_min,
    sym_not,
    sym_sqrt,
    sym_sum,
)
from opwright.autograd import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from opwright.dispatch.namespaces import ops
from opwright.errors import (
    ArgumentError,
    AutogradError,
    DataDependentOutputError,
    DispatchError,
    DynamicOutputShapeError,
    FakeKernelError,
    RegistrationError,
)
from opwright.keys import DispatchKey
from opwright.methods.printing import set_printoptions
from opwright.names import former_names as _former_names
from opwright.names.late_imports import import_late as _import_late
from opwright.names.missing import missing_attribute as _missing_attribute
from opwright.names.numpy_names import numpy_hint as _numpy_hint
from opwright.names.torch_alias import as_torch
from opwright.serialization import load, save
from opwright.tags import Tag
from opwright.tensors.checks import (  # noqa: F401 (private in PyTorch, too, and in nearly every fake kernel)
    _assert,
    _check,
    _check_index,
    _check_is_size,
    _check_not_implemented,
    _check_tensor_all,
    _check_tensor_all_with,
    _check_type,
    _check_value,
    _check_with,
)
from opwright.tensors.construction import as_tensor, asarray, from_dlpack, from_numpy, tensor
from opwright.tensors.tensor import Tensor, is_tensor

# Last, since generated code imports the runtime: `opwright.add` and its like; the package gives Tensor its methods.
# The functions are loaded when they are first named (`__getattr__`).
# This form of import lets pyright see what `__all__` takes from it.
import opwright_aten.ops as _generated  # isort: skip

# What stands in place of an operator's stub is imported before and behind: of two definitions mypy takes the first, and
# pyright the last.
if _TYPE_CHECKING:
    from opwright import random as random
    from opwright.methods.functional import *  # noqa: F403
    from opwright.methods.indexing import nonzero
    from opwright_aten.ops import *  # type: ignore[assignment, no-redef]  # noqa: F403

from opwright import random as random  # isort: skip
from opwright.random import get_rng_state, set_rng_state  # isort: skip

# In place of the operators' stubs, whose signatures are others.
from opwright.methods.functional import *  # noqa: F403  # isort: skip
from opwright.methods.functional import broadcast_shapes, lu, unique, unravel_index  # isort: skip
from opwright.methods.low_rank import pca_lowrank, svd_lowrank  # isort: skip
from opwright.methods.indexing import nonzero  # noqa: F401  # isort: skip
from opwright.dispatch.parts import Later as _Later  # isort: skip
from opwright.tensors import factories as _factories  # isort: skip

_former_names.install()
for _name in _factories.METHODS:  # here, since the package that attaches other methods may still wait for this one
    setattr(Tensor, _name, _Later(Tensor, _name, _partial(_factories.method, ops.aten, _name)))

if _TYPE_CHECKING:
    from opwright import _subclasses as _subclasses
    from opwright import amp as amp
    from opwright import array_api, fft, linalg, masked, nn, signal, special
    from opwright import cuda as cuda
    from opwright import fake as fake
    from opwright import fake_profile as fake_profile
    from opwright import func as func
    from opwright import fx as fx
    from opwright import python_dispatch as python_dispatch
    from opwright import symbolic as symbolic
    from opwright import testing as testing
    from opwright import utils as utils
    from opwright.amp.regions import autocast
    from opwright.amp.settings import (
        clear_autocast_cache,
        get_autocast_dtype,
        is_autocast_cache_enabled,
        is_autocast_enabled,
        set_autocast_cache_enabled,
        set_autocast_dtype,
        set_autocast_enabled,
    )
    from opwright.batching.transform import vmap

__version__ = "0.1.0"

# Floating point overflows and divides by zero in silence, as in PyTorch: NumPy's warnings of it stay on for everyone
# else's code. A filter by module costs a call nothing; generated packages have theirs (`registering.install`).
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"opwright(_kernels)?\.")

newaxis = None
strided = Layout.strided
contiguous_format = MemoryFormat.contiguous_format
preserve_format = MemoryFormat.preserve_format
channels_last = MemoryFormat.channels_last
channels_last_3d = MemoryFormat.channels_last_3d

__all__ = [
    "ArgumentError",
    "AutogradError",
    "DataDependentOutputError",
    "DispatchError",
    "DispatchKey",
    "DynamicOutputShapeError",
    "FakeKernelError",
    "Generator",
    "Layout",
    "MemoryFormat",
    "RegistrationError",
    "Size",
    "SymBool",
    "SymFloat",
    "SymInt",
    "Tag",
    "Tensor",
    "array_api",
    "as_tensor",
    "as_torch",
    "asarray",
    "autocast",
    "autograd",
    "bfloat16",
    "bool",
    "broadcast_shapes",
    "can_cast",
    "cdouble",
    "cfloat",
    "channels_last",
    "channels_last_3d",
    "check",
    "check_is_size",
    "clear_autocast_cache",
    "complex64",
    "complex128",
    "contiguous_format",
    "default_generator",
    "device",
    "dispatch",
    "double",
    "dtype",
    "e",
    "enable_grad",
    "fft",
    "finfo",
    "float",
    "float16",
    "float32",
    "float64",
    "from_dlpack",
    "from_numpy",
    "get_autocast_dtype",
    "get_default_dtype",
    "get_rng_state",
    "guard_or_false",
    "guard_or_true",
    "half",
    "iinfo",
    "inf",
    "inference_mode",
    "initial_seed",
    "int",
    "int8",
    "int16",
    "int32",
    "int64",
    "is_autocast_cache_enabled",
    "is_autocast_enabled",
    "is_complex",
    "is_floating_point",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_tensor",
    "library",
    "linalg",
    "load",
    "long",
    "lu",
    "manual_seed",
    "masked",
    "nan",
    "newaxis",
    "nn",
    "no_grad",
    "ops",
    "pca_lowrank",
    "pi",
    "plugins",
    "preserve_format",
    "promote_types",
    "register_backend",
    "result_type",
    "save",
    "seed",
    "set_autocast_cache_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_default_dtype",
    "set_grad_enabled",
    "set_printoptions",
    "set_rng_state",
    "short",
    "signal",
    "special",
    "statically_known_true",
    "strided",
    "svd_lowrank",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
    "tensor",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "unique",
    "unravel_index",
    "vmap",
]
__all__ += _generated.__all__


# Parts that are loaded when they are first named.
_LAZY = (
    "_subclasses", "amp", "array_api", "cuda", "fake", "fake_profile", "fft", "func", "fx", "linalg",
    "masked", "nn", "python_dispatch", "signal", "special", "symbolic", "testing", "utils",
)  # fmt: skip
# Names of such parts that are public here, too: the modules that they are of.
_LATER = {
    "autocast": "amp.regions",
    "vmap": "batching.transform",
    **dict.fromkeys(
        (
            "clear_autocast_cache", "get_autocast_dtype", "is_autocast_cache_enabled", "is_autocast_enabled",
            "set_autocast_cache_enabled", "set_autocast_dtype", "set_autocast_enabled",
        ),
        "amp.settings",
    ),
}  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name in _generated.FUNCTIONS:
        globals()[name] = found = _factories.function(name, getattr(_generated, name))
        return found
    if name in _LATER:
        globals()[name] = found = getattr(_import_late(f"opwright.{_LATER[name]}"), name)
        return found
    if name in _LAZY or _former_names.current_name(f"opwright.{name}"):
        return _import_late(f"opwright.{name}")
    raise _missing_attribute(f"module 'opwright' has no attribute {name!r}", name, __dir__(), _numpy_hint(name))


def __dir__() -> list[str]:
    return sorted((*__all__, *_LAZY, *_LATER, "__version__"))
