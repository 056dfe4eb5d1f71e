/* Attention of one pair of matrices, some rows at a time, for one type: included with REAL and OF(name). */

/* Return how many columns a row looks at, of those that there are. */
ELEMENT npy_intp OF(seen)(const AttentionJob *job, npy_intp row, npy_intp columns) {
    return job->is_causal && row + 1 < columns ? row + 1 : columns;
}

/* Add what the bias has for a row. */
ELEMENT void OF(add_bias)(const Matrix *bias, npy_intp row, REAL *x, npy_intp count) {
    const char *from = bias->data + row * bias->row_step;
    const npy_intp step = bias->column_step;
    if (step == sizeof(REAL)) {
        const REAL *added = (const REAL *)from;
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {
            x[i] += added[i];
        }
        return;
    }
    for (npy_intp i = 0; i < count; i++) {
        x[i] += *(const REAL *)(from + i * step);
    }
}

/* Make weights of the products of some rows, `start` and on: exp(x - largest), 0 where nothing is looked at. Write one
 * over the sum of each row to `shares`, and the logarithm of the sum of exponentials. */
CLONES static void OF(weigh)(const AttentionJob *job, const Matrix *bias, npy_intp start, npy_intp rows,
                             npy_intp columns, REAL *x, REAL *shares, REAL *logs) {
    for (npy_intp row = 0; row < rows; row++, x += columns) {
        const npy_intp count = OF(seen)(job, start + row, columns);
        if (bias->data != NULL) {
            OF(add_bias)(bias, start + row, x, count);
        }
        const REAL most = OF(largest_of_row)(x, count);
        const int is_nothing = most == -(REAL)INFINITY;
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {
            x[i] = is_nothing ? 0 : OF(exp)(x[i] - most);
        }
        const REAL total = (REAL)OF(sum_row)(x, count);
        memset(x + count, 0, (size_t)(columns - count) * sizeof(REAL));
        shares[row] = total; /* 0 of nothing: else the largest element is 1 in it */
        logs[row] = most;
    }
    EACH_ALONE for (npy_intp row = 0; row < rows; row++) {
        const REAL total = shares[row];
        shares[row] = total == 0 ? 0 : 1 / total;
        logs[row] = total == 0 ? (REAL)INFINITY : logs[row] + OF(log)(total);
    }
}

/* Make weights of the products of some rows again, by the logarithms. */
CLONES static void OF(weigh_again)(const AttentionJob *job, const Matrix *bias, npy_intp start, npy_intp rows,
                                   npy_intp columns, REAL *x, const REAL *logs) {
    for (npy_intp row = 0; row < rows; row++, x += columns) {
        const npy_intp count = OF(seen)(job, start + row, columns);
        if (bias->data != NULL) {
            OF(add_bias)(bias, start + row, x, count);
        }
        const REAL log = logs[row];
        EACH_ALONE for (npy_intp i = 0; i < count; i++) {
            x[i] = OF(exp)(x[i] - log);
        }
        memset(x + count, 0, (size_t)(columns - count) * sizeof(REAL));
    }
}

/* Return the sum of products of two rows. */
ELEMENT REAL OF(dot_rows)(const char *first, npy_intp first_step, const char *second, npy_intp second_step,
                          npy_intp count) {
    REAL columns[COLUMNS] = {0};
    npy_intp i = 0;
    for (; first_step == sizeof(REAL) && second_step == sizeof(REAL) && i + COLUMNS <= count; i += COLUMNS) {
        for (int j = 0; j < COLUMNS; j++) {
            columns[j] += ((const REAL *)first)[i + j] * ((const REAL *)second)[i + j];
        }
    }
    for (; i < count; i++) {
        columns[i & (COLUMNS - 1)] +=
            *(const REAL *)(first + i * first_step) * *(const REAL *)(second + i * second_step);
    }
    return (REAL)OF(of_columns)(columns);
}

/* Write scale * weights * (slopes - what the row's slopes come to altogether) over the slopes of some rows. */
CLONES static void OF(slope)(const AttentionJob *job, const Matrix *grad, const Matrix *result, npy_intp rows,
                             npy_intp columns, const REAL *weights, REAL *slopes) {
    const REAL scale = (REAL)job->scale;
    for (npy_intp row = 0; row < rows; row++, weights += columns, slopes += columns) {
        const char *of_grad = grad->data + row * grad->row_step, *of_result = result->data + row * result->row_step;
        const REAL whole =
            OF(dot_rows)(of_grad, grad->column_step, of_result, result->column_step, grad->columns);
        EACH_ALONE for (npy_intp i = 0; i < columns; i++) {
            slopes[i] = scale * weights[i] * (slopes[i] - whole);
        }
    }
}

/* Write a matrix by columns, some rows at a time, which are a line of the cache of what is written. */
CLONES static void OF(write_turned)(const Matrix *from, REAL *to) {
    const npy_intp rows = from->rows, step = from->row_step / (npy_intp)sizeof(REAL);
    for (npy_intp start = 0; start < rows; start += TURNED_ROWS) {
        const npy_intp count = rows - start < TURNED_ROWS ? rows - start : TURNED_ROWS;
        for (npy_intp column = 0; column < from->columns; column++) {
            const REAL *x = (const REAL *)(from->data + column * from->column_step) + start * step;
            REAL *out = to + column * rows + start;
            EACH_ALONE for (npy_intp i = 0; i < count; i++) {
                out[i] = x[i * step];
            }
        }
    }
}

