"""Lines of programs that show faults of backward passes: each ends in an assertion, or a call, that fails."""

from __future__ import annotations

from typing import Final

from opwright_gate.cases import TEXTS

__all__ = [
    "alone",
    "casts",
    "connected",
    "first_order",
    "laid",
    "mutated",
    "second_order",
    "shapes",
    "tangents",
    "written",
]

first_order: Final = ("assert {origin}.autograd.gradcheck({function}, {inputs})",)
second_order: Final = ("assert {origin}.autograd.gradgradcheck({function}, {inputs})",)
tangents: Final = ("assert {origin}.autograd.gradcheck({function}, {inputs}, check_forward_ad=True)",)

# What the others go on from: the floating-point results, and numbers that come in, as the gate has them.
_FLOATS: Final = (
    "results = [each for each in (results if isinstance(results, (tuple, list)) else [results]) if each.requires_grad]"
)
_RESULTS: Final = ("inputs = {inputs}; results = ({function})(*inputs)", _FLOATS)
_GIVEN: Final = (
    "given = [np.random.default_rng(5).uniform(.5, 2, tuple(r.shape)) for r in results]; "
    "given = [each.astype(r.detach().numpy().dtype) for each, r in zip(given, results)]"
)
_GRADS: Final = (
    "grads = lambda given: {origin}.autograd.grad("
    "results, inputs, [*map({origin}.from_numpy, given)], retain_graph=True, allow_unused=True)"
)
_COMPARED: Final = (
    "for pair in zip(one, other): np.testing.assert_allclose(*[0 if g is None else g.detach().numpy() for g in pair])"
)
_BEGIN: Final = (*_RESULTS, _GIVEN, _GRADS)

connected: Final = (*_BEGIN, "assert results and all(each is not None for each in grads(given))")
shapes: Final = (*_BEGIN, "assert [each.shape for each in grads(given)] == [each.shape for each in inputs]")
written: Final = (
    *_BEGIN,
    "copies = [each.copy() for each in given]; grads(given)",
    "for one, other in zip(given, copies): assert np.array_equal(one, other)",
)
mutated: Final = (
    "inputs = {inputs}; copies = [each.clone() for each in inputs]; results = ({function})(*copies)",
    _FLOATS,
    _GIVEN,
    _GRADS,
    "one = grads(given)",
    "with {origin}.no_grad(): other = [each.mul_(3.0) for each in copies] and grads(given)",
    _COMPARED,
)
casts: Final = (
    "from opwright_gate.properties.gradient_calls import noting_casts",
    *_BEGIN,
    "with noting_casts() as seen: grads(given)",
    "assert not seen, seen",
)


def laid(layout: str) -> tuple[str, ...]:
    """Return the lines in which gradients that come in have a layout, beside row-major ones."""
    lay = f"one, other = [{TEXTS[layout][1].format('each')} for each in given], None"
    return (*_BEGIN, f"{lay}; one, other = grads(one), grads([np.array(each, order='C') for each in one])", _COMPARED)


def alone(number: int) -> tuple[str, ...]:
    """Return the lines of a backward pass from one result alone, beside zeros for the others."""
    one = (
        f"one = {{origin}}.autograd.grad(results[{number}], inputs, {{origin}}.from_numpy(given[{number}]), "
        "retain_graph=True, allow_unused=True)"
    )
    other = f"other = grads([each * (place == {number}) for place, each in enumerate(given)])"
    return (*_BEGIN, f"{one}; {other}", _COMPARED)
