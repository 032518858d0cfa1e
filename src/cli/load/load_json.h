/* load_json.h -- plans and simulations as JSON on stdout. SPDX-License-Identifier: MIT
 *
 * docs/guide/json.md documents every field. */
#ifndef CV_LOAD_JSON_H
#define CV_LOAD_JSON_H
#include <cleave/run.h>
#include "cli/load/price.h"
#include "io/json_out.h"

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
