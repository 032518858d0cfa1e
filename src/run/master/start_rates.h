/* start_rates.h -- rates of workers: how much they may start. SPDX-License-Identifier: MIT */
#ifndef CV_START_RATES_H
#define CV_START_RATES_H
#include <cleave/policy.h>
#include "engine/rate.h"

/* A group of workers that share a rate. */
struct cv_rate_group {
    struct cv_rate rate;
    bool by_weight;
    double least;   /* amount of the smallest piece */
    double started; /* sum of all starts */
    double units;   /* of these */
};

/* A worker of a group. */
struct cv_rate_member {
    struct cv_rate_group *group; /* NULL: the worker has no rate */
    bool waits;                  /* the worker rests until its group may start again */
    bool holds;                  /* `done` is kept back */
    struct cleave_event done;
};

/* All zero: no worker has a rate. */
struct cv_start_rates {
    struct cv_rate_group *groups; /* owned */
    size_t ngroups;
    struct cv_rate_member *members; /* owned: per worker; NULL: no worker has a rate */
    uint32_t held;                  /* events that are kept back */
};

#endif
