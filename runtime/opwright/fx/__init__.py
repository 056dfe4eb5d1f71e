"""Programs as graphs: `make_fx` records what a function calls, `GraphModule` runs it, and both can be changed between.

Loaded when it is first named; who traces nothing pays nothing.
"""

from opwright.fx.graph import Graph
from opwright.fx.graph_module import GraphModule
from opwright.fx.guards import Guards
from opwright.fx.interpreter import Interpreter, Transformer
from opwright.fx.json_format import from_json, to_json
from opwright.fx.json_values import JSONFormatError
from opwright.fx.making import make_fx, symbolic_trace
from opwright.fx.node import Node, map_aggregate, map_arg
from opwright.fx.purity import has_side_effect

__all__ = [
    "Graph", "GraphModule", "Guards", "Interpreter", "JSONFormatError", "Node", "Transformer", "from_json",
    "has_side_effect", "make_fx", "map_aggregate", "map_arg", "symbolic_trace", "to_json",
]  # fmt: skip
