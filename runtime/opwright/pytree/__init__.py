"""Nested lists, tuples, dicts and classes of users as their leaves and a TreeSpec, as in `torch.utils._pytree`."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

from opwright.pytree.keys import GetAttrKey, MappingKey, SequenceKey
from opwright_core.arrays.size import Size
from opwright_core.tensors.tensor import Tensor

__all__ = [
    "GetAttrKey", "KeyPath", "LeafSpec", "MappingKey", "PyTree", "SequenceKey", "TreeSpec", "is_tensor", "key_get",
    "keystr", "register_pytree_node", "tensors_of", "tree_all", "tree_all_only", "tree_any", "tree_any_only",
    "tree_flatten", "tree_flatten_with_path", "tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_map",
    "tree_map_", "tree_map_only", "tree_map_with_path", "tree_structure", "tree_unflatten", "treespec_pprint",
]  # fmt: skip

PyTree = Any
Function = Callable[..., Any]
IsLeaf = Callable[[Any], bool] | None
Types = type | tuple[type, ...]


KeyPath = tuple[Any, ...]
Paired = Iterable[tuple[Any, Any]]  # keys and children


def _of_sequence(value: Any) -> Paired:
    return [(SequenceKey(number), child) for number, child in enumerate(value)]


def _of_mapping(value: Any) -> Paired:
    return [(MappingKey(key), child) for key, child in value.items()]


class _Kind(NamedTuple):
    """The way values of a class are taken apart, into children and what else they are, and put together; and the
    children with their keys, where these are known."""

    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[Iterable[Any], Any], Any]
    with_keys: Callable[[Any], Paired] | None


def _mapping(cls: Callable[[Iterable[tuple[Any, Any]]], Any]) -> _Kind:
    return _Kind(
        lambda value: (value.values(), list(value)),
        lambda children, keys: cls(zip(keys, children, strict=True)),
        _of_mapping,
    )


_kinds: Final[dict[type, _Kind]] = {
    list: _Kind(lambda value: (value, None), lambda children, _: list(children), _of_sequence),
    tuple: _Kind(lambda value: (value, None), lambda children, _: tuple(children), _of_sequence),
    Size: _Kind(lambda value: (value, None), lambda children, _: tuple(children), _of_sequence),  # not ints, in graphs
    dict: _mapping(dict),
    OrderedDict: _mapping(OrderedDict),
    defaultdict: _Kind(
        lambda value: (value.values(), (value.default_factory, list(value))),
        lambda children, about: defaultdict(about[0], zip(about[1], children, strict=True)),
        _of_mapping,
    ),
    deque: _Kind(lambda value: (value, value.maxlen), deque, _of_sequence),
}
_named: Final = _Kind(
    lambda value: (value, type(value)),
    lambda children, cls: cls(*children),
    lambda value: [(GetAttrKey(name), getattr(value, name)) for name in value._fields],
)


@dataclass(frozen=True)
class TreeSpec:
    """The structure of a tree: the class of its root (None for a leaf), what else the root is, and its children."""

    type: Any
    context: Any
    children: tuple[TreeSpec, ...] = ()

    @cached_property
    def num_leaves(self) -> int:
        """Return how many leaves such a tree has."""
        return 1 if self.type is None else sum([child.num_leaves for child in self.children])

    @property
    def num_nodes(self) -> int:
        """Return how many nodes such a tree has, leaves too."""
        return 1 + sum(child.num_nodes for child in self.children)

    @property
    def num_children(self) -> int:
        """Return how many children the root has."""
        return len(self.children)

    @property
    def children_specs(self) -> list[TreeSpec]:
        """Return the structures of the children."""
        return list(self.children)

    def is_leaf(self) -> bool:
        """Whether the tree is one leaf."""
        return self.type is None

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """Return the tree with these leaves."""
        return tree_unflatten(leaves, self)

    def __repr__(self) -> str:
        if self.is_leaf():
            return "*"
        return f"TreeSpec({self.type.__name__}, {self.context!r}, [{', '.join(map(repr, self.children))}])"


_LEAF: Final = TreeSpec(None, None)


def LeafSpec() -> TreeSpec:
    """Return the structure of a leaf."""
    return _LEAF


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Function,
    *,
    flatten_with_keys_fn: Callable[[Any], tuple[Paired, Any]] | None = None,
    **names: Any,
) -> None:
    """Have values of a class taken apart by `flatten_fn(value)`, which returns children and a context, and put together
    by `unflatten_fn(children, context)`. `flatten_with_keys_fn(value)` returns pairs of keys and children, and the
    context. Further arguments of PyTorch's, for serialisation, have no effect. Raises ValueError for a class that is
    registered."""
    if cls in _kinds:
        raise ValueError(f"{cls} is already registered as pytree node")
    found = flatten_with_keys_fn
    _kinds[cls] = _Kind(flatten_fn, unflatten_fn, None if found is None else lambda value: found(value)[0])


def is_registered(cls: type) -> bool:
    """Whether values of a class are taken apart, by itself and not as of a class that it derives from."""
    return cls in _kinds


def _kind_of(tree: Any, is_leaf: IsLeaf) -> tuple[Any, _Kind | None]:
    if is_leaf is not None and is_leaf(tree):
        return None, None
    cls = type(tree)
    if cls in _kinds:
        return cls, _kinds[cls]
    is_named = isinstance(tree, tuple) and tuple in cls.__bases__ and hasattr(cls, "_fields")
    return (NamedTuple, _named) if is_named else (None, None)


def root_of(tree: PyTree) -> tuple[Any, Any, list[Any]]:
    """Return the type and context of the root of a tree, as its TreeSpec has them, and its children. A leaf has no
    type."""
    cls, kind = _kind_of(tree, None)
    if kind is None:
        return None, None, []
    children, context = kind.flatten(tree)
    return cls, context, list(children)


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """Return the leaves of a tree, and its structure. `is_leaf` says of further values that they are leaves."""
    leaves: list[Any] = []
    return leaves, _flatten_into(leaves, tree, is_leaf)


def _flatten_into(leaves: list[Any], tree: PyTree, is_leaf: IsLeaf) -> TreeSpec:
    if is_leaf is None and type(tree) is Tensor:  # the most common leaf
        leaves.append(tree)
        return _LEAF
    cls, kind = _kind_of(tree, is_leaf)
    if kind is None:
        leaves.append(tree)
        return _LEAF
    children, context = kind.flatten(tree)
    return TreeSpec(cls, context, tuple([_flatten_into(leaves, child, is_leaf) for child in children]))


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Return the tree of a structure with these leaves. Raises TypeError for no TreeSpec, ValueError for another number
    of leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"expected a TreeSpec, but got {type(treespec).__name__}")
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(f"the structure has {treespec.num_leaves} leaves, but {len(given)} were given")
    return given[0] if treespec.type is None else _build(iter(given), treespec)


def _build(leaves: Iterator[Any], spec: TreeSpec) -> PyTree:
    kind = _named if spec.type is NamedTuple else _kinds[spec.type]
    children = [next(leaves) if child.type is None else _build(leaves, child) for child in spec.children]
    return kind.unflatten(children, spec.context)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterable[Any]:
    """Go through the leaves of a tree."""
    return iter(tree_leaves(tree, is_leaf))


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """Return the leaves of a tree."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """Return the structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Function, tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Return the tree of what `func` makes of each leaf; further trees of its structure give further arguments. Raises
    ValueError for one of another structure."""
    if not rests and is_leaf is None and type(tree) is Tensor:
        return func(tree)
    leaves, spec = tree_flatten(tree, is_leaf)
    return tree_unflatten(map(func, leaves, *_leaves_of(rests, spec, is_leaf)), spec)


def _leaves_of(trees: Iterable[PyTree], spec: TreeSpec, is_leaf: IsLeaf) -> list[list[Any]]:
    """Return the leaves of each tree. Raises ValueError for one of another structure."""
    found = []
    for tree in trees:
        leaves, structure = tree_flatten(tree, is_leaf)
        if structure != spec:
            raise ValueError(f"trees of two structures: {spec} and {structure}")
        found.append(leaves)
    return found


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Return the leaves of a tree, each with the keys that lead to it, and its structure. Raises ValueError for a class
    that was registered without keys."""
    found: list[tuple[KeyPath, Any]] = []
    _pair_into(found, (), tree, is_leaf)
    return found, tree_structure(tree, is_leaf)


