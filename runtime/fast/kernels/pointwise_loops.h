/* The loops of elementwise kernels for one type: included with REAL, its name, and OF(name), the name with its end.
 * `x`, `y` and `z` are elements of the operands, `n0`, `n1` and `n2` the numbers behind them. */

#define NUMBERS                                                                                                        \
    const REAL n0 = (REAL)numbers[0], n1 = (REAL)numbers[1], n2 = (REAL)numbers[2];                                    \
    (void)n0, (void)n1, (void)n2;

#define LOOP1(NAME, ...)                                                                                               \
    CLONES static void OF(NAME)(char *const *data, npy_intp count, const double *numbers) {                            \
        const REAL *xs = (const REAL *)data[0];                                                                        \
        REAL *out = (REAL *)data[1];                                                                                   \
        NUMBERS                                                                                                        \
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {                                                              \
            const REAL x = xs[i];                                                                                      \
            out[i] = (__VA_ARGS__);                                                                                    \
        }                                                                                                              \
    }

#define LOOP2(NAME, ...)                                                                                               \
    CLONES static void OF(NAME)(char *const *data, npy_intp count, const double *numbers) {                            \
        const REAL *xs = (const REAL *)data[0], *ys = (const REAL *)data[1];                                           \
        REAL *out = (REAL *)data[2];                                                                                   \
        NUMBERS                                                                                                        \
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {                                                              \
            const REAL x = xs[i], y = ys[i];                                                                           \
            out[i] = (__VA_ARGS__);                                                                                    \
        }                                                                                                              \
    }

#define LOOP3(NAME, ...)                                                                                               \
    CLONES static void OF(NAME)(char *const *data, npy_intp count, const double *numbers) {                            \
        const REAL *xs = (const REAL *)data[0], *ys = (const REAL *)data[1], *zs = (const REAL *)data[2];              \
        REAL *out = (REAL *)data[3];                                                                                   \
        NUMBERS                                                                                                        \
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {                                                              \
            const REAL x = xs[i], y = ys[i], z = zs[i];                                                                \
            out[i] = (__VA_ARGS__);                                                                                    \
        }                                                                                                              \
    }

/* A function of one operand with an easy way that compilers vectorise, and another where IS_HARD. */
#define LOOP1_OR(NAME, IS_HARD, EASY, HARD)                                                                            \
    CLONES static void OF(NAME)(char *const *data, npy_intp count, const double *numbers) {                            \
        (void)numbers;                                                                                                 \
        for (npy_intp start = 0; start < count; start += PART) {                                                       \
            const REAL *xs = (const REAL *)data[0] + start;                                                            \
            const npy_intp size = count - start < PART ? count - start : PART;                                         \
            REAL found[PART];                                                                                          \
            int is_hard = 0;                                                                                           \
            EACH_ALONE for (npy_intp i = 0; i < size; i++) {                                                           \
                const REAL x = xs[i];                                                                                  \
                is_hard |= (IS_HARD);                                                                                  \
                found[i] = (EASY);                                                                                     \
            }                                                                                                          \
            for (npy_intp i = 0; is_hard && i < size; i++) {                                                           \
                const REAL x = xs[i];                                                                                  \
                found[i] = (IS_HARD) ? (HARD) : found[i];                                                              \
            }                                                                                                          \
            memcpy((REAL *)data[1] + start, found, (size_t)size * sizeof(REAL));                                       \
        }                                                                                                              \
    }

/* A function of two operands with an easy way that compilers vectorise, and another where IS_HARD. */
#define LOOP2_OR(NAME, IS_HARD, EASY, HARD)                                                                            \
    CLONES static void OF(NAME)(char *const *data, npy_intp count, const double *numbers) {                            \
        (void)numbers;                                                                                                 \
        for (npy_intp start = 0; start < count; start += PART) {                                                       \
            const REAL *xs = (const REAL *)data[0] + start, *ys = (const REAL *)data[1] + start;                       \
            const npy_intp size = count - start < PART ? count - start : PART;                                         \
            REAL found[PART];                                                                                          \
            int is_hard = 0;                                                                                           \
            EACH_ALONE for (npy_intp i = 0; i < size; i++) {                                                           \
                const REAL x = xs[i], y = ys[i];                                                                       \
                is_hard |= (IS_HARD);                                                                                  \
                found[i] = (EASY);                                                                                     \
            }                                                                                                          \
            for (npy_intp i = 0; is_hard && i < size; i++) {                                                           \
                const REAL x = xs[i], y = ys[i];                                                                       \
                found[i] = (IS_HARD) ? (HARD) : found[i];                                                              \
            }                                                                                                          \
            memcpy((REAL *)data[2] + start, found, (size_t)size * sizeof(REAL));                                       \
        }                                                                                                              \
    }

/* Special functions, whose products and sums may be fused */
FUSED
LOOP1(erf_loop, OF(erf)(x))
LOOP1(erfc_loop, OF(own_erfc)(x))
LOOP1(erfinv_loop, OF(own_erfinv)(x))
LOOP1_OR(lgamma_loop, OF(is_hard_lgamma)(x), OF(short_lgamma)(x), OF(own_lgamma)(x))
LOOP1(digamma_loop, OF(own_digamma)(x))
LOOP1(sigmoid_loop, 1 / (OF(exp_above)(-x) + 1))
LOOP1(logit_loop, OF(logit)(x, n0 == n0 ? n0 : -1)) /* which is less than nothing, and no NaN to compare */

