/* Images of another size for one type: included with REAL and OF(name). */

/* Return where an element of the result lies in the image, whose elements' centres are the whole numbers. */
static REAL OF(place_of)(const Dimension *d, npy_intp number) {
    if (d->align_corners) {
        return d->wanted > 1 ? (REAL)number * ((REAL)(d->size - 1) / (REAL)(d->wanted - 1)) : 0;
    }
    const REAL step = d->scale > 0 ? (REAL)(1.0 / d->scale) : (REAL)d->size / (REAL)d->wanted;
    return (REAL)(((double)((REAL)number + (REAL)0.5)) * (double)step - 0.5);
}

/* Write the elements and weights of linear interpolation. Returns nothing. */
static void OF(linear_taps)(const Dimension *d) {
    REAL *weight = d->weight;
    for (npy_intp i = 0; i < d->wanted; i++) {
        const REAL place = OF(place_of)(d, i), inside = place > 0 ? place : 0;
        const npy_intp lower = whole_until((double)inside, d->size - 1);
        const REAL left = inside - (REAL)lower, part = left < 0 ? 0 : left > 1 ? 1 : left;
        d->at[i] = lower;
        d->at[d->wanted + i] = lower + 1 < d->size - 1 ? lower + 1 : d->size - 1;
        weight[i] = 1 - part;
        weight[d->wanted + i] = part;
    }
}

/* Return the weight of an element less than 1 away. */
static REAL OF(inner_weight)(REAL distance) {
    return ((REAL)1.25 * distance - (REAL)2.25) * distance * distance + 1;
}

/* Return the weight of an element from 1 to 2 away. */
static REAL OF(outer_weight)(REAL distance) {
    return (((REAL)-0.75 * distance - (REAL)-3.75) * distance + (REAL)-6) * distance - (REAL)-3;
}

/* Write the elements and weights of cubic convolution. Returns nothing. */
static void OF(cubic_taps)(const Dimension *d) {
    REAL *weight = d->weight;
    for (npy_intp i = 0; i < d->wanted; i++) {
        const REAL place = OF(place_of)(d, i);
        const npy_intp lower = whole_until((double)place, d->size - 1);
        const REAL left = place - (REAL)lower, part = left < 0 ? 0 : left > 1 ? 1 : left;
        for (npy_intp tap = 0; tap < 4; tap++) {
            const npy_intp at = lower + tap - 1;
            d->at[tap * d->wanted + i] = at < 0 ? 0 : at > d->size - 1 ? d->size - 1 : at;
        }
        weight[i] = OF(outer_weight)(part + 1);
        weight[d->wanted + i] = OF(inner_weight)(part);
        weight[2 * d->wanted + i] = OF(inner_weight)(1 - part);
        weight[3 * d->wanted + i] = OF(outer_weight)(2 - part);
    }
}

/* Write the elements and weights of a filter as wide as the image shrinks: computed in double precision, rounded once.
 * Returns nothing. */
static void OF(spread_taps)(const Dimension *d) {
    REAL *weight = d->weight;
    for (npy_intp i = 0; i < d->wanted; i++) {
        const Spread spread = spread_of(d, i);
        double total = 0;
        for (npy_intp tap = 0; tap < d->taps; tap++) {
            total += spread_weight(d, &spread, tap);
        }
        for (npy_intp tap = 0; tap < d->taps; tap++) {
            const npy_intp at = spread.first + tap;
            d->at[tap * d->wanted + i] = at < d->size - 1 ? at : d->size - 1;
            weight[tap * d->wanted + i] = (REAL)(spread_weight(d, &spread, tap) / (total == 0 ? 1.0 : total));
        }
    }
}

/* Write the one element that each of the result is, with the weight 1. Returns nothing. */
static void OF(nearest_taps)(const Dimension *d) {
    const REAL step = d->scale > 0 ? (REAL)(1.0 / d->scale) : (REAL)d->size / (REAL)d->wanted;
    for (npy_intp i = 0; i < d->wanted; i++) {
        d->at[i] = whole_until((double)(((REAL)i + (REAL)d->offset) * step), d->size - 1);
        ((REAL *)d->weight)[i] = 1;
    }
}

