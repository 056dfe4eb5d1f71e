"""Functions that lower packages call in this one (late binding, `opwright_core.late_bound.Fakes`)."""

from opwright.fake.arrays import meta_array, place_on
from opwright.fake.context import constant_of, no_data, number_of, read_item
from opwright.fake.kernels import check_fake_kernel, in_mode, mixed
from opwright.fake.modes import active_mode, as_fake, as_fake_beside, as_fake_on, fake_number, mode_of
from opwright.fake.rule_kernels import rule_kernel

__all__ = [
    "active_mode", "as_fake", "as_fake_beside", "as_fake_on", "check_fake_kernel", "constant_of", "fake_number",
    "in_mode", "meta_array", "mixed", "mode_of", "no_data", "number_of", "place_on", "read_item", "rule_kernel",
]  # fmt: skip
