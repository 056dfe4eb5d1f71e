/* Convolution of planes for one type: included with REAL and OF(name). */

/* The elements of a vector register, loaded without alignment. */
typedef REAL OF(Lane) __attribute__((vector_size(32), aligned(sizeof(REAL))));
#define LANE ((npy_intp)(32 / sizeof(REAL)))

/* Convolve one tile, `lanes` vectors of windows, for `kept` channels of the result, whose sums stay in registers. `x`
 * is the tile's first element in the strip, weights[k] the weight of a channel; sums are written to `out`. */
ELEMENT void OF(sum_tile)(const ConvolutionJob *job, const REAL *x, const REAL *const *weights, REAL *out,
                          npy_intp kept, npy_intp lanes) {
    OF(Lane) sums[TILE_LANES];
    memset(sums, 0, sizeof sums);
    npy_intp at = 0;
    for (npy_intp channel = 0; channel < job->each; channel++, x += job->strip_plane) {
        for (npy_intp i = 0; i < job->rows.kernel; i++) {
            const REAL *line = x + i * job->rows.gap * job->width;
            for (npy_intp j = 0; j < job->columns.kernel; j++, at++, line += job->columns.gap) {
                for (npy_intp k = 0; k < kept; k++) {
                    for (npy_intp lane = 0; lane < lanes; lane++) {
                        sums[k * lanes + lane] += *(const OF(Lane) *)(line + lane * LANE) * weights[k][at];
                    }
                }
            }
        }
    }
    for (npy_intp k = 0; k < kept; k++) {
        for (npy_intp lane = 0; lane < lanes; lane++) {
            *(OF(Lane) *)(out + k * job->made_plane + lane * LANE) = sums[k * lanes + lane];
        }
    }
}

/* Convolve a strip for one channel of the result (`is_single`), or for TILE_KEPT of them, into `job->made`. */
CLONES static void OF(sum_strip)(const ConvolutionJob *job, const REAL *const *weights, int is_single) {
    const REAL *strip = (const REAL *)job->strip;
    REAL *made = (REAL *)job->made;
    if (is_single) {
        for (npy_intp at = 0; at < job->strip_positions; at += TILE_LANES * LANE) {
            OF(sum_tile)(job, strip + at, weights, made + at, 1, TILE_LANES);
        }
    } else {
        for (npy_intp at = 0; at < job->strip_positions; at += TILE_LANES / TILE_KEPT * LANE) {
            OF(sum_tile)(job, strip + at, weights, made + at, TILE_KEPT, TILE_LANES / TILE_KEPT);
        }
    }
}

/* Copy the rows of a group's planes that windows of the strip reach, from row `top` on, with zeros beside them. The
 * zeros right of a row are those left of the next. */
static void OF(fill_strip)(const ConvolutionJob *job, const REAL *planes, npy_intp top) {
    const npy_intp size = job->columns.size, pad = job->columns.pad;
    REAL *to = (REAL *)job->strip;
    for (npy_intp channel = 0; channel < job->each; channel++, planes += job->rows.size * size) {
        for (npy_intp row = top; row < top + job->strip_rows; row++, to += job->width) {
            if (row < 0 || row >= job->rows.size) {
                memset(to, 0, (size_t)job->width * sizeof(REAL));
                continue;
            }
            for (npy_intp c = 0; c < pad; c++) {
                to[c] = 0;
            }
            memcpy(to + pad, planes + row * size, (size_t)size * sizeof(REAL));
            for (npy_intp c = pad + size; c < job->width; c++) {
                to[c] = 0;
            }
        }
    }
}

/* Copy `count` rows of a strip's results, which are as wide as the strip, into a plane of the result and add the
 * bias. */
CLONES static void OF(take_made)(const ConvolutionJob *job, const REAL *made, REAL *out, npy_intp count, REAL bias) {
    for (npy_intp r = 0; r < count; r++, made += job->width, out += job->columns.count) {
        EACH_ALONE for (npy_intp c = 0; c < job->columns.count; c++) {
            out[c] = made[c] + bias;
        }
    }
}

/* Convolve the strip of one group into its channels, `count` rows of them from row `top` on. */
static void OF(convolve_strip)(const ConvolutionJob *job, npy_intp group, REAL *planes, npy_intp top, npy_intp count) {
    const npy_intp kept = job->kept / job->groups, kernel = job->each * job->rows.kernel * job->columns.kernel;
    const npy_intp plane = job->rows.count * job->columns.count;
    for (npy_intp first = 0, taken; first < kept; first += taken) {
        taken = kept - first < TILE_KEPT ? 1 : TILE_KEPT;
        const REAL *weights[TILE_KEPT];
        for (npy_intp k = 0; k < taken; k++) {
            weights[k] = (const REAL *)job->weight + (group * kept + first + k) * kernel;
        }
        OF(sum_strip)(job, weights, taken == 1);
        for (npy_intp k = 0; k < taken; k++) {
            const npy_intp channel = group * kept + first + k;
            const REAL bias = job->bias == NULL ? 0 : ((const REAL *)job->bias)[channel];
            REAL *out = planes + channel * plane + top * job->columns.count;
            OF(take_made)(job, (const REAL *)job->made + k * job->made_plane, out, count, bias);
        }
    }
}

