"""GraphModule: a graph that can be called, with its constants."""

from __future__ import annotations

import copy
import linecache
import weakref
from collections.abc import Callable, Mapping
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from opwright.fx.code import PythonCode, python_code
from opwright.fx.graph import Graph

if TYPE_CHECKING:
    from opwright.fx.guards import Guards

__all__ = ["GraphModule"]

_numbers: Final = count()


class GraphModule:
    """A graph as something that can be called; attributes that the graph reads are its own.

    `root` has these attributes: an object, or a dict by their names, `"block.weight"` too. Raises RuntimeError where
    one is missing. Who changes the graph calls `recompile()`. It pickles, where the functions that it calls do, and
    deepcopies. `guards` says what inputs it was traced for, None where that is not known. Semantics:
    `torch.fx.GraphModule`.
    """

    _guards: Guards | Callable[[], Guards] | None = None
    shape_env: Any = None  # of a graph that was traced with symbolic sizes

    def __init__(self, root: Any, graph: Graph, class_name: str = "GraphModule") -> None:
        self._class_name = class_name
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module"):
                _set(self, str(node.target), _get(root, str(node.target), node.name))
        self.graph = graph

    @property
    def graph(self) -> Graph:
        """Return the graph. Assigning another one recompiles."""
        return self._graph

    @graph.setter
    def graph(self, graph: Graph) -> None:
        if not isinstance(graph, Graph):
            raise TypeError(f"a GraphModule has a Graph, but got {type(graph).__name__}")
        self._graph = graph
        graph.owning_module = self
        self.recompile()

    @property
    def guards(self) -> Guards | None:
        """Return for which inputs the graph does what the traced function does; None where that is not known."""
        if callable(self._guards):  # what a trace knows is put into words when it is first asked for
            self._guards = self._guards()
        return self._guards

    @guards.setter
    def guards(self, guards: Guards | Callable[[], Guards] | None) -> None:
        self._guards = guards

    @property
    def _in_spec(self) -> Any:
        return None if self._graph.trees is None else self._graph.trees.in_spec

    @property
    def _out_spec(self) -> Any:
        return None if self._graph.trees is None else self._graph.trees.out_spec

    def recompile(self) -> None:
        """Have calls run the graph as it is now. The code is made when it is first asked for."""
        self._python_code: PythonCode | None = None
        self._run: Callable[..., Any] | None = None

    def _written(self) -> PythonCode:
        if self._python_code is None:
            self._python_code = python_code(self._graph)
        return self._python_code

    @property
    def code(self) -> str:
        """Return the graph as Python: imports, and a function `forward(self, ...)`, where `self` has the constants."""
        return self._written().src

    def _compiled(self) -> Callable[..., Any]:
        written = self._written()
        filename = f"<opwright.fx graph {next(_numbers)}>"
        names = dict(written.globals)
        exec(compile(written.src, filename, "exec"), names)
        # Tracebacks show the lines of the function, as long as there is such a module.
        linecache.cache[filename] = (len(written.src), None, written.src.splitlines(keepends=True), filename)
        weakref.finalize(self, linecache.cache.pop, filename, None)
        found: Callable[..., Any] = names["forward"]
        return found

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph."""
        if self._run is None:
            self._run = self._compiled()
        return self._run(self, *args, **kwargs)

    __call__ = forward

    def print_readable(self, print_output: bool = True, **options: Any) -> str:
        """Print the graph as Python with shapes, and return it. PyTorch's further options have no effect."""
        function = python_code(self._graph, is_annotated=True).src.partition("\n\n\n")[2]
        body = "".join(f"    {line}\n" for line in function.splitlines())
        text = f"class {self._class_name}(opwright.fx.GraphModule):\n{body}"
        if print_output:
            print(text)
        return text

    def to_json(self) -> str:
        """Return the graph, with its constants and guards, as JSON (`opwright.fx.from_json` reads it)."""
        from opwright.fx.json_format import to_json

        return to_json(self)

    def add_submodule(self, target: str, m: Any) -> bool:
        """Set an attribute, `"block.weight"` too; return whether that could be done."""
        _set(self, target, m)
        return True

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__, _guards=self.guards)
        for name in ("_run", "_python_code"):
            state[name] = None
        state.pop("shape_env", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.graph = self._graph

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        own = self.__getstate__()
        made.__dict__.update(copy.deepcopy(own, memo))
        if self.shape_env is not None:
            made.shape_env = self.shape_env
        made.graph = made._graph
        return made

    def __copy__(self) -> GraphModule:
        made = GraphModule(self, copy.deepcopy(self._graph), self._class_name)
        made.guards, made.shape_env = self.guards, self.shape_env
        return made

    def __str__(self) -> str:
        return f"{self._class_name}()\n\n{self.code}"

    def __repr__(self) -> str:
        return f"<GraphModule {self._class_name}: {len(self._graph.nodes)} nodes>"

    def _repr_html_(self) -> str:
        from opwright.fx.printing import format_html

        return format_html(self._graph, self._class_name)


def _get(root: Any, name: str, reader: str) -> Any:
    """Return an attribute of an object, or a value of a dict. Raises RuntimeError where there is none."""
    if isinstance(root, Mapping):
        if name in root:
            return root[name]
    else:
        found = root
        for part in name.split("."):
            found = getattr(found, part, _MISSING)
        if found is not _MISSING:
            return found
    raise RuntimeError(f"the node {reader} reads the attribute {name!r}, which the root of the GraphModule lacks")


_MISSING: Final = object()


def _set(module: Any, name: str, value: Any) -> None:
    """Set an attribute; what is on the way to it is made."""
    *way, last = name.split(".")
    for part in way:
        if not hasattr(module, part):
            setattr(module, part, SimpleNamespace())
        module = getattr(module, part)
    setattr(module, last, value)
