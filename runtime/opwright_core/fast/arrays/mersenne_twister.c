/* Random numbers of a Mersenne Twister (MT19937). Its state is an array: 624 words, and the index of the next one. */

#include "fast/call/kernel_sets.h"
#include "loops.h"
#include "mersenne_twister.h"
#include "plain_arrays.h"

#define WORDS 624
#define SHIFTED 397
/* Numbers of a block of Box and Muller's: the second half of a block are angles. */
#define HALF_BLOCK 8

typedef struct {
    uint32_t *words; /* and the index of the next one */
    char *to;
} DrawJob;

/* Write `count` numbers, one for each word. */
typedef void (*Emit)(const uint32_t *words, char *to, npy_intp count);

/* Compute the next 624 words of the generator's state. A word depends on its neighbour, and on one that may be new: so
 * it goes by parts without dependencies. */
CLONES static void renew_words(uint32_t *words) {
    uint32_t mixed[WORDS];
    EACH_ALONE for (int i = 0; i < WORDS - 1; i++) {
        const uint32_t next = words[i + 1], both = (words[i] & 0x80000000u) | (next & 0x7fffffffu);
        mixed[i] = (both >> 1) ^ (0x9908b0dfu & (0u - (next & 1u)));
    }
    const int old = WORDS - SHIFTED;
    EACH_ALONE for (int i = 0; i < old; i++) {
        mixed[i] ^= words[i + SHIFTED];
    }
    EACH_ALONE for (int i = old; i < 2 * old; i++) {
        mixed[i] ^= mixed[i - old];
    }
    EACH_ALONE for (int i = 2 * old; i < WORDS - 1; i++) {
        mixed[i] ^= mixed[i - old];
    }
    const uint32_t both = (words[WORDS - 1] & 0x80000000u) | (mixed[0] & 0x7fffffffu);
    mixed[WORDS - 1] = mixed[SHIFTED - 1] ^ (both >> 1) ^ (0x9908b0dfu & (0u - (mixed[0] & 1u)));
    memcpy(words, mixed, sizeof mixed);
}

