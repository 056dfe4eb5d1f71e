"""Recording: a dispatch mode that writes every operator that is called into a graph."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from opwright.errors import DataDependentOutputError, FakeKernelError
from opwright.fake.arrays import MetaArray, meta_array, place_on, wrap_meta
from opwright.fake.context import constant_of
from opwright.fake.modes import FakeTensorMode
from opwright.fx.graph import Graph
from opwright.fx.known_tensors import KnownTensors
from opwright.fx.node import Node
from opwright.fx.sizes import SYMBOLIC, Sizes
from opwright.metadata.view_layouts import share_memory
from opwright.namespaces import ops
from opwright.python_dispatch import TorchDispatchMode
from opwright.pytree import tensors_of
from opwright.registering.custom_classes import CustomClass, find_custom_class
from opwright.symbolic.locations import users_line
from opwright_core.arrays.sizes import is_symbolic
from opwright_core.dispatch.call.operator import Operator
from opwright_core.inputs.wrapped_numbers import symbols_of
from opwright_core.keys import PYTHON
from opwright_core.random_state.generator import Generator
from opwright_core.tensors.tensor import Tensor, wrap

__all__ = ["ProxyTorchDispatchMode", "Recorder"]


class Recorder:
    """The graph that a trace writes, its constants, and what is known of the values that the program sees.

    `fakes` is the mode that stands in for data; None where real tensors are computed with. Beside fakes a real tensor
    that requires grad is an error, unless `takes_parameters`.
    """

    def __init__(
        self, fakes: FakeTensorMode | None, *, has_lines: bool = False, takes_parameters: bool = False
    ) -> None:
        self.graph = Graph()
        self.fakes = fakes
        self.constants: dict[str, Any] = {}
        self.known = KnownTensors()
        self.sizes = Sizes(self.graph) if fakes is not None and fakes.shape_env is not None else None
        self.has_lines = has_lines
        self.takes_parameters = takes_parameters
        self._attributes: dict[int, tuple[Any, Node]] = {}  # by the object that a constant is
        self._instances: dict[int, tuple[Any, Node]] = {}  # of custom classes, given as inputs or returned
        self._values: dict[Node, Any] = {}  # nodes that depend on constants alone, with real values

    # From values to nodes

    def argument(self, value: Any) -> Any:
        """Return what stands for an argument of an operator in the graph: nodes for tensors and symbolic sizes."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is list or kind is tuple:
            return kind([self.argument(item) for item in value])
        if isinstance(value, Tensor):
            return self.node_of(value)
        if kind in SYMBOLIC:
            return self._number(value)
        if kind is dict:
            return {name: self.argument(item) for name, item in value.items()}
        if isinstance(value, Generator):
            return self.constant(value, "_generator")
        custom = find_custom_class(kind)
        return value if custom is None else self._instance(value, custom)

    def _instance(self, value: Any, custom: CustomClass) -> Any:
        """Return the node that an instance of a custom class came from; itself for a constant."""
        known = self._instance_node(value)
        if known is not None:
            return known
        if not custom.is_symbolic:
            return value
        made = None if custom.reconstruct_fn is None else custom.reconstruct_fn(value, self._instance_node, self)
        if made is None:
            return self.constant(value, "_custom_object")
        self._instances[id(value)] = value, made
        return made

    def _instance_node(self, value: Any) -> Node | None:
        found = self._instances.get(id(value))
        return None if found is None else found[1]

    def _number(self, value: Any) -> Any:
        assert self.sizes is not None
        return self.sizes.argument(value)

    def node_of(self, tensor: Tensor) -> Node:
        """Return the node of a tensor; for one that the program has from elsewhere, that of a constant."""
        found = self.known.node_of(tensor)
        if found is not None:
            return found
        base = self.known.base_of(tensor)
        if base is not None:  # a view that no operator made
            return self._view(tensor, *base)
        if type(tensor.array) is MetaArray and tensor.array.place.mode is not None:
            number = constant_of(tensor)
            if is_symbolic(number):
                return self._tensor_of(number, tensor)
            data = getattr(tensor.array, "lifted", None)
            if data is not None:
                return self.constant(data, "_tensor_constant")
            raise RuntimeError(
                f"make_fx: a fake tensor of shape {list(tensor.shape)} was made outside of the traced function, and "
                "has no data to keep as a constant: give it as an argument"
            )
        return self.constant(tensor, "_tensor_constant")

    def _tensor_of(self, number: Any, tensor: Tensor) -> Node:
        made = self.graph.call_function(_SCALAR_TENSOR, (self._number(number),), {"dtype": tensor.dtype})
        self.result(tensor, made)
        return made

    def _view(self, tensor: Tensor, base: Tensor, node: Node) -> Node:
        args = [list(tensor.shape), list(tensor.stride()), tensor.storage_offset()]
        made = self.graph.call_function(_AS_STRIDED, (node, *map(self.argument, args)))
        self.result(tensor, made)
        return made

    def constant(self, value: Any, prefix: str) -> Node:
        """Return the node that reads an object that is kept with the graph."""
        known = self._attributes.get(id(value))
        if known is not None:
            return known[1]
        number = sum(name.startswith(prefix) for name in self.constants)
        name = f"{prefix}{number}"
        self.constants[name] = value
        made = self.graph.get_attr(name)
        self._attributes[id(value)] = value, made
        if isinstance(value, Tensor):
            made.meta["val"] = _seen(value)
            self._values[made] = value
        return made

    def stand_in(self, value: Any) -> Any:
        """Return an argument with which the operator can be called: fakes of constants, where data is stood in for."""
        if isinstance(value, Tensor):
            if self.fakes is None or type(value.array) is MetaArray:
                return value
            if value.requires_grad and not self.takes_parameters:
                raise FakeKernelError(
                    f"make_fx: the function captures a real tensor of shape {list(value.shape)} that requires grad. "
                    "Without data its gradient would be a fake tensor: give it as an argument (a module's parameters "
                    "by func.functional_call), detach it before the trace, or trace with _allow_non_fake_inputs=True"
                )
            node = self.node_of(value)
            fake = self.fakes.from_tensor(value, static_shapes=True)
            self.known.note(fake, node)
            return fake
        if type(value) is list:
            return [self.stand_in(item) for item in value]
        return value

    # From results to nodes

    def result(self, value: Any, node: Node, *, is_input: bool = False) -> None:
        """Take a value to be what a node gives."""
        if isinstance(value, Tensor):
            self.known.note(value, node)
            node.meta["val"] = _seen(value)
            if self.sizes is not None:
                self.sizes.found_in(value, node, is_input=is_input)
        elif isinstance(value, tuple | list):
            node.meta["val"] = type(value)(map(_seen, value)) if type(value) in (tuple, list) else None
            for number, item in enumerate(value):
                if isinstance(item, Tensor | tuple | list) or type(item) in SYMBOLIC:
                    self.result(item, self.graph.call_function(operator.getitem, (node, number)))
        elif type(value) in SYMBOLIC:
            node.meta["val"] = value
            if self.sizes is not None:
                self.sizes.given_by(value, node)
        else:
            node.meta["val"] = value
            custom = find_custom_class(type(value))
            if custom is not None and custom.is_input:
                self._instances[id(value)] = value, node

    def input(self, name: str, value: Any) -> Node:
        """Add an input of this value."""
        node = self.graph.placeholder(name)
        self.result(value, node, is_input=True)
        return node

    def call(self, func: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Record a call, and return its result."""
        if func.name == "aten::lift_fresh" and self._is_new(args[0]):
            return self._lifted(args[0])
        if "data_dependent_output" in func.tags:
            known = self._known_value(func, args, kwargs)
            if known is not None:
                return known
        symbols = symbols_of(func, args) if self.sizes is not None else {}
        node_args = tuple([self.argument(symbols.get(position, value)) for position, value in enumerate(args)])
        node_kwargs = {name: self.argument(value) for name, value in kwargs.items()}
        if self.fakes is not None:
            args = [self.stand_in(value) for value in args]
            kwargs = {name: self.stand_in(value) for name, value in kwargs.items()}
        result = func(*args, **kwargs)
        node = self.graph.call_function(func, node_args, node_kwargs)
        if self.has_lines:
            node.meta["stack_trace"] = str(users_line() or "")
        written = _written(func, args, kwargs)
        self._follow(func, node, written, result)
        for tensor in written:  # which may have other memory or another shape now: they are still what their node made
            made = self.known.own_node_of(tensor)
            if made is not None:
                self.known.note(tensor, made)
        self.result(result, node)
        return result

    def _follow(self, func: Operator, node: Node, written: Sequence[Tensor], result: Any) -> None:
        """Keep the values of what depends on constants alone, which can be asked for, and drop those that inputs are
        written to."""
        if self.fakes is not None or not self._values:
            return
        reads = node.all_input_nodes
        if reads and all(each in self._values for each in reads) and "nondeterministic_seeded" not in func.tags:
            if isinstance(result, Tensor):
                self._values[node] = result
            return
        for tensor in written:
            stale = [each for each, value in self._values.items() if share_memory(value, tensor)]
            for each in stale:
                del self._values[each]

    def _is_new(self, tensor: Tensor) -> bool:
        """Whether a tensor was just made of data, which is at hand."""
        is_fake = type(tensor.array) is MetaArray
        return self.known.node_of(tensor) is None and (not is_fake or hasattr(tensor.array, "lifted"))

    def _lifted(self, made: Tensor) -> Tensor:
        """Take what `tensor(...)` makes as a constant, which the graph copies each time it runs."""
        data = made.array.lifted if type(made.array) is MetaArray else wrap(made.array.copy())
        node = self.graph.call_function(_LIFT, (self.constant(data, "_tensor_constant"),))
        if self.fakes is None:
            self._values[node] = made
        self.result(made, node)
        return made

    def _known_value(self, func: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Return a value that a call takes out of constants, None where it is to be recorded. Raises
        DataDependentOutputError for one that is taken out of what depends on inputs."""
        tensors = list(tensors_of([*args, *kwargs.values()]))
        if self.fakes is None:
            inputs = [each for each in map(self.node_of, tensors) if each not in self._values]
            if inputs:
                raise data_dependent(inputs[0].name)
            return func(*args, **kwargs)
        if func.name != "aten::_local_scalar_dense":
            return None
        known = constant_of(tensors[0]) if type(tensors[0].array) is MetaArray else tensors[0].item()
        if known is None and self.sizes is None:
            raise data_dependent(self.node_of(tensors[0]).name)
        return known

    def takes_apart(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> type | None:
        """Return the class with a handler of which a call has an instance that no node made: it takes itself apart, and
        what it calls is recorded."""
        tensors = tensors_of([*args, *kwargs.values()])
        found = (each for each in tensors if each.keys & PYTHON and not self.known.is_known(each))
        return next((type(each) for each in found), None)

    def check_constant(self, tensor: Tensor) -> None:
        """Raise DataDependentOutputError for a tensor that depends on inputs."""
        node = self.known.node_of(tensor)
        if node is not None and node not in self._values:
            raise data_dependent(node.name)


_PLAIN: Final = frozenset([int, float, bool, str, type(None), complex])
_LIFT: Final = ops.aten.lift_fresh_copy.default
_SCALAR_TENSOR: Final = ops.aten.scalar_tensor.default
_AS_STRIDED: Final = ops.aten.as_strided.default


def data_dependent(name: str) -> DataDependentOutputError:
    """Return the error for a value that the program reads and the graph would have to hold for ever."""
    asked = users_line()
    position = "" if asked is None else f"\n  asked at {asked}, in {asked.function}\n{asked.shown('    ')}"
    return DataDependentOutputError(
        f"the value of {name} depends on the inputs, and the traced function asks for it (a branch, item(), int(), "
        f"...): the graph would be right for this value alone{position}\nCompute with tensors instead "
        "(opwright.where for a branch); with tracing_mode='symbolic', a number that is read becomes a symbol"
    )


def _written(func: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Tensor]:
    """Return the tensors that a call writes to by declaration."""
    if not func.signature.written:
        return []
    names = func.signature.names
    return list(
        tensors_of(args[each] if each < len(args) else kwargs.get(names[each]) for each in func.signature.written)
    )


def _seen(value: Any) -> Any:
    """Return what a tensor looks like now: one without data, apart from the tensor's history and later changes."""
    if not isinstance(value, Tensor):
        return value
    array = value.array
    if type(array) is not MetaArray:
        return wrap_meta(meta_array(tuple(value.shape), tuple(value.stride()), value.dtype, place_on(value.device)))
    return wrap_meta(array)


class ProxyTorchDispatchMode(TorchDispatchMode):
    """The mode that has a Recorder record each operator, or what a decomposition makes of it."""

    def __init__(self, recorder: Recorder, decompositions: Mapping[Operator, Callable[..., Any]]) -> None:
        self.recorder = recorder
        self.decompositions = decompositions

    def __torch_dispatch__(
        self, func: Operator, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Record the call, unless a subclass among its arguments is to take itself apart first."""
        if types and self.recorder.takes_apart(args, kwargs or {}) is not None:
            return NotImplemented
        rule = self.decompositions.get(func) if self.decompositions else None
        if rule is not None:
            with self:
                result = rule(*args, **(kwargs or {}))
            if result is not NotImplemented:
                return result
        return self.recorder.call(func, args, kwargs or {})

    def data_is_read(self, tensor: Tensor, what: str) -> None:
        """Refuse what would make data of inputs a constant of the graph, `x.numpy()` or `x.tolist()`."""
        if self.recorder.fakes is None:
            self.recorder.check_constant(tensor)
