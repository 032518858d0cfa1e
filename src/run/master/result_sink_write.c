/* result_sink_write.c -- which kind of outlet was asked for, and the plain one: outputs are
 * written as they are. SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include <cleave/execute.h>
#include "base/fail.h"
#include "run/fold/fold.h"
#include "run/master/result_sink_kinds.h"

struct plain {
    struct cv_result_sink results;
    struct cv_ordered_output *outputs; /* borrowed */
};

static enum cleave_status plain_add(struct cv_result_sink *results,
                                    struct cv_chunk_output *store,
                                    const struct cv_piece *piece,
                                    const struct cv_slot *maker, struct cleave_error *err)
{
    struct plain *plain = (struct plain *)results;

    (void)maker;
    return cv_ordered_output_finish(plain->outputs, store, piece->begin, piece->end, err);
}

static enum cleave_status plain_skip(struct cv_result_sink *results, uint64_t begin,
                                     uint64_t end, struct cleave_error *err)
{
    struct plain *plain = (struct plain *)results;

    return cv_ordered_output_skip(plain->outputs, begin, end, err);
}

static void plain_free(struct cv_result_sink *results)
{
    free(results);
}

/* The gather writes by itself whenever it can: there is nothing else to do. */
static const struct cv_result_sink_kind plain_kind = {
    .add = plain_add,
    .skip = plain_skip,
    .free = plain_free,
};

enum cleave_status cv_result_sink_plain(const struct cv_result_sink_options *options,
                                        struct cv_result_sink **out,
                                        struct cleave_error *err)
{
    struct plain *plain = calloc(1, sizeof *plain);

    if (plain == NULL)
        return cv_fail_memory(err, "the output");
    plain->results.kind = &plain_kind;
    plain->outputs = options->outputs;
    *out = &plain->results;
    return CLEAVE_OK;
}

bool cv_result_sink_apart(const struct cleave_execution *request)
{
    return request->reduce.command != NULL && cv_result_sink_kept_possible(request);
}

uint32_t cv_result_sink_folders(const struct cv_worker_pool *pool,
                                const struct cleave_execution *request)
{
    if (request->reduce.command == NULL)
        return 0;
    return cv_result_sink_apart(request) ? pool->nworkers : pool->nfolders;
}

bool cv_result_sink_separate(const struct cleave_execution *request)
{
    return request->reduce.command != NULL &&
           cv_fold_takes_files(request->reduce.command);
}

enum cleave_status cv_result_sink_open(const struct cv_result_sink_options *options,
                                       struct cv_result_sink **out,
                                       struct cleave_error *err)
{
    if (options->request->reduce.command == NULL)
        return cv_result_sink_plain(options, out, err);
    if (cv_result_sink_kept_possible(options->request))
        return cv_result_sink_kept(options, out, err);
    return cv_result_sink_fold(options, out, err);
}