/* Return a word of the state as the generator's output (MT19937's tempering). */
ELEMENT uint32_t tempered(uint32_t word) {
    uint32_t y = word ^ (word >> 11);
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

/* Write `count` words as random 32-bit integers. */
CLONES static void emit_words(const uint32_t *words, char *to, npy_intp count) {
    uint32_t *out = (uint32_t *)to;
    EACH_ALONE for (npy_intp i = 0; i < count; i++) {
        out[i] = tempered(words[i]);
    }
}

/* Write `count` words as float32 from [0, 1), by their low 24 bits. */
CLONES static void emit_floats(const uint32_t *words, char *to, npy_intp count) {
    float *out = (float *)to;
    EACH_ALONE for (npy_intp i = 0; i < count; i++) {
        out[i] = (float)(int32_t)(tempered(words[i]) & 0xffffffu) * 0x1p-24f;
    }
}

/* Write `count` numbers of 4 bytes with `emit`; the state is renewed whenever its words are used up. */
static void draw(uint32_t *words, Emit emit, char *to, npy_intp count) {
    while (count > 0) {
        if (words[WORDS] >= WORDS) {
            renew_words(words);
            words[WORDS] = 0;
        }
        const npy_intp left = WORDS - words[WORDS], taken = count < left ? count : left;
        emit(words + words[WORDS], to, taken);
        words[WORDS] += (uint32_t)taken;
        to += taken * 4;
        count -= taken;
    }
}

/* Draw words. Needs no GIL. */
void twister_words(uint32_t *memory, uint32_t *words, Py_ssize_t count) {
    draw(memory, emit_words, (char *)words, count);
}

/* Draw the next 32-bit words of a DrawJob. Needs no GIL. */
static void work_words(void *given, int64_t from, int64_t to) {
    const DrawJob *job = given;
    draw(job->words, emit_words, job->to + from * 4, to - from);
}

/* Draw the next float32 numbers from [0, 1) of a DrawJob. Needs no GIL. */
static void work_floats(void *given, int64_t from, int64_t to) {
    const DrawJob *job = given;
    draw(job->words, emit_floats, job->to + from * 4, to - from);
}

/* Write pairs of words as double from [0, 1): the first word is the upper half of 64 bits, of which the low 53
 * count. */
CLONES static void pair_words(const uint32_t *pairs, double *out, npy_intp count) {
    EACH_ALONE for (npy_intp i = 0; i < count; i++) {
        const double high = (double)(int32_t)(pairs[2 * i] & 0x1fffffu);
        const double low = (double)(int32_t)(pairs[2 * i + 1] ^ 0x80000000u) + 0x1p31;
        out[i] = (high * 0x1p32 + low) * 0x1p-53;
    }
}

/* Draw the next double numbers from [0, 1) of a DrawJob, two words each. Needs no GIL. */
static void work_doubles(void *given, int64_t from, int64_t to) {
    const DrawJob *job = given;
    uint32_t pairs[WORDS];
    for (npy_intp start = from; start < to; start += WORDS / 2) {
        const npy_intp count = to - start < WORDS / 2 ? to - start : WORDS / 2;
        draw(job->words, emit_words, (char *)pairs, 2 * count);
        pair_words(pairs, (double *)job->to + start, count);
    }
}

/* Return the state of a generator, a dense uint32 array of 624 words and the index of the next one, borrowed; NULL
 * without an exception for anything else. */
uint32_t *twister_memory(PyObject *object) {
    Array *memory = plain_array(object, NPY_UINT32);
    return memory != NULL && count_of(memory) == WORDS + 1 ? (uint32_t *)PyArray_DATA(memory) : NULL;
}

/* random_words(bits, memory, count). Returns a new uint32 array (count,), and advances the state; NULL without an
 * exception for other arguments. The caller lets no other thread draw. */
static PyObject *handle_words(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double count;
    uint32_t *words = call->count == 3 && call->out == NULL ? twister_memory(call->args[1]) : NULL;
    if (words == NULL || !read_number(call->args[2], &count) || count < 0) {
        return NULL;
    }
    npy_intp size = (npy_intp)count;
    Array *result = new_array(1, &size, NPY_UINT32);
    if (result != NULL) {
        DrawJob job = {words, PyArray_BYTES(result)};
        do_in_order(work_words, &job, size, size);
    }
    return (PyObject *)result;
}

/* fill_with_fractions(bits, memory, numbers): numbers from [0, 1) over a dense float array. Returns `numbers`, a new
 * reference; NULL without an exception for other arguments. The caller lets no other thread draw. */
static PyObject *handle_fractions(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    uint32_t *words = call->count == 3 && call->out == NULL ? twister_memory(call->args[1]) : NULL;
    Array *numbers = words == NULL ? NULL : plain_floats(call->args[2]);
    if (numbers == NULL || !PyArray_ISWRITEABLE(numbers)) {
        return NULL;
    }
    DrawJob job = {words, PyArray_BYTES(numbers)};
    do_in_order(PyArray_TYPE(numbers) == NPY_DOUBLE ? work_doubles : work_floats, &job, count_of(numbers),
                count_of(numbers));
    return Py_NewRef(numbers);
}

typedef struct {
    float *numbers;
    float mean, std;
} NormalJob;

FUSED
/* Return the sine of an angle from 0 to two pi, or its cosine where `quarter` is 1. */
ELEMENT float sine_of_turn(float angle, uint32_t quarter) {
    const float held = angle * 0x1.45f306p-1f + ROUNDING_F32, k = held - ROUNDING_F32;
    const float r = ((angle - k * 0x1.921fap+0f) - k * 0x1.54442p-20f) - k * 0x1.a308d4p-41f, z = r * r;
    float odd = 0x1.6cc8dep-19f;
    odd = odd * z - 0x1.a00f56p-13f;
    odd = odd * z + 0x1.111108p-7f;
    odd = odd * z - 0x1.555556p-3f;
    odd = (odd * z) * r + r;
    float even = -0x1.241516p-22f;
    even = even * z + 0x1.a010acp-16f;
    even = even * z - 0x1.6c16b8p-10f;
    even = even * z + 0x1.555556p-5f;
    even = (even * z) * z + (1.0f - 0.5f * z);
    const uint32_t turned = bits_f32(held) + quarter;
    return from_bits_f32(bits_f32((turned & 1u) != 0 ? even : odd) ^ ((turned & 2u) << 30));
}

/* Turn some blocks of uniform numbers into normal ones by the method of Box and Muller, in place. Needs no GIL. */
CLONES static void work_normal(void *given, int64_t from, int64_t to) {
    const NormalJob *job = given;
    for (int64_t block = from; block < to; block++) {
        float *x = job->numbers + block * 2 * HALF_BLOCK;
        EACH_ALONE for (int i = 0; i < HALF_BLOCK; i++) {
            const float radius = sqrtf(-2.0f * log_f32(1.0f - x[i])), angle = x[i + HALF_BLOCK] * 0x1.921fb6p+2f;
            const float first = radius * sine_of_turn(angle, 1), second = radius * sine_of_turn(angle, 0);
            x[i] = first * job->std + job->mean;
            x[i + HALF_BLOCK] = second * job->std + job->mean;
        }
    }
}
UNFUSED

/* box_muller(numbers, mean, std) of a dense float32 array, in place. Returns `numbers`, a new reference; NULL without
 * an exception for other arguments, and unless its size is a multiple of 16. */
static PyObject *handle_normal(const CompiledKernel *kernel, const KernelCall *call) {
    (void)kernel;
    double mean, std;
    Array *numbers = call->count == 3 && call->out == NULL ? plain_array(call->args[0], NPY_FLOAT) : NULL;
    if (numbers == NULL || !PyArray_ISWRITEABLE(numbers) || count_of(numbers) % (2 * HALF_BLOCK) != 0 ||
        !read_number(call->args[1], &mean) || !read_number(call->args[2], &std)) {
        return NULL;
    }
    NormalJob job = {(float *)PyArray_DATA(numbers), (float)mean, (float)std};
    do_in_order(work_normal, &job, count_of(numbers) / (2 * HALF_BLOCK), count_of(numbers));
    return Py_NewRef(numbers);
}

const CompiledKernel twister_kernels[] = {
    {"random_words", handle_words, NULL, OF_NUMPY | QUIET},
    {"fill_with_fractions", handle_fractions, NULL, OF_NUMPY | QUIET},
    {"box_muller", handle_normal, NULL, OF_NUMPY | QUIET},
    {NULL, NULL, NULL, 0},
};
