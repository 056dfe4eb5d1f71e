/* Sums, maxima and squared distances of a row, for one type: included with REAL and OF(name). Each adds in as many
 * columns as registers hold, and blocks of them in double, so that long rows lose no digits. */

#ifndef COLUMNS
#define COLUMNS 32
#define SUM_BLOCK 4096
#endif

/* Return the sum of COLUMNS numbers in double, added pairwise: one half to the other. Each step has variables of its
 * own, so that they stay in registers, here and below. */
ELEMENT double OF(of_columns)(const REAL *columns) {
    double halves[COLUMNS / 2], quarters[COLUMNS / 4], eighths[COLUMNS / 8];
    for (int j = 0; j < COLUMNS / 2; j++) {
        halves[j] = (double)columns[j] + (double)columns[j + COLUMNS / 2];
    }
    for (int j = 0; j < COLUMNS / 4; j++) {
        quarters[j] = halves[j] + halves[j + COLUMNS / 4];
    }
    for (int j = 0; j < COLUMNS / 8; j++) {
        eighths[j] = quarters[j] + quarters[j + COLUMNS / 8];
    }
    return (eighths[0] + eighths[2]) + (eighths[1] + eighths[3]);
}

/* Return the sum of a row. */
ELEMENT double OF(sum_row)(const REAL *x, npy_intp count) {
    double total = 0;
    for (npy_intp start = 0; start < count; start += SUM_BLOCK) {
        const npy_intp stop = count - start < SUM_BLOCK ? count : start + SUM_BLOCK;
        REAL columns[COLUMNS] = {0};
        npy_intp i = start;
        for (; i + COLUMNS <= stop; i += COLUMNS) {
            for (int j = 0; j < COLUMNS; j++) {
                columns[j] += x[i + j];
            }
        }
        for (; i < stop; i++) {
            columns[(i - start) & (COLUMNS - 1)] += x[i];
        }
        total += OF(of_columns)(columns);
    }
    return total;
}

/* Return the sum of squared distances of a row from a number. */
ELEMENT double OF(spread_row)(const REAL *x, npy_intp count, REAL from) {
    double total = 0;
    for (npy_intp start = 0; start < count; start += SUM_BLOCK) {
        const npy_intp stop = count - start < SUM_BLOCK ? count : start + SUM_BLOCK;
        REAL columns[COLUMNS] = {0};
        npy_intp i = start;
        for (; i + COLUMNS <= stop; i += COLUMNS) {
            for (int j = 0; j < COLUMNS; j++) {
                const REAL distance = x[i + j] - from;
                columns[j] += distance * distance;
            }
        }
        for (; i < stop; i++) {
            columns[(i - start) & (COLUMNS - 1)] += (x[i] - from) * (x[i] - from);
        }
        total += OF(of_columns)(columns);
    }
    return total;
}

/* Return the largest element of a row of at least one; NaN where there is one. */
ELEMENT REAL OF(largest_of_row)(const REAL *x, npy_intp count) {
    REAL columns[COLUMNS];
    int lost[COLUMNS] = {0}, is_lost = 0;
    npy_intp i = 0;
    for (int j = 0; j < COLUMNS; j++) {
        columns[j] = -(REAL)INFINITY;
    }
    for (; i + COLUMNS <= count; i += COLUMNS) {
        for (int j = 0; j < COLUMNS; j++) {
            const REAL element = x[i + j];
            lost[j] |= element != element;
            columns[j] = element > columns[j] ? element : columns[j];
        }
    }
    for (; i < count; i++) {
        lost[0] |= x[i] != x[i];
        columns[0] = x[i] > columns[0] ? x[i] : columns[0];
    }
    REAL halves[COLUMNS / 2], quarters[COLUMNS / 4], most = -(REAL)INFINITY;
    for (int j = 0; j < COLUMNS; j++) {
        is_lost |= lost[j];
    }
    for (int j = 0; j < COLUMNS / 2; j++) {
        halves[j] = columns[j] > columns[j + COLUMNS / 2] ? columns[j] : columns[j + COLUMNS / 2];
    }
    for (int j = 0; j < COLUMNS / 4; j++) {
        quarters[j] = halves[j] > halves[j + COLUMNS / 4] ? halves[j] : halves[j + COLUMNS / 4];
    }
    for (int j = 0; j < COLUMNS / 4; j++) {
        most = quarters[j] > most ? quarters[j] : most;
    }
    return is_lost ? (REAL)NAN : most;
}

/* Return the product of a row, in the row's own type. */
ELEMENT REAL OF(product_of_row)(const REAL *x, npy_intp count) {
    REAL columns[COLUMNS], found = 1;
    npy_intp i = 0;
    for (int j = 0; j < COLUMNS; j++) {
        columns[j] = 1;
    }
    for (; i + COLUMNS <= count; i += COLUMNS) {
        for (int j = 0; j < COLUMNS; j++) {
            columns[j] *= x[i + j];
        }
    }
    for (; i < count; i++) {
        columns[i & (COLUMNS - 1)] *= x[i];
    }
    for (int j = 0; j < COLUMNS; j++) {
        found *= columns[j];
    }
    return found;
}

/* Return how many elements of a row are not zero. */
ELEMENT int64_t OF(count_of_row)(const REAL *x, npy_intp count) {
    int64_t total = 0;
    for (npy_intp start = 0; start < count; start += SUM_BLOCK) {
        const npy_intp stop = count - start < SUM_BLOCK ? count : start + SUM_BLOCK;
        int32_t found = 0;
        for (npy_intp i = start; i < stop; i++) {
            found += x[i] != 0;
        }
        total += found;
    }
    return total;
}
