"""Recorded calls of custom operators: with the formula that was registered, or so that a backward says that there is
none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any, Final

from opwright.autograd.function import FunctionCtx
from opwright.autograd.function_outputs import NOTHING
from opwright.autograd.gradients import fit, zeros
from opwright.autograd.nodes import Output, next_sequence
from opwright.autograd.recording import mark_view
from opwright.autograd.saved import Saved, save, save_result
from opwright_core.arrays.dtypes import INEXACT
from opwright_core.dispatch.call.operator import Operator
from opwright_core.errors import AutogradError
from opwright_core.keys import GRAD, VIEW
from opwright_core.tensors.tensor import Tensor
from opwright_core.user_kernels.returns import place_of

__all__ = ["OperatorContext", "by_position", "context_of", "counting", "finish", "keep", "new_node", "refuse_keyword"]
Function = Callable[..., Any]
new_node: Final = object.__new__
_PLAIN: Final = frozenset((bool, int, float, str))


class _NeedsInputGrad:
    """A bool for each positional argument, worked out when it is asked for and kept; for a list, which rendered code
    sets, a list of them. (`functools.cached_property` has a lock in Python 3.11, which a fork could leave held.)"""

    def __get__(self, node: OperatorContext | None, owner: type) -> Any:
        if node is None:
            return self
        found = node.__dict__["needs_input_grad"] = tuple([edge is not None for edge in node.edges])
        return found


class OperatorContext(FunctionCtx):
    """The context that `setup_context` and `backward` of a custom operator share, and the node of its call. Rendered
    code makes it without a constructor; each formula has a subclass."""

    backward: Callable[..., Any]
    operator: Operator
    count: int  # of the positional arguments up to the last that is not its default
    tensors: frozenset[int] = frozenset()  # positions of the arguments that are Tensors
    given: tuple[bool, ...] = ()  # of which edges there is a Tensor, where one may be None
    returns_lists = False  # `backward` takes one list of gradients for a list of Tensors
    lengths: tuple[int | None, ...] = ()  # of the lists that a call returned, None for other results
    extra = None
    materialize_grads = True
    saved_for_forward: tuple[Any, ...] = ()
    _to_save: tuple[Tensor | None, ...] = ()
    _non_differentiable: tuple[Tensor, ...] = ()
    _saved: Sequence[Saved] | None = ()
    _is_in_jvp = False

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep inputs or outputs for `backward`, which finds them in `saved_tensors`. (`keep` looks at them.)"""
        self._to_save = tensors

    needs_input_grad = _NeedsInputGrad()

    def apply(self, *grads: Any) -> Sequence[Any]:
        """Call `backward`, and bring its gradients into the order of the edges. Raises RuntimeError."""
        if self.materialize_grads:
            grads = tuple(
                zeros(*output) if grad is None and output is not None else grad
                for grad, output in zip(grads, self.outputs, strict=True)
            )
        if self.lengths:
            each = iter(grads)
            grads = tuple(next(each) if n is None else [next(each) for _ in range(n)] for n in self.lengths)
        try:
            found = type(self).backward(self, *grads)
        except AttributeError as error:  # (a `__getattr__` would make it slow to read any attribute)
            if error.obj is not self:
                raise
            raise AttributeError(
                f"ctx of {self.operator.name} has no attribute '{error.name}': what backward needs, setup_context sets "
                f"(ctx.{error.name} = ...), which register_autograd is given"
            ) from error
        results = list(found) if isinstance(found, tuple) else [found]
        needs = self.needs_input_grad
        if type(found) is list and not (needs and type(needs[0]) is list):
            raise RuntimeError(
                f"function {self.name()} returned a list, which stands for the gradients of one list of Tensors: "
                f"return one gradient, or a tuple{self._whose()}"
            )
        self._check_count(len(results))
        results += [None] * (len(needs) - len(results))
        flat = self._flat(results)
        self._refuse_gradients_of_none(flat)
        for index, (edge, grad) in enumerate(zip(self.edges, flat, strict=True)):
            if edge is not None and grad is not None:
                try:
                    flat[index] = fit(grad, edge, self, index)
                except RuntimeError as error:
                    raise RuntimeError(f"{error}{self._whose()}") from None
        return flat

    def _check_count(self, count: int) -> None:
        """Raise RuntimeError unless there are as many gradients as positional arguments, or as many as the call gave:
        those at the end that are their defaults may be left out, all of them."""
        total = len(self.needs_input_grad)
        if count not in (self.count, total):
            expected = f"{total}" if self.count == total else f"{self.count} or {total}"
            given = "" if self.count == total else f"or for each of the {self.count} that the call gave, "
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {expected}, got {count}): "
                f"return one for each positional argument, which are {self._arguments()}, {given}and None where there "
                f"is none{self._whose()}"
            )

    def input_name(self, index: int) -> str:
        """Return which argument an edge is of."""
        names = self.operator.signature.names
        edges = [
            f"{name}[{item}]" if type(needs) is list else name
            for name, needs in zip(names, self.needs_input_grad, strict=False)
            for item in range(len(needs) if type(needs) is list else 1)
        ]
        return f"argument '{edges[index]}'"

    def _flat(self, results: list[Any]) -> list[Any]:
        """Return the gradients one by one; those of a list of Tensors come as a list of that length."""
        flat: list[Any] = []
        for position, (grad, needs) in enumerate(zip(results, self.needs_input_grad, strict=True)):
            if type(needs) is list:
                if type(grad) is not list or len(grad) != len(needs):
                    raise RuntimeError(self._wrong_structure(results))
                flat += grad
                continue
            if grad is not None and needs is False and position not in self.tensors:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different from None at position {position + 1}, but "
                    f"argument '{self.operator.signature.names[position]}' is not a Tensor but "
                    f"{self.operator.signature.types[position]}: return None there{self._whose()}"
                )
            flat.append(grad)
        return flat

    def _refuse_gradients_of_none(self, flat: Sequence[Any]) -> None:
        for index, is_given in enumerate(self.given):
            if not is_given and flat[index] is not None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different from None at position {index + 1}, but "
                    f"{self.input_name(index)} was None: return None there{self._whose()}"
                )

    def _wrong_structure(self, results: list[Any]) -> str:
        returned = ", ".join(map(_structure, results))
        expected = ", ".join(
            f"a list of {len(needs)}" if type(needs) is list else "a gradient or None"
            for needs in self.needs_input_grad
        )
        return (
            "Expected the return from backward to be of the same structure as the inputs. "
            f"Got: ({returned}) (return from backward), ({expected}) (inputs), which are {self._arguments()}"
            f"{self._whose()}"
        )

    def _arguments(self) -> str:
        names = self.operator.signature.names[: len(self.needs_input_grad)]
        return ", ".join(f"'{name}'" for name in names)

    def _whose(self) -> str:
        return f"\nIn backward of {self.operator.name}, {place_of(type(self).backward)}"


