/* load_inputs.h -- inputs that cases of divisible loads share.
 * SPDX-License-Identifier: MIT */
#ifndef LOAD_INPUTS_H
#define LOAD_INPUTS_H
#include "vector_case.h"

/* The platform of a case: N equal workers given by the scalars S, B, alpha and beta, or
 * one worker per entry of the lists of that name. */
struct case_platform {
    struct cleave_worker *workers; /* owned by the arena of the case; NULL: unfit */
    uint32_t nworkers;
};

struct case_platform case_platform(struct vector_case *c);

#endif
