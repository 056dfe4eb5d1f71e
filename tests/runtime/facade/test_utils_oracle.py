"""Trees of values, checkpoints and random state, beside PyTorch's."""

from __future__ import annotations

import importlib
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest

pytest.importorskip("torch")
from both import check

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]
Point = namedtuple("Point", "x y")


class Pair:
    def __init__(self, a: Any, b: Any) -> None:
        self.a, self.b = a, b


class List(list):  # type: ignore[type-arg]
    pass


TREES: list[Any] = [
    1, None, "a", [], (), {}, [1, 2], (1, [2, (3, None)]), {"b": 1, "a": [2, {"c": 3}]}, Point(1, [2]),
    OrderedDict(z=1, a=(2,)), defaultdict(list, {"q": [1]}), deque([1, (2,)], maxlen=4), List([1]), {1, 2},
    [(), {}, [None]], [[[[1]]]], ("x", b"y", 1.5),
]  # fmt: skip


def pytree(lib: Any) -> Any:
    return importlib.import_module(f"{lib.__name__}.utils._pytree")


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_trees(tree: Any) -> None:
    def programme(lib: Any) -> Any:
        module = pytree(lib)
        leaves, spec = module.tree_flatten(tree)
        again = module.tree_unflatten(leaves, spec)
        mapped = module.tree_map(lambda leaf: [leaf], tree)
        return [
            leaves, repr(again), type(again).__name__, repr(mapped), spec.num_leaves, spec.num_nodes, spec.is_leaf(),
            spec == module.tree_structure(again), spec == module.tree_structure([tree]), module.tree_leaves(tree),
            repr(module.tree_map_only(int, lambda leaf: leaf * 2, tree)), list(module.tree_iter(tree)),
            module.tree_all(lambda leaf: leaf, tree), module.tree_any_only(int, lambda leaf: leaf > 2, tree),
            repr(module.tree_map(str, tree, is_leaf=lambda value: isinstance(value, tuple))),
        ]  # fmt: skip

    check(programme)


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_paths(tree: Any) -> None:
    def programme(lib: Any) -> Any:
        module = pytree(lib)
        pairs, spec = module.tree_flatten_with_path(tree)
        return [
            [(module.keystr(path), leaf, module.key_get(tree, path) is leaf) for path, leaf in pairs],
            [[type(key).__name__ for key in path] for path, _ in module.tree_leaves_with_path(tree)],
            spec == module.tree_structure(tree),
            repr(module.tree_map_with_path(lambda path, leaf: (module.keystr(path), leaf), tree)),
            repr(module.tree_map_with_path(lambda path, a, b: (len(path), a, b), tree, tree)),
            len(module.tree_leaves_with_path(tree, is_leaf=lambda value: isinstance(value, list))),
        ]

    check(programme)


def test_sizes_are_tuples() -> None:
    def programme(lib: Any) -> Any:
        module = pytree(lib)
        importlib.import_module(f"{lib.__name__}.fx.experimental.proxy_tensor")  # which says so, in PyTorch
        leaves, spec = module.tree_flatten([lib.ones(2, 3).shape])
        again = module.tree_unflatten(leaves, spec)
        return [leaves, repr(again), type(again[0]) is tuple, module.tree_leaves_with_path(again[0])[1][0][0].idx]

    check(programme)


@pytest.mark.parametrize("has_keys", [True, False])
def test_paths_through_a_class(has_keys: bool) -> None:
    def programme(lib: Any) -> Any:
        module = pytree(lib)
        kind = type("Kind", (Pair,), {})
        keys = (lambda pair: ([(module.GetAttrKey(n), getattr(pair, n)) for n in "ab"], None)) if has_keys else None
        module.register_pytree_node(
            kind, lambda pair: ((pair.a, pair.b), None), lambda both, _: kind(*both), flatten_with_keys_fn=keys
        )
        return [(module.keystr(path), leaf) for path, leaf in module.tree_leaves_with_path([kind(1, {"c": 2})])]

    check(programme)


