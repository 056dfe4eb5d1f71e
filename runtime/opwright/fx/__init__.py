"""Programs as graphs: `make_fx` records what a function calls, `GraphModule` runs it, and both can be changed between.

Loaded when it is first named; who traces nothing pays nothing.
"""

from opwright.fx.graph import Graph
from opwright.fx.graph_module import GraphModule
from opwright.fx.guards import Guards
from opwright.fx.making import make_fx
from opwright.fx.node import Node, map_aggregate, map_arg
from opwright.fx.purity import has_side_effect

__all__ = ["Graph", "GraphModule", "Guards", "Node", "has_side_effect", "make_fx", "map_aggregate", "map_arg"]
