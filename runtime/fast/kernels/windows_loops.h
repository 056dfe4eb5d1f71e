/* Pooling and convolution of planes for one type: included with REAL and OF(name). */

/* Where windows begin: the first place of window `at` that lies within the plane, of its places by number. */
static void OF(max_pool)(void *given) {
    const WindowsJob *job = given;
    const Axis *rows = &job->rows, *columns = &job->columns;
    for (npy_intp plane = 0; plane < job->planes; plane++) {
        const REAL *x = (const REAL *)job->from + plane * rows->size * columns->size;
        REAL *out = (REAL *)job->to + plane * rows->count * columns->count;
        int64_t *index = job->index + plane * rows->count * columns->count;
        for (npy_intp r = 0; r < rows->count; r++) {
            npy_intp top, bottom, left, right;
            places_within(rows, r, &top, &bottom);
            for (npy_intp c = 0; c < columns->count; c++) {
                places_within(columns, c, &left, &right);
                REAL best = -(REAL)INFINITY;
                npy_intp at = top * columns->size + left;
                for (npy_intp i = top; i < bottom; i += rows->gap) {
                    for (npy_intp j = left; j < right; j += columns->gap) {
                        const REAL value = x[i * columns->size + j];
                        const int is_larger = value > best || value != value;
                        best = is_larger ? value : best;
                        at = is_larger ? i * columns->size + j : at;
                    }
                }
                *out++ = best;
                *index++ = at;
            }
        }
    }
}

static void OF(average_pool)(void *given) {
    const WindowsJob *job = given;
    const Axis *rows = &job->rows, *columns = &job->columns;
    for (npy_intp plane = 0; plane < job->planes; plane++) {
        const REAL *x = (const REAL *)job->from + plane * rows->size * columns->size;
        REAL *out = (REAL *)job->to + plane * rows->count * columns->count;
        for (npy_intp r = 0; r < rows->count; r++) {
            npy_intp top, bottom, left, right;
            places_within(rows, r, &top, &bottom);
            for (npy_intp c = 0; c < columns->count; c++) {
                places_within(columns, c, &left, &right);
                REAL total = 0;
                for (npy_intp i = top; i < bottom; i++) {
                    for (npy_intp j = left; j < right; j++) {
                        total += x[i * columns->size + j];
                    }
                }
                const npy_intp height = job->counts_padding ? padded_extent(rows, r) : bottom - top;
                const npy_intp width = job->counts_padding ? padded_extent(columns, c) : right - left;
                *out++ = total / (REAL)(job->divisor != 0 ? job->divisor : height * width);
            }
        }
    }
}

/* Add a plane, times a number for each place of the kernel, to a plane of the result. */
CLONES static void OF(add_plane)(const WindowsJob *job, const REAL *x, const REAL *weight, REAL *out) {
    const Axis *rows = &job->rows, *columns = &job->columns;
    for (npy_intp i = 0; i < rows->kernel; i++) {
        for (npy_intp j = 0; j < columns->kernel; j++) {
            const REAL factor = weight[i * columns->kernel + j];
            npy_intp first, last, top, bottom;
            windows_within(rows, i * rows->gap - rows->pad, &top, &bottom);
            windows_within(columns, j * columns->gap - columns->pad, &first, &last);
            for (npy_intp r = top; r < bottom; r++) {
                const npy_intp line = r * rows->step + i * rows->gap - rows->pad;
                const REAL *from = x + line * columns->size + j * columns->gap - columns->pad;
                REAL *to = out + r * columns->count;
                if (columns->step == 1) {
                    EACH_ALONE for (npy_intp c = first; c < last; c++) {
                        to[c] += factor * from[c];
                    }
                } else {
                    for (npy_intp c = first; c < last; c++) {
                        to[c] += factor * from[c * columns->step];
                    }
                }
            }
        }
    }
}

/* Whether zeros of the padding, which loops leave out, would have given NaN. */
static int OF(has_infinities)(const char *weight, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) {
        if (!OF(isfinite)(((const REAL *)weight)[i])) {
            return 1;
        }
    }
    return 0;
}

static void OF(convolve)(void *given) {
    const WindowsJob *job = given;
    const npy_intp plane = job->rows.size * job->columns.size, made = job->rows.count * job->columns.count;
    const npy_intp kernel = job->rows.kernel * job->columns.kernel, each = job->channels / job->groups;
    REAL *out = (REAL *)job->to;
    for (npy_intp image = 0; image < job->planes; image++) {
        const REAL *x = (const REAL *)job->from + image * job->channels * plane;
        for (npy_intp kept = 0; kept < job->kept; kept++, out += made) {
            const npy_intp first = kept / (job->kept / job->groups) * each;
            const REAL start = job->bias == NULL ? 0 : ((const REAL *)job->bias)[kept];
            for (npy_intp i = 0; i < made; i++) {
                out[i] = start;
            }
            for (npy_intp channel = 0; channel < each; channel++) {
                const REAL *weight = (const REAL *)job->weight + (kept * each + channel) * kernel;
                OF(add_plane)(job, x + (first + channel) * plane, weight, out);
            }
        }
    }
}
