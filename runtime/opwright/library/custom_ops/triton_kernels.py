"""`triton_op` and `wrap_triton`: operators whose functions launch kernels of Triton, by its interpreter on the CPU.

Semantics: `torch.library.triton_op`. Operators stay operators in graphs: nothing here looks into their kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opwright.fake.modes import is_fake
from opwright.foreign_kernels.triton_memory import TritonMemory
from opwright.library.custom_ops.decorator import custom_op
from opwright.library.custom_ops.definition import CustomOpDef
from opwright_core.arrays.dtypes import dtype_name
from opwright_core.keys import WATCHED
from opwright_core.state import active_modes
from opwright_core.tensors.tensor import Tensor

__all__ = ["WrappedKernel", "triton_op", "wrap_triton"]

Function = Callable[..., Any]


def triton_op(
    name: str,
    fn: Function | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    schema: str | None = None,
) -> Any:
    """Define an operator whose function allocates results and launches kernels of Triton by `wrap_triton`; a decorator
    where `fn` is left out. Returns a CustomOpDef.

    Without data the same function runs, and launches nothing: it must not read data. Raises ImportError where Triton
    is not installed, and what `custom_op` raises.
    """
    _triton()

    def define(function: Function) -> CustomOpDef[..., Any]:
        made: CustomOpDef[..., Any] = custom_op(name, function, mutates_args=mutates_args, schema=schema)
        made.register_fake(function)
        return made

    return define if fn is None else define(fn)


def wrap_triton(triton_kernel: Any, /) -> WrappedKernel:
    """Return a kernel to be launched on Tensors, `wrap_triton(kernel)[grid](x, y, n, BLOCK=16)`, within a `triton_op`.

    A kernel on CPU tensors needs Triton's interpreter: TRITON_INTERPRET=1 in the environment when the kernel is
    defined. Raises ImportError where Triton is not installed, TypeError for what is no kernel.
    """
    kinds = _triton().KernelInterface
    if not isinstance(triton_kernel, kinds):
        raise TypeError(
            f"wrap_triton takes functions under triton.jit, triton.autotune or triton.heuristics, not {triton_kernel!r}"
        )
    return WrappedKernel(triton_kernel)


def _triton() -> Any:
    """Return the module of Triton's kernels."""
    try:
        from triton.runtime import jit
    except ImportError as error:
        raise ImportError(
            f"triton_op and wrap_triton launch kernels of Triton, which cannot be imported ({error}): `pip install "
            "triton` installs it, on Linux"
        ) from None
    return jit


class WrappedKernel:
    """A kernel of Triton that takes Tensors. Tensors without data launch nothing."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        """Return what launches the kernel on a grid: a tuple, or a function of the kernel's arguments."""

        def launch(*args: Any, **kwargs: Any) -> None:
            if (modes := active_modes()) is not None and (modes.top is not None or modes.include & WATCHED):
                raise RuntimeError(
                    "a kernel of Triton is launched where calls are traced or transformed, which cannot see what it "
                    "does: launch it within a function under opwright.library.triton_op"
                )
            tensors = [each for each in (*args, *kwargs.values()) if isinstance(each, Tensor)]
            if any(map(is_fake, tensors)):
                return
            is_interpreted = _is_interpreted(self.kernel)
            for tensor in tensors:
                if (tensor.device.type == "cpu") is not is_interpreted:
                    raise RuntimeError(
                        f"a kernel of Triton cannot be launched on a Tensor of {tensor.device}: on the CPU it takes "
                        "TRITON_INTERPRET=1 in the environment when the kernel is defined, and elsewhere it must not "
                        "be set"
                    )
            given = [_given(each) for each in args]
            self.kernel[grid](*given, **{name: _given(each) for name, each in kwargs.items()})

        return launch


def _is_interpreted(kernel: Any) -> bool:
    """Whether Triton's interpreter runs a kernel, whatever chooses its parameters."""
    while type(kernel).__name__ in ("Autotuner", "Heuristics"):
        kernel = kernel.fn
    return type(kernel).__name__ == "InterpretedFunction"


def _given(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    return TritonMemory(value, dtype_name(value.dtype), value.data_ptr(), value.shape, value.stride())
