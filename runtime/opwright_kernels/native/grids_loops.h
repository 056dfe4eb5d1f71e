/* Loops of images sampled at positions, for REAL: included for each type. */

/* An element beside a position in one dimension: which, whether there is one, how much of it, and how fast that grows
 * with the position. */
typedef struct {
    npy_intp index;
    int is_inside;
    REAL weight, slope;
} OF(Tap);

/* Bring an index within the image, unless zeros are around it, and write how fast it grows with the given one: NaN is
 * the start. Returns the index. */
static inline REAL OF(brought_inside)(REAL index, npy_intp size, const GridJob *job, REAL *turn) {
    *turn = 1;
    if (job->padding == 0) {
        return index;
    }
    if (job->padding == 2) {
        const REAL low = job->is_aligned ? 0 : (REAL)-0.5, span = (REAL)(size - job->is_aligned);
        const REAL away = OF(magnitude)(index - low);
        const REAL rest = OF(rest)(away, span), sign = index - low < 0 ? -1 : 1;
        const int is_odd = span != 0 && OF(rest)(OF(lower)(away / span), 2) != 0;
        index = span == 0 ? 0 : (is_odd ? span - rest : rest) + low;
        *turn = span == 0 ? 0 : is_odd ? -sign : sign;
    }
    *turn = index > 0 && index < (REAL)(size - 1) ? *turn : 0;
    index = index > 0 ? index : 0;
    return index > (REAL)(size - 1) ? (REAL)(size - 1) : index;
}

/* Return the element at a whole number. */
static inline OF(Tap) OF(tap)(REAL spot, npy_intp size, REAL weight, REAL slope) {
    const int is_inside = spot >= 0 && spot < (REAL)size;
    return (OF(Tap)){is_inside ? (npy_intp)spot : 0, is_inside, weight, slope};
}

/* Write the four elements of a cubic convolution, whose free coefficient is -0.75. Returns their number. */
static int OF(cubic_taps)(REAL index, REAL factor, npy_intp size, const GridJob *job, OF(Tap) * taps) {
    const REAL a = (REAL)-0.75, lower = OF(lower)(index), part = index - lower;
    for (int i = 0; i < 4; i++) {
        const REAL x = i == 0 ? part + 1 : i == 1 ? part : i == 2 ? 1 - part : 2 - part;
        REAL turn, weight, slope;
        const REAL spot = OF(brought_inside)(lower + (REAL)(i - 1), size, job, &turn);
        if (i == 1 || i == 2) {
            weight = ((a + 2) * x - (a + 3)) * x * x + 1;
            slope = (3 * (a + 2) * x - 2 * (a + 3)) * x;
        } else {
            weight = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
            slope = (3 * a * x - 10 * a) * x + 8 * a;
        }
        taps[i] = OF(tap)(spot, size, weight, slope * (i < 2 ? factor : -factor));
    }
    return 4;
}

/* Write the elements around a position from -1 to 1 in one dimension. Returns their number. */
static inline int OF(taps)(REAL position, npy_intp size, const GridJob *job, OF(Tap) * taps) {
    const REAL factor = (REAL)((double)(size - job->is_aligned) / 2);
    REAL turn, index = job->is_aligned ? (position + 1) * factor : ((position + 1) * (REAL)size - 1) / 2;
    if (job->mode == 2) {
        return OF(cubic_taps)(index, factor, size, job, taps);
    }
    index = OF(brought_inside)(index, size, job, &turn);
    if (job->mode == 1) {
        taps[0] = OF(tap)(OF(nearest)(index), size, 1, 0);
        return 1;
    }
    const REAL lower = OF(lower)(index), part = index - lower, slope = turn * factor;
    taps[0] = OF(tap)(lower, size, 1 - part, -slope);
    taps[1] = OF(tap)(lower + 1, size, part, slope);
    return 2;
}

/* An element of an image beside a position: its index, whether there is one, how much of it, and how fast that grows
 * along columns, rows and layers. */
typedef struct {
    npy_intp index;
    int is_inside;
    REAL weight, slopes[3];
} OF(Corner);

