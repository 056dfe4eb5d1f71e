/* The loops of special functions for one type: included with REAL and OF(name), as `pointwise.h` says. */

/* Special functions, whose products and sums may be fused */
FUSED
LOOP1(erf_loop, OF(erf)(x))
LOOP1(erfc_loop, OF(own_erfc)(x))
LOOP1(erfinv_loop, OF(own_erfinv)(x))
LOOP1_OR(lgamma_loop, OF(is_hard_lgamma)(x), OF(short_lgamma)(x), OF(own_lgamma)(x))
LOOP1(digamma_loop, OF(own_digamma)(x))
LOOP1(sigmoid_loop, 1 / (OF(exp_above)(-x) + 1))
LOOP1(logit_loop, OF(logit)(x, n0 == n0 ? n0 : -1)) /* which is less than nothing, and no NaN to compare */

LOOP1(entr_loop, x < 0 ? -(REAL)INFINITY : x > 0 ? -x * OF(own_log)(x) : x)
LOOP2(xlog1py_loop, x == 0 && y == y ? (REAL)0 : x * OF(log_1p)(y))
LOOP1(sinc_loop, OF(sine_over)(x * (REAL)3.14159265358979323846))
LOOP1(spherical_bessel_j0_loop, (REAL)(isinf((double)x) ? 0 : sine_over_f64((double)x)))
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
LOOP1(trigamma_loop, (REAL)trigamma((double)x))
LOOP2(zeta_loop, (REAL)hurwitz_zeta((double)x, (double)y))
LOOP2(igamma_loop, (REAL)gamma_fraction((double)x, (double)y, 0))
LOOP2(igammac_loop, (REAL)gamma_fraction((double)x, (double)y, 1))

UNFUSED
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
