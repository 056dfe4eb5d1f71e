/* Factors of a small matrix, and what is solved by them, for one type: included with REAL and OF(name). Matrices are
 * column-major, (n, n). */

/* Copy a matrix of any strides to column-major memory. Returns whether all its elements are finite. */
static int OF(read_matrix)(const Matrix *matrix, void *to) {
    int is_finite = 1;
    for (npy_intp j = 0; j < matrix->columns; j++) {
        for (npy_intp i = 0; i < matrix->rows; i++) {
            const REAL x = *(const REAL *)(matrix->from + i * matrix->row_step + j * matrix->column_step);
            is_finite &= OF(isfinite)(x);
            ((REAL *)to)[j * matrix->rows + i] = x;
        }
    }
    return is_finite;
}

/* Return the row, from `j` on, of the element of a column that is largest in size. */
ELEMENT npy_intp OF(find_pivot)(const REAL *column, npy_intp n, npy_intp j) {
    npy_intp found = j;
    for (npy_intp i = j + 1; i < n; i++) {
        found = OF(abs)(column[i]) > OF(abs)(column[found]) ? i : found;
    }
    return found;
}

/* Factor P @ A = L @ U in place, as LAPACK's getrf, and write the pivots, counted from 1. Returns the first zero on the
 * diagonal of U, counted from 1, or 0. */
CLONES static int OF(eliminate)(void *matrix, npy_intp n, int32_t *pivots) {
    REAL *a = matrix;
    int first_zero = 0;
    for (npy_intp j = 0; j < n; j++) {
        REAL *column = a + j * n;
        const npy_intp pivot = OF(find_pivot)(column, n, j);
        pivots[j] = (int32_t)(pivot + 1);
        if (column[pivot] == 0) {
            first_zero = first_zero ? first_zero : (int)(j + 1);
            continue;
        }
        for (npy_intp k = 0; k < n && pivot != j; k++) {
            const REAL moved = a[k * n + j];
            a[k * n + j] = a[k * n + pivot];
            a[k * n + pivot] = moved;
        }
        for (npy_intp i = j + 1; i < n; i++) {
            column[i] /= column[j];
        }
        for (npy_intp k = j + 1; k < n; k++) {
            const REAL factor = a[k * n + j];
            EACH_ALONE for (npy_intp i = j + 1; i < n; i++) {
                a[k * n + i] -= column[i] * factor;
            }
        }
    }
    return first_zero;
}

/* Factor A = L @ L.T in place, from the lower triangle; the upper one gets zeros. Returns whether A is
 * positive-definite; if not, A is left half factored. */
CLONES static int OF(take_root)(void *matrix, npy_intp n) {
    REAL *a = matrix;
    for (npy_intp j = 0; j < n; j++) {
        REAL *column = a + j * n;
        for (npy_intp k = 0; k < j; k++) {
            const REAL factor = a[k * n + j];
            EACH_ALONE for (npy_intp i = j; i < n; i++) {
                column[i] -= a[k * n + i] * factor;
            }
        }
        if (!(column[j] > 0)) {
            return 0;
        }
        const REAL root = OF(sqrt)(column[j]);
        for (npy_intp i = 0; i < n; i++) {
            column[i] = i < j ? 0 : i == j ? root : column[i] / root;
        }
    }
    return 1;
}

/* Solve for one column in place by a triangle, whose elements lie `down` apart along a column and `along` apart along a
 * row. With `is_unit` the diagonal counts as ones. */
ELEMENT void OF(substitute)(
    const REAL *a, npy_intp down, npy_intp along, npy_intp n, int is_upper, int is_unit, REAL *x) {
    for (npy_intp step = 0; step < n; step++) {
        const npy_intp j = is_upper ? n - 1 - step : step;
        x[j] = is_unit ? x[j] : x[j] / a[j * (down + along)];
        const REAL factor = x[j];
        const npy_intp start = is_upper ? 0 : j + 1, stop = is_upper ? j : n;
        EACH_ALONE for (npy_intp i = start; i < stop; i++) {
            x[i] -= a[i * down + j * along] * factor;
        }
    }
}

/* Solve for `count` columns of `n` elements in place by a triangle of a column-major matrix, or of its transpose where
 * `is_transposed`; `is_upper` is about the triangle that results. */
CLONES static void OF(solve_triangle)(
    const void *matrix, npy_intp n, int is_transposed, int is_upper, int is_unit, void *columns, npy_intp count) {
    for (npy_intp k = 0; k < count; k++) {
        REAL *x = (REAL *)columns + k * n;
        if (is_transposed) {
            OF(substitute)(matrix, n, 1, n, is_upper, is_unit, x);
        } else {
            OF(substitute)(matrix, 1, n, n, is_upper, is_unit, x);
        }
    }
}

/* Swap the elements of `count` columns as the pivots say, or back in reverse order where `is_back`. */
static void OF(swap_rows)(const int32_t *pivots, npy_intp n, int is_back, void *columns, npy_intp count) {
    for (npy_intp k = 0; k < count; k++) {
        REAL *x = (REAL *)columns + k * n;
        for (npy_intp step = 0; step < n; step++) {
            const npy_intp j = is_back ? n - 1 - step : step;
            const REAL moved = x[j];
            x[j] = x[pivots[j] - 1];
            x[pivots[j] - 1] = moved;
        }
    }
}

/* Write the product of the diagonal: the determinant, negated where the permutation `is_odd`. */
static void OF(multiply_diagonal)(const void *matrix, npy_intp n, int is_odd, void *result) {
    REAL product = 1;
    for (npy_intp j = 0; j < n; j++) {
        product *= ((const REAL *)matrix)[j * (n + 1)];
    }
    *(REAL *)result = is_odd ? -product : product;
}