def _structure(grad: Any) -> str:
    if grad is None:
        return "None"
    return f"a {type(grad).__name__}{f' of {len(grad)}' if isinstance(grad, list | tuple) else ''}"


def context_of(operator: Operator, backward: Callable[..., Any]) -> type[OperatorContext]:
    """Return the class of an operator's contexts, whose calls this function differentiates."""
    signature = operator.signature
    return type(
        f"{operator.base}Backward",
        (OperatorContext,),
        {
            "backward": backward,
            "operator": operator,
            "count": signature.positional,
            "returns_lists": any(text.startswith("Tensor") and text.endswith("[]") for text in signature.returns),
            "tensors": frozenset(argument.position for argument in signature.tensors if not argument.is_list),
        },
    )


def by_position(setup_context: Function | None, has_keywords: bool) -> Function | None:
    """Return `setup_context` as rendered code calls it: with positional arguments, in PyTorch's order. It is documented
    to be called by keyword."""
    names = ("ctx", "inputs", "keyword_only_inputs", "output") if has_keywords else ("ctx", "inputs", "output")
    if setup_context is None:
        return None
    if type(setup_context) is FunctionType and setup_context.__code__.co_varnames[: len(names)] == names:
        code = setup_context.__code__
        if code.co_posonlyargcount == 0 and code.co_argcount >= len(names):
            return setup_context

    def call(*args: Any) -> None:
        setup_context(**dict(zip(names, args, strict=True)))

    return call


