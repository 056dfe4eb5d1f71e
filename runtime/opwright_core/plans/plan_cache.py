"""The plan cache of one operator: what results of a call look like, by all that its rule reads of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from opwright_core.core import fast
from opwright_core.keys import DENSE_CPU
from opwright_core.plans.plan import Plan, cast_operands
from opwright_core.plans.plan_keys import key_function
from opwright_core.plans.specs import SpecCache, TensorSpec

__all__ = ["CachedSpec", "PlanCache", "ViewCache"]

_OTHERS: Final = frozenset("tol.")  # arguments of which the key has nothing


class CachedSpec(TensorSpec):
    """A spec in the plan cache of an operator. `keys` are those of a tensor of it on the CPU.

    `is_laid_out`: a result of the kernel lay as planned, and so will those to come, since nothing that is not in the
    key says how they lie (`may_settle`).
    """

    __slots__ = ("is_laid_out", "keys", "may_settle")

    def __init__(self, spec: TensorSpec, operands: Sequence[Any], *, may_settle: bool) -> None:
        for name in TensorSpec.__slots__:
            setattr(self, name, getattr(spec, name))
        self.keys = DENSE_CPU | spec.nondense
        self.may_settle = may_settle
        self.is_laid_out = False
        self.numbers = _cast_numbers(spec, operands) if spec.numbers is None else spec.numbers

    def lies_as_planned(self, returned: Any) -> bool:
        """Whether a result of the kernel has the planned strides, which is remembered."""
        found: bool = returned.strides == self.steps
        self.is_laid_out = found and self.may_settle
        return found

    def is_that_of(self, target: Any) -> bool:
        """Whether the result is what an array is that is written in place, row-major, and no array is cast: remembered,
        since the key has all of it."""
        is_alike = target.dtype is self.dtype and target.strides == self.steps and target.shape == self.shape
        self.is_laid_out = is_alike and (not self.casts or self.numbers is not None) and not self.nondense
        return self.is_laid_out


def _cast_numbers(spec: TensorSpec, operands: Sequence[Any]) -> Sequence[Any] | None:
    """Return the numbers behind an array, cast; None where there is more to cast, or 0.0, whose sign no key has."""
    if not spec.casts or spec.casts[0] or not all(map(_is_kept, operands[1:])):
        return None
    found: Sequence[Any] = cast_operands(spec, operands)[1:]
    return found


def _is_kept(value: Any) -> bool:
    return value is None or type(value) is int or (type(value) in (float, bool) and value != 0)


class PlanCache(SpecCache):
    """The specs of an operator's results by a key: one, or several in a tuple. Bounded, and emptied when the default
    dtype changes.

    `kinds` has a letter for what the key has of each argument. `operands` are the positions of the plan's, where
    these are not the tensors in their order. With `writes` the kernel writes to the tensor at that position, and
    `straight` are the specs of calls in which it may, where that shares no memory with others.
    """

    __slots__ = ("is_trusted", "kinds", "operands", "runs_in_core", "straight", "writes")
    most: ClassVar[int] = 512  # of each operator

    def __init__(
        self,
        kinds: str,
        operands: tuple[int, ...] = (),
        writes: int = -1,
        *,
        runs_in_core: bool = True,
    ) -> None:
        super().__init__()
        self.straight = self if writes < 0 else SpecCache()
        self.writes = writes
        self.kinds = kinds
        self.operands = operands
        self.is_trusted = False  # what the kernel returns is as declared
        self.runs_in_core = runs_in_core  # the compiled core calls the kernel where it runs

    @property
    def key_of(self) -> Callable[..., Any]:
        """Return the function that makes the key of a call's arguments, with arrays for tensors."""
        return key_function(self.kinds)

    def of_call(self, args: Sequence[Any]) -> tuple[tuple[TensorSpec, ...], tuple[Any, ...] | None] | None:
        """Return the cached specs of a call, and for each argument what the kernel gets instead of a
        number, or the dtype that an array is cast to; None for what is passed as it is.

        None where there are no specs, or arrays are cast twice.
        """
        found = self.straight.get(self.key_of(*arrays_of(self.kinds, args)))
        specs = found if isinstance(found, tuple) else (found,)
        if found is None or not any(spec.casts for spec in specs):
            return None if found is None else (specs, None)
        cast = self._cast(found, args) if isinstance(found, TensorSpec) else None
        return None if cast is None else (specs, cast)

    def _cast(self, spec: TensorSpec, args: Sequence[Any]) -> tuple[Any, ...] | None:
        """Return the cast of each argument, None for no cast; None for all if an argument is cast twice."""
        operands = self.operands or tuple([position for position, kind in enumerate(self.kinds) if kind in "TO"])
        if len(operands) != len(spec.casts):
            return None
        known: dict[int, Any] = {}
        cast = cast_operands(spec, [getattr(args[position], "array", args[position]) for position in operands])
        for position, is_cast, value in zip(operands, spec.casts, cast, strict=True):
            is_number = type(args[position]) in (bool, int, float)
            if is_cast and not is_number and not self._is_cast_once(spec, position, args[position]):
                return None
            known[position] = None if not is_cast else value if is_number else spec.compute
        return tuple([known.get(position) for position in range(len(args))])

    def _is_cast_once(self, spec: TensorSpec, position: int, value: Any) -> bool:
        is_tensor = self.kinds[position] in "TO"
        return is_tensor and (spec.common is spec.compute or value.array.dtype is spec.common)

    def fill(self, key: Any, plan: Plan | Sequence[Plan], *operands: Any, is_kept: bool = True) -> Any:
        """Add the specs of a call's plans if they are to be kept, and return them. `operands` are those of the call.

        Raises RuntimeError if the rule planned for other operands: the kernel would not get these.
        """
        plans = (plan,) if isinstance(plan, Plan) else tuple(plan)
        if not _are_as_given(plans[0], operands):
            raise RuntimeError("a rule whose plans are kept must take the operands as they are")
        own = tuple([self._own(each) for each in plans])
        specs = own[0] if isinstance(plan, Plan) else own
        return self.keep(key, specs) if is_kept else specs

    def _own(self, plan: Plan) -> CachedSpec:
        """Return the plan's spec as one of this cache's own: it notes the layout of the kernel's results."""
        spec = plan.spec
        is_dense = not spec.nondense or not spec.shape  # (how others lie may depend on the data)
        is_alone = fast is None or not self.runs_in_core  # the core may come here with a result that it has refused
        may_settle = (
            self.is_trusted and is_alone and is_dense and bool(self.kinds) and not _OTHERS.intersection(self.kinds)
        )
        return CachedSpec(spec, plan.given, may_settle=may_settle)

    def fill_from_plan(self, key: Any, plan: Plan, *operands: Any) -> None:
        """Add the spec of a call that writes, unless its plan says more."""
        if plan.has_own_device or not _are_as_given(plan, operands):
            return
        if type(plan) is Plan:
            self.keep(key, plan.spec)
        if self.writes >= 0 and key not in self.straight and plan.may_write_straight(in_place=self.writes == 0):
            self.straight.keep(key, CachedSpec(plan.spec, plan.given, may_settle=False))


class ViewCache:
    """The facts of a view kernel for the compiled core (`fast/plan/view_cache.c`): `kinds`, as in `PlanCache`, and
    whether it makes a list of views. Python makes each view anew."""

    __slots__ = ("is_list", "kinds")

    def __init__(self, kinds: str, *, is_list: bool = False) -> None:
        self.kinds = kinds
        self.is_list = is_list


def arrays_of(kinds: str, args: Sequence[Any]) -> list[Any]:
    """Return the arguments with arrays for tensors."""
    return [_array(kind, value) for kind, value in zip(kinds, args, strict=True)]


def _array(kind: str, value: Any) -> Any:
    if value is None or kind not in "ToOtLl":
        return value
    return [item.array for item in value] if kind in "Ll" else value.array


def _are_as_given(plan: Plan, operands: Sequence[Any]) -> bool:
    given = plan.given
    return len(given) == len(operands) and all(one is other for one, other in zip(given, operands, strict=True))