@pytest.mark.parametrize("leaves", [[], [1], [1, 2], [1, 2, 3]])
def test_leaves_must_be_as_many_as_there_are(leaves: list[int]) -> None:
    check(lambda lib: pytree(lib).tree_unflatten(leaves, pytree(lib).tree_structure([0, (0,)])))


def test_trees_of_two_structures() -> None:
    check(lambda lib: pytree(lib).tree_map(lambda a, b: a + b, [1, (2,)], [3, (4,)]))
    check(lambda lib: pytree(lib).tree_map(lambda a, b: a + b, [1, 2], [3]))


def test_classes_of_users() -> None:
    def programme(lib: Any) -> Any:
        module = pytree(lib)
        own = type("Own", (Pair,), {})
        before = module.tree_leaves([own(1, 2)])
        module.register_pytree_node(own, lambda p: ([p.a, p.b], None), lambda children, _: own(*children))
        made = module.tree_map(lambda leaf: leaf + 1, [own(1, (2,))])
        return len(before), module.tree_leaves(made), type(made[0]) is own

    check(programme)


# Checkpoints


def checkpoint(lib: Any) -> Any:
    return importlib.import_module(f"{lib.__name__}.utils.checkpoint").checkpoint


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("random", [True, False])
def test_checkpoints(reentrant: bool, random: bool) -> None:
    def programme(lib: Any) -> Any:
        calls = []

        def part(x: Any, w: Any, scale: float) -> Any:
            calls.append(lib.is_grad_enabled())
            y = (x @ w).sin() * scale
            if random:
                y = lib.nn.functional.dropout(y, 0.5)
            return y, y.sum(), "text"

        lib.manual_seed(3)
        x = lib.arange(6.0).reshape(2, 3).requires_grad_()
        w = lib.ones(3, 2).requires_grad_()
        y, total, text = checkpoint(lib)(part, x, w, 2.0, use_reentrant=reentrant)
        before = len(calls)
        (y.cos().sum() + total).backward()
        return y, total, text, x.grad, w.grad, before, len(calls), lib.rand(2)

    check(programme)


def test_what_a_checkpointed_function_closes_over_gets_its_gradient() -> None:
    def programme(lib: Any) -> Any:
        w, x = lib.tensor([2.0, 3.0], requires_grad=True), lib.tensor([1.0, 5.0])
        y = checkpoint(lib)(lambda x: (x * w).exp(), x, use_reentrant=False)
        y.sum().backward()
        return y, w.grad, y.requires_grad

    check(programme)


def test_a_chain_in_segments() -> None:
    def programme(lib: Any) -> Any:
        module = importlib.import_module(f"{lib.__name__}.utils.checkpoint")
        x = lib.tensor([0.3, 0.5], requires_grad=True)
        functions = [lib.sin, lib.exp, lib.cos, lib.tanh, lib.sqrt]
        y = module.checkpoint_sequential(functions, 2, x, use_reentrant=False)
        y.sum().backward()
        return y, x.grad

    check(programme)


# Random state


def test_random_state_is_given_back() -> None:
    def programme(lib: Any) -> Any:
        lib.manual_seed(7)
        first = lib.rand(3)
        with lib.random.fork_rng():
            inside = lib.rand(3)
            lib.manual_seed(1)
            lib.rand(2)
        state = lib.get_rng_state()
        after = lib.rand(3)
        lib.set_rng_state(state)
        with lib.random.fork_rng(enabled=False):
            again = lib.rand(3)
        return first, inside, after, again, lib.rand(1), lib.initial_seed(), state.shape[0], state.dtype == lib.uint8

    check(programme)


@pytest.mark.parametrize("state", [None, 3, [1, 2]])
def test_what_is_no_state(state: Any) -> None:
    check(lambda lib: lib.set_rng_state(state))
    check(lambda lib: lib.set_rng_state(lib.zeros(3)))
    check(lambda lib: lib.set_rng_state(lib.zeros(3, dtype=lib.uint8)))