def counting(operator: Operator, setup_context: Function | None) -> Function | None:
    """Return `setup_context`, called by position, so that the context knows how many arguments the call gave, too, of
    an operator that has defaults."""
    signature = operator.signature
    if signature.fewest >= signature.positional:
        return setup_context

    fewest = signature.fewest
    defaults = [(n, signature.defaults[n]) for n in range(signature.positional - 1, fewest - 1, -1)]

    def call(ctx: OperatorContext, inputs: Sequence[Any], *rest: Any) -> None:
        for position, default in defaults:
            value = inputs[position]
            if value is not default:
                if type(value) not in _PLAIN or not value:  # 0.0 and -0.0 differ
                    ctx.count = len(signature.split(tuple(inputs))[0])
                    break
                if type(value) is not type(default) or value != default:
                    ctx.count = position + 1
                    break
        else:
            ctx.count = fewest
        if setup_context is not None:
            setup_context(ctx, inputs, *rest)

    return call


def refuse_keyword(operator: Operator, name: str, edges: Sequence[Any]) -> None:
    """Raise AutogradError where a keyword-only Tensor requires grad: `backward` has no position for its gradient."""
    if any(edge is not None for edge in edges):
        raise AutogradError(
            f"{operator.name}: argument '{name}' requires grad, but is keyword-only, and backward returns gradients of "
            f"positional arguments alone. Pass {name}.detach(), or make it positional"
        )


def finish(node: OperatorContext, result: Any) -> Any:
    """Make results those of a node that `setup_context` has seen, and keep what it named. (Rendered code does it itself
    for one new floating-point array.)"""
    node.sequence = next_sequence()
    if isinstance(result, list | tuple):
        flat = _without_lists(node, result) if node.returns_lists else result
        node.outputs = [_output(node, number, each) for number, each in enumerate(flat)]
    else:
        node.outputs = (_output(node, 0, result),)
    if node._to_save:
        keep(node)
    return result


def _without_lists(node: OperatorContext, result: list[Any] | tuple[Any, ...]) -> list[Any]:
    """Return the results with what lists among them hold instead; the node keeps the lengths of these."""
    results = (result,) if type(result) is list else result
    node.lengths = tuple(len(each) if type(each) is list else None for each in results)
    return [item for each in results for item in (each if type(each) is list else (each,))]


def _output(node: OperatorContext, number: int, result: Any) -> Output | None:
    """Return what the node knows of a result; a history for the result, if it can have a gradient."""
    if not isinstance(result, Tensor):
        return None
    dtype = result.dtype
    if dtype not in INEXACT:
        return None
    left_out = node._non_differentiable
    if left_out and any(result is each for each in left_out):
        return None
    result.edge = node, number
    result.keys |= GRAD
    if result.keys & VIEW:  # a view operator of a library
        mark_view(result, "custom_function")
    return result.shape, dtype, result.device


def keep(node: OperatorContext) -> None:
    """Save what `save_for_backward` was given. Raises TypeError for what is no Tensor."""
    saved: list[Saved] = []
    for tensor in node._to_save:
        if type(tensor) is Tensor and type(tensor.edge) is not tuple:
            saved.append(save(tensor))
        else:
            saved.append(_saved(node, tensor))
    node._saved = saved
    node._to_save = ()


def _saved(node: OperatorContext, value: Any) -> Saved:
    if value is None:
        return NOTHING
    if not isinstance(value, Tensor):
        raise TypeError(
            f"save_for_backward can only save variables, but argument is of type {type(value).__name__}: keep it as an "
            f"attribute of ctx, in the setup_context of {node.operator.name}"
        )
    edge = value.edge
    if type(edge) is tuple and edge[0] is node:  # a result: without its edge, which would make a cycle
        return save_result(value, edge[1])
    return save(value)
