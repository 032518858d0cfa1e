/* price.h -- plans for a deadline or a budget, and what plans cost.
 * SPDX-License-Identifier: MIT */
#ifndef CV_PRICE_H
#define CV_PRICE_H
#include <cleave/run.h>
#include "base/text.h"
#include "cli/load/load_options.h"

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

/* Workers that are not paid for: how many, their names, and why; `price` may be NULL. */
size_t cv_price_unpaid(const struct cv_price *price);
const char *cv_price_unpaid_name(const struct cv_price *price, size_t index);
const char *cv_price_unpaid_reason(const struct cv_price *price);

/* The line with the cost of a schedule, if anything costs. */
void cv_price_text(const struct cleave_schedule *schedule, const struct cv_price *price,
                   struct cv_text *out);
/* Members of the object that is open, and of its list of workers left out. */
void cv_price_json(struct cv_json *json, const struct cleave_schedule *schedule,
                   const struct cleave_platform *platform, const struct cv_price *price);
void cv_price_json_left_out(struct cv_json *json, const struct cv_price *price);

#endif