/* Write the sign of the determinant (1 or -1) and the logarithm of its size, from the diagonal of LU; the sign is
 * negated where the permutation `is_odd`. */
static void OF(add_logarithms)(const void *matrix, npy_intp n, int is_odd, void *sign, void *logarithm) {
    double total = 0;
    int is_negative = is_odd;
    for (npy_intp j = 0; j < n; j++) {
        const REAL x = ((const REAL *)matrix)[j * (n + 1)];
        total += log((double)OF(abs)(x));
        is_negative ^= x < 0;
    }
    *(REAL *)sign = is_negative ? -1 : 1;
    *(REAL *)logarithm = (REAL)total;
}

/* Write the (n, n) identity matrix. */
static void OF(write_ones)(void *matrix, npy_intp n) {
    memset(matrix, 0, (size_t)(n * n) * sizeof(REAL));
    for (npy_intp j = 0; j < n; j++) {
        ((REAL *)matrix)[j * (n + 1)] = 1;
    }
}

/* Copy the lower triangle of a matrix of any strides to both triangles of row-major memory. Returns whether all its
 * elements are finite. */
static int OF(read_lower)(const Matrix *matrix, void *to) {
    REAL *a = to;
    int is_finite = 1;
    for (npy_intp i = 0; i < matrix->rows; i++) {
        for (npy_intp j = 0; j <= i; j++) {
            const REAL x = *(const REAL *)(matrix->from + i * matrix->row_step + j * matrix->column_step);
            is_finite &= OF(isfinite)(x);
            a[i * matrix->rows + j] = a[j * matrix->rows + i] = x + 0;
        }
    }
    return is_finite;
}

/* Choose the next block of a symmetric matrix of `n` rows, whose rows are `step` apart: `other` is the row that is
 * swapped with its last one. Returns its size, 0 where its column is zero. */
static int OF(choose_block)(const REAL *a, npy_intp n, npy_intp step, npy_intp *other) {
    const double first = fabs((double)a[0]);
    double largest = 0, beside = 0;
    npy_intp found = 0;
    for (npy_intp i = 1; i < n; i++) {
        const double size = fabs((double)a[i * step]);
        if (size > largest) {
            largest = size;
            found = i;
        }
    }
    *other = 0;
    if (first == 0 && largest == 0) {
        return 0;
    }
    if (first >= GROWTH * largest) {
        return 1;
    }
    for (npy_intp j = 0; j < n; j++) {
        const double size = fabs((double)a[found * step + j]);
        beside = j != found && size > beside ? size : beside;
    }
    if (first >= GROWTH * largest * (largest / beside)) {
        return 1;
    }
    *other = found;
    return fabs((double)a[found * step + found]) >= GROWTH * beside ? 1 : 2;
}

/* Divide what is below a block by the block, and take the products off what is beyond it. Returns nothing. */
static void OF(take_block_off)(REAL *a, npy_intp n, npy_intp step, int size) {
    REAL columns[2 * MOST_COLUMNS];
    const REAL down = size == 2 ? a[0] / a[step] : 0, up = size == 2 ? a[step + 1] / a[1] : 0;
    for (npy_intp i = size; i < n; i++) {
        REAL *row = a + i * step, first = row[0], second = row[1];
        columns[2 * i] = first;
        if (size == 1) {
            row[0] = first / a[0];
            continue;
        }
        columns[2 * i + 1] = second;
        first /= a[step];
        second /= a[1];
        row[0] = (first * up - second) / (down * up - 1);
        row[1] = (second * down - first) / (down * up - 1);
    }
    for (npy_intp i = size; i < n; i++) {
        REAL *row = a + i * step;
        for (npy_intp j = size; j < n; j++) {
            row[j] -= size == 1 ? row[0] * columns[2 * j] : row[0] * columns[2 * j] + row[1] * columns[2 * j + 1];
        }
    }
}

/* Factor a symmetric matrix in place, as LAPACK's sytrf, and write the pivots, counted from 1, and negative for blocks
 * of two. The upper triangle gets zeros. Returns the first block that is zero, counted from 1, or 0. */
static int OF(take_blocks)(void *matrix, npy_intp n, int32_t *pivots) {
    REAL *a = matrix;
    int first_zero = 0;
    for (npy_intp k = 0; k < n;) {
        REAL *rest = a + k * n + k;
        npy_intp other;
        const int found = OF(choose_block)(rest, n - k, n, &other), size = found == 0 ? 1 : found;
        first_zero = found == 0 && first_zero == 0 ? (int)(k + 1) : first_zero;
        for (npy_intp i = 0; other != size - 1 && found != 0 && i < n - k; i++) {
            const REAL moved = rest[(size - 1) * n + i];
            rest[(size - 1) * n + i] = rest[other * n + i];
            rest[other * n + i] = moved;
        }
        for (npy_intp i = 0; other != size - 1 && found != 0 && i < n - k; i++) {
            const REAL moved = rest[i * n + size - 1];
            rest[i * n + size - 1] = rest[i * n + other];
            rest[i * n + other] = moved;
        }
        if (found != 0) {
            OF(take_block_off)(rest, n - k, n, size);
        }
        for (int i = 0; i < size; i++) {
            pivots[k + i] = size == 1 ? (int32_t)(k + other + 1) : (int32_t)-(k + other + 1);
        }
        k += size;
    }
    for (npy_intp i = 0; i < n; i++) {
        for (npy_intp j = i + 1; j < n; j++) {
            a[i * n + j] = 0;
        }
    }
    return first_zero;
}
