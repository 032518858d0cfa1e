/* result_sink_kinds.h -- the three kinds of outlets. SPDX-License-Identifier: MIT */
#ifndef CV_RESULT_SINK_KINDS_H
#define CV_RESULT_SINK_KINDS_H
#include "run/master/result_sink.h"

/* Outputs are written as they are, in the order of the input unless that was not asked
 * for. */
enum cleave_status cv_result_sink_plain(const struct cv_result_sink_options *options,
                                        struct cv_result_sink **out,
                                        struct cleave_error *err);

/* They are folded by commands on this machine.
 *
 * Who folds, and when, is one rule. A worker that has nothing else to do folds; when it is
 * given a chunk meanwhile, it begins that beside. While all are busy nobody folds, until
 * so many partials wait that it is crowded: then a worker folds once before each chunk. A
 * chunk makes one partial and a fold makes at least one of two, so no more wait from there
 * on, and the split goes on.
 *
 * What other machines put out is here, and so it is folded here: only as many workers fold
 * as this machine has use for. They do so while their hosts are at work, too, if the policy
 * has made chunks end one after the other for that; else a few at a time would cost more
 * commands, and go through what was folded before again and again. */
enum cleave_status cv_result_sink_fold(const struct cv_result_sink_options *options,
                                       struct cv_result_sink **out,
                                       struct cleave_error *err);

/* They stay with the hosts, which are ready, and are folded there.
 *
 * The master only decides who folds what (engine/fold_plan.h); partials go from host to
 * host, and the last one comes here, while chunks are still handed out: what is kept by a
 * host that is lost, be it the result, is computed again. */
enum cleave_status cv_result_sink_kept(const struct cv_result_sink_options *options,
                                       struct cv_result_sink **out,
                                       struct cleave_error *err);
/* Whether they can: hosts must be able to reach each other, and nothing else must need the
 * outputs. */
bool cv_result_sink_kept_possible(const struct cleave_execution *request);

#endif
