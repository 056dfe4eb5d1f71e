/* Elements of pointwise kernels, for one type: included with REAL and OF(name). */

/* Return x clamped to low..high; NaN stays NaN, and a NaN bound does nothing. */
ELEMENT REAL OF(held)(REAL x, REAL low, REAL high) {
    const REAL above = x < low ? low : x;
    return above > high ? high : above;
}

/* Return leaky_relu(x), where `below` is x times the negative slope. */
ELEMENT REAL OF(leaky)(REAL x, REAL below) {
    return x > 0 ? x : below;
}

/* Return log(y / (1 - y)), where y is x clamped to eps..1 - eps, or x itself for a negative eps. */
ELEMENT REAL OF(logit)(REAL x, REAL eps) {
    const REAL high = 1 - eps, below = x > high ? high : x, within = x < eps ? eps : below;
    const REAL y = eps >= 0 ? within : x;
    return OF(own_log)(y / (1 - y));
}

/* Return x * tanh(softplus(x)) by e = exp(x): tanh(log(1 + e)) = (e² + 2e) / (e² + 2e + 2). Above 20 it is x. */
ELEMENT REAL OF(mish)(REAL x) {
    const REAL e = OF(exp)(x < 20 ? x : 20), square = e * (e + 2), found = x * (square / (square + 2));
    return x > 20 || x != x ? x : found;
}

/* Return elu(x): x * scale above 0, else (exp(x * input_scale) - 1) * factor, where `factor` is alpha * scale. NaN
 * stays NaN. */
ELEMENT REAL OF(elu)(REAL x, REAL factor, REAL scale, REAL input_scale) {
    const REAL below = OF(own_expm1)((x < 0 ? x : 0) * input_scale) * factor;
    return x > 0 || x != x ? x * scale : below;
}

/* Return log(1 + exp(beta * x)) / beta; x where beta * x is above the threshold, and NaN stays NaN. */
ELEMENT REAL OF(softplus)(REAL x, REAL beta, REAL threshold) {
    const REAL scaled = x * beta, above = scaled > 0 ? scaled : 0;
    const REAL found = (above + OF(log1p_of_part)(OF(exp)(-OF(abs)(scaled)))) / beta;
    return scaled > threshold || x != x ? x : found;
}

/* Return (1 + tanh(u)) / 2 of gelu's tanh approximation, as 1 / (1 + exp(-2u)), which does not cancel where tanh is
 * close to -1. */
ELEMENT REAL OF(tanh_gate)(REAL x) {
    const REAL factor = (REAL)(2 * 0.7978845608028654), cubic = (REAL)(2 * 0.7978845608028654 * 0.044715);
    return 1 / (OF(exp_above)(-(x * x * cubic + factor) * x) + 1);
}

/* Return nan_to_num(x): replacements for NaN and both infinities. A NaN replacement was not given: 0, the largest and
 * the lowest number. */
ELEMENT REAL OF(without_nan)(REAL x, REAL nan, REAL high, REAL low) {
    const REAL at_nan = nan != nan ? 0 : nan, at_high = high != high ? LARGEST : high,
               at_low = low != low ? -LARGEST : low;
    return x != x ? at_nan : x == (REAL)INFINITY ? at_high : x == -(REAL)INFINITY ? at_low : x;
}

/* Return log(exp(x) + exp(y)) without overflow; NaN if one is. */
ELEMENT REAL OF(own_logaddexp)(REAL x, REAL y) {
    const REAL most = x > y || x != x ? x : y, distance = OF(abs)(x - y);
    const REAL found = most + OF(log1p_of_part)(OF(exp)(-distance));
    return x == y ? x + (REAL)0.693147180559945309417232121458176568 : found;
}

/* Slopes */

/* Return the derivative of silu at x. */
ELEMENT REAL OF(silu_slope)(REAL x) {
    const REAL gate = 1 / (OF(exp_above)(-x) + 1);
    return ((1 - gate) * x + 1) * gate;
}

/* Return the derivative of mish at x: t + x s (1 - t²), where t is tanh(log(1 + exp(x))), and s the sigmoid of x. */
ELEMENT REAL OF(mish_slope)(REAL x) {
    const REAL e = OF(exp)(x < 20 ? x : 20), square = e * (e + 2), bent = square / (square + 2);
    const REAL found = bent + x * (e / (e + 1)) * (1 - bent * bent);
    return x > 20 ? 1 + (x - x) : x != x ? x : found;
}

/* Return the derivative of gelu at x: the normal density times x, plus its distribution function. */
ELEMENT REAL OF(gelu_slope)(REAL x) {
    return OF(exp)(x * x * (REAL)-0.5) * (REAL)0.3989422804014327 * x + OF(own_normal)(x);
}

/* Return the derivative of gelu's tanh approximation at x. */
ELEMENT REAL OF(gelu_by_tanh_slope)(REAL x) {
    const REAL factor = (REAL)(2 * 0.7978845608028654), cubic = (REAL)(6 * 0.7978845608028654 * 0.044715);
    const REAL gate = OF(tanh_gate)(x);
    return (x * x * cubic + factor) * x * gate * (1 - gate) + gate;
}

/* Return the derivative of elu at x: `scale` above 0 and for NaN, else exp(x * input_scale) * below. */
ELEMENT REAL OF(elu_slope)(REAL x, REAL below, REAL scale, REAL input_scale) {
    const REAL slope = OF(exp)((x < 0 ? x : 0) * input_scale) * below;
    return x > 0 || x != x ? scale : below == scale && x > 0 ? scale : slope;
}
