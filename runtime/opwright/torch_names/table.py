"""The names by the module of PyTorch's that has them: `torch` itself as "", `torch.jit` as "jit"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import opwright
from opwright import overrides
from opwright.autograd import modes
from opwright.torch_names import absent, gamma_draws, loading, parameters, scaling, sequences, settings
from opwright.torch_names.absent import always, decorator, ignored
from opwright.torch_names.recurrent import CELLS, LAYERS
from opwright_core.arrays.formats import MemoryFormat

__all__ = ["names_of"]

_NO: Final = always(False)
_NONE: Final = always(None)
_SCRIPTED: Final = ("ScriptModule", "ScriptFunction", "RecursiveScriptModule", "ScriptMethod")
_SCRIPTS: Final = dict.fromkeys(_SCRIPTED, absent.Nothing)
_LAYOUTS: Final = ("sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr")  # that no tensor has
_BUILDING: Final = dict.fromkeys(("export", "ignore", "unused", "script_if_tracing", "interface"), decorator)
_NO_SCRIPTS: Final = (
    "there is no TorchScript in Opwright, which as_torch() gives as torch: call the function as it is; "
    "opwright.fx.make_fx records a graph of one"
)
_COMPILING: Final = {
    name: absent.refused(f"torch.jit.{name}", _NO_SCRIPTS) for name in ("freeze", "load", "save", "script", "trace")
}

NAMES: Final[Mapping[str, Mapping[str, Any]]] = {
    "": {
        **CELLS,
        **LAYERS,
        "_amp_foreach_non_finite_check_and_unscale_": scaling.unscale,
        "_amp_update_scale_": scaling.update_scale,
        "_dirichlet_grad": gamma_draws.dirichlet_grad,
        "_disable_dynamo": decorator,
        "_dtype_says": parameters.dtype_says,
        "_has_compatible_shallow_copy_type": parameters.takes_data,
        "_is_all_true": parameters.is_all_true,
        "_is_any_true": parameters.is_any_true,
        "_sample_dirichlet": gamma_draws.sample_dirichlet,
        "_standard_gamma": gamma_draws.standard_gamma,
        "_use_cudnn_rnn_flatten_weight": _NO,
        "_weight_norm": parameters.weight_norm,
        "dsmm": opwright.mm,
        "legacy_contiguous_format": MemoryFormat.contiguous_format,
        "set_num_threads": ignored,
        **{name: name for name in _LAYOUTS},
        "norm_except_dim": parameters.norm_except_dim,
        "numel": settings.numel,
        "spmm": opwright.mm,
        **settings.SETTINGS,
        "typename": parameters.typename,
    },
    "__future__": {
        "get_overwrite_module_params_on_conversion": _NO,
        "get_swap_module_params_on_conversion": _NO,
    },
    "_C": {
        "_TensorMeta": type,
        "DisableTorchFunction": overrides.DisableTorchFunctionSubclass,
        "DisableTorchFunctionSubclass": overrides.DisableTorchFunctionSubclass,
        "_disabled_torch_function_impl": overrides.disabled_torch_function,
        "_get_privateuse1_backend_name": always("privateuseone"),
        "_get_tracing_state": _NONE,
        "_group_tensors_by_device_and_dtype": parameters.group_tensors,
        "_infer_size": opwright.broadcast_shapes,
        "_is_any_autocast_enabled": _NO,
        "_is_tracing": _NO,
        "_log_api_usage_once": ignored,
        **_SCRIPTS,
        **loading.SIGNALS,
    },
    "_C._nn": {"_parse_to": parameters.parse_to, "pad_sequence": sequences.pad_sequence},
    "_VF": {
        "_pack_padded_sequence": sequences.pack_padded_sequence,
        "_pad_packed_sequence": sequences.pad_packed_sequence,
        **CELLS,
        **LAYERS,
    },
    "_custom_class_base": {"CustomClassBase": absent.Nothing},
    "_dynamo": {"disable": decorator, "graph_break": ignored},
    "_functorch": {},
    "_functorch.utils": {"exposed_in": always(decorator)},
    "_jit_internal": {"_copy_to_script_wrapper": decorator, "_overload": decorator, "_overload_method": decorator},
    "_library": {},
    "_library.opaque_object": {"is_opaque_reference_type": _NO, "is_opaque_symbolic_type": _NO},
    "_opaque_base": {"OpaqueBase": absent.Nothing},
    "_prims_common": {"DeviceLikeType": Any},
    "_torch_docs": {"reproducibility_notes": absent.notes},
    "_utils": {
        "ExceptionWrapper": loading.ExceptionWrapper,
        "cpu_count": loading.cpu_count,
        "_get_obj_state": parameters.state_of,
        "_rebuild_parameter": parameters.rebuild_parameter,
        "_rebuild_parameter_with_state": parameters.rebuild_parameter_with_state,
    },
    "accelerator": {"current_accelerator": _NONE, "is_available": _NO},
    "autograd.grad_mode": vars(modes),
    "autograd.profiler": {"record_function": absent.no_recording},
    "backends": {},
    "backends.cudnn": {"benchmark": False, "deterministic": False, "enabled": False, "is_acceptable": _NO},
    "backends.mha": {"get_fastpath_enabled": _NO},
    "compiler": {"disable": decorator, "is_compiling": _NO, "is_dynamo_compiling": _NO, "is_exporting": _NO},
    "cuda.amp": {},
    "cuda.amp.common": {"amp_definitely_not_available": always(True)},
    "cuda": {"is_current_stream_capturing": _NO},
    "distributed": {"is_available": _NO, "is_initialized": _NO},
    "jit": {
        "_trace": None,
        "annotate": absent.annotate,
        "is_scripting": _NO,
        "is_tracing": _NO,
        **_COMPILING,
        **_BUILDING,
        **_SCRIPTS,
    },
    "jit._trace": {"_trace_module_map": None},
    "multiprocessing": loading.MULTIPROCESSING,
    "nn": {"DataParallel": absent.Nothing},
    "nn.attention": settings.ATTENTION,
    "nn.functional": {"_canonical_mask": parameters.canonical_mask, "_none_or_dtype": parameters.dtype_or_none},
    "types": {
        **dict.fromkeys(("Number", "_Number"), int | float | bool),
        "Device": Any,
        "_dtype": Any,
        "_size": tuple[int, ...],
    },
    "utils._python_dispatch": {"is_traceable_wrapper_subclass": _NO},
    "utils.data": {},
    "utils.data.datapipes": {},
    "utils.data.datapipes.datapipe": loading.DATAPIPES,
    "utils.data.graph_settings": loading.SETTINGS,
    "version": settings.VERSION,
    "utils.backend_registration": {"_privateuse1_backend_name": "privateuseone"},
}


def names_of(module: str) -> Mapping[str, Any] | None:
    """Return what a module below `torch` has here; None where nothing is."""
    return NAMES.get(module)