/* Write the elements that each one of an adaptive average is of; behind them weights of 0. Returns nothing. */
static void OF(adaptive_taps)(const Dimension *d) {
    for (npy_intp i = 0; i < d->wanted; i++) {
        const npy_intp first = i * d->size / d->wanted, end = ((i + 1) * d->size + d->wanted - 1) / d->wanted;
        for (npy_intp tap = 0; tap < d->taps; tap++) {
            const int is_in = first + tap < end;
            d->at[tap * d->wanted + i] = is_in ? first + tap : first;
            ((REAL *)d->weight)[tap * d->wanted + i] = is_in ? (REAL)1 / (REAL)(end - first) : 0;
        }
    }
}

/* Write weighted sums along a dimension of `outer` blocks, whose elements are `inner` numbers. Needs no GIL. */
CLONES static void OF(sum_taps)(const Dimension *d, const REAL *from, REAL *to, npy_intp outer, npy_intp inner) {
    const REAL *weights = d->weight;
    for (npy_intp o = 0; o < outer; o++, from += d->size * inner) {
        for (npy_intp i = 0; i < d->wanted; i++, to += inner) {
            const REAL *row = from + d->at[i] * inner, weight = weights[i];
            if (inner == 1) {
                REAL total = row[0] * weight;
                for (npy_intp place = d->wanted + i; place < d->taps * d->wanted; place += d->wanted) {
                    total += from[d->at[place]] * weights[place];
                }
                to[0] = total;
                continue;
            }
            for (npy_intp c = 0; c < inner; c++) {
                to[c] = row[c] * weight;
            }
            for (npy_intp place = d->wanted + i; place < d->taps * d->wanted; place += d->wanted) {
                const REAL *other = from + d->at[place] * inner, much = weights[place];
                for (npy_intp c = 0; c < inner; c++) {
                    to[c] += other[c] * much;
                }
            }
        }
    }
}

/* Write what the sums' gradients come to for the elements that were summed. Needs no GIL. */
CLONES static void OF(spread_back)(const Dimension *d, const REAL *from, REAL *to, npy_intp outer, npy_intp inner) {
    const REAL *weights = d->weight;
    memset(to, 0, (size_t)(outer * d->size * inner) * sizeof(REAL));
    for (npy_intp o = 0; o < outer; o++, to += d->size * inner) {
        for (npy_intp i = 0; i < d->wanted; i++, from += inner) {
            for (npy_intp place = i; place < d->taps * d->wanted; place += d->wanted) {
                REAL *row = to + d->at[place] * inner;
                const REAL weight = weights[place];
                if (weight == 0 && d->has_fillers) {
                    continue;
                }
                for (npy_intp c = 0; c < inner; c++) {
                    row[c] += from[c] * weight;
                }
            }
        }
    }
}

/* Write some images, dimension by dimension from the last one. Needs no GIL. */
static void OF(resize_images)(void *given, int64_t first, int64_t end) {
    ResizeJob *job = given;
    REAL *room = PyMem_RawMalloc((size_t)(2 * job->between + 1) * sizeof(REAL));
    if (room == NULL) {
        job->has_failed = 1;
        return;
    }
    for (npy_intp image = first; image < end; image++) {
        const REAL *from = (const REAL *)job->from + image * job->size;
        npy_intp outer = job->size, inner = 1;
        for (int dim = job->space - 1; dim >= 0; dim--) {
            const Dimension *d = &job->dims[dim];
            const npy_intp had = job->is_back ? d->wanted : d->size;
            REAL *to = dim == 0 ? (REAL *)job->to + image * job->made : room + (dim & 1) * job->between;
            outer /= had;
            (job->is_back ? OF(spread_back) : OF(sum_taps))(d, from, to, outer, inner);
            inner *= job->is_back ? d->size : d->wanted;
            from = to;
        }
    }
    PyMem_RawFree(room);
}
