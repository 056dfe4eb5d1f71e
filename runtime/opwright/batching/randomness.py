"""Random operators under `vmap`: an error, numbers of its own for each sample, or the same for all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opwright.batching.loop import unbatched_write
from opwright.batching.results import batched_results
from opwright.batching.samples import refuse_as_sample, sample_of
from opwright.batching.tables import BatchRule
from opwright.levels.mode_kernels import mapped
from opwright.namespaces import aten
from opwright_core.tensors.tensor import Tensor

if TYPE_CHECKING:
    from opwright.batching.batching import Batching
    from opwright_core.dispatch.call.operator import Operator

__all__ = ["is_drawing", "is_random", "random_rule"]


def is_drawing(operator: Operator) -> bool:
    """Whether an operator draws random numbers, itself or by the operators that it is composed of."""
    return "nondeterministic_seeded" in operator.tags


def is_random(operator: Operator) -> bool:
    """Whether an operator draws random numbers itself."""
    return is_drawing(operator) and not operator._can_decompose()


def check_randomness(level: Batching) -> None:
    """Raise RuntimeError where nothing was said of random numbers."""
    if level.randomness == "error":
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )


def random_rule(operator: Operator) -> BatchRule:
    """Return the rule of an operator that draws random numbers, by the level's `randomness`."""
    signature = operator.signature
    if 0 in signature.written and signature.tensors and signature.tensors[0].position == 0:
        return _inplace_rule(operator)
    size = signature.names.index("size") if "size" in signature.names else None
    same = _SAME.get(operator.base) or _SAME.get(operator.name, _refuse_same)

    def rule(level: Batching, *args: Any) -> Any:
        check_randomness(level)
        batched = level.any_batched(args)
        if level.randomness == "same":
            return same(level, operator, args) if batched else operator.call(*args)
        if operator.base == "multinomial":
            return _drawn_from_rows(level, operator, args)
        if signature.tensors:
            if level.any_batched(args[1:]) and operator.base.endswith("_like"):
                drawn = [operator.call(*[sample_of(level, each, n) for each in args]) for n in range(level.size)]
                return level.put(aten["stack.default"](drawn), 0)
            result = operator.call(*_spread(level, operator, args))
            return batched_results(level, operator, result)
        if size is not None:
            given = list(args)
            given[size] = [level.size, *args[size]]
            return level.batched(operator.call(*given))
        return level.batched(aten["stack.default"]([operator.call(*args) for _ in range(level.size)]))

    return rule


def _spread(level: Batching, operator: Operator, args: Any) -> list[Any]:
    """Return the arguments with a batch in every tensor, and as many dimensions after it as the one with the most; a
    bound of `randint_like` is a number for all."""
    found = list(args)
    positions = [position for position, value in enumerate(args) if isinstance(value, Tensor)]
    if operator.base.endswith("_like"):
        positions = positions[:1]
    most = max(level.rank(args[position]) for position in positions)
    for position in positions:
        value = level.expanded(args[position])
        sizes = [level.size, *[1] * (most + 1 - value.ndim), *value.shape[1:]]
        found[position] = value if value.ndim == most + 1 else aten["reshape.default"](value, sizes)
    return found


def _drawn_from_rows(level: Batching, operator: Operator, args: Any) -> Any:
    """Return what is drawn from each row of each sample: all are rows of one matrix."""
    value = level.expanded(args[0])
    if value.ndim == 2:
        return level.put(operator.call(value, *args[1:]), 0)
    if value.ndim != 3:
        refuse_as_sample(level, operator, args)
    drawn = operator.call(aten["reshape.default"](value, [-1, value.shape[2]]), *args[1:])
    return level.put(aten["reshape.default"](drawn, [level.size, value.shape[1], drawn.shape[1]]), 0)


def _refuse_same(level: Batching, operator: Operator, args: Any) -> Any:
    raise RuntimeError(
        f"vmap: {operator.name} has a batched tensor among its arguments: Vmap does not currently support same "
        "randomness with a batched tensor input. Use randomness='different'"
    )


def _like_sample(level: Batching, operator: Operator, args: Any) -> Any:
    """Return what the first sample gives: numbers that do not depend on what it holds."""
    if any(level.is_batched(each) for each in args[1:]):
        return _refuse_same(level, operator, args)
    return operator.call(_sample(level, args[0]), *args[1:])


def _sample(level: Batching, tensor: Any) -> Any:
    """Return a tensor of a sample's shape and dtype."""
    array = tensor.array
    return aten["new_empty.default"](array.value, list(array.shape))


def _dropped_as_one(level: Batching, operator: Operator, args: Any) -> Any:
    """Return samples with the same elements dropped, and which were kept."""
    value, probability, train = args
    ones = aten["new_ones.default"](_sample(level, value), list(value.shape))
    factors, mask = operator.call(ones, probability, train)
    dropped = level.put(aten["mul.Tensor"](level.front(value), factors), 0)
    return (dropped, mask) if operator.result is None else operator.result(dropped, mask)


# By the name of the operator, what it gives for a batched tensor where the numbers are the same for all samples.
_SAME: Final = {
    "rand_like": _like_sample,
    "randn_like": _like_sample,
    "randint_like": _like_sample,
    "native_dropout": _dropped_as_one,
    "aten::bernoulli.p": _like_sample,  # whose numbers do not depend on what the tensor holds
}


def _inplace_rule(operator: Operator) -> BatchRule:
    def rule(level: Batching, *args: Any) -> Any:
        check_randomness(level)
        is_batched = level.is_batched(args[0])
        others = level.any_batched(args[1:])
        if level.randomness == "same":
            if others:
                _refuse_same(level, operator, args)
            if not is_batched:
                return operator.call(*args)
            numbers = operator.call(_sample(level, args[0]), *args[1:])
            aten["copy_.default"](level.front(args[0]), numbers)
            return args[0]
        if not is_batched:
            if others:
                raise RuntimeError(unbatched_write(operator, args))
            raise RuntimeError(
                f"vmap: {operator.name}: Cannot ask for different inplace randomness on an unbatched tensor: all "
                "samples would see the same numbers. Make it of a batched tensor first (new_empty, clone, …)"
            )
        operator.call(level.front(args[0]), *[mapped(value, level.expanded) for value in args[1:]])
        return args[0]

    return rule