/* Write the elements beside each position of a batch, as many for each. Returns how many. */
static npy_intp OF(find_corners)(const GridJob *job, npy_intp batch, OF(Corner) * corner) {
    npy_intp count = 0;
    for (npy_intp at = 0; at < job->places; at++) {
        const REAL *place = (const REAL *)job->grid + (batch * job->places + at) * job->ndim;
        OF(Tap) zs[4] = {{0, 1, 1, 0}}, ys[4], xs[4];
        const int depth = job->ndim == 3 ? OF(taps)(place[2], job->layers, job, zs) : 1;
        const int height = OF(taps)(place[1], job->rows, job, ys), width = OF(taps)(place[0], job->columns, job, xs);
        count = depth * height * width;
        for (int i = 0; i < count; i++, corner++) {
            const OF(Tap) *z = &zs[i / (height * width)], *y = &ys[i / width % height], *x = &xs[i % width];
            corner->index = (z->index * job->rows + y->index) * job->columns + x->index;
            corner->is_inside = z->is_inside && y->is_inside && x->is_inside;
            corner->weight = z->weight * y->weight * x->weight;
            corner->slopes[0] = z->weight * y->weight * x->slope;
            corner->slopes[1] = z->weight * y->slope * x->weight;
            corner->slopes[2] = z->slope * y->weight * x->weight;
        }
    }
    return count;
}

/* Write the samples of a batch. */
static void OF(sample)(const GridJob *job, npy_intp batch, const OF(Corner) * corners, npy_intp count) {
    const npy_intp image = job->layers * job->rows * job->columns;
    for (npy_intp c = batch * job->channels; c < (batch + 1) * job->channels; c++) {
        const REAL *from = (const REAL *)job->from + c * image;
        REAL *to = (REAL *)job->to + c * job->places;
        for (npy_intp at = 0; at < job->places; at++) {
            const OF(Corner) *corner = corners + at * count;
            REAL total = 0;
            for (npy_intp i = 0; i < count; i++) {
                total += (corner[i].is_inside ? from[corner[i].index] : 0) * corner[i].weight;
            }
            to[at] = total;
        }
    }
}

/* Add the gradients of a batch's samples to those of images, corner by corner as the Python does. */
static void OF(add_to_images)(const GridJob *job, npy_intp batch, const OF(Corner) * corners, npy_intp count) {
    const npy_intp image = job->layers * job->rows * job->columns;
    for (npy_intp c = batch * job->channels; c < (batch + 1) * job->channels; c++) {
        const REAL *grad = (const REAL *)job->grad + c * job->places;
        REAL *to = (REAL *)job->to + c * image;
        for (npy_intp i = 0; i < count; i++) {
            for (npy_intp at = 0; at < job->places; at++) {
                const OF(Corner) *corner = &corners[at * count + i];
                to[corner->index] += corner->is_inside ? grad[at] * corner->weight : 0;
            }
        }
    }
}

/* Write the gradients of a batch's positions, each the sum of what the channels have, in their order. */
static void OF(write_places)(const GridJob *job, npy_intp batch, const OF(Corner) * corners, npy_intp count) {
    const npy_intp image = job->layers * job->rows * job->columns;
    for (npy_intp at = 0; at < job->places; at++) {
        const OF(Corner) *corner = corners + at * count;
        REAL *to = (REAL *)job->to_grid + (batch * job->places + at) * job->ndim;
        for (npy_intp c = batch * job->channels; c < (batch + 1) * job->channels; c++) {
            const REAL grad = ((const REAL *)job->grad)[c * job->places + at];
            const REAL *from = (const REAL *)job->from + c * image;
            for (int along = 0; along < job->ndim; along++) {
                REAL total = 0;
                for (npy_intp i = 0; i < count && job->mode != 1; i++) {
                    total += (corner[i].is_inside ? from[corner[i].index] : 0) * corner[i].slopes[along];
                }
                to[along] = c == batch * job->channels ? grad * total : to[along] + grad * total;
            }
        }
    }
}

/* Sample images, or write the gradients of images and positions. Returns nothing. */
static void OF(walk_grid)(void *given) {
    const GridJob *job = given;
    OF(Corner) *corners = job->corners;
    for (npy_intp batch = 0; batch < job->batches; batch++) {
        const npy_intp count = OF(find_corners)(job, batch, corners);
        if (job->grad == NULL) {
            OF(sample)(job, batch, corners, count);
        } else {
            if (job->to != NULL) {
                OF(add_to_images)(job, batch, corners, count);
            }
            if (job->to_grid != NULL) {
                OF(write_places)(job, batch, corners, count);
            }
        }
    }
}
