/* Pooling of planes for one type: included with REAL and OF(name). */

/* Return the largest element of the window from `from` up to `end`, and write its index within the plane or volume to
 * `where`; NaN counts as the largest. */
static inline REAL OF(largest_within)(const WindowsJob *job, const REAL *x, const npy_intp *from, const npy_intp *end,
                                      int64_t *where) {
    const npy_intp height = job->rows.size, width = job->columns.size;
    REAL best = -(REAL)INFINITY;
    npy_intp at = (from[0] * height + from[1]) * width + from[2];
    for (npy_intp d = from[0]; d < end[0]; d += job->layers.gap) {
        for (npy_intp i = from[1]; i < end[1]; i += job->rows.gap) {
            const npy_intp line = (d * height + i) * width;
            for (npy_intp j = from[2]; j < end[2]; j += job->columns.gap) {
                const REAL value = x[line + j];
                const int is_larger = value > best || value != value;
                best = is_larger ? value : best;
                at = is_larger ? line + j : at;
            }
        }
    }
    *where = at;
    return best;
}

/* Compare one element of each of `count` windows, `step` apart, with the largest of that window so far, and keep the
 * larger one and its index. */
ELEMENT void OF(take_larger)(const REAL *line, npy_intp step, int32_t index, npy_intp count, REAL *best, int32_t *at) {
    EACH_ALONE for (npy_intp c = 0; c < count; c++) {
        const REAL value = line[c * step];
        const int is_larger = (value > best[c]) | (value != value);
        best[c] = is_larger ? value : best[c];
        at[c] = is_larger ? index + (int32_t)(c * step) : at[c];
    }
}

/* Write the largest elements of `count` windows of a row, and their indices. The windows have the rows `top` to
 * `bottom`. */
ELEMENT void OF(largest_of_block)(const WindowsJob *job, const REAL *x, npy_intp top, npy_intp bottom, npy_intp start,
                                  npy_intp count, REAL *best, int32_t *at) {
    const Axis *columns = &job->columns;
    const npy_intp width = columns->size;
    for (npy_intp c = 0; c < count; c++) {
        npy_intp left, right;
        indices_within(columns, start + c, &left, &right);
        best[c] = -(REAL)INFINITY;
        at[c] = (int32_t)(top * width + left);
    }
    for (npy_intp i = top; i < bottom; i += job->rows.gap) {
        for (npy_intp j = 0; j < columns->kernel; j++) {
            const npy_intp before = j * columns->gap - columns->pad;
            npy_intp first, last;
            windows_within(columns, before, &first, &last);
            first = first < start ? start : first;
            last = last > start + count ? start + count : last;
            const npy_intp index = i * width + first * columns->step + before;
            REAL *of_best = best + (first - start);
            int32_t *of_at = at + (first - start);
            if (columns->step == 1) {
                OF(take_larger)(x + index, 1, (int32_t)index, last - first, of_best, of_at);
            } else if (columns->step == 2) {
                OF(take_larger)(x + index, 2, (int32_t)index, last - first, of_best, of_at);
            } else {
                OF(take_larger)(x + index, columns->step, (int32_t)index, last - first, of_best, of_at);
            }
        }
    }
}

/* Pool maxima of some planes, row by row of windows, which all have one kernel size. */
CLONES static void OF(max_pool_rows)(const WindowsJob *job, npy_intp first, npy_intp behind) {
    const Axis *rows = &job->rows, *columns = &job->columns;
    const npy_intp made = rows->count * columns->count;
    const REAL *x = (const REAL *)job->from + first * rows->size * columns->size;
    REAL *out = (REAL *)job->to + first * made, best[POOL_BLOCK];
    int32_t at[POOL_BLOCK];
    int64_t *index = job->index + first * made;
    for (npy_intp plane = first; plane < behind; plane++, x += rows->size * columns->size) {
        for (npy_intp r = 0; r < rows->count; r++) {
            npy_intp top, bottom;
            indices_within(rows, r, &top, &bottom);
            for (npy_intp start = 0; start < columns->count; start += POOL_BLOCK) {
                const npy_intp left = columns->count - start, count = left < POOL_BLOCK ? left : POOL_BLOCK;
                OF(largest_of_block)(job, x, top, bottom, start, count, best, at);
                for (npy_intp c = 0; c < count; c++) {
                    *out++ = best[c];
                    *index++ = at[c];
                }
            }
        }
    }
}

