/* Functions of one complex element, c64 and c128, by NumPy's formulas: real and imaginary parts that are infinite or
 * NaN go where these take them, which is not where C's own products and quotients do. */
#ifndef OPWRIGHT_COMPLEX_ELEMENTS_H
#define OPWRIGHT_COMPLEX_ELEMENTS_H

#include <complex.h>

#include <opwright/elements.h>

typedef struct {
    float re, im;
} parts_c64;
typedef struct {
    double re, im;
} parts_c128;

/* R is the dtype of a part, E the end of the names of its functions, F that of libm's. */
#define COMPLEX(S, R, E, F)                                                                                            \
    ELEMENT parts_##S make_##S(R re, R im)                                                                             \
    {                                                                                                                  \
        const parts_##S made = {re, im};                                                                               \
        return made;                                                                                                   \
    }                                                                                                                  \
    ELEMENT R _Complex of_parts_##S(parts_##S x)                                                                       \
    {                                                                                                                  \
        R _Complex z;                                                                                                  \
        memcpy(&z, &x, sizeof z);                                                                                      \
        return z;                                                                                                      \
    }                                                                                                                  \
    ELEMENT parts_##S parts_of_##S(R _Complex z)                                                                       \
    {                                                                                                                  \
        parts_##S x;                                                                                                   \
        memcpy(&x, &z, sizeof x);                                                                                      \
        return x;                                                                                                      \
    }                                                                                                                  \
    ELEMENT int equal_##S(parts_##S x, parts_##S y) { return x.re == y.re && x.im == y.im; }                           \
    ELEMENT int not_equal_##S(parts_##S x, parts_##S y) { return x.re != y.re || x.im != y.im; }                       \
    ELEMENT parts_##S positive_##S(parts_##S x) { return x; }                                                          \
    ELEMENT parts_##S negative_##S(parts_##S x) { return make_##S(-x.re, -x.im); }                                     \
    ELEMENT parts_##S add_##S(parts_##S x, parts_##S y) { return make_##S(x.re + y.re, x.im + y.im); }                 \
    ELEMENT parts_##S subtract_##S(parts_##S x, parts_##S y) { return make_##S(x.re - y.re, x.im - y.im); }            \
    ELEMENT parts_##S multiply_##S(parts_##S x, parts_##S y)                                                           \
    {                                                                                                                  \
        return make_##S(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re);                                         \
    }                                                                                                                  \
    ELEMENT parts_##S square_##S(parts_##S x) { return multiply_##S(x, x); }                                           \
    ELEMENT parts_##S divide_##S(parts_##S x, parts_##S y)                                                             \
    {                                                                                                                  \
        const R re = abs_##E(y.re), im = abs_##E(y.im);                                                                \
        if (re == 0 && im == 0)                                                                                        \
            return make_##S(x.re / re, x.im / re);                                                                     \
        if (re >= im) {                                                                                                \
            const R ratio = y.im / y.re, scale = 1 / (y.re + y.im * ratio);                                            \
            return make_##S((x.re + x.im * ratio) * scale, (x.im - x.re * ratio) * scale);                             \
        }                                                                                                              \
        const R ratio = y.re / y.im, scale = 1 / (y.im + y.re * ratio);                                                \
        return make_##S((x.re * ratio + x.im) * scale, (x.im * ratio - x.re) * scale);                                 \
    }                                                                                                                  \
    ELEMENT parts_##S reciprocal_##S(parts_##S x)                                                                      \
    {                                                                                                                  \
        if (abs_##E(x.im) <= abs_##E(x.re)) {                                                                          \
            const R ratio = x.im / x.re, size = x.re + x.im * ratio;                                                   \
            return make_##S(1 / size, -ratio / size);                                                                  \
        }                                                                                                              \
        const R ratio = x.re / x.im, size = x.re * ratio + x.im;                                                       \
        return make_##S(ratio / size, -1 / size);                                                                      \
    }                                                                                                                  \
    ELEMENT parts_##S exp_##S(parts_##S x) { return parts_of_##S(cexp##F(of_parts_##S(x))); }                          \
    ELEMENT parts_##S log_##S(parts_##S x) { return parts_of_##S(clog##F(of_parts_##S(x))); }                          \
    ELEMENT parts_##S sqrt_##S(parts_##S x) { return parts_of_##S(csqrt##F(of_parts_##S(x))); }                        \
    ELEMENT parts_##S sin_##S(parts_##S x) { return parts_of_##S(csin##F(of_parts_##S(x))); }                          \
    ELEMENT parts_##S cos_##S(parts_##S x) { return parts_of_##S(ccos##F(of_parts_##S(x))); }                          \
    ELEMENT parts_##S tan_##S(parts_##S x) { return parts_of_##S(ctan##F(of_parts_##S(x))); }                          \
    ELEMENT parts_##S asin_##S(parts_##S x) { return parts_of_##S(casin##F(of_parts_##S(x))); }                        \
    ELEMENT parts_##S acos_##S(parts_##S x) { return parts_of_##S(cacos##F(of_parts_##S(x))); }                        \
    ELEMENT parts_##S atan_##S(parts_##S x) { return parts_of_##S(catan##F(of_parts_##S(x))); }                        \
    ELEMENT parts_##S sinh_##S(parts_##S x) { return parts_of_##S(csinh##F(of_parts_##S(x))); }                        \
    ELEMENT parts_##S cosh_##S(parts_##S x) { return parts_of_##S(ccosh##F(of_parts_##S(x))); }                        \
    ELEMENT parts_##S tanh_##S(parts_##S x) { return parts_of_##S(ctanh##F(of_parts_##S(x))); }                        \
    ELEMENT parts_##S asinh_##S(parts_##S x) { return parts_of_##S(casinh##F(of_parts_##S(x))); }                      \
    ELEMENT parts_##S acosh_##S(parts_##S x) { return parts_of_##S(cacosh##F(of_parts_##S(x))); }                      \
    ELEMENT parts_##S atanh_##S(parts_##S x) { return parts_of_##S(catanh##F(of_parts_##S(x))); }                      \
    ELEMENT parts_##S exp2_##S(parts_##S x)                                                                            \
    {                                                                                                                  \
        const R factor = (R)0.693147180559945309417232121458176568;                                                    \
        return exp_##S(make_##S(x.re * factor, x.im * factor));                                                        \
    }                                                                                                                  \
    ELEMENT parts_##S expm1_##S(parts_##S x)                                                                           \
    {                                                                                                                  \
        const R half = sin##F(x.im / 2);                                                                               \
        return make_##S(expm1##F(x.re) * cos##F(x.im) - 2 * half * half, exp##F(x.re) * sin##F(x.im));                 \
    }                                                                                                                  \
    ELEMENT parts_##S log2_##S(parts_##S x)                                                                            \
    {                                                                                                                  \
        const R factor = (R)1.442695040888963407359924681001892137;                                                    \
        const parts_##S found = log_##S(x);                                                                            \
        return make_##S(found.re * factor, found.im * factor);                                                         \
    }                                                                                                                  \
    ELEMENT parts_##S log10_##S(parts_##S x)                                                                           \
    {                                                                                                                  \
        const R factor = (R)0.434294481903251827651128918916605082;                                                    \
        const parts_##S found = log_##S(x);                                                                            \
        return make_##S(found.re * factor, found.im * factor);                                                         \
    }                                                                                                                  \
    ELEMENT parts_##S log1p_##S(parts_##S x)                                                                           \
    {                                                                                                                  \
        const R more = x.re + 1;                                                                                       \
        return make_##S(log##F(hypot##F(more, x.im)), atan2##F(x.im, more));                                           \
    }                                                                                                                  \
    ELEMENT parts_##S rsqrt_##S(parts_##S x) { return divide_##S(make_##S(1, 0), sqrt_##S(x)); }                       \
    ELEMENT parts_##S sigmoid_##S(parts_##S x)                                                                         \
    {                                                                                                                  \
        return divide_##S(make_##S(1, 0), add_##S(make_##S(1, 0), exp_##S(negative_##S(x))));                          \
    }

COMPLEX(c64, float, f32, f)
COMPLEX(c128, double, f64, )

#endif
