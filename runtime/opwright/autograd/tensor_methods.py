"""The methods of a Tensor about gradients: whether it requires one, its position in the graph, hooks, `backward`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from opwright.autograd import differentiate, tensor_hooks
from opwright.autograd.modes import is_inference_mode_enabled
from opwright.autograd.nodes import AccumulateGrad, NoHistory, node_of
from opwright.autograd.recording import leave_graph, make_leaf, refresh
from opwright.autograd.tangents import current_tangent
from opwright.creation.checks import check_differentiable
from opwright_core.arrays.devices import dtype_of
from opwright_core.arrays.dtypes import dtype_name
from opwright_core.arrays.storage import Extra, set_array, storage_of
from opwright_core.keys import (
    ADINPLACEORVIEW,
    AUTOGRAD,
    BATCHED,
    FRONT_MODE,
    GRAD,
    PRE_DISPATCH,
    PYTHON,
    TANGENT,
    VIEW,
)
from opwright_core.state import with_modes
from opwright_core.tensors.tensor import Tensor, install_methods, wrap

if TYPE_CHECKING:
    from opwright.autograd.hooks import RemovableHandle
    from opwright.autograd.nodes import Node


_OWN_KEYS = GRAD | VIEW | PYTHON | PRE_DISPATCH | TANGENT  # of the tensor, whatever its memory is


@install_methods
class Differentiable:
    """The methods of Tensor about gradients, installed on it."""

    __slots__ = ()

    if TYPE_CHECKING:
        keys: int
        edge: Any
        extra: Extra | None

    def _check_no_tangent(self, what: str) -> None:
        """Raise RuntimeError where the tensor leaves the world in which it has a tangent."""
        if not with_modes(self.keys) & TANGENT:
            return
        if current_tangent(self) is not None:  # type: ignore[arg-type]
            raise RuntimeError(
                f"Can't {what} a Tensor that has a tangent: it would be lost. Use tensor.detach() first."
            )

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operator made this tensor."""
        return self.grad_fn is None

    @property
    def requires_grad(self) -> bool:
        """Whether gradients are recorded. Setting it raises RuntimeError for dtypes that have none."""
        try:
            self._refresh()
        except RuntimeError:
            return True  # as what was written to requires grad; `grad_fn` says why there is no history
        return self.keys & GRAD != 0

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self: Any, requires_grad: bool = True) -> Tensor:
        """Turn the recording of gradients on or off, and return the tensor."""
        # (what a write made of the history since is not asked for, as in PyTorch)
        is_leaf = self.edge is None or type(self.edge) in (AccumulateGrad, NoHistory)
        if not requires_grad:
            if not is_leaf:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable "
                    "in a subgraph that doesn't require differentiation use var_no_grad = var.detach()."
                )
            if self.edge is not None:
                leave_graph(self)
        elif is_leaf:
            check_differentiable(dtype_of(self.array), "only Tensors of floating point dtype can require gradients")
            if self.keys & BATCHED:
                raise RuntimeError(
                    "You are attempting to call Tensor.requires_grad_() inside of a function that vmap transforms, on "
                    "a batched tensor: use grad, vjp or jacrev of opwright.func there, or call it before vmap"
                )
            if self.is_inference() and not is_inference_mode_enabled():
                raise RuntimeError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed."
                )
            make_leaf(self)
        return self  # type: ignore[no-any-return]

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode: autograd never sees it."""
        return not self.keys & (AUTOGRAD | ADINPLACEORVIEW)

    @property
    def grad_fn(self) -> Node | None:
        """Return the node of the graph that made this tensor; None for a leaf."""
        self._refresh()
        edge = self.edge
        if edge is None:
            return None
        return None if type(edge) in (AccumulateGrad, NoHistory) else node_of(edge)

    @property
    def output_nr(self) -> int:
        """Return which result of `grad_fn` this is."""
        return self.edge[1] if type(self.edge) is tuple else 0

    def _refresh(self) -> None:
        """Bring the history of a view up to date."""
        if self.keys & VIEW:
            refresh(self)  # type: ignore[arg-type]

    @property
    def grad(self) -> Tensor | None:
        """Return the accumulated gradient, if any. Setting another shape, dtype or device raises RuntimeError."""
        return None if self.extra is None else self.extra.grad

    @grad.setter
    def grad(self: Any, value: Tensor | None) -> None:
        if value is not None:
            self._check_grad(value)
        if self.extra is None:
            self.extra = Extra()
        self.extra.grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    def _check_grad(self: Any, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}"
            )
        given: Any = value
        if given is self:
            raise RuntimeError("can't assign a Tensor as its own grad")
        if given.shape != self.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(given.shape)}' to a tensor of size "
                f"'{list(self.shape)}'. Please ensure that the gradient and the tensor are the same size"
            )
        if given.dtype != self.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{dtype_name(given.dtype)}' to a tensor with dtype "
                f"'{dtype_name(self.dtype)}'. Please ensure that the gradient and the tensor have the same dtype"
            )
        if given.device != self.device:
            raise RuntimeError(
                f"attempting to assign a gradient with device '{given.device}' to a tensor with device "
                f"'{self.device}'. Please ensure that the gradient and the tensor are on the same device"
            )

    @property
    def data(self: Any) -> Tensor:
        """Return another tensor over the same memory, without history, whose writes no version counts.

        Setting it gives this tensor other memory. Raises RuntimeError for another device, and for integers where this
        tensor is a leaf that requires grad.
        """

        if self.keys & (PYTHON | FRONT_MODE):  # its class, or its level, makes it
            return self.detach()  # type: ignore[no-any-return]
        made = wrap(self.array)
        made.extra = Extra(storage_of(self).apart())
        if self.is_inference():
            made.keys &= ~(AUTOGRAD | ADINPLACEORVIEW)
        return made.as_subclass(type(self)) if self.keys & PRE_DISPATCH else made

    @data.setter
    def data(self: Any, value: Tensor) -> None:
        if value.device != self.device:
            raise RuntimeError(
                f"incompatible tensor type: a tensor on {self.device} cannot take over data on {value.device}"
            )
        is_leaf = type(self.edge) is AccumulateGrad
        if self.requires_grad:
            check_differentiable(value.dtype, "data set to a tensor that requires gradients must be floating point")
        version = storage_of(self).version
        self.keys = self.keys & _OWN_KEYS | value.keys & ~_OWN_KEYS  # an inference tensor makes one of it
        set_array(self, value.array)
        self.extra.storage = storage_of(value).apart(version)
        if is_leaf:
            self.edge = self.edge.follow(self)

    def backward(
        self: Any,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Tensor | Sequence[Tensor] | None = None,
    ) -> None:
        """Add the gradient of this tensor with respect to each leaf to the leaf's `grad`.

        `gradient` may be left out for a scalar. More in `opwright.autograd.backward`.
        """
        differentiate.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def retain_grad(self: Any) -> None:
        """Keep the gradient of a tensor that is no leaf in `grad` too. Raises RuntimeError if it has none."""
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.edge is not None:
            self._refresh()
        tensor_hooks.retain_grad(self)

    @property
    def retains_grad(self: Any) -> bool:
        """Whether `retain_grad` was called on this tensor, which is no leaf."""
        if self.edge is None:
            return False
        return tensor_hooks.retains_grad(self)

    def register_hook(self: Any, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` whenever the gradient of this tensor is computed; it may return another gradient.

        Raises RuntimeError for a tensor that does not require grad.
        """
        self._check_hookable()
        return tensor_hooks.register_hook(self, hook)

    def register_post_accumulate_grad_hook(self: Any, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(tensor)` after its `grad` was added to. Raises RuntimeError for what is no leaf."""
        self._check_hookable()
        if not self.is_leaf:
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return tensor_hooks.register_post_accumulate_hook(self, hook)

    def _check_hookable(self) -> None:
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        self._refresh()
