"""make_fx: the graph of what a function calls, below autograd."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from opwright.fake.modes import FakeTensorMode, active_mode, mode_of
from opwright.fx.above_autograd import CallRecording
from opwright.fx.graph_module import GraphModule
from opwright.fx.guards import Condition, Guards, InputGuard, expression_of
from opwright.fx.isolation import unrecorded
from opwright.fx.node import Node
from opwright.fx.recording import ProxyTorchDispatchMode, Recorder
from opwright.fx.sizes import SYMBOLIC
from opwright.fx.trees import TreeInfo
from opwright.pytree import TreeSpec, tree_flatten, tree_unflatten
from opwright.registering.custom_classes import find_custom_class
from opwright_core.arrays.dtypes import dtype_name
from opwright_core.arrays.size import Size
from opwright_core.dispatch.call.operator import Operator
from opwright_core.tensors.tensor import Tensor

__all__ = ["make_fx", "symbolic_trace"]

TracingMode = Literal["real", "fake", "symbolic"]
_MODES: Final = ("real", "fake", "symbolic")


def make_fx(
    f: Callable[..., Any],
    decomposition_table: Mapping[Operator, Callable[..., Any]] | None = None,
    tracing_mode: TracingMode = "real",
    _allow_non_fake_inputs: bool = False,
    *,
    pre_dispatch: bool = False,
    record_stack_traces: bool = False,
    **options: Any,
) -> Callable[..., GraphModule]:
    """Return a function that takes example arguments for `f`, runs it, and returns the graph of the operators that it
    called below autograd.

    A backward pass in `f` is part of the graph; so are writes and views. Operators of the table are recorded as what
    their functions call. `tracing_mode`: "real" computes, "fake" runs without data, "symbolic" also with symbols for
    sizes: the graph then handles other sizes, those of which `graph.guards` holds. Tensors that `f` has from elsewhere
    become attributes of the graph; without data those that require grad do with `_allow_non_fake_inputs` alone. With
    `pre_dispatch` the operators are recorded that `f` calls itself, above autograd and whole: `linear`, `softmax`, not
    what they are made of. Arguments and results may be trees. PyTorch's further options have no effect.

    Raises ValueError for another mode, FakeKernelError for a real tensor that requires grad where there is no data,
    DataDependentOutputError and GuardOnDataDependentError where `f` branches on data, RuntimeError for a backward pass
    with `pre_dispatch`. Semantics: `torch.fx.experimental.proxy_tensor.make_fx`.
    """
    if tracing_mode not in _MODES:
        raise ValueError(f"make_fx: tracing_mode is one of {', '.join(map(repr, _MODES))}, not {tracing_mode!r}")
    if not callable(f):
        raise TypeError(f"make_fx expects a function, got {type(f).__name__} {f!r:.80}")
    table = dict(decomposition_table or {})

    def trace(*args: Any) -> GraphModule:
        recorder = Recorder(
            _fakes(tracing_mode, args), has_lines=record_stack_traces, takes_parameters=_allow_non_fake_inputs
        )
        inputs = _Inputs(recorder, args, _names(f, len(args)))
        with contextlib.ExitStack() as modes:
            modes.enter_context(unrecorded())
            if recorder.fakes is not None:
                modes.enter_context(recorder.fakes)
            modes.enter_context((CallRecording if pre_dispatch else ProxyTorchDispatchMode)(recorder, table))
            result = f(*inputs.values)
        return _finished(recorder, inputs, result, getattr(f, "__name__", type(f).__name__))

    return trace


def symbolic_trace(root: Callable[..., Any], *examples: Any) -> GraphModule:
    """Return the graph of the operators that a function calls itself, above autograd and with symbolic sizes.

    Unlike PyTorch's, it runs the function without data on fakes of example arguments, and so follows every line of it.
    It is `make_fx(root, tracing_mode="symbolic", pre_dispatch=True)(*examples)`.
    """
    return make_fx(root, tracing_mode="symbolic", pre_dispatch=True)(*examples)


def _fakes(tracing_mode: TracingMode, args: Any) -> FakeTensorMode | None:
    """Return the mode of fakes among the arguments, or that is on; else a new one, or none in real mode."""
    given = mode_of(tree_flatten(args)[0]) or active_mode()
    if given is not None or tracing_mode == "real":
        return given
    if tracing_mode == "fake":
        return FakeTensorMode()
    from opwright.symbolic import ShapeEnv

    return FakeTensorMode(shape_env=ShapeEnv())


def _names(f: Callable[..., Any], count: int) -> list[str]:
    """Return the names of the first parameters; `arg0`, ... where they have none."""
    numbered = [f"arg{number}" for number in range(count)]
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return numbered
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters):
        return numbered
    positional = [each for each in parameters if each.kind in plain]
    required = [each.name for each in positional[count:] if each.default is inspect.Parameter.empty]
    required += [
        each.name
        for each in parameters
        if each.kind is inspect.Parameter.KEYWORD_ONLY and each.default is inspect.Parameter.empty
    ]
    if count > len(positional) or required:
        missing = f", and {', '.join(required)} is missing" if required else ""
        raise TypeError(
            f"make_fx: the function takes {len(positional)} positional arguments, but {count} were given{missing}"
        )
    return [each.name for each in positional[:count]]


class _Inputs:
    """The arguments of a trace: leaves as inputs of the graph, and what the function is called with."""

    def __init__(self, recorder: Recorder, args: Sequence[Any], names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.same: list[tuple[int, int]] = []
        self.nodes: list[Node] = []
        self.leaves: list[Any] = []
        self._recorder = recorder
        found: list[TreeSpec] = []
        self.values: list[Any] = []
        for name, value in zip(names, args, strict=True):
            leaves, spec = tree_flatten(value)
            given = [self._input(f"{name}_{number + 1}", leaf) for number, leaf in enumerate(leaves)]
            self.values.append(tree_unflatten(given, spec))
            found.append(spec)
        is_flat = all(spec.is_leaf() for spec in found)
        self.spec = None if is_flat else TreeSpec(list, None, tuple(found))

    def _input(self, name: str, value: Any) -> Any:
        recorder = self._recorder
        known = next((n for n, leaf in enumerate(self.leaves) if leaf is value and isinstance(value, Tensor)), None)
        if known is not None:
            self.same.append((known, len(self.leaves)))
        given = self._seen(value, name)
        self.leaves.append(value)
        self.nodes.append(recorder.input(name, given))
        return given

    def _seen(self, value: Any, name: str) -> Any:
        fakes = self._recorder.fakes
        if fakes is None:
            return value
        if isinstance(value, Tensor):
            return fakes.from_tensor(value, source=name)
        if type(value) is int and fakes.shape_env is not None and not fakes.static_shapes:
            return fakes.shape_env.create_symbol(value, name)
        return value

    def guards(self) -> Callable[[], Guards]:
        """Return what says in words what was taken to hold of the inputs."""
        env = None if self._recorder.fakes is None else self._recorder.fakes.shape_env
        sizes = self._recorder.sizes
        names = [] if env is None or sizes is None else [name for name in sizes.origins if name in env.symbols]
        branches = [] if env is None else list(env.guards)
        inputs = [(node.name, node.meta["val"], _guarded(node.meta["val"])) for node in self.nodes]
        same, spec = tuple(self.same), self.spec

        def worded() -> Guards:
            ranges = [] if env is None else env._range_guards(names)
            conditions = [Condition(str(each), expression_of(each.origin), True) for each in ranges]
            conditions += [
                Condition(
                    str(each.expression), expression_of(each.expression.origin), each.value, str(each.location or "")
                )
                for each in branches
            ]
            return Guards(tuple([_input_guard(*each) for each in inputs]), tuple(conditions), same, spec)

        return worded


def _guarded(value: Any) -> list[Any]:
    """Return what the graph relies on of an instance of a custom class, as it is now."""
    custom = find_custom_class(type(value))
    return [] if custom is None or custom.guard_fn is None else list(custom.guard_fn(value))


def _input_guard(name: str, value: Any, kept: list[Any]) -> InputGuard:
    custom = find_custom_class(type(value))
    if custom is not None and custom.is_symbolic:
        return InputGuard(name, value=kept, guard_fn=custom.guard_fn, is_any=custom.guard_fn is None)
    if not isinstance(value, Tensor):
        return InputGuard(name, value=_expression(value))
    return InputGuard(
        name,
        dtype_name(value.dtype),
        value.device.type,
        tuple(map(_expression, value.shape)),
        tuple(map(_expression, value.stride())),
    )


def _expression(value: Any) -> Any:
    return expression_of(value.origin) if type(value) in SYMBOLIC else value


def _finished(recorder: Recorder, inputs: _Inputs, result: Any, name: str) -> GraphModule:
    """Return the module of a recorded graph, with its output."""
    graph = recorder.graph
    leaves, spec = tree_flatten(result)
    given = [recorder.argument(leaf) for leaf in leaves]
    is_plain = inputs.spec is None and _is_plain(spec)
    graph.output(tree_unflatten(given, spec) if is_plain else given)
    if not is_plain:
        graph.trees = TreeInfo(inputs.names, inputs.spec, spec)
    for node in reversed(graph.nodes):
        if not node.users and (node.op == "get_attr" or node.meta.get("of_size")):
            graph.erase_node(node)
    made = GraphModule(recorder.constants, graph, name)
    made.guards = inputs.guards()
    if recorder.fakes is not None:
        made.shape_env = recorder.fakes.shape_env
    return made


def _is_plain(spec: TreeSpec) -> bool:
    """Whether a structure is made of tuples, sizes, lists and dicts alone, which Python writes as they are."""
    if spec.is_leaf():
        return True
    if spec.type is dict and not all(isinstance(key, str | int) for key in spec.context):
        return False
    return spec.type in (tuple, Size, list, dict) and all(map(_is_plain, spec.children))
