"""`detach`, and views of another dtype: memory shared, history not. Their results are no views of their source: a
recorded write to the source does not reach them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright.metadata.view_layouts import without_base
from opwright.registering.kernels import register
from opwright_core.dispatch.registry.kernel_kinds import Wrapper
from opwright_core.tensors.tensor import Tensor

__all__: list[str] = []


def _detaching(below: Callable[..., Any]) -> Callable[..., Any]:
    def detach(*args: Any) -> Tensor:
        detached: Tensor = without_base(below(*args))
        return detached

    return detach


for _name in ("aten::detach", "aten::view.dtype"):
    register(_name, "ADInplaceOrView", Wrapper(_detaching), where=__name__)
