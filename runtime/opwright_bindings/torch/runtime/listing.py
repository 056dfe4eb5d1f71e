"""The operators of a namespace as PyTorch's registry has them, in JSON, which `opwright import torch` reads.

Loading this module loads PyTorch, and changes nothing in it.
"""

from __future__ import annotations

import json
from typing import Any, Final

import torch

__all__ = ["listing"]

_COMPOSITES: Final = (
    "CompositeImplicitAutograd", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional",
)  # fmt: skip
# What is looked for; the last line is what may handle an operator that the others do not.
_KEYS: Final = (
    *("CPU", "CUDA", "Meta", *_COMPOSITES, "Autograd", "AutogradCPU", "FuncTorchBatched", "BackendSelect"),
    *("QuantizedCPU", "SparseCPU", "SparseCsrCPU", "MkldnnCPU", "NestedTensorCPU", "MPS", "XPU", "Functionalize"),
)


def listing(namespace: str) -> str:
    """Return the version of PyTorch, whether it was built with CUDA, the names of all namespaces, and the operators of
    this one in the order of their names: schema, tags, and which of the keys above have kernels."""
    names = sorted(torch._C._dispatch_get_all_op_names())
    schemas = {(each.name, each.overload_name): str(each) for each in torch._C._jit_get_all_schemas()}
    found = [_operator(name, schemas) for name in names if name.startswith(f"{namespace}::")]
    return json.dumps(
        {
            "version": torch.__version__.partition("+")[0],
            "cuda": torch.backends.cuda.is_built(),
            "namespaces": sorted({name.partition("::")[0] for name in names}),
            "operators": found,
        }
    )


def _operator(name: str, schemas: dict[tuple[str, str], str]) -> dict[str, Any]:
    base, _, overload = name.partition(".")
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    schema = schemas.get((base, overload))
    tags = () if schema is None else torch._C._get_operation_overload(base, overload)[2]
    return {
        "name": name,
        "schema": schema,
        "tags": sorted(each.name for each in tags),
        "keys": [key for key in _KEYS if has_kernel(name, key)],
    }
