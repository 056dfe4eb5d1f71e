/* Orthogonal polynomials by their recurrences, for one type: included with REAL and OF(name). A kind is a letter:
 * Chebyshev's t, u, v, w, Hermite's h and e, Laguerre's l, Legendre's p. */

/* Return the polynomial of degree k + 1 at x, where `q` is that of degree k and `p` that of degree k - 1. */
ELEMENT REAL OF(next_polynomial)(char kind, REAL x, REAL q, REAL p, int64_t k) {
    const REAL number = (REAL)k;
    switch (kind) {
    case 'h':
        return (x + x) * q - (REAL)(2 * k) * p;
    case 'e':
        return x * q - number * p;
    case 'l':
        return (((REAL)(2 * k) + (1 - x)) * q - number * p) / (REAL)(k + 1);
    case 'p':
        return ((REAL)(2 * k + 1) * x * q - number * p) / (REAL)(k + 1);
    default:
        return (x + x) * q - p;
    }
}

/* Return the polynomial of a degree at x by its recurrence, from 1 (degree 0) and `first` (degree 1); 0 for negative
 * degrees. It stops at NaN. */
static REAL OF(recurrence)(char kind, REAL x, int64_t degree, REAL first) {
    if (degree < 2) {
        return degree < 0 ? 0 : degree == 0 ? 1 : first;
    }
    REAL p = 1, q = first;
    for (int64_t k = 1; k < degree; k++) {
        const REAL next = OF(next_polynomial)(kind, x, q, p, k);
        p = q;
        q = next;
        if (q != q) {
            break;
        }
    }
    return q;
}

/* Return the Chebyshev polynomial of a kind (t, u, v, w) and degree n: by its recurrence up to LOW_DEGREE, else, and
 * where that overflows to NaN, by the angle. */
static REAL OF(chebyshev)(char kind, REAL x, REAL n) {
    const int64_t degree = whole_degree((double)n);
    if (degree <= LOW_DEGREE) {
        const REAL first = kind == 't' ? x : kind == 'u' ? x + x : kind == 'v' ? x + x - 1 : x + x + 1;
        const REAL found = OF(recurrence)(kind, x, degree, first);
        if (found == found) {
            return found;
        }
    }
    return (REAL)chebyshev_by_angle(kind, (double)x, (double)degree);
}

/* Return the Hermite polynomial of a kind, h (physicist's) or e (probabilist's), and degree n; NaN above degree 128,
 * for double 512. */
static REAL OF(hermite)(char kind, REAL x, REAL n) {
    const int64_t degree = whole_degree((double)n), most = sizeof(REAL) == sizeof(double) ? 512 : 128;
    return degree > most ? (REAL)NAN : OF(recurrence)(kind, x, degree, kind == 'h' ? x + x : x);
}

/* Return the Laguerre polynomial of degree n; 1 at 0 without the recurrence. */
static REAL OF(laguerre)(REAL x, REAL n) {
    const int64_t degree = whole_degree((double)n);
    return OF(recurrence)('l', x, x == 0 && degree > 0 ? 0 : degree, 1 - x);
}

/* Return the Legendre polynomial of degree n; at 1 and -1 that of degree 0 or 1, which has the same value. */
static REAL OF(legendre)(REAL x, REAL n) {
    const int64_t degree = whole_degree((double)n);
    return OF(recurrence)('p', x, OF(abs)(x) == 1 && degree > 1 ? degree % 2 : degree, x);
}
