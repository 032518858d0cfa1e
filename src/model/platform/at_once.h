/* at_once.h -- when a command reads that had started before. SPDX-License-Identifier: MIT */
#ifndef CV_AT_ONCE_H
#define CV_AT_ONCE_H
#include <math.h>

/* Limit for the time between the first input of a command and its first read: a command
 * that reads sooner was ready before its input existed. The limit is a millisecond or, as
 * on a busy machine it may not be given a processor at once, a tenth of the time that it
 * had waited, up to `most_s`. */
static inline double cv_at_once_s(double waited_s, double most_s)
{
    return fmax(1e-3, fmin(most_s, 0.1 * waited_s));
}

#endif
