import numpy as np
import pytest
import shrink

import opwright

ROWS = np.array([[3.0, 4.0], [0.3, 0.4]])


def test_values() -> None:
    assert shrink.soft(np.array([-1.0, 0.2, 2.0])).tolist() == [-0.5, 0.0, 1.5]
    assert np.allclose(shrink.clip_rows(ROWS), [[0.6, 0.8], [0.3, 0.4]])


@pytest.mark.parametrize("operator", [opwright.ops.shrink.soft.default, opwright.ops.shrink.clip_rows.default])
def test_operators_keep_their_contract(operator: opwright.dispatch.Operator) -> None:
    opwright.library.opcheck(operator, (opwright.from_numpy(ROWS),))


def test_gradients() -> None:
    x = opwright.tensor([-1.0, 0.2, 2.0], dtype=opwright.float64, requires_grad=True)
    assert opwright.autograd.gradcheck(shrink.soft, (x,))
    rows = opwright.tensor(ROWS, requires_grad=True)
    assert opwright.autograd.gradcheck(shrink.clip_rows, (rows,))
    assert opwright.autograd.gradgradcheck(shrink.clip_rows, (rows,))
