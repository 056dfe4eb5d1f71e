/* The loops of activations for one type: included with REAL and OF(name), as `pointwise.h` says. */

/* Products and sums may be fused */
FUSED
LOOP1(silu_loop, x / (OF(exp_above)(-x) + 1))
LOOP1(mish_loop, OF(mish)(x))
LOOP1_OR_CHEAP(elu_loop, !(x > 0), OF(elu)(x, (REAL)(numbers[0] * numbers[1]), n1, n2), x * n1)
LOOP1(softplus_loop, OF(softplus)(x, n0, n1))
LOOP1(power_below_loop, OF(exp)(-OF(abs)(x))) /* of which the next makes the logarithm of the sigmoid */
LOOP2(log_sigmoid_loop, (x < 0 || x != x ? x : 0) - OF(log1p_of_part)(y))
LOOP1(gelu_loop, OF(own_gelu)(x))
LOOP1(gelu_by_tanh_loop, x * OF(tanh_gate)(x))

/* Backward: x is the gradient of the result */
LOOP2(silu_gradient_loop, OF(silu_slope)(y) * x)
LOOP2(gelu_gradient_loop, OF(gelu_slope)(y) * x)
LOOP2(gelu_by_tanh_gradient_loop, OF(gelu_by_tanh_slope)(y) * x)
LOOP2(elu_gradient_loop, OF(elu_slope)(y, n0, n1, n2) * x)
LOOP2(mish_backward_loop, OF(mish_slope)(y) * x)
LOOP2(softplus_backward_loop, y * n0 > n1 ? x : x / (OF(exp_above)(-(y * n0)) + 1))

UNFUSED
/* Each step rounded as NumPy does */
LOOP1(threshold_loop, x <= n0 ? n1 : x)
LOOP1(hardshrink_loop, (x < -n0 || x > n0 ? x : x * 0) + 0)
LOOP1(softshrink_loop, x - OF(held)(x, -n0, n0))
LOOP1(relu_loop, x > 0 || x != x ? x : 0)
LOOP1(leaky_relu_loop, OF(leaky)(x, x * n0))
LOOP2(threshold_backward_loop, y <= n0 ? 0 : x)
LOOP2(sigmoid_backward_loop, x * ((1 - y) * y))
LOOP2(tanh_backward_loop, x * (1 - y * y))
LOOP2(leaky_relu_backward_loop, y > 0 ? x : x * n0)
LOOP2(hardtanh_backward_loop, y <= n0 || y >= n1 ? 0 : x)
LOOP2(hardsigmoid_backward_loop, y > -3 && y < 3 ? x * (REAL)(1.0 / 6) : 0)
LOOP2(hardswish_backward_loop, y <= -3 ? 0 : y < 3 ? x * (y / 3 + (REAL)0.5) : x)
LOOP2(hardshrink_backward_loop, y >= -n0 && y <= n0 ? 0 : x)
LOOP3(log_sigmoid_backward_loop, x * (y < 0 ? 1 - z / (1 + z) : z / (1 + z)))
LOOP1(hardsigmoid_loop, OF(held)(x + 3, 0, 6) / 6)
LOOP1(hardswish_loop, OF(held)(x + 3, 0, 6) * x / 6)
