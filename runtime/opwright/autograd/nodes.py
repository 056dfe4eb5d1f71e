"""The graph of recorded operators: a Node per call, which knows where the gradients it computes flow to.

`tensor.edge` says where a tensor's gradient flows: None where it does not require grad; the Node that recorded it; for
a result of a Node with several, `(node, number)`; for a leaf its AccumulateGrad. It is None exactly where `tensor.keys`
lacks GRAD.

Nodes are numbered as they are made, and their edges lead to nodes with lower numbers: descending order of `sequence` is
an order to go through the graph in. A node keeps neither its results nor, unless saved, its operands.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final
from weakref import WeakSet

from opwright.autograd.collecting import track_nodes
from opwright.autograd.fields import NodeType
from opwright.autograd.hooks import RemovableHandle, add_hook
from opwright.inspection.backward_sources import gradient_text, recorded_by
from opwright_core.arrays.devices import Array, Device, backend_of, dtype_of, shape_of
from opwright_core.arrays.dtypes import INEXACT, DType
from opwright_core.arrays.layouts import Shape
from opwright_core.core import NodeBase, fast
from opwright_core.errors import ContractError
from opwright_core.keys import GRAD
from opwright_core.plans.kernel_errors import shown

if TYPE_CHECKING:
    from opwright_core.tensors.tensor import Tensor

__all__ = [
    "AccumulateGrad", "Edge", "NoHistory", "Node", "NodeExtra", "Output", "Recorded", "RecordedSeveral", "gradients_of",
    "next_sequence", "node_of", "split_edges",
]  # fmt: skip

next_sequence: Final = itertools.count().__next__ if fast is None else fast.next_sequence
Edge = Any  # a Node with one output, or (node, number)
Output = tuple[Shape, DType, Device | None]  # no device: it is not looked at
Gradient = Any  # a Tensor or None


class NodeExtra:
    """The rare parts of a node: hooks, the tensors that keep their gradient, and where the forward call was made."""

    __slots__ = ("hooks", "parent", "prehooks", "retained", "tensor_hooks", "trace")

    def __init__(self) -> None:
        self.tensor_hooks: dict[int, OrderedDict[int, Callable[[Any], Any]]] = {}  # by the number of the output
        self.retained: dict[int, weakref.ref[Tensor]] = {}
        self.prehooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
        self.trace: list[str] | None = None
        self.parent: Node | None = None  # which was being differentiated when this one was made


class Node(NodeBase):
    """One recorded call. Subclasses add slots for what they save, and say in `saved` which of them a backward frees.

    `edges` has an entry for each operand that may get a gradient. A node with one output has its `shape` and `dtype`
    here; one with several derives from MultipleOutputs. Generated code makes nodes without a constructor and sets every
    slot; `extra` is None.
    """

    __slots__ = ()  # those of NodeBase
    edges: Sequence[Edge]
    sequence: int
    shape: Shape
    dtype: DType | None
    extra: NodeExtra | None
    saved: ClassVar[tuple[str, ...]] = ()
    shown: ClassVar[str] = ""  # the name that it goes by, if not that of the class
    takes_edges: ClassVar[bool] = False  # whether `apply` is told which edges are asked for, `edges=`
    takes_undefined: ClassVar[bool] = False  # whether `apply` wants to be called where no gradient is defined

    def apply(self, grad: Gradient) -> Sequence[Gradient]:
        """Return the gradients of the operands, one for each edge, from that of the result. None stands for zero."""
        raise NotImplementedError(f"{type(self).__name__} has no apply")

    def name(self) -> str:
        """Return the name of what was recorded, `AddBackward0`."""
        return self.shown or type(self).__name__

    def input_name(self, index: int) -> str:
        """Return how errors name the operand of an edge, if it has a name."""
        return ""

    def output(self, number: int) -> Output:
        """Return shape, dtype and device of a result, the `number`th."""
        assert self.dtype is not None
        return self.shape, self.dtype, None

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Return where the gradients flow: a node and the number of its output for each operand."""
        edges = (None if type(edge) is NoHistory else edge for edge in self.edges)
        return tuple(edge if type(edge) is tuple else (edge, 0) for edge in edges)

    @property
    def metadata(self) -> dict[Any, Any]:
        """Return a dictionary that a user may keep things in; this one is not kept."""
        return {}

    def release(self) -> None:
        """Free what was saved."""
        for name in self.saved:
            setattr(self, name, None)

    def more(self) -> NodeExtra:
        """Return the uncommon part, made when first asked for."""
        extra = self.extra
        if extra is None:
            extra = self.extra = NodeExtra()
            track_nodes()  # a hook may hold what holds this node
        return extra

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after the node; it may return other gradients of the operands."""
        return add_hook(self.more().hooks, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before the node; it may return other gradients of the results."""
        return add_hook(self.more().prehooks, hook)

    def __call__(self, *grads: Gradient) -> Any:
        """Return the gradients of the operands from those of the results that have one; hooks are not called. Raises
        TypeError for another number of gradients, and for what is neither a Tensor nor None."""
        from opwright_core.tensors.tensor import Tensor

        wanted, count = self._positions()
        if len(grads) != len(wanted):
            raise TypeError(f"{self.name()} takes {len(wanted)} gradients, one for each result, got {len(grads)}")
        for position, grad in enumerate(grads):
            if grad is not None and not isinstance(grad, Tensor):
                raise TypeError(
                    f"gradient {position} of {self.name()} must be a Tensor or None, got {type(grad).__name__}"
                )
        given = dict(zip(wanted, grads, strict=True))
        if not self.takes_undefined and all(grad is None for grad in grads):
            results: tuple[Gradient, ...] = (None,) * len(self.edges)
        else:
            results = tuple(self.apply(*map(given.get, range(count))))
        return results[0] if len(results) == 1 else results

    def _positions(self) -> tuple[list[int], int]:
        """Return the numbers of the results that may have a gradient, and how many results there are."""
        return [0], 1

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


