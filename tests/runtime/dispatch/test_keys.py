"""Dispatch keys and keysets."""

from __future__ import annotations

import copy
import pickle
import pickletools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import opwright
from opwright_core import keys
from opwright_core.foreign_keys import parse_key
from opwright_core.keys import ALIASES, RUNTIME_KEYS, DispatchKey
from opwright_core.keysets import KeySet

some_keys = st.lists(st.sampled_from(RUNTIME_KEYS))


def test_bits_are_distinct_and_small() -> None:
    bits = [key.bit for key in RUNTIME_KEYS] + [keys.GRAD, keys.VIEW, keys.NONDENSE]
    assert len(set(bits)) == len(bits)
    assert all(bit.bit_count() == 1 and bit < 2**60 for bit in bits)


def test_priority_is_the_designs() -> None:
    names = """
        PreDispatch FrontMode Batched Autocast Tracer
        AutogradCPU AutogradCUDA AutogradMeta AutogradPrivateUse1 AutogradPrivateUse2 AutogradPrivateUse3 AutogradOther
        ADInplaceOrView Functionalize Python BackMode BackendSelect
        Meta PrivateUse3 PrivateUse2 PrivateUse1 CUDA CPU
    """
    assert [key.name for key in RUNTIME_KEYS] == names.split()


def test_highest_priority() -> None:
    assert KeySet(["CPU", "AutogradCPU"]).highest() is DispatchKey.AutogradCPU
    assert KeySet(["CPU", "CUDA"]).highest() is DispatchKey.CUDA
    assert KeySet(["CUDA", "Meta"]).highest() is DispatchKey.Meta
    assert KeySet().highest() is DispatchKey.Undefined


@pytest.mark.parametrize("alias", ALIASES)
def test_alias_keys_are_no_runtime_keys(alias: DispatchKey) -> None:
    assert alias.is_alias
    assert len(KeySet(alias)) == 0


@given(some_keys, some_keys)
def test_algebra_is_that_of_sets(left: list[DispatchKey], right: list[DispatchKey]) -> None:
    a, b = KeySet(left), KeySet(right)
    assert set(a | b) == set(left) | set(right)
    assert set(a & b) == set(left) & set(right)
    assert set(a - b) == set(left) - set(right)
    assert (a == b) == (set(left) == set(right))
    assert a != b or hash(a) == hash(b)
    assert list(a) == sorted(set(left), key=RUNTIME_KEYS.index)
    assert len(a) == len(set(left))


@given(some_keys, st.sampled_from(RUNTIME_KEYS))
def test_add_remove_has(members: list[DispatchKey], key: DispatchKey) -> None:
    keyset = KeySet(members)
    assert keyset.add(key).has(key)
    assert not keyset.remove(key).has(key)
    assert (key in keyset) == (key in members)
    assert keyset.add(key).remove(key) == keyset.remove(key)


@given(some_keys)
def test_pickles_and_copies(members: list[DispatchKey]) -> None:
    keyset = KeySet(members)
    assert pickle.loads(pickle.dumps(keyset)) == keyset
    assert copy.deepcopy(keyset) == keyset


def test_what_ordinary_tensors_carry_is_one_digit_of_an_int() -> None:
    x = opwright.ones(2, requires_grad=True)
    for tensor in (x, x * 2, x[0], opwright.ones(2, device="meta")):
        assert 0 < tensor.keys < 2**30
    assert keys.PRIVATE | keys.BACKENDS | keys.ADINPLACEORVIEW | keys.AUTOGRAD < 2**30
    assert RUNTIME_KEYS[0].bit < 2**60


def test_pickles_hold_names_since_bits_may_move() -> None:
    for value in (DispatchKey.CPU, KeySet(["CPU", "AutogradCPU"])):
        ints = [argument for _, argument, _ in pickletools.genops(pickle.dumps(value, 0)) if isinstance(argument, int)]
        assert not any(argument > 64 for argument in ints)
        assert b"CPU" in pickle.dumps(value)


def test_immutable() -> None:
    with pytest.raises(AttributeError, match="immutable"):
        KeySet().bits = 3  # type: ignore[misc]


def test_private_bits_travel_but_do_not_count() -> None:
    plain, viewed = KeySet(keys.CPU), KeySet(keys.CPU | keys.VIEW)
    assert plain == viewed
    assert hash(plain) == hash(viewed)
    assert viewed.add("AutogradCPU").bits & keys.VIEW
    assert list(viewed) == [DispatchKey.CPU]


def test_after_holds_the_keys_below() -> None:
    below = KeySet.after("ADInplaceOrView")
    assert DispatchKey.ADInplaceOrView not in below
    assert DispatchKey.AutogradCPU not in below
    assert {DispatchKey.Python, DispatchKey.CPU} <= set(below)


def test_names_of_pytorch_are_known() -> None:
    assert DispatchKey.parse("FuncTorchBatched") is DispatchKey.Batched
    assert DispatchKey.parse("AutocastCUDA") is DispatchKey.Autocast
    assert parse_key("SparseCPU") == "SparseCPU"
    assert parse_key("CPU") is DispatchKey.CPU


def test_unknown_name() -> None:
    with pytest.raises(ValueError, match="could not parse dispatch key 'CPUU'"):
        parse_key("CPUU")