def _pair_into(found: list[tuple[KeyPath, Any]], path: KeyPath, tree: PyTree, is_leaf: IsLeaf) -> None:
    cls, kind = _kind_of(tree, is_leaf)
    if kind is None:
        found.append((path, tree))
        return
    if kind.with_keys is None:
        raise ValueError(
            f"there is no flatten_with_keys_fn for {cls}: pass flatten_with_keys_fn to register_pytree_node"
        )
    for key, child in kind.with_keys(tree):
        _pair_into(found, (*path, key), child, is_leaf)


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """Return the leaves of a tree, each with the keys that lead to it."""
    return tree_flatten_with_path(tree, is_leaf)[0]


def tree_map_with_path(func: Function, tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Return the tree of what `func(path, leaf, ...)` makes of each leaf and the keys that lead to it."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    paths, leaves = [path for path, _ in pairs], [leaf for _, leaf in pairs]
    return tree_unflatten(map(func, paths, leaves, *_leaves_of(rests, spec, is_leaf)), spec)


def keystr(kp: KeyPath) -> str:
    """Return the keys as Python writes them, `['weights'][0].scale`."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Return what the keys lead to."""
    for key in kp:
        obj = key.get(obj)
    return obj


def tree_map_(func: Function, tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call `func` for each leaf, and return the tree as it is."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(types: Types, func: Any = None, tree: Any = None, is_leaf: IsLeaf = None) -> Any:
    """Return the tree in which `func` was applied to the leaves of these types; others stay."""
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, types) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred: Function, tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether the condition holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Function, tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether the condition holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(types: Types, pred: Function, tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether the condition holds for all leaves of these types."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, types))


def tree_any_only(types: Types, pred: Function, tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether the condition holds for a leaf of these types."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, types))


def treespec_pprint(treespec: TreeSpec) -> str:
    """Return the structure as text, leaves as `*`."""
    return repr(tree_unflatten([_Star()] * treespec.num_leaves, treespec))


class _Star:
    def __repr__(self) -> str:
        return "*"


def tensors_of(values: Any) -> Iterator[Tensor]:
    """Yield the tensors among values, and in lists and tuples among them."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from tensors_of(value)


def is_tensor(value: object) -> bool:
    """Whether the value is a Tensor."""
    return isinstance(value, Tensor)