class MultipleOutputs(Node):
    """A node of several results: edges to it are `(node, number)`, and `apply` takes a gradient for each result."""

    __slots__ = ("outputs",)
    outputs: Sequence[Output | None]  # None for what is no tensor, or cannot have a gradient

    def apply(self, *grads: Gradient) -> Sequence[Gradient]:
        """Return the gradients of the operands from those of the results."""
        raise NotImplementedError(f"{type(self).__name__} has no apply")

    def _positions(self) -> tuple[list[int], int]:
        known = enumerate(self.outputs)
        return [position for position, output in known if output is not None and output[1] in INEXACT], len(
            self.outputs
        )

    def output(self, number: int) -> Output:
        """Return shape, dtype and device of a result."""
        found = self.outputs[number]
        assert found is not None
        return found


class Recorded(Node, metaclass=NodeType):
    """A generated node: where `apply` is given other `edges` than its own, it computes no gradients but theirs."""

    __slots__ = ()
    takes_edges = True
    formulas: ClassVar[tuple[str, ...]] = ()  # of each edge what `apply` computes, for the compiled core, or ""


class RecordedSeveral(MultipleOutputs, metaclass=NodeType):
    """A generated node of several results."""

    __slots__ = ()
    takes_edges = True


def gradients_of(node: Node, found: Any, count: int) -> Sequence[Gradient]:
    """Return the gradients that a backward function computed, which has to give `count`. Raises ContractError."""
    if isinstance(found, tuple | list) and len(found) == count:
        return found
    what = f"{len(found)} gradients" if isinstance(found, tuple | list) else shown(found)
    raise ContractError(f"{described_node(node)} must return {count} gradients, but returned {what}{recorded_by(node)}")


def described_node(node: Node) -> str:
    """Return how errors name a node and its backward function."""
    text = gradient_text(type(node))
    return f"Function {node.name()}" + (f", `{text}`," if text else "")


