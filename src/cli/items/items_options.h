/* items_options.h -- options that the verbs about items share.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ITEMS_OPTIONS_H
#define CV_ITEMS_OPTIONS_H
#include "cli/load/load_options.h"
#include "io/sizes_file.h"

/* The values of plan items, simulate items and compare items. Those of loads come first:
 * much of them is the same. */
struct cv_items_options {
    struct cv_load_options load;
    const char *sizes, *costs; /* one of them                               */
    uint64_t weight;           /* the column of the sizes; 0: not said      */
    int all_items, explain;
};

extern const struct cv_items_options cv_items_presets;
extern const struct cv_option cv_items_job_options[];    /* sizes, platform ... */
extern const struct cv_option cv_items_policy_options[]; /* policy, param       */
extern const struct cv_option cv_items_trial_options[];  /* runs, noise ...     */

struct cv_items_job {
    struct cv_load_job load; /* its job is about the items                */
    struct cv_sizes items;   /* in the arena                              */
};

/* Read the sizes, the platform and the settings. Returns an exit status; what is wrong has
 * been told. cv_items_job_close is safe after a failure. */
int cv_items_job_open(const struct cv_items_options *options, struct cv_arena *arena,
                      struct cv_items_job *out);
void cv_items_job_close(struct cv_items_job *items);

/* "2000 items of 6.5e8 units on 5 workers". */
void cv_items_words(const struct cv_items_job *items, struct cv_text *out);
/* Their sizes, summed. */
double cv_items_units(const struct cv_items_job *items);

#endif
