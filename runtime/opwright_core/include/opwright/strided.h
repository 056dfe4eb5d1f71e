/* Elementwise loops over arrays of any strides.
 *
 * A loop is written once, for elements that lie one behind the other. What lies otherwise, is misaligned, or is half or
 * bfloat16 is brought into blocks that fit the nearest cache: float is computed in for these two. */
#ifndef OPWRIGHT_STRIDED_H
#define OPWRIGHT_STRIDED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <opwright/elements.h>

#define LOOP_DIMS 64
#define LOOP_ARRAYS 16 /* operands and the result */
#define LOOP_BLOCK 4096 /* bytes of a block */
#define LOOP_PIECE 4096 /* elements of a row that go to one thread */

enum loop_code {
    /* clang-format off */
    LOOP_B8, LOOP_I8, LOOP_U8, LOOP_I16, LOOP_U16, LOOP_I32, LOOP_U32, LOOP_I64, LOOP_U64,
    LOOP_F16, LOOP_BF16, LOOP_F32, LOOP_F64, LOOP_C64, LOOP_C128, LOOP_CODES,
    /* clang-format on */
};

/* A number as a loop takes it: `real` for floats, `parts` of complex ones, `whole` (its bits) for integers and bools.
 */
union loop_number {
    double real;
    double parts[2];
    int64_t whole;
};

/* Computes `count` elements. Not 0 where it refuses one, so that NumPy may say why. */
typedef int loop_block(int64_t count, const void *const *from, void *to, const union loop_number *numbers);

/* The loops of one operator: how many arrays and numbers it takes, whether the result is bool, whether loops of
 * integers may refuse an element, the loop of each dtype. */
struct loop {
    int arrays, numbers, is_truth, may_refuse;
    loop_block *run[LOOP_CODES];
};

/* The arrays of a call: operands, then the result. Strides are in bytes, 0 where an operand is repeated. */
struct loop_arrays {
    int dims;
    int64_t shape[LOOP_DIMS];
    char *data[LOOP_ARRAYS];
    int64_t strides[LOOP_ARRAYS][LOOP_DIMS];
};

/* Returns the bytes of an element. */
static inline int64_t loop_bytes(enum loop_code code)
{
    static const int8_t bytes[LOOP_CODES] = {1, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 8, 16};
    return bytes[code];
}

/* Whether float is what a loop of the dtype computes in. */
static inline int loop_is_half(enum loop_code code) { return code == LOOP_F16 || code == LOOP_BF16; }

/* Copies elements of a width, which may be misaligned, by steps that compilers know where these are common: then they
 * take several at once. */
