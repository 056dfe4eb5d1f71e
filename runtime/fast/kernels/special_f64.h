/* Special functions of double. Those of libm go one element at a time. */

#ifndef OPWRIGHT_KERNELS_SPECIAL_F64_H
#define OPWRIGHT_KERNELS_SPECIAL_F64_H

#include "loops.h"

ELEMENT double own_expm1_f64(double x) { return expm1(x); }
ELEMENT double own_log_f64(double x) { return log_f64(x); }
ELEMENT double exp_above_f64(double x) { return exp_f64(x); }
ELEMENT double own_normal_f64(double x) { return 0.5 * (1.0 + erf_f64(x * 0.7071067811865476)); }
ELEMENT double own_gelu_f64(double x) { return x * own_normal_f64(x); }
ELEMENT double own_erfc_f64(double x) { return erfc(x); }

/* log(1 + e) for e from 0 to 1: what is lost of e in 1 + e is added. */
ELEMENT double log1p_of_part_f64(double e) {
    const double y = 1.0 + e;
    return log_f64(y) + (e - (y - 1.0)) / y;
}

/* A polynomial with so many coefficients, lowest first. */
ELEMENT double polynomial_f64(const double *coefficients, int count, double x) {
    double found = coefficients[count - 1];
    for (int i = count - 2; i >= 0; i--) {
        found = found * x + coefficients[i];
    }
    return found;
}

/* Where the normal distribution function is 0.5 + distance, and tail is what it lacks to 0 or 1: Wichura's AS 241. */
static inline double normal_quantile(double distance, double tail) {
    static const double centre[][8] = {
        {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
         4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
        {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
         3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}};
    static const double middle[][8] = {
        {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
         1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4},
        {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
         1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}};
    static const double far[][8] = {
        {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
         2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
        {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
         7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}};
    const double size = fabs(distance);
    if (size <= 0.425) {
        const double t = 0.180625 - size * size;
        return copysign(size * (polynomial_f64(centre[0], 8, t) / polynomial_f64(centre[1], 8, t)), distance);
    }
    if (tail == 0.0) {
        return copysign(INFINITY, distance);
    }
    const double root = sqrt(-log(tail));
    if (root != root) {
        return root;
    }
    const double(*part)[8] = root <= 5.0 ? middle : far, t = root - (root <= 5.0 ? 1.6 : 5.0);
    return copysign(polynomial_f64(part[0], 8, t) / polynomial_f64(part[1], 8, t), distance);
}

ELEMENT double own_erfinv_f64(double x) {
    return 0.7071067811865476 * normal_quantile(0.5 * x, 0.5 * (1.0 - fabs(x)));
}

#endif
