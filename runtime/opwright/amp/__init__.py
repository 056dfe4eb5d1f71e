"""Automatic mixed precision: `autocast`, `custom_fwd`, `custom_bwd`; the casts of Autocast kernels, `cached_cast` and
`promote_type`.

    with opwright.autocast("cpu", opwright.bfloat16):
        prediction = model(batch)  # products in bfloat16, losses in float32

A kernel at the key Autocast casts and goes on without that key:

    def myadd_autocast(x, y):
        with opwright.dispatch.exclude_keys("Autocast"):
            dtype = promote_type(opwright.get_autocast_dtype("cpu"), x, y)
            return opwright.ops.myops.myadd(cached_cast(dtype, x), cached_cast(dtype, y))

Semantics: `torch.amp` and `at::autocast` of PyTorch.
"""

from typing import TYPE_CHECKING

from opwright_core.names.packages import names_of_parts

if TYPE_CHECKING:
    from opwright.amp.casts import cached_cast, promote_type
    from opwright.amp.custom_functions import custom_bwd, custom_fwd
    from opwright.amp.regions import autocast
    from opwright.amp.settings import is_autocast_available

__all__ = ["autocast", "cached_cast", "custom_bwd", "custom_fwd", "is_autocast_available", "promote_type"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of_parts(__name__, __all__, "casts", "custom_functions", "regions", "settings")
