"""`detach`: memory shared, history not. Its results are no views of their source: a recorded write to the source does
not reach them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opwright.keys import VIEW
from opwright.registrations import Wrapper
from opwright.registry import register
from opwright.tensor import Tensor

__all__: list[str] = []


def _detaching(below: Callable[..., Any]) -> Callable[..., Any]:
    def detach(self: Tensor) -> Tensor:
        result: Tensor = below(self)
        if result.extra is not None:
            result.extra.base = None
        result.keys &= ~VIEW
        return result

    return detach


register("aten::detach", "Autograd", Wrapper(_detaching), where=__name__)