/* Return a matrix turned: a copy in `room`, which BLAS multiplies faster, unless it is for a few rows only. */
static Matrix OF(turned)(const AttentionJob *job, Matrix matrix, REAL *room) {
    if (job->query.rows < FEW_ROWS) {
        return turned_matrix(matrix);
    }
    OF(write_turned)(&matrix, room);
    return (Matrix){(char *)room, matrix.columns, matrix.rows, matrix.rows * (npy_intp)sizeof(REAL), sizeof(REAL)};
}

/* Multiply each row, of elements side by side, by its share. */
CLONES static void OF(share_rows)(const Matrix *rows, const REAL *shares) {
    for (npy_intp row = 0; row < rows->rows; row++) {
        REAL *x = (REAL *)(rows->data + row * rows->row_step);
        EACH_ALONE for (npy_intp i = 0; i < rows->columns; i++) {
            x[i] *= shares[row];
        }
    }
}

/* Compute some pairs of matrices: results and logarithms. Needs no GIL. */
static void OF(attend)(void *given, int64_t from, int64_t to) {
    AttentionJob *job = given;
    const npy_intp most = rows_at_once(job), size = sizeof(REAL);
    REAL *scratch = malloc((size_t)((most + job->query.columns) * job->key.rows + most) * sizeof(REAL));
    if (scratch == NULL) {
        atomic_store(&job->is_lost, 1);
        return;
    }
    REAL *weights = scratch, *shares = weights + most * job->key.rows, *room = shares + most;
    const int is_double = size == sizeof(double);
    for (int64_t at = from; at < to; at++) {
        const Pair pair = pair_at(job, at);
        const Matrix keys = OF(turned)(job, pair.key, room);
        for (npy_intp start = 0; start < pair.query.rows; start += most) {
            const npy_intp rows = pair.query.rows - start < most ? pair.query.rows - start : most;
            const npy_intp columns = OF(seen)(job, start + rows - 1, pair.key.rows);
            const Matrix queries = rows_of(pair.query, start, rows), out = rows_of(pair.result, start, rows);
            const Matrix products = {(char *)weights, rows, columns, columns * size, size};
            gemm(is_double, queries, columns_of(keys, columns), products, job->scale, 0);
            OF(weigh)(job, &pair.bias, start, rows, columns, weights, shares, (REAL *)pair.logs + start);
            gemm(is_double, products, rows_of(pair.value, 0, columns), out, 1, 0);
            OF(share_rows)(&out, shares);
        }
    }
    free(scratch);
}

/* Compute the gradients of some pairs of matrices. Needs no GIL. */
static void OF(attend_back)(void *given, int64_t from, int64_t to) {
    AttentionJob *job = given;
    const npy_intp most = rows_at_once(job), size = sizeof(REAL);
    const npy_intp of_keys = job->query.columns * job->key.rows, of_rows = most * job->key.rows;
    const npy_intp of_values = PyArray_DIM(job->arrays[VALUE], PyArray_NDIM(job->arrays[VALUE]) - 1) * job->key.rows;
    REAL *scratch = malloc((size_t)(2 * of_rows + of_keys + of_values) * sizeof(REAL));
    if (scratch == NULL) {
        atomic_store(&job->is_lost, 1);
        return;
    }
    REAL *weights = scratch, *slopes = weights + of_rows, *room = slopes + of_rows;
    const int is_double = size == sizeof(double);
    for (int64_t at = from; at < to; at++) {
        const Pair pair = pair_at(job, at);
        const Matrix keys = OF(turned)(job, pair.key, room), values = OF(turned)(job, pair.value, room + of_keys);
        const int is_whole = most == pair.query.rows && OF(seen)(job, most - 1, pair.key.rows) == pair.key.rows;
        if (!is_whole) {
            clear_rows(&pair.of_key);
            clear_rows(&pair.of_value);
        }
        for (npy_intp start = 0; start < pair.query.rows; start += most) {
            const npy_intp rows = pair.query.rows - start < most ? pair.query.rows - start : most;
            const npy_intp columns = OF(seen)(job, start + rows - 1, pair.key.rows);
            const Matrix queries = rows_of(pair.query, start, rows), grad = rows_of(pair.grad, start, rows);
            const Matrix result = rows_of(pair.result, start, rows);
            const Matrix w = {(char *)weights, rows, columns, columns * size, size};
            const Matrix s = {(char *)slopes, rows, columns, columns * size, size};
            gemm(is_double, queries, columns_of(keys, columns), w, job->scale, 0);
            OF(weigh_again)(job, &pair.bias, start, rows, columns, weights, (const REAL *)pair.logs + start);
            gemm(is_double, turned_matrix(w), grad, rows_of(pair.of_value, 0, columns), 1, !is_whole);
            gemm(is_double, grad, columns_of(values, columns), s, 1, 0);
            OF(slope)(job, &grad, &result, rows, columns, weights, slopes);
            gemm(is_double, s, rows_of(pair.key, 0, columns), rows_of(pair.of_query, start, rows), 1, 0);
            gemm(is_double, turned_matrix(s), queries, rows_of(pair.of_key, 0, columns), 1, !is_whole);
        }
    }
    free(scratch);
}
