/* driver_internal.h -- what the parts of the driver share. SPDX-License-Identifier: MIT */
#ifndef CV_DRIVER_INTERNAL_H
#define CV_DRIVER_INTERNAL_H
#include "engine/driver.h"
#include "engine/assigned_units.h"
#include "engine/livelock_check.h"
#include "engine/queued_returns.h"
#include "engine/item_check.h"
#include "engine/open_check.h"
#include "engine/reduce_check.h"
#include "engine/return_check.h"
#include "policy/common/orders.h"

/* Sums of chunk sizes may miss the load by rounding: this much of it is forgiven. */
static const double CV_DRIVER_SLACK = 1e-9;

struct cv_driver {
    const struct cv_planned *planned; /* borrowed */
    const struct cv_engine *engine;
    void *instance;        /* owned, of engine                     */
    struct cv_arena arena; /* policy state of the current run      */
    void *state;           /* in arena                             */
    double *done_s;        /* in arena: per worker, the end of its last chunk  */
    struct cleave_view view;
    struct cleave_orders orders;
    struct cv_run run; /* the current one                      */
    uint64_t chunks;
    struct cv_livelock_check livelock;
    struct cv_assigned_units handed; /* units sent                           */
    struct cv_item_check items;      /* of a load that is made of items      */
    struct cv_open_check open;       /* chunks that may be extended          */
    struct cv_reduce_check reduce;   /* of a reduction                       */
    struct cv_return_check returns;  /* when results come back               */
    struct cv_queued_returns held;   /* those that sends overtake            */
};

static inline bool cv_driver_has_results(const struct cv_driver *driver)
{
    return driver->view.result_ratio > 0;
}

/* The order is sane: driver_check.c. The sum over chunks is judged when units run out or the
 * run ends. */
enum cleave_status cv_driver_check_order(struct cv_driver *driver,
                                         const struct cleave_order *order, double now_s,
                                         struct cleave_error *err);
/* What an event means for the driver's own books. */
void cv_driver_note_event(struct cv_driver *driver, const struct cleave_event *event,
                          struct cv_outcome *outcome);
/* The run does not get on, or there is no end of chunks: say so. */
enum cleave_status cv_driver_fail_headway(const struct cv_driver *driver,
                                          struct cleave_error *err);
enum cleave_status cv_driver_fail_chunks(const struct cv_driver *driver,
                                         struct cleave_error *err);
enum cleave_status cv_driver_fail_units(const struct cv_driver *driver,
                                        struct cleave_error *err);
enum cleave_status cv_driver_fail_limit(const struct cv_driver *driver,
                                        struct cleave_error *err);
/* What is written down of a run, driver.c. */
enum cleave_status cv_driver_record_event(const struct cv_driver *driver,
                                          struct cleave_trace *trace,
                                          const struct cleave_event *event,
                                          struct cleave_error *err);
enum cleave_status cv_driver_record_order(struct cleave_trace *trace,
                                          const struct cleave_order *order,
                                          struct cleave_error *err);

#endif