#define LOOP_COPIES(T)                                                                                                 \
    typedef T loose_##T __attribute__((aligned(1), may_alias));                                                        \
    static inline void loop_gather_##T(const char *from, int64_t step, int64_t count, char *block)                     \
    {                                                                                                                  \
        const int64_t size = sizeof(T);                                                                                \
        const loose_##T *restrict const first = (const loose_##T *)from;                                               \
        T *restrict const to = (T *)(void *)block;                                                                     \
        if (step == size)                                                                                              \
            memcpy(block, from, (size_t)(count * size));                                                               \
        else if (step == 0)                                                                                            \
            for (int64_t i = 0; i < count; i++)                                                                        \
                to[i] = first[0];                                                                                      \
        else if (step == -size)                                                                                        \
            for (int64_t i = 0; i < count; i++)                                                                        \
                to[i] = first[-i];                                                                                     \
        else if (step == 2 * size)                                                                                     \
            for (int64_t i = 0; i < count; i++)                                                                        \
                to[i] = first[2 * i];                                                                                  \
        else                                                                                                           \
            for (int64_t i = 0; i < count; i++)                                                                        \
                to[i] = *(const loose_##T *)(const void *)(from + i * step);                                           \
    }                                                                                                                  \
    static inline void loop_scatter_##T(const char *block, char *to, int64_t step, int64_t count)                      \
    {                                                                                                                  \
        const int64_t size = sizeof(T);                                                                                \
        const T *restrict const from = (const T *)(const void *)block;                                                 \
        if (step == size)                                                                                              \
            memcpy(to, block, (size_t)(count * size));                                                                 \
        else if (step == -size)                                                                                        \
            for (int64_t i = 0; i < count; i++)                                                                        \
                ((loose_##T *)(void *)to)[-i] = from[i];                                                               \
        else                                                                                                           \
            for (int64_t i = 0; i < count; i++)                                                                        \
                *(loose_##T *)(void *)(to + i * step) = from[i];                                                       \
    }
LOOP_COPIES(uint8_t)
LOOP_COPIES(uint16_t)
LOOP_COPIES(uint32_t)
LOOP_COPIES(uint64_t)
typedef uint64_t loop_wide __attribute__((vector_size(16)));
LOOP_COPIES(loop_wide)

/* Bring elements into a block, one behind the other. */
static inline void loop_gather(enum loop_code code, const char *from, int64_t step, int64_t count, void *block)
{
    float *const floats = block;
    char *const to = block;
    if (loop_is_half(code)) {
        for (int64_t i = 0; i < count; i++) {
            uint16_t half;
            memcpy(&half, from + i * step, sizeof half);
            floats[i] = code == LOOP_F16 ? from_f16(half) : from_bf16(half);
        }
        return;
    }
    switch (loop_bytes(code)) {
    case 1: loop_gather_uint8_t(from, step, count, to); break;
    case 2: loop_gather_uint16_t(from, step, count, to); break;
    case 4: loop_gather_uint32_t(from, step, count, to); break;
    case 8: loop_gather_uint64_t(from, step, count, to); break;
    default: loop_gather_loop_wide(from, step, count, to); break;
    }
}

static inline void loop_scatter(enum loop_code code, const void *block, char *to, int64_t step, int64_t count)
{
    const float *const floats = block;
    const char *const from = block;
    if (loop_is_half(code)) {
        for (int64_t i = 0; i < count; i++) {
            const uint16_t half = code == LOOP_F16 ? to_f16(floats[i]) : to_bf16(floats[i]);
            memcpy(to + i * step, &half, sizeof half);
        }
        return;
    }
    switch (loop_bytes(code)) {
    case 1: loop_scatter_uint8_t(from, to, step, count); break;
    case 2: loop_scatter_uint16_t(from, to, step, count); break;
    case 4: loop_scatter_uint32_t(from, to, step, count); break;
    case 8: loop_scatter_uint64_t(from, to, step, count); break;
    default: loop_scatter_loop_wide(from, to, step, count); break;
    }
}

/* Returns the bytes from an element to the next, backwards or not. */
static inline int64_t loop_size(int64_t stride) { return stride < 0 ? -stride : stride; }

/* Sort dimensions by the result's strides, the largest first, and make one of those that lie in each other. */
static inline void loop_coalesce(struct loop_arrays *arrays, int count)
{
    const int out = count - 1;
    int dims = 0;
    for (int d = 0; d < arrays->dims; d++) {
        if (arrays->shape[d] == 1)
            continue;
        int at = dims++;
        const int64_t size = arrays->shape[d];
        int64_t own[LOOP_ARRAYS];
        for (int a = 0; a < count; a++)
            own[a] = arrays->strides[a][d];
        for (; at > 0 && loop_size(arrays->strides[out][at - 1]) < loop_size(own[out]); at--) {
            arrays->shape[at] = arrays->shape[at - 1];
            for (int a = 0; a < count; a++)
                arrays->strides[a][at] = arrays->strides[a][at - 1];
        }
        arrays->shape[at] = size;
        for (int a = 0; a < count; a++)
            arrays->strides[a][at] = own[a];
    }
    int last = 0;
    for (int d = 1; d < dims; d++) {
        int lies_in = 1;
        for (int a = 0; a < count; a++)
            lies_in &= arrays->strides[a][last] == arrays->strides[a][d] * arrays->shape[d];
        if (!lies_in)
            last++;
        arrays->shape[last] = lies_in ? arrays->shape[last] * arrays->shape[d] : arrays->shape[d];
        for (int a = 0; a < count; a++)
            arrays->strides[a][last] = arrays->strides[a][d];
    }
    arrays->dims = dims ? last + 1 : 0;
}

/* One row of elements, whose arrays are `direct` where a loop takes them as they are. */
static inline int loop_row(loop_block *run, enum loop_code code, enum loop_code result, int count, int64_t size,
                           char *const *data, const int64_t *steps, const uint8_t *direct,
                           const union loop_number *numbers, char (*blocks)[LOOP_BLOCK])
{
    const int64_t most = LOOP_BLOCK / (loop_is_half(code) ? 4 : loop_bytes(code));
    const int out = count - 1;
    const void *from[LOOP_ARRAYS];
    for (int64_t start = 0; start < size; start += most) {
        const int64_t some = size - start < most ? size - start : most;
        for (int a = 0; a < out; a++) {
            const char *const here = data[a] + start * steps[a];
            from[a] = direct[a] ? here : blocks[a];
            if (!direct[a] && (start == 0 || steps[a] != 0))
                loop_gather(code, here, steps[a], some, blocks[a]);
        }
        char *const there = data[out] + start * steps[out];
        if (run(some, from, direct[out] ? there : blocks[out], numbers))
            return 1;
        if (!direct[out])
            loop_scatter(result, blocks[out], there, steps[out], some);
    }
    return 0;
}

/* How a loop goes over arrays: rows of `size` elements, each in pieces of `width`, the last of fewer. */
struct loop_walk {
    const struct loop *loop;
    enum loop_code code;
    const struct loop_arrays *arrays;
    const union loop_number *numbers;
    int64_t size, width, pieces, rows;
    int64_t steps[LOOP_ARRAYS];
    uint8_t direct[LOOP_ARRAYS];
    int all; /* whether a loop takes all arrays as they are */
    int refused;
};

/* Find how a loop goes over arrays, whose dimensions are put in order. False where there are no elements. */
static inline int loop_prepare(struct loop_walk *walk, const struct loop *loop, enum loop_code code,
                               struct loop_arrays *arrays, const union loop_number *numbers)
{
    const int count = loop->arrays + 1, out = loop->arrays;
    for (int d = 0; d < arrays->dims; d++)
        if (arrays->shape[d] == 0)
            return 0;
    loop_coalesce(arrays, count);
    const int dims = arrays->dims, inner = dims - 1;
    walk->loop = loop;
    walk->code = code;
    walk->arrays = arrays;
    walk->numbers = numbers;
    walk->size = dims ? arrays->shape[inner] : 1;
    walk->width = walk->size < LOOP_PIECE ? walk->size : LOOP_PIECE;
    walk->pieces = (walk->size + walk->width - 1) / walk->width;
    walk->rows = 1;
    walk->all = 1;
    walk->refused = 0;
    for (int d = 0; d < inner; d++)
        walk->rows *= arrays->shape[d];
    for (int a = 0; a < count; a++) {
        const enum loop_code own = a < out ? code : loop->is_truth ? LOOP_B8 : code;
        const int64_t bytes = loop_bytes(own);
        uint64_t bits = (uint64_t)(uintptr_t)arrays->data[a];
        for (int d = 0; d < dims; d++)
            bits |= (uint64_t)arrays->strides[a][d];
        walk->steps[a] = dims ? arrays->strides[a][inner] : bytes;
        walk->direct[a] = walk->steps[a] == bytes && bits % (uint64_t)bytes == 0 && !loop_is_half(own);
        walk->all &= walk->direct[a];
    }
    return 1;
}

/* Run a loop over the pieces from one number up to another. Sets `refused` where it refuses an element. */
static inline void loop_pieces(void *given, int64_t piece, int64_t behind)
{
    struct loop_walk *const walk = given;
    const struct loop_arrays *const arrays = walk->arrays;
    const int count = walk->loop->arrays + 1, out = walk->loop->arrays, inner = arrays->dims - 1;
    const enum loop_code result = walk->loop->is_truth ? LOOP_B8 : walk->code;
    loop_block *const run = walk->loop->run[walk->code];
    _Alignas(64) char blocks[LOOP_ARRAYS][LOOP_BLOCK];
    char *data[LOOP_ARRAYS]; /* of the row */
    int64_t index[LOOP_DIMS], row = piece / walk->pieces, first = piece % walk->pieces;
    for (int a = 0; a < count; a++)
        data[a] = arrays->data[a];
    for (int d = inner - 1; d >= 0; d--) {
        index[d] = row % arrays->shape[d];
        row /= arrays->shape[d];
        for (int a = 0; a < count; a++)
            data[a] += index[d] * arrays->strides[a][d];
    }
    while (piece < behind) {
        const int64_t some = walk->pieces - first;
        const int64_t taken = behind - piece < some ? behind - piece : some, start = first * walk->width;
        const int64_t size = taken == some ? walk->size - start : taken * walk->width;
        char *here[LOOP_ARRAYS];
        const void *from[LOOP_ARRAYS];
        for (int a = 0; a < count; a++)
            from[a] = here[a] = data[a] + start * walk->steps[a];
        const int refused = walk->all ? run(size, from, here[out], walk->numbers)
                                      : loop_row(run, walk->code, result, count, size, here, walk->steps, walk->direct,
                                                 walk->numbers, blocks);
        if (refused) {
            __atomic_store_n(&walk->refused, 1, __ATOMIC_RELAXED);
            return;
        }
        piece += taken;
        first = 0;
        for (int d = inner - 1; d >= 0; d--) {
            for (int a = 0; a < count; a++)
                data[a] += arrays->strides[a][d];
            if (++index[d] < arrays->shape[d])
                break;
            for (int a = 0; a < count; a++)
                data[a] -= arrays->strides[a][d] * arrays->shape[d];
            index[d] = 0;
        }
    }
}

/* Run a loop over arrays, alone. Not 0 where it refuses an element. */
static inline int loop_over(const struct loop *loop, enum loop_code code, struct loop_arrays *arrays,
                            const union loop_number *numbers)
{
    struct loop_walk walk;
    if (!loop_prepare(&walk, loop, code, arrays, numbers))
        return 0;
    loop_pieces(&walk, 0, walk.rows * walk.pieces);
    return walk.refused;
}

#endif
