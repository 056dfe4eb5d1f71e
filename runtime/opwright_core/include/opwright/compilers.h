/* Compiler flags for loops, whatever the command line has. Include it first. */
#ifndef OPWRIGHT_COMPILERS_H
#define OPWRIGHT_COMPILERS_H

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-math-errno", "no-trapping-math") /* else a square root is a call, and a choice a jump */
#pragma GCC optimize("fp-contract=off") /* products and sums are rounded each, as NumPy does */
/* An element of the result may be where an element of an operand is, and nowhere else. */
#define EACH_ALONE _Pragma("GCC ivdep")
#elif defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#define EACH_ALONE _Pragma("clang loop vectorize(assume_safety)")
#else
#define EACH_ALONE
#endif

#ifdef __clang__
#pragma clang diagnostic ignored "-Wunknown-warning-option"
#pragma clang diagnostic ignored "-Wbitwise-instead-of-logical"
#pragma clang diagnostic ignored "-Wpass-failed" /* not every loop can be computed several elements at once */
#endif
#pragma GCC diagnostic ignored "-Wtautological-compare" /* what an expression says is no slip of the pen */
#pragma GCC diagnostic ignored "-Wtype-limits"

#include <stdint.h> /* which says __GLIBC__ */

/* Loops that compute much are compiled for newer processors, too; which one runs is found when the library is loaded.
 */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__has_attribute) && !defined(__SANITIZE_ADDRESS__)
#if __has_attribute(target_clones)
#define CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#endif
#ifndef CLONES
#define CLONES
#endif

#endif
