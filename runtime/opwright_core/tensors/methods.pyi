# The methods of Tensor as type checkers see them: those that rooms above install (`install_methods`), and ATen's.
from typing import Any

from opwright.autograd.tensor_methods import Differentiable
from opwright.methods.casting import Castable
from opwright.methods.exchange import Exchangeable
from opwright.methods.facts import Described
from opwright.methods.functional import Functional
from opwright.methods.indexing import Indexable
from opwright.methods.printing import Printable
from opwright.methods.subclassing import Subclassable
from opwright.methods.values import Valued
from opwright_aten.methods import TensorMethods as Operators
from opwright_core.core import TensorBase

class TensorMethods(  # type: ignore[misc]  # NumPy's `copy`, not that of `aten`
    Indexable,
    Exchangeable,
    Valued,
    Castable,
    Functional,
    Printable,
    Differentiable,
    Subclassable,
    Described,
    Operators,
    TensorBase,
):
    __slots__ = ()

class NotInstalled:
    def __get__(self, instance: Any, owner: type) -> Any: ...

def expect_methods(cls: type) -> None: ...
def methods_of(package: str) -> None: ...
def methods_of_packages() -> None: ...
