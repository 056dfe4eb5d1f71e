"""Names of `opwright_core.abi` that packages of former versions import, and no template uses any more."""

from __future__ import annotations

from typing import Final

__all__ = ["HOMES"]

_FORMER: Final = {
    "opwright_core.arrays.dtypes": ("plain_dtypes",),
    "opwright_core.arrays.storage": ("storage_of",),
    "opwright.autograd.former_recorders": ("records",),
    "opwright.autograd.nodes": ("next_sequence",),
    "opwright.autograd.recording": (
        "Kernel",
        "check_inplace",
        "check_no_gradient",
        "check_writable",
        "edges_of",
        "increment_version",
        "move_history",
        "record",
        "record_several",
    ),
    "opwright.autograd.regenerating": ("mark_view", "mark_views", "rebase_history"),
    "opwright.autograd.saved": (
        "Saved",
        "save",
        "save_all",
        "save_optional",
        "save_original",
        "save_result",
        "save_results",
    ),
    "opwright_core.dispatch.compiled.ufunc_shims": ("ufunc_shim", "ufunc_shims"),
    "opwright.fake.results": ("fake_like",),
    "opwright_core.keys": ("ADINPLACEORVIEW", "GRAD", "WRITE_BITS"),
    "opwright.former.plans": ("KnownForms", "KnownViews", "known_result"),
    "opwright_core.plans.plan": ("cast_operands",),
    "opwright_core.plans.writing": ("Plan",),
}
HOMES: Final = {name: module for module, names in _FORMER.items() for name in names}
