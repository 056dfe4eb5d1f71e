/* The loops of arithmetic for one type: included with REAL and OF(name), as `pointwise.h` says. */

/* Each step rounded as NumPy does */
LOOP1(fraction_loop, x - OF(trunc)(x))
LOOP1(reciprocal_root_loop, 1 / OF(sqrt)(x))
LOOP1(sign_loop, (REAL)((x > 0) - (x < 0)))
LOOP1(angle_loop, x != x ? x : (REAL)(x < 0 ? 3.14159265358979323846 : 0))
LOOP1(nan_to_num_loop, OF(without_nan)(x, n0, n1, n2))
LOOP1(cube_loop, x *x *x)
LOOP2(add_scaled_loop, OF(plus_product)(x, y, n0))
LOOP2(near_lerp_loop, OF(plus_product)(x, y - x, n0))
LOOP2(far_lerp_loop, OF(plus_product)(y, y - x, -n0))
LOOP3(weighted_lerp_loop, OF(plus_product)(OF(abs)(z) < (REAL)0.5 ? x : y, y - x, OF(abs)(z) < (REAL)0.5 ? z : z - 1))
LOOP2(heaviside_loop, x == 0 ? y : (REAL)(x > 0))
LOOP1(clamp_loop, OF(held)(x, n0, n1))
LOOP2_OR(fmod_loop, OF(is_far_quotient)(x, y), OF(short_fmod)(x, y), OF(fmod)(x, y))
LOOP2_OR(remainder_loop, OF(is_far_quotient)(x, y), OF(short_remainder)(x, y), OF(remainder)(x, y))
LOOP3(addcmul_loop, OF(plus_product)(x, y * n0, z))
LOOP3(addcdiv_loop, x + (y * n0) / z)
