"""The example of `torch.library.register_torch_dispatch`, with the import lines changed."""

from __future__ import annotations

from typing import Any

import opwright as torch
from opwright.utils._python_dispatch import TorchDispatchMode


class MyMode(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **kwargs)


def test_a_custom_operator_with_a_rule_for_a_mode() -> None:
    @torch.library.custom_op("mylib_rule::foo", mutates_args={})
    def foo(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @torch.library.register_torch_dispatch("mylib_rule::foo", MyMode)
    def _(mode: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        (x,) = args
        return x + 1

    x = torch.randn(3)
    assert torch.allclose(foo(x), x)
    with MyMode():
        assert torch.allclose(foo(x), x + 1)

    class Other(MyMode):
        pass

    @foo.register_torch_dispatch(Other)
    def _(mode: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return args[0] * 0

    with Other():
        assert torch.allclose(foo(x), x * 0)