/* Give a range that begins at `first` scratch of its own, with zeros in the strip: the first range has the job's,
 * others get `room`, which is to be freed. Returns 0, which the job knows of, where memory ran out. */
static int OF(make_room)(ConvolutionJob *job, ConvolutionJob *own, int64_t first, REAL **room) {
    *own = *job;
    *room = NULL;
    if (first > 0) {
        *room = PyMem_RawMalloc((size_t)(own->strip_size + TILE_KEPT * own->made_plane) * sizeof(REAL));
        if (*room == NULL) {
            job->has_failed = 1;
            return 0;
        }
        own->strip = (char *)*room;
        own->made = (char *)(*room + own->strip_size);
    }
    memset(own->strip, 0, (size_t)own->strip_size * sizeof(REAL));
    return 1;
}

/* Convolve some strips of a job with stride 1, each of which stays in the cache. Needs no GIL. */
static void OF(convolve_strips)(void *given, int64_t first, int64_t end) {
    ConvolutionJob own;
    REAL *room;
    if (!OF(make_room)(given, &own, first, &room)) {
        return;
    }
    const npy_intp plane = own.rows.size * own.columns.size, made = own.rows.count * own.columns.count;
    const npy_intp strips = (own.rows.count - 1) / own.strip_count + 1;
    for (npy_intp unit = first; unit < end; unit++) {
        const npy_intp part = unit / strips, group = part % own.groups, top = unit % strips * own.strip_count;
        const npy_intp left = own.rows.count - top;
        const REAL *planes = (const REAL *)own.from + part * own.each * plane;
        REAL *out = (REAL *)own.to + part / own.groups * own.kept * made;
        OF(fill_strip)(&own, planes, top - own.rows.pad);
        OF(convolve_strip)(&own, group, out, top, left < own.strip_count ? left : own.strip_count);
    }
    PyMem_RawFree(room);
}

/* Write the weight of a transposed convolution, (channels, kept / groups, *kernel), as that of the plain one that
 * computes it: (kept, channels / groups, *kernel), with the kernel flipped. */
static void OF(turn_weights)(const ConvolutionJob *job, char *turned) {
    const npy_intp kernel = job->rows.kernel * job->columns.kernel, kept = job->kept / job->groups;
    const REAL *from = (const REAL *)job->weight;
    for (npy_intp channel = 0; channel < job->channels; channel++) {
        const npy_intp group = channel / job->each;
        for (npy_intp k = 0; k < kept; k++) {
            REAL *to = (REAL *)turned + ((group * kept + k) * job->each + channel % job->each) * kernel;
            for (npy_intp i = kernel - 1; i >= 0; i--) {
                to[i] = *from++;
            }
        }
    }
}

/* Copy `count` rows of the gradient into rows as wide as the strip, with zeros behind them. */
static void OF(fill_made)(const ConvolutionJob *job, const REAL *from, REAL *made, npy_intp count) {
    const npy_intp size = job->columns.count;
    memset(made, 0, (size_t)job->made_plane * sizeof(REAL));
    for (npy_intp r = 0; r < count; r++) {
        memcpy(made + r * job->width, from + r * size, (size_t)size * sizeof(REAL));
    }
}

/* Add to the gradients of `taps` weights beside each other, of `kept` channels, what the strip gives. */
ELEMENT void OF(sum_taps)(const ConvolutionJob *job, const REAL *x, REAL *out, npy_intp kept, npy_intp taps) {
    const REAL *made = (const REAL *)job->made;
    const npy_intp gap = job->columns.gap, kernel = job->each * job->rows.kernel * job->columns.kernel;
    OF(Lane) sums[TILE_KEPT * TILE_TAPS];
    memset(sums, 0, sizeof sums);
    for (npy_intp at = 0; at < job->strip_positions; at += LANE) {
        for (npy_intp k = 0; k < kept; k++) {
            for (npy_intp tap = 0; tap < taps; tap++) {
                sums[k * taps + tap] += *(const OF(Lane) *)(x + tap * gap + at) *
                                        *(const OF(Lane) *)(made + k * job->made_plane + at);
            }
        }
    }
    for (npy_intp k = 0; k < kept; k++) {
        for (npy_intp tap = 0; tap < taps; tap++) {
            REAL total = 0;
            for (npy_intp i = 0; i < LANE; i++) {
                total += sums[k * taps + tap][i];
            }
            out[k * kernel + tap] += total;
        }
    }
}

