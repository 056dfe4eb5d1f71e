"""The operators, declared. Keep the Library: they go when it goes."""

from opwright.library import Library

library = Library("myops", "DEF")
library.define("myadd(Tensor self, Tensor other) -> Tensor")
library.define("myround(Tensor self) -> Tensor")
library.define("mydouble_(Tensor(a!) self) -> Tensor(a!)")
