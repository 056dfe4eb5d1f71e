"""Calls as others take them: functionalised, and pickled, alone and as a graph."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opwright.autograd import no_grad
from opwright.functionalize.transform import functionalize
from opwright.fx import make_fx
from opwright.library.custom_ops import find_definition
from opwright.metadata.tags import Tag
from opwright_core.tensors.tensor import Tensor
from opwright_gate import checking
from opwright_gate.cases import Case
from opwright_gate.comparing import Outputs, difference, shown_error
from opwright_gate.properties.property import Problem
from opwright_gate.properties.transforms import OfOurs
from opwright_gate.samples import Samples
from opwright_gate.subjects import Subject
from opwright_gate.verdicts import Verdict

__all__ = ["Functionalised", "Pickled"]


class Functionalised(OfOurs):
    """Functionalised calls of operators that write."""

    name, title, group = "functionalises", "Functionalised calls give and write what calls do", "transforms"
    finds = "An operator that writes, whose functionalised call gives or writes something else: its variants disagree."
    example = (
        "def scale_(x, by):\n    x *= by\n\n\n"
        "def scale(x, by):  # which functionalisation calls for scale_\n    return x * by * by"
    )
    mend = "Make the functional variant, of the same name without `_` or `out`, compute the same."

    def applies(self, subject: Subject) -> bool | str:
        """Whether the operator writes values."""
        if not subject.operator.signature.written or Tag.inplace_view in subject.operator.tags:
            return False
        return super().applies(subject)

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for the first call that differs, undecided where functionalisation says that it cannot."""
        if samples.why_unstable:
            yield self.undecided(subject, samples.why_unstable, "not-comparable")
            return
        for case in [*samples.some, *samples.more]:
            wanted, call = subject.run(case), case.call(subject.operator)
            if wanted.error is not None:
                continue
            function, tensors = _of_tensors(call)
            try:
                with no_grad():
                    results = functionalize(function)(*tensors)
            except Exception as error:
                if "functionalize" in str(error) or not subject.has_fake:
                    yield self.undecided(subject, shown_error(error), "not-functionalised")
                else:
                    why = f"the functionalised call raises: {shown_error(error)}"
                    yield self.broken(subject, case, Problem("functionalised-raises", why, _FUNCTIONALISED))
                return
            text = difference(_arrays(call, results), wanted.outputs)
            if text is not None:
                why = f"in the functionalised call {text}"
                yield self.broken(subject, case, Problem("functionalised-differs", why, _FUNCTIONALISED))
                return


class Pickled(OfOurs):
    """Pickles of an operator, and of a graph that calls it."""

    name, title, group = "pickles", "Pickled and loaded, it calls the same", "transforms"
    finds = "An operator, or a graph of a call, that a pickle does not bring back: its module does not define it."
    example = 'exec(source, made := {})\ncustom_op("mylib::f", made["kernel"])  # whose __module__ is "builtins"'
    mend = "Define the operator when its module is imported; set `function.__module__` of what is made by `exec`."

    def check(self, subject: Subject, samples: Samples) -> Iterator[Verdict]:
        """Yield a verdict for the first thing that comes back as something else, or not at all."""
        definition = find_definition(subject.operator)
        for each in (subject.operator, definition):
            if each is not None and pickle.loads(pickle.dumps(each)) is not each:
                yield self.broken(subject, samples.first, Problem("pickle-differs", f"{each!r} comes back as another"))
                return
        home = None if definition is None else definition.__module__
        if home is not None and (home == "builtins" or home not in sys.modules):
            why = f"its pickle names the module {home!r}, which does not define it: no other process can load it"
            yield self.broken(subject, samples.first, Problem("not-loadable", why))
            return
        for case in samples.some[:1] if subject.has_fake and not samples.why_unstable else ():
            yield from self._of_graph(subject, case)

    def _of_graph(self, subject: Subject, case: Case) -> Iterator[Verdict]:
        call = case.call(subject.operator)
        function, tensors = _of_tensors(call)
        try:
            with no_grad():
                graph = make_fx(function)(*tensors)
                wanted = graph(*_of_tensors(case.call(subject.operator))[1])
        except Exception:
            return  # (what cannot be traced is told elsewhere)
        try:
            loaded = pickle.loads(pickle.dumps(graph))
        except Exception as error:
            if "pickle" in str(error):
                yield self.undecided(subject, f"a graph of a call: {shown_error(error)}", "not-pickled")
            else:
                why = f"pickling a graph of a call raises {shown_error(error)}"
                yield self.broken(subject, case, Problem("pickle-raises", why, _GRAPH))
            return
        with no_grad():
            found = loaded(*_of_tensors(case.call(subject.operator))[1])
        text = difference(_plain(found), _plain(wanted), exact=True)
        if text is not None:
            yield self.broken(subject, case, Problem("pickle-differs", f"in a graph that was loaded {text}", _GRAPH))


_FUNCTIONALISED = ("# opwright.func.functionalize of this call gives, or writes, something else",)
_GRAPH = ("# a graph of this call, made by opwright.fx.make_fx, comes back from a pickle as another",)


def _of_tensors(call: checking.Call) -> tuple[Callable[..., list[Tensor]], list[Tensor]]:
    """Return a call as a function of its Tensors, which returns those of its result, and these Tensors."""
    tensors = list({id(each.tensor): each.tensor for each in call.operands}.values())

    def function(*given: Tensor) -> list[Tensor]:
        places = {id(each): new for each, new in zip(tensors, given, strict=True)}
        moved = call.converted(lambda tensor: places[id(tensor)])
        return [each.tensor for each in checking.results_of(call.operator, moved())]

    return function, tensors


def _arrays(call: checking.Call, results: list[Tensor]) -> Outputs:
    """Return the arrays of results and of what was written, named as those of an Answer."""
    return [*_plain(results), *[(each.name, np.array(each.tensor.numpy(force=True))) for each in call.written]]


def _plain(results: Any) -> Outputs:
    return [(f"result {place}", np.array(each.numpy(force=True))) for place, each in enumerate(results)]