/* Add what the strip gives to the gradients of all weights of one channel of the result, or of four. */
CLONES static void OF(sum_weights)(const ConvolutionJob *job, REAL *out, int is_single) {
    const REAL *x = (const REAL *)job->strip;
    for (npy_intp channel = 0; channel < job->each; channel++, x += job->strip_plane) {
        for (npy_intp i = 0; i < job->rows.kernel; i++) {
            const REAL *line = x + i * job->rows.gap * job->width;
            npy_intp left = job->columns.kernel;
            for (; left >= TILE_TAPS; left -= TILE_TAPS, out += TILE_TAPS, line += TILE_TAPS * job->columns.gap) {
                if (is_single) {
                    OF(sum_taps)(job, line, out, 1, TILE_TAPS);
                } else {
                    OF(sum_taps)(job, line, out, TILE_KEPT, TILE_TAPS);
                }
            }
            for (; left > 0; left--, out++, line += job->columns.gap) {
                if (is_single) {
                    OF(sum_taps)(job, line, out, 1, 1);
                } else {
                    OF(sum_taps)(job, line, out, TILE_KEPT, 1);
                }
            }
        }
    }
}

/* Add what the strip gives to the gradients of the weights of a tile of the group's channels. */
static void OF(weigh_strip)(const ConvolutionJob *job, npy_intp group, npy_intp tile, const REAL *grad, npy_intp top,
                            npy_intp count) {
    const npy_intp kept = job->kept / job->groups, whole = kept / TILE_KEPT;
    const npy_intp kernel = job->each * job->rows.kernel * job->columns.kernel;
    const npy_intp channel = group * kept + (tile < whole ? tile * TILE_KEPT : whole * (TILE_KEPT - 1) + tile);
    const npy_intp plane = job->rows.count * job->columns.count;
    for (npy_intp k = 0; k < (tile < whole ? TILE_KEPT : 1); k++) {
        const REAL *from = grad + (channel + k) * plane + top * job->columns.count;
        OF(fill_made)(job, from, (REAL *)job->made + k * job->made_plane, count);
    }
    OF(sum_weights)(job, (REAL *)job->to + channel * kernel, tile >= whole);
}

/* Add the gradient of the weight to zeros, strip by strip, for some tiles of channels, which are counted over all
 * groups. Needs no GIL. */
static void OF(weigh_strips)(void *given, int64_t from, int64_t to) {
    ConvolutionJob own;
    REAL *room;
    if (!OF(make_room)(given, &own, from, &room)) {
        return;
    }
    const npy_intp plane = own.rows.size * own.columns.size, made = own.rows.count * own.columns.count;
    const npy_intp tiles = tiles_of(&own);
    for (npy_intp image = 0; image < own.images; image++) {
        const REAL *grad = (const REAL *)own.grad + image * own.kept * made;
        for (npy_intp group = from / tiles; group * tiles < to; group++) {
            const REAL *planes = (const REAL *)own.from + (image * own.groups + group) * own.each * plane;
            const npy_intp first = from > group * tiles ? from - group * tiles : 0;
            const npy_intp last = to < (group + 1) * tiles ? to - group * tiles : tiles;
            for (npy_intp top = 0; top < own.rows.count; top += own.strip_count) {
                const npy_intp left = own.rows.count - top, count = left < own.strip_count ? left : own.strip_count;
                OF(fill_strip)(&own, planes, top - own.rows.pad);
                for (npy_intp tile = first; tile < last; tile++) {
                    OF(weigh_strip)(&own, group, tile, grad, top, count);
                }
            }
        }
    }
    PyMem_RawFree(room);
}

#undef LANE

/* Add a plane, times each element of the kernel, to a plane of the result: one channel of a convolution. */
CLONES static void OF(add_plane)(const ConvolutionJob *job, const REAL *x, const REAL *weight, REAL *out) {
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

/* Whether any of `count` elements is infinite or NaN. */
static int OF(has_infinities)(const char *weight, npy_intp count) {
    for (npy_intp i = 0; i < count; i++) {
        if (!OF(isfinite)(((const REAL *)weight)[i])) {
            return 1;
        }
    }
    return 0;
}

/* Convolve to some planes of a job's result, kernel element by kernel element, onto planes that hold the bias. Needs no
 * GIL. */
static void OF(convolve)(void *given, int64_t from, int64_t to) {
    const ConvolutionJob *job = given;
    const npy_intp plane = job->rows.size * job->columns.size, made = job->rows.count * job->columns.count;
    const npy_intp kernel = job->rows.kernel * job->columns.kernel, each = job->each;
    REAL *out = (REAL *)job->to + from * made;
    for (npy_intp at = from; at < to; at++, out += made) {
        const npy_intp image = at / job->kept, kept = at % job->kept;
        const REAL *x = (const REAL *)job->from + image * job->channels * plane;
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
