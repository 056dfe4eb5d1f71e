"""Names of arguments: what generated code takes beside the schema's, and what the runtime takes these for, agree."""

from __future__ import annotations

from opwright_codegen.views.names import OTHER_NAMES
from opwright_core.dispatch.call.keywords import meant, other_names


def test_every_other_name_means_what_it_stands_for() -> None:
    pairs = {(declared, other) for declared, others in OTHER_NAMES.items() for other in others}
    assert {(declared, other) for declared in OTHER_NAMES for other in other_names if meant(other, [declared])} == pairs
    assert other_names == {other for _, other in pairs}


def test_what_could_mean_two_arguments_means_the_first_that_is_listed() -> None:
    declared = list(OTHER_NAMES)
    for other in other_names:
        first = next(name for name in declared if other in OTHER_NAMES[name])
        assert meant(other, declared[::-1]) == first
