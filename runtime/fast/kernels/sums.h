/* Sums, maxima and squared distances of a row, for one type: included with REAL and OF(name). Each adds in as many
 * columns as registers hold, and blocks of them in double, so that long rows lose no digits. */

#ifndef COLUMNS
#define COLUMNS 32
#define SUM_BLOCK 4096
#endif

/* Add up columns, neighbours first. */
ELEMENT double OF(of_columns)(const REAL *columns) {
    double total = 0;
    for (int j = 0; j < COLUMNS; j++) {
        total += (double)columns[j];
    }
    return total;
}

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

/* The sum of squared distances from a number. */
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

/* The largest element; NaN where there is one. `count` is above 0. */
ELEMENT REAL OF(largest_of_row)(const REAL *x, npy_intp count) {
    REAL columns[COLUMNS];
    npy_intp i = 0;
    for (int j = 0; j < COLUMNS; j++) {
        columns[j] = x[j < count ? j : 0];
    }
    for (; i + COLUMNS <= count; i += COLUMNS) {
        for (int j = 0; j < COLUMNS; j++) {
            columns[j] = OF(maximum)(columns[j], x[i + j]);
        }
    }
    for (; i < count; i++) {
        columns[0] = OF(maximum)(columns[0], x[i]);
    }
    for (int j = 1; j < COLUMNS; j++) {
        columns[0] = OF(maximum)(columns[0], columns[j]);
    }
    return columns[0];
}
