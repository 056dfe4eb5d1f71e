"""`test_schema`: a call writes to what its declaration says and to nothing else, and so for memory that is shared."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.autograd import no_grad
from opwright.metadata.tags import Tag
from opwright.metadata.view_layouts import share_memory
from opwright_core.errors import ContractError
from opwright_gate.checking.calls import Call, Operand
from opwright_gate.checking.declared import Declared
from opwright_gate.checking.kernel_answers import shared_answers
from opwright_gate.checking.observing import Observed, observe
from opwright_gate.checking.plain_arrays import check_plain_arrays
from opwright_gate.checking.variations import writes_with_others

__all__ = ["check_schema", "undeclared"]


def check_schema(call: Call) -> None:
    """Raise ContractError where a call and the declaration disagree on writes and shared memory, or where plain arrays
    instead of Tensors give something else, or a kernel returns what it was given."""
    with no_grad():
        copied = call.copied()
        observed = observe(copied, copied)
        declared = Declared(call.operator)
        problems = [*undeclared(observed, declared), *_not_performed(call, observed, declared)]
        problems += shared_answers(call.copied(), declared)
    if problems:
        raise ContractError("\n".join(dict.fromkeys(problems)))
    check_plain_arrays(call)


def undeclared(observed: Observed, declared: Declared) -> Iterator[str]:
    """Yield what a call did that its declaration does not say."""
    operator = observed.call.operator
    for operand in observed.written:
        if not any(share_memory(operand.tensor, other.tensor) for other in observed.call.written):
            name = operator.signature.names[operand.position]
            yield (
                f"{operator.name} writes to {operand.name}, and its declaration does not say so: "
                f"{declared.with_write(operand.position)} (custom_op: mutates_args={{{name!r}}}), or write to a copy "
                f"(x.clone())\n{_declaration(observed.call)}"
            )
    if declared.is_composite:
        return
    for result, operand in observed.views:
        known = [other for other in observed.call.operands if declared.may_share(result.position, other.position)]
        if not any(share_memory(operand.tensor, other.tensor) for other in known):
            yield _undeclared_view(observed.call, declared, result, operand)
        elif result.tensor is operand.tensor and not observed.call.written:
            yield (
                f"{operator.name} returns {operand.name} itself as {result.name}: an operator that does not write to "
                f"an argument returns a view of it (x.view(x.shape)) or a copy\n{_declaration(observed.call)}"
            )
    for first, second in observed.twins:
        if not declared.may_meet(first.position, second.position):
            yield (
                f"{operator.name}: {first.name} and {second.name} share memory, and the declaration does not say so: "
                f"return copies (x.clone())\n{_declaration(observed.call)}"
            )


def _undeclared_view(call: Call, declared: Declared, result: Operand, operand: Operand) -> str:
    what = "is" if result.tensor is operand.tensor else "shares memory with"
    return (
        f"{call.operator.name}: {result.name} {what} {operand.name}, and the declaration does not say so: "
        f"{declared.with_alias(result.position, operand.position)}, or return a copy (x.clone())\n{_declaration(call)}"
    )


def _not_performed(call: Call, observed: Observed, declared: Declared) -> Iterator[str]:
    """Yield what the declaration says that a call did not do, where it could have."""
    operator = call.operator
    if declared.is_composite:
        return
    for operand in observed.call.written if Tag.inplace_view not in operator.tags else ():
        if operand.tensor.numel() and not writes_with_others(call, observed, operand):
            name = operator.signature.names[operand.position]
            yield (
                f"{operator.name} is declared to write to {operand.name}, and does not, whatever is in it: write "
                f"`{operator.signature.types[operand.position]} {name}` in its schema (custom_op: leave {name!r} out "
                f"of mutates_args)\n{_declaration(call)}"
            )
    for result in observed.results:
        sources = [other for other in observed.call.operands if declared.may_share(result.position, other.position)]
        alias = operator.signature.aliases[result.position]
        if not sources or not result.tensor.numel():
            continue
        names = " or ".join(other.name for other in sources)
        if alias in operator.signature.written:
            if not any(result.tensor is other.tensor for other in sources):
                yield (
                    f"{operator.name}: {result.name} is declared to be {names} itself, and is not\n{_declaration(call)}"
                )
        elif not any(share_memory(result.tensor, other.tensor) for other in sources):
            yield (
                f"{operator.name}: {result.name} is declared to be a view of {names}, and shares no memory with it: "
                f"write plain `Tensor` for both in its schema\n{_declaration(call)}"
            )


def _declaration(call: Call) -> str:
    return f"Declaration: {call.operator.name}{call.operator.declaration}"
