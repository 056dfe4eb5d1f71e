"""The plan cache of one operator: what results of a call look like, by all that its rule reads of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

from opwright_core.core import fast
from opwright_core.keys import DENSE_CPU
from opwright_core.plans.forms import Form, Forms
from opwright_core.plans.plan import Plan, cast_operands

__all__ = ["KnownForm", "KnownViews", "PlanCache"]

_OTHERS: Final = frozenset("tol.")  # arguments of which the key has nothing


class KnownForm(Form):
    """A form that one operator keeps by a key. `keys` are those of a tensor of it on the CPU.

    `is_laid_out`: an answer of the kernel lay as planned, and so will those to come, since nothing that is not in the
    key says how they lie (`may_settle`).
    """

    __slots__ = ("is_laid_out", "keys", "may_settle")

    def __init__(self, form: Form, operands: Sequence[Any], *, may_settle: bool) -> None:
        for name in Form.__slots__:
            setattr(self, name, getattr(form, name))
        self.keys = DENSE_CPU | form.odd
        self.may_settle = may_settle
        self.is_laid_out = False
        self.numbers = _cast_numbers(form, operands)

    def lies_as_planned(self, answer: Any) -> bool:
        """Whether an answer of the kernel has the planned strides, which is remembered."""
        found: bool = answer.strides == self.steps
        self.is_laid_out = found and self.may_settle
        return found

    def is_that_of(self, target: Any) -> bool:
        """Whether the result is what an array is that is written in place, row-major, and nothing is cast: remembered,
        since the key has all of it."""
        is_alike = target.dtype is self.dtype and target.strides == self.steps and target.shape == self.shape
        self.is_laid_out = is_alike and not self.casts and not self.odd
        return self.is_laid_out


def _cast_numbers(form: Form, operands: Sequence[Any]) -> Sequence[Any] | None:
    """Return the numbers behind an array, cast; None where there is more to cast, or a zero, whose sign no key has."""
    if not form.casts or form.casts[0] or not all(map(_is_kept, operands[1:])):
        return None
    found: Sequence[Any] = cast_operands(form, operands)[1:]
    return found


def _is_kept(value: Any) -> bool:
    return value is None or (type(value) in (int, float, bool) and value != 0)


class PlanCache(Forms):
    """The forms of an operator's results by a key: one, or several in a tuple. Bounded, and emptied when the default
    dtype changes.

    `kinds` has a letter for what the key has of each argument, `key_of` makes the key of a call's arguments with
    arrays for tensors. `operands` are the positions of the plan's, where these are not the tensors in their order.
    With `writes` the kernel writes to the tensor at that position, and `straight` are the forms of calls in which it
    may, where that shares no memory with others.
    """

    __slots__ = ("is_served", "is_trusted", "key_of", "kinds", "operands", "straight", "writes")
    most: ClassVar[int] = 512  # of each operator

    def __init__(
        self,
        kinds: str,
        key_of: Callable[..., Any],
        operands: tuple[int, ...] = (),
        writes: int = -1,
        *,
        is_served: bool = True,
    ) -> None:
        super().__init__()
        self.straight = self if writes < 0 else Forms()
        self.writes = writes
        self.kinds = kinds
        self.key_of = key_of
        self.operands = operands
        self.is_trusted = False  # what the kernel returns is as declared
        self.is_served = is_served  # the compiled core calls the kernel where it runs

    def of_call(self, args: Sequence[Any]) -> tuple[tuple[Form, ...], tuple[Any, ...] | None] | None:
        """Return the forms that are kept for a call, and for each argument what the kernel gets in the place of a
        number, or the dtype that an array is cast to; None for what is passed as it is.

        None where there are no forms, or arrays are cast twice.
        """
        found = self.straight.get(self.key_of(*arrays_of(self.kinds, args)))
        forms = found if isinstance(found, tuple) else (found,)
        if found is None or not any(form.casts for form in forms):
            return None if found is None else (forms, None)
        cast = self._cast(found, args) if isinstance(found, Form) else None
        return None if cast is None else (forms, cast)

    def _cast(self, form: Form, args: Sequence[Any]) -> tuple[Any, ...] | None:
        """Return what becomes of the arguments that are cast; None where more is to be done than one cast each."""
        operands = self.operands or tuple([place for place, kind in enumerate(self.kinds) if kind in "TO"])
        if len(operands) != len(form.casts):
            return None
        known: dict[int, Any] = {}
        cast = cast_operands(form, [getattr(args[place], "array", args[place]) for place in operands])
        for place, is_cast, value in zip(operands, form.casts, cast, strict=True):
            is_number = type(args[place]) in (bool, int, float)
            if is_cast and not is_number and (self.kinds[place] not in "TO" or form.common is not form.compute):
                return None
            known[place] = None if not is_cast else value if is_number else form.compute
        return tuple([known.get(place) for place in range(len(args))])

    def learn(self, key: Any, plan: Plan | Sequence[Plan], *operands: Any) -> Any:
        """Remember what the plans of a call say, and return it. `operands` are those that the call has.

        Raises RuntimeError where the rule plans for others: what it made of them nobody would give to the kernel.
        """
        plans = (plan,) if isinstance(plan, Plan) else tuple(plan)
        if not _are_as_given(plans[0], operands):
            raise RuntimeError("a rule whose plans are kept must take the operands as they are")
        own = self._own(plans[0].form, operands), *[self._own(each.form, ()) for each in plans[1:]]
        return self.keep(key, own[0] if isinstance(plan, Plan) else own)

    def _own(self, form: Form, operands: Sequence[Any]) -> KnownForm:
        """Return a form of its own for what is known of the operator's answers."""
        is_simple = not form.odd or not form.shape  # (how others lie may depend on the data)
        is_alone = fast is None or not self.is_served  # the core may come here with an answer that it has refused
        may_settle = (
            self.is_trusted and is_alone and is_simple and bool(self.kinds) and not _OTHERS.intersection(self.kinds)
        )
        return KnownForm(form, operands, may_settle=may_settle)

    def learn_plan(self, key: Any, plan: Plan, *operands: Any) -> None:
        """Remember what the plan of a call that writes says, unless it says more than its form."""
        if plan.has_own_device or not _are_as_given(plan, operands):
            return
        if type(plan) is Plan:
            self.keep(key, plan.form)
        if self.writes >= 0 and key not in self.straight and plan.may_write_straight(in_place=self.writes == 0):
            self.straight.keep(key, KnownForm(plan.form, plan.given, may_settle=False))


class KnownViews:
    """The facts of a view kernel for the compiled core (`fast/view_cache.c`): `kinds`, as in `PlanCache`, and
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
