/* plan_show.h -- plans for a deadline or a budget, and what plans cost.
 * SPDX-License-Identifier: MIT */
#ifndef CV_PLAN_SHOW_H
#define CV_PLAN_SHOW_H
#include <cleave/run.h>
#include "base/text.h"
#include "cli/common/output.h"
#include "cli/load/load_options.h"
#include "io/json_out.h"

struct cv_json;

/* What was asked for, and what was found. */
struct cv_price {
    struct cleave_rental_terms terms;
    const struct cleave_platform *whole; /* borrowed: all workers */
    struct cleave_rental *rental;        /* owned                 */
};

/* Look for workers and a plan as the options say. Returns an exit status; what is wrong has
 * been told. */
int cv_price_open(const struct cv_load_options *options, const struct cv_load_job *load,
                  struct cv_price *out);

/* Bounds for all workers instead of those for the ones that are paid for. */
void cv_price_judge(const struct cv_price *price, struct cleave_schedule *schedule);

/* Add headline, workers, rounds or chunks, those left out, and the chart. `price` is what
 * was looked for a price; NULL: nothing. */
void cv_plan_text(const struct cleave_schedule *schedule,
                  const struct cleave_platform *platform, const struct cv_price *price,
                  const struct cv_load_options *options, const struct cv_screen *screen,
                  struct cv_text *out);

/* "2000 units on 8 workers, 0.5 of result per unit", or what a lifespan is for. */
void cv_load_words(double units, double lifespan_s, double result_ratio,
                   uint32_t nworkers, struct cv_text *out);

/* "load", or "work" and "lifespan"; "result_ratio" if results come back. */
void cv_field_load(struct cv_json *json, double units, double lifespan_s,
                   double result_ratio);
/* `price` is what was looked for a price; NULL: nothing. */
int cv_plan_json(const struct cleave_schedule *schedule,
                 const struct cleave_platform *platform, const struct cv_price *price,
                 uint64_t seed);

/* Members of an object that the caller has opened. */
void cv_field_bound(struct cv_json *json, const char *key,
                    const struct cleave_bound *bound);
void cv_field_times(struct cv_json *json, const char *key,
                    const struct cleave_stats *stats);

#endif
