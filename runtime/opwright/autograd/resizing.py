"""`resize_` and `resize_as_`: what has a gradient keeps its size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright.registering.kernels import register
from opwright_core.dispatch.registry.kernel_kinds import Wrapper
from opwright_core.tensors.tensor import Tensor

__all__: list[str] = []


def _refusing(below: Callable[..., Any]) -> Callable[..., Any]:
    def resize(self: Tensor, *args: Any) -> Any:
        if self.edge is not None:
            raise RuntimeError(
                f"cannot resize a tensor that requires grad (from {list(self.shape)}): its gradient would have no size"
            )
        return below(self, *args)

    return resize


for _name in ("aten::resize_", "aten::resize_as_"):
    register(_name, "Autograd", Wrapper(_refusing, is_generated=True), where=__name__)
