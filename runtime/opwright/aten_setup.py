"""Opwright as a whole: importing this loads ATen, and gives Tensor its methods.

The first public name that needs more than dtypes and errors imports it (`facade.py`), and so does a Tensor that is
asked for a method before (`tensors/methods.py`). A package of one's own operators works without.
"""

from __future__ import annotations

from functools import partial

import opwright.autograd
import opwright.inspection.overload_facts
import opwright.library
import opwright.methods  # noqa: F401 (it gives Tensor its methods, as `overload_facts` does Operator)
from opwright.creation import factories
from opwright.namespaces import ops
from opwright.registering.late_methods import Later
from opwright_core.random_state.generator import generator_of
from opwright_core.tensors.methods import NotInstalled, methods_of_packages
from opwright_core.tensors.tensor import Tensor

# Last, since generated code imports the runtime; it gives Tensor the methods that are operators.
from opwright_aten import ops as operators  # isort: skip

__all__ = ["factories", "operators"]

methods_of_packages()
for _name in factories.METHODS:  # here, since the package that attaches other methods may still wait for this module
    setattr(Tensor, _name, Later(Tensor, _name, partial(factories.method, ops.aten, _name)))
del Tensor.__getattr__  # type: ignore[attr-defined]  # nothing is to be installed any more
for _name, _method in tuple(vars(Tensor).items()):
    if type(_method) is NotInstalled:
        delattr(Tensor, _name)
generator_of("cpu")  # before there are threads: what a fork holds has to be known when it begins (Note [Forks])