/* Pool maxima of some planes or volumes of a WindowsJob, and write their indices. Needs no GIL. */
static void OF(max_pool)(void *given, int64_t first, int64_t behind) {
    const WindowsJob *job = given;
    if (job->layers.size == 1 && job->layers.kernel == 1 && job->layers.pad == 0 && job->layers.count == 1 &&
        job->rows.kernel > 0 && job->columns.kernel > 0 && job->columns.count >= NARROW_POOL &&
        job->rows.size * job->columns.size < INT32_MAX) {
        OF(max_pool_rows)(job, first, behind);
        return;
    }
    const Axis *layers = &job->layers, *rows = &job->rows, *columns = &job->columns;
    const npy_intp made = layers->count * rows->count * columns->count;
    const REAL *x = (const REAL *)job->from + first * layers->size * rows->size * columns->size;
    REAL *out = (REAL *)job->to + first * made;
    int64_t *index = job->index + first * made;
    npy_intp from[3], end[3];
    for (npy_intp plane = first; plane < behind; plane++, x += layers->size * rows->size * columns->size) {
        for (npy_intp d = 0; d < layers->count; d++) {
            indices_within(layers, d, &from[0], &end[0]);
            for (npy_intp r = 0; r < rows->count; r++) {
                indices_within(rows, r, &from[1], &end[1]);
                for (npy_intp c = 0; c < columns->count; c++) {
                    indices_within(columns, c, &from[2], &end[2]);
                    *out++ = OF(largest_within)(job, x, from, end, index++);
                }
            }
        }
    }
}

/* Return the sum of a window's elements, from `from` up to `end`. */
static inline REAL OF(sum_within)(const WindowsJob *job, const REAL *x, const npy_intp *from, const npy_intp *end) {
    REAL total = 0;
    for (npy_intp d = from[0]; d < end[0]; d++) {
        for (npy_intp i = from[1]; i < end[1]; i++) {
            const REAL *line = x + (d * job->rows.size + i) * job->columns.size;
            for (npy_intp j = from[2]; j < end[2]; j++) {
                total += line[j];
            }
        }
    }
    return total;
}

/* Pool averages of some planes or volumes of a WindowsJob. Needs no GIL. */
static void OF(average_pool)(void *given, int64_t first, int64_t behind) {
    const WindowsJob *job = given;
    const Axis *layers = &job->layers, *rows = &job->rows, *columns = &job->columns;
    const REAL *x = (const REAL *)job->from + first * layers->size * rows->size * columns->size;
    REAL *out = (REAL *)job->to + first * layers->count * rows->count * columns->count;
    npy_intp from[3], end[3];
    for (npy_intp plane = first; plane < behind; plane++, x += layers->size * rows->size * columns->size) {
        for (npy_intp d = 0; d < layers->count; d++) {
            const npy_intp depth = counted_extent(job, layers, d, &from[0], &end[0]);
            for (npy_intp r = 0; r < rows->count; r++) {
                const npy_intp height = counted_extent(job, rows, r, &from[1], &end[1]);
                for (npy_intp c = 0; c < columns->count; c++) {
                    const npy_intp width = counted_extent(job, columns, c, &from[2], &end[2]);
                    const npy_intp divisor = job->divisor != 0 ? job->divisor : depth * height * width;
                    *out++ = OF(sum_within)(job, x, from, end) / (REAL)divisor;
                }
            }
        }
    }
}
