/* exec_orders.h -- what the policy asks for, as soon as it can be begun.
 * SPDX-License-Identifier: MIT */
#ifndef CV_EXEC_ORDERS_H
#define CV_EXEC_ORDERS_H
#include "run/master/exec_run.h"

/* The worker is to do about so many bytes; it begins if it can. */
enum cleave_status cv_orders_send(struct cv_exec_run *run, uint32_t worker, double units,
                                  struct cleave_error *err);
/* The worker is to do this item. */
enum cleave_status cv_orders_item(struct cv_exec_run *run, uint32_t worker, uint64_t item,
                                  struct cleave_error *err);
/* The same for a chunk to which more may be added; it may begin with nothing. */
enum cleave_status cv_orders_open(struct cv_exec_run *run, uint32_t worker, double units,
                                  struct cleave_error *err);
/* Begin what can be begun. */
enum cleave_status cv_orders_begin(struct cv_exec_run *run, struct cleave_error *err);
/* The policy has heard all there is: if nobody does anything now, try a chunk that is to be
 * tried alone. */
enum cleave_status cv_orders_alone(struct cv_exec_run *run, struct cleave_error *err);

#endif
