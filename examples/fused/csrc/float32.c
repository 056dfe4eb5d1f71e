/* All kernels, for float32. */
#include "fused_kernels.h"

#include "exponential.h"
#include <math.h>

typedef float real;
#define NAME(kernel) kernel##_f32
#define EXP exp_of_float
#define LOG logf
#define SQRT sqrtf

#include "sums.inc"

#include "adamw.inc"
#include "cross_entropy.inc"
#include "layer_norm.inc"
#include "rotary.inc"