def split_edges(edges: Sequence[Edge], counts: Sequence[int | None]) -> list[Any]:
    """Return the edges of each operand of a node: one of a tensor, whose count is None, as many as it has of a list."""
    found: list[Any] = []
    at = 0
    for count in counts:
        found.append(edges[at] if count is None else edges[at : at + count])
        at += 1 if count is None else count
    return found


class AccumulateGrad(Node):
    """The end of the gradient of a leaf. The leaf holds it; it holds the leaf's memory, and the leaf weakly."""

    __slots__ = ("__weakref__", "_variable", "array", "forks", "lock", "post_hooks")
    watched: ClassVar[WeakSet[AccumulateGrad] | None] = None  # leaves that had hooks: who asks when they are complete?
    all_forks: ClassVar[int] = 0  # how many forks lie between the first process and this one (Note [Forks])

    def __init__(self, variable: Tensor) -> None:
        self.retarget(variable)
        self.edges = ()
        self.sequence = -1
        self.extra = None
        self.lock = threading.RLock()
        self.forks = AccumulateGrad.all_forks  # those before the lock was made
        self.post_hooks: OrderedDict[int, Callable[[Any], Any]] | None = None

    def retarget(self, variable: Tensor) -> None:
        """Take over the leaf's memory, shape and dtype, which an assignment to `data` changes."""
        self._variable = weakref.ref(variable)
        self.array: Array = variable.array
        self.shape = shape_of(variable.array)
        self.dtype = dtype_of(variable.array)

    def follow(self, variable: Tensor) -> AccumulateGrad:
        """Return where the leaf's gradient ends after it took other memory or another layout. Graphs made before find
        this node, which refuses gradients of another shape than the leaf's is now."""
        if self.shape == variable.shape and self.dtype == variable.dtype:
            self.retarget(variable)
            return self
        other = AccumulateGrad(variable)
        other.extra, other.post_hooks = self.extra, self.post_hooks
        if other.has_hooks:
            other.watch()
        return other

    @property
    def has_hooks(self) -> bool:
        """Whether the leaf ever had hooks."""
        return self.extra is not None or self.post_hooks is not None

    def watch(self) -> None:
        """Have passes that lead to the leaf tell it as soon as its gradient is whole."""
        AccumulateGrad.watched = watched = AccumulateGrad.watched or WeakSet()
        watched.add(self)

    def name(self) -> str:
        """Return PyTorch's name."""
        return "torch::autograd::AccumulateGrad"

    def output(self, number: int) -> Output:
        """Return shape, dtype and device of the leaf."""
        assert self.dtype is not None
        return self.shape, self.dtype, backend_of(self.array).device(self.array)

    @property
    def variable(self) -> Tensor:
        """Return the leaf; another tensor over its memory where it is gone."""
        found = self._variable()
        if found is None:
            from opwright_core.tensors.tensor import wrap

            found = wrap(self.array)
            found.keys |= GRAD
            found.edge = self
            self._variable = weakref.ref(found)
        return found

    def living(self) -> Tensor | None:
        """Return the leaf, unless nobody holds it any more."""
        return self._variable()

    def apply(self, grad: Gradient) -> Sequence[Gradient]:
        """Add a gradient to the leaf's."""
        from opwright.autograd.accumulate import accumulate

        accumulate(self, grad)
        return ()


class NoHistory(Node):
    """The end of the gradient of a view that requires grad, as its base does, and was not recorded."""

    __slots__ = ()

    def __init__(self, view: Tensor) -> None:
        self.edges = ()
        self.sequence = next_sequence()
        self.extra = None
        self.shape = view.shape
        self.dtype = view.dtype

    def apply(self, grad: Gradient) -> Sequence[Gradient]:
        """Return no gradients."""
        return ()


def node_of(edge: Edge) -> Node:
    """Return the node an edge leads to."""
    node: Node = edge[0] if type(edge) is tuple else edge
    return node


def number_of(edge: Edge) -> int:
    """Return which of the node's results an edge stands for."""
    number: int = edge[1] if type(edge) is tuple else 0
    return number
