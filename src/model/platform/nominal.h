/* nominal.h -- workers of which nothing is known yet. SPDX-License-Identifier: MIT
 *
 * What a worker is thought to cost before anything is measured stands here, once. Policies
 * that plan ahead take all of them for equal, and --dry-run shows what follows from it. */
#ifndef CV_NOMINAL_H
#define CV_NOMINAL_H
#include <stdbool.h>
#include <cleave/platform.h>

enum cv_nominal {
    CV_NOMINAL_HERE, /* a command on this machine; units are bytes       */
    CV_NOMINAL_RANK, /* a command on another machine; units are bytes    */
    CV_NOMINAL_CALL, /* calls of a function at an MPI rank, unit by unit */
};

/* A platform of `count` such workers, which share no port. `names` are copied; NULL: w0,
 * w1, ... Names that a platform file could not have are refused. */
enum cleave_status cv_nominal_platform(enum cv_nominal kind, const char *const *names,
                                       uint32_t count, struct cleave_platform **out,
                                       struct cleave_error *err);

/* One of them. */
struct cleave_worker cv_nominal_worker(enum cv_nominal kind);

/* Whether what is declared of a worker is only that. */
bool cv_is_nominal(const struct cleave_worker *worker);

#endif
