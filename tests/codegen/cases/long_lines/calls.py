"""Calls of `demo_long_lines`: broken lines compute what one line would."""

import numpy as np
from demo_long_lines import ops

a, b = np.array([1.0, -2.0]), np.array([0.5, 4.0])
of_all = ops.a_very_long_operator_name_that_leaves_little_room
first, second, third = found = of_all(a, b, the_tolerance_to_be_used_in_comparisons=2.0)
assert found.the_first_result is first and first.tolist() == (a + b * 2 - a).tolist()
assert second.tolist() == [True, True] and third.tolist() == [0.5, 4]
assert of_all(b, a, the_tolerance_to_be_used_in_comparisons=-1.0)[2].tolist() == [1, -2]
assert of_all(b, a)[1].tolist() == [False, True] and of_all(b, a)[2].tolist() == [1, 0]
outs = [np.empty(2), np.empty(2, bool), np.empty(2)]
assert of_all(b, a, out0=outs[0], out1=outs[1], out2=outs[2])[2] is outs[2] and outs[2].tolist() == [1, 0]

assert ops.conditional(a, b, 3.0).tolist() == [1 * 3 + 0.5 * 3 * 2, -2 - 3 - (4 - 3)]
assert [each.tolist() for each in ops.another_operator(a, b)] == [each.tolist() for each in of_all(b, a, None)]
assert ops.third_of_several(a, b).tolist() == of_all(b, a)[2].tolist()
