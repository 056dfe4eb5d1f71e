/* All kernels, for float64. */
#include "fused_kernels.h"

#include "exponential.h"
#include <math.h>

typedef double real;
#define NAME(kernel) kernel##_f64
#define EXP exp_of_double
#define LOG log
#define SQRT sqrt

#include "sums.inc"

#include "adamw.inc"
#include "cross_entropy.inc"
#include "layer_norm.inc"
#include "rotary.inc"
