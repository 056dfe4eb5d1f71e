"""Packages that declare the same operator: one operator, and the kernels of whoever bound some."""

from __future__ import annotations

import pytest
from conftest import Maker

from opwright.errors import RegistrationError
from opwright_core.dispatch.package.generated import Declarations
from opwright_core.dispatch.registry.kernel_kinds import Unbound
from opwright_core.dispatch.registry.registering import install
from opwright_core.keys import DispatchKey

TWICE = "twice(Tensor x) -> Tensor"
BOUND = "opwright_aten.kernels_cpu"


def test_alike_declarations_share_the_operator(define: Maker) -> None:
    known = define(TWICE)
    declare = Declarations(known.namespace, {known.name: "other.yaml:3"})
    assert declare(TWICE) is known


def test_another_declaration_names_both_places(define: Maker) -> None:
    known = define(TWICE)
    with pytest.raises(RegistrationError, match=r"\(Tensor x\) -> Tensor at .*, then \(Tensor y\) .* at other.yaml:3"):
        Declarations(known.namespace, {known.name: "other.yaml:3"})("twice(Tensor y) -> Tensor")


@pytest.mark.parametrize("bound_first", [True, False])
def test_what_is_bound_to_nothing_hides_no_kernel(define: Maker, bound_first: bool) -> None:
    operator = define(TWICE)
    bound = [(operator.name, "CompositeExplicitAutograd", BOUND, "twice", "", "")]
    unbound = [(operator.name, "CPU", "", "twice_cpu", "", "")]
    for rows in (bound, unbound) if bound_first else (unbound, bound):
        install(operator.namespace, rows)
    left = {key: kernels for key, kernels in operator.registrations.items() if kernels}
    assert list(left) == [DispatchKey.CompositeExplicitAutograd]


def test_a_package_keeps_its_own_names_of_kernels(define: Maker) -> None:
    operator = define(TWICE)
    install(
        operator.namespace, [(operator.name, "CPU", BOUND, "twice", "", ""), (operator.name, "CUDA", "", "t", "", "")]
    )
    assert operator.registrations[DispatchKey.CUDA][0].kernel == Unbound("t")
