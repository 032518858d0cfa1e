/* argument_check.h -- checks of the arguments of plans and simulations.
 * SPDX-License-Identifier: MIT
 *
 * Failures are CLEAVE_EINPUT, and err->field names the member. Contents of strings, and rules between
 * members, are checked where they are used. */
#ifndef CV_ARGUMENT_CHECK_H
#define CV_ARGUMENT_CHECK_H
#include <cleave/reduce.h>
#include <cleave/simgrid.h>
#include <cleave/stream_plan.h>

/* `field`: the name of the member, such as "policy.settings". */
enum cleave_status cv_check_settings(const struct cleave_setting *settings, size_t count,
                                     const char *field, struct cleave_error *err);
enum cleave_status cv_check_job(const struct cleave_job *job, struct cleave_error *err);
enum cleave_status cv_check_trial(const struct cleave_trial *trial,
                                  struct cleave_error *err);
enum cleave_status cv_check_reduction(const struct cleave_reduction *job,
                                      struct cleave_error *err);
enum cleave_status cv_check_stream_job(const struct cleave_stream_job *job,
                                       struct cleave_error *err);
enum cleave_status cv_check_stream_task(const struct cleave_stream_task *task,
                                        struct cleave_error *err);
enum cleave_status cv_check_simgrid(const struct cleave_simgrid *where,
                                    struct cleave_error *err);

#endif
