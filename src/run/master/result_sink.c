/* result_sink.c -- where the outputs of chunks go. SPDX-License-Identifier: MIT */
#include "run/master/result_sink.h"

#include <inttypes.h>

#include "base/fail.h"

void cv_result_sink_free(struct cv_result_sink *results)
{
    if (results != NULL)
        results->kind->free(results);
}

struct cv_fold_counts cv_result_sink_counts(const struct cv_result_sink *results)
{
    return results != NULL && results->kind->counts != NULL
               ? results->kind->counts(results)
               : (struct cv_fold_counts){ 0 };
}

enum cleave_status cv_result_sink_add(struct cv_result_sink *results,
                                      struct cv_chunk_output *store,
                                      const struct cv_piece *piece,
                                      const struct cv_slot *maker,
                                      struct cleave_error *err)
{
    return results->kind->add(results, store, piece, maker, err);
}

enum cleave_status cv_result_sink_skip(struct cv_result_sink *results, uint64_t begin,
                                       uint64_t end, struct cleave_error *err)
{
    return results->kind->skip(results, begin, end, err);
}

enum cleave_status cv_result_sink_first(struct cv_result_sink *results, uint32_t worker,
                                        bool *out, struct cleave_error *err)
{
    *out = false;
    return results->kind->first != NULL ? results->kind->first(results, worker, out, err)
                                        : CLEAVE_OK;
}

enum cleave_status cv_result_sink_work(struct cv_result_sink *results,
                                       struct cleave_error *err)
{
    return results->kind->work != NULL ? results->kind->work(results, err) : CLEAVE_OK;
}

uint32_t cv_result_sink_busy(const struct cv_result_sink *results)
{
    return results->kind->busy != NULL ? results->kind->busy(results) : 0;
}

void cv_result_sink_stop(struct cv_result_sink *results)
{
    if (results->kind->stop != NULL)
        results->kind->stop(results);
}

enum cleave_status cv_result_sink_status(struct cv_result_sink *results,
                                         bool *out_command, struct cleave_error *err)
{
    return results->kind->status != NULL
               ? results->kind->status(results, out_command, err)
               : CLEAVE_OK;
}

enum cleave_status cv_result_sink_free_memory(struct cv_result_sink *results,
                                              bool *out_done, struct cleave_error *err)
{
    *out_done = true;
    return results->kind->relieve != NULL ? results->kind->relieve(results, out_done, err)
                                          : CLEAVE_OK;
}

enum cleave_status cv_result_sink_finish(struct cv_result_sink *results, bool *out_done,
                                         struct cleave_error *err)
{
    *out_done = true;
    return results->kind->settle != NULL ? results->kind->settle(results, out_done, err)
                                         : CLEAVE_OK;
}

enum cleave_status cv_result_sink_check(const struct cv_result_sink *results,
                                        uint64_t bytes, struct cleave_error *err)
{
    const uint64_t covered =
        results->kind->covered != NULL ? results->kind->covered(results) : bytes;

    if (covered == bytes)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EACCOUNT,
                   "partial results of %" PRIu64 " bytes were reduced, but %" PRIu64
                   " bytes were done: a defect of cleave",
                   covered, bytes);
}
