/* open_ranges.h -- one rule for chunks that may stay open. SPDX-License-Identifier: MIT */
#ifndef CV_OPEN_RANGES_H
#define CV_OPEN_RANGES_H
#include "policy/common/setup.h"
#include "policy/pull/pull.h"

struct cv_range_worker;
struct cv_range_group;

struct cv_open_ranges {
    double first_units, min; /* parameters */
    double max;              /* units of a chunk */
    struct cv_range_worker *workers;
    struct cv_ready *ready; /* scratch of the end of all */
    uint32_t n, present;    /* places; present workers */
    struct cv_range_group *groups;
    uint32_t ngroups;
    uint32_t known; /* workers with a measured speed */
    int kind;
    double phi;     /* part of the work that is done while reading */
    bool emits;     /* output came before the end of the input */
    double start_s; /* mean start, over the last ones */
    uint32_t starts;
    double fixed_s, unsure_s; /* fixed seconds of a chunk; their uncertainty */
    double reading_s, all_s;  /* seconds of chunks: reading; all */
    double least_s;           /* the least that a chunk took after its end was read */
    double record;            /* units of a record, if it is larger than was asked for */
    bool turned;              /* just now taken for a command that reads all first */
    bool begun;               /* the first units of a stream were given */
    uint32_t first; /* worker with the first units of a stream, while the others wait; or
                * NOBODY */
    double fold_s, wake_s;
};

/* Members `first_units`, `min` and `max` are set before. */
enum cleave_status cv_open_ranges_begin(struct cv_open_ranges *learn,
                                        const struct cleave_view *view,
                                        struct cleave_setup *setup,
                                        struct cleave_error *err);
void cv_open_ranges_decide(struct cv_open_ranges *learn, const struct cleave_view *view,
                           const struct cleave_event *event,
                           struct cleave_orders *orders);

#endif
