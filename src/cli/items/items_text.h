/* items_text.h -- a schedule of items as text and as JSON. SPDX-License-Identifier: MIT */
#ifndef CV_ITEMS_TEXT_H
#define CV_ITEMS_TEXT_H
#include "cli/items/items_options.h"
#include "cli/common/output.h"

struct cleave_schedule;

/* What there is to show: `listed_s` is what the order of the list takes; NAN: that is what
 * was planned. */
struct cv_items_plan {
    const struct cv_items_job *items;
    const struct cleave_schedule *schedule;
    double listed_s;
};

void cv_items_text(const struct cv_items_plan *plan,
                   const struct cv_items_options *options, const struct cv_screen *screen,
                   struct cv_text *out);
/* On stdout. Returns an exit status. */
int cv_items_json(const struct cv_items_plan *plan, uint64_t seed);

#endif
