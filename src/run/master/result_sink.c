/* result_sink.c -- where the outputs of chunks go. SPDX-License-Identifier: MIT */
#include "run/master/result_sink.h"

#include <inttypes.h>

#include "base/fail.h"

void cv_result_sink_free(struct cv_result_sink *outlet)
{
    if (outlet != NULL)
        outlet->kind->free(outlet);
}

struct cv_fold_counts cv_result_sink_counts(const struct cv_result_sink *outlet)
{
    return outlet != NULL && outlet->kind->counts != NULL ? outlet->kind->counts(outlet)
                                                          : (struct cv_fold_counts){ 0 };
}

enum cleave_status cv_result_sink_add(struct cv_result_sink *outlet,
                                      struct cv_chunk_output *store,
                                      const struct cv_piece *piece,
                                      const struct cv_slot *maker,
                                      struct cleave_error *err)
{
    return outlet->kind->add(outlet, store, piece, maker, err);
}

enum cleave_status cv_result_sink_skip(struct cv_result_sink *outlet, uint64_t begin,
                                       uint64_t end, struct cleave_error *err)
{
    return outlet->kind->skip(outlet, begin, end, err);
}

enum cleave_status cv_result_sink_first(struct cv_result_sink *outlet, uint32_t worker,
                                        bool *out, struct cleave_error *err)
{
    *out = false;
    return outlet->kind->first != NULL ? outlet->kind->first(outlet, worker, out, err)
                                       : CLEAVE_OK;
}

enum cleave_status cv_result_sink_work(struct cv_result_sink *outlet,
                                       struct cleave_error *err)
{
    return outlet->kind->work != NULL ? outlet->kind->work(outlet, err) : CLEAVE_OK;
}

uint32_t cv_result_sink_busy(const struct cv_result_sink *outlet)
{
    return outlet->kind->busy != NULL ? outlet->kind->busy(outlet) : 0;
}

void cv_result_sink_stop(struct cv_result_sink *outlet)
{
    if (outlet->kind->stop != NULL)
        outlet->kind->stop(outlet);
}

enum cleave_status cv_result_sink_status(struct cv_result_sink *outlet, bool *out_command,
                                         struct cleave_error *err)
{
    return outlet->kind->status != NULL ? outlet->kind->status(outlet, out_command, err)
                                        : CLEAVE_OK;
}

enum cleave_status cv_result_sink_free_memory(struct cv_result_sink *outlet,
                                              bool *out_done, struct cleave_error *err)
{
    *out_done = true;
    return outlet->kind->relieve != NULL ? outlet->kind->relieve(outlet, out_done, err)
                                         : CLEAVE_OK;
}

enum cleave_status cv_result_sink_finish(struct cv_result_sink *outlet, bool *out_done,
                                         struct cleave_error *err)
{
    *out_done = true;
    return outlet->kind->settle != NULL ? outlet->kind->settle(outlet, out_done, err)
                                        : CLEAVE_OK;
}

enum cleave_status cv_result_sink_check(const struct cv_result_sink *outlet,
                                        uint64_t bytes, struct cleave_error *err)
{
    const uint64_t covered =
        outlet->kind->covered != NULL ? outlet->kind->covered(outlet) : bytes;

    if (covered == bytes)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EACCOUNT,
                   "partial results of %" PRIu64 " bytes were reduced, but %" PRIu64
                   " bytes were done: a defect of cleave",
                   covered, bytes);
}