LOOP2(xlogy_loop, x == 0 && y == y ? (REAL)0 : x * OF(own_log)(y))
LOOP2(logaddexp_loop, OF(own_logaddexp)(x, y))

/* Special functions that are computed in double */
LOOP1(erfcx_loop, (REAL)own_erfcx((double)x))
LOOP1(log_ndtr_loop, (REAL)own_log_ndtr((double)x))
LOOP1(ndtri_loop, (REAL)own_ndtri((double)x))
LOOP1(airy_ai_loop, (REAL)airy_ai((double)x))
LOOP1(bessel_j0_loop, (REAL)bessel_j0((double)x))
LOOP1(bessel_j1_loop, (REAL)bessel_j1((double)x))
LOOP1(bessel_y0_loop, (REAL)bessel_y0((double)x))
LOOP1(bessel_y1_loop, (REAL)bessel_y1((double)x))
LOOP1(i0_loop, (REAL)bessel_i0((double)x, LARGEST))
LOOP1(i0e_loop, (REAL)bessel_i0((double)x, 0))
LOOP1(i1_loop, (REAL)bessel_i1((double)x, LARGEST))
LOOP1(i1e_loop, (REAL)bessel_i1((double)x, 0))
LOOP1(modified_bessel_k0_loop, (REAL)bessel_k0((double)x, 0))
LOOP1(modified_bessel_k1_loop, (REAL)bessel_k1((double)x, 0))
LOOP1(scaled_modified_bessel_k0_loop, (REAL)bessel_k0((double)x, 1))
LOOP1(scaled_modified_bessel_k1_loop, (REAL)bessel_k1((double)x, 1))
LOOP2(zeta_loop, (REAL)hurwitz_zeta((double)x, (double)y))
LOOP2(igamma_loop, (REAL)gamma_fraction((double)x, (double)y, 0))
LOOP2(igammac_loop, (REAL)gamma_fraction((double)x, (double)y, 1))

/* Activations */
LOOP1(silu_loop, x / (OF(exp_above)(-x) + 1))
LOOP1(mish_loop, OF(mish)(x))
LOOP1(elu_loop, OF(elu)(x, (REAL)(numbers[0] * numbers[1]), n1, n2))
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

UNFUSED
/* Arithmetic, each step rounded as NumPy does */
LOOP1(fraction_loop, x - OF(trunc)(x))
LOOP1(sign_loop, (REAL)((x > 0) - (x < 0)))
LOOP1(angle_loop, x != x ? x : (REAL)(x < 0 ? 3.14159265358979323846 : 0))
LOOP1(nan_to_num_loop, OF(without_nan)(x, n0, n1, n2))
LOOP1(cube_loop, x *x *x)
LOOP2(near_lerp_loop, x + (y - x) * n0)
LOOP2(far_lerp_loop, y - (y - x) * n0)
LOOP1(clamp_loop, OF(held)(x, n0, n1))
LOOP2_OR(fmod_loop, OF(is_far_quotient)(x, y), OF(short_fmod)(x, y), OF(fmod)(x, y))
LOOP2_OR(remainder_loop, OF(is_far_quotient)(x, y), OF(short_remainder)(x, y), OF(remainder)(x, y))
LOOP3(addcmul_loop, x + (y * n0) * z)
LOOP3(addcdiv_loop, x + (y * n0) / z)
LOOP1(leaky_relu_loop, OF(leaky)(x, x * n0))
LOOP2(threshold_backward_loop, y <= n0 ? 0 : x)
LOOP1(hardsigmoid_loop, OF(held)(x + 3, 0, 6) / 6)
LOOP1(hardswish_loop, OF(held)(x + 3, 0, 6) * x / 6)

/* Orthogonal polynomials: y is the degree */
LOOP2(chebyshev_polynomial_t_loop, OF(chebyshev)('t', x, y))
LOOP2(chebyshev_polynomial_u_loop, OF(chebyshev)('u', x, y))
LOOP2(chebyshev_polynomial_v_loop, OF(chebyshev)('v', x, y))
LOOP2(chebyshev_polynomial_w_loop, OF(chebyshev)('w', x, y))
LOOP2(shifted_chebyshev_polynomial_t_loop, OF(chebyshev)('t', x + x - 1, y))
LOOP2(shifted_chebyshev_polynomial_u_loop, OF(chebyshev)('u', x + x - 1, y))
LOOP2(shifted_chebyshev_polynomial_v_loop, OF(chebyshev)('v', x + x - 1, y))
LOOP2(shifted_chebyshev_polynomial_w_loop, OF(chebyshev)('w', x + x - 1, y))
LOOP2(hermite_polynomial_h_loop, OF(hermite)('h', x, y))
LOOP2(hermite_polynomial_he_loop, OF(hermite)('e', x, y))
LOOP2(laguerre_polynomial_l_loop, OF(laguerre)(x, y))
LOOP2(legendre_polynomial_p_loop, OF(legendre)(x, y))

#undef NUMBERS
#undef LOOP1
#undef LOOP1_OR
#undef LOOP2
#undef LOOP2_OR
#undef LOOP3
