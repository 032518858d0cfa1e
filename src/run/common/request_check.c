/* request_check.c -- whether what is asked for can be had together.
 * SPDX-License-Identifier: MIT */
#include "run/common/request_check.h"

#include <ctype.h>
#include <string.h>
#include "base/fail.h"

/* Several items for a command: nothing is known of each of them. */
static enum cleave_status check_several(const struct cleave_execution *request,
                                        struct cleave_error *err)
{
    const struct cleave_items *items = &request->items;

    if (items->several != NULL && items->sizes == NULL && items->errors == NULL &&
        items->keep == NULL && items->tag == NULL && items->sends == NULL &&
        items->returns == NULL && request->journal.path == NULL &&
        !(request->failures.timeout_share > 0))
        return CLEAVE_OK;
    return cv_fail(
        err, CLEAVE_EINPUT,
        "expected several items for a command without anything for each of them");
}

/* What has been written of a chunk cannot be taken back, and is not there any more. */
static enum cleave_status check_lines(const struct cleave_execution *request,
                                      struct cleave_error *err)
{
    if (request->reduce.command != NULL || request->journal.path != NULL ||
        request->output.header != NULL || request->failures.retries > 0 ||
        request->failures.isolate || request->persistent || request->output.direct ||
        request->output.descriptor < 1)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected lines of chunks as they come or a reduction, a journal, a "
            "header of outputs, retries, a search for bad records or commands that "
            "stay, got both");
    return CLEAVE_OK;
}

/* What is done again is done as a whole, and is the next output. */
static enum cleave_status check_early(const struct cleave_execution *request,
                                      struct cleave_error *err)
{
    if (request->items.words != NULL || request->output.lines ||
        request->output.unordered)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected outputs of chunks in their order to be written early, or "
            "items, lines as they come or outputs in any order, got both");
    return check_lines(request, err);
}

/* Outputs that are written before they are whole, or by commands themselves. */
static enum cleave_status check_output(const struct cleave_execution *request,
                                       struct cleave_error *err)
{
    const bool items = request->items.words != NULL;

    if (request->output.early)
        CV_TRY(check_early(request, err));
    if (request->output.lines && !items)
        return check_lines(request, err);
    if ((request->output.direct || request->output.lines) &&
        (!items || request->reduce.command != NULL || request->journal.path != NULL ||
         (request->items.tag != NULL && request->output.direct) ||
         request->items.keep != NULL || request->output.descriptor < 1))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected items whose outputs are not wanted for anything else, as "
            "their commands are to write themselves");
    return CLEAVE_OK;
}

/* Items are done one at a time, by commands that read nothing. */
static enum cleave_status check_items(const struct cleave_execution *request,
                                      struct cleave_error *err)
{
    if (request->failures.timeout_share > 0 &&
        (request->items.words == NULL || request->hosts.count > 0))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected a part of the median as the limit of items on this machine "
            "only");
    if (request->items.words == NULL)
        return CLEAVE_OK;
    if (request->output.direct && request->hosts.count > 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected items whose commands write to the output themselves or "
                       "hosts, got both");
    if (request->persistent || request->input.count > 0 || request->input.fetch != NULL ||
        request->input.pairs != NULL || request->input.header ||
        request->failures.directory != NULL)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected items or an input with its header, mates, folder of what failed or "
            "a command that stays, got both");
    if (request->items.more != NULL &&
        (request->items.sizes != NULL || request->journal.path != NULL))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected items that come, or all of them with what they take or a "
            "journal, got both");
    if (request->items.sizes != NULL && request->policy.block != 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected items with sizes or a block, got both");
    if (request->items.max > 1)
        return check_several(request, err);
    if (request->items.sizes == NULL &&
        (request->policy.name != NULL || request->policy.own != NULL ||
         request->policy.block != 1))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected items without a policy or a block: they are done one at "
                       "a time");
    return CLEAVE_OK;
}

static enum cleave_status check_fetch(const struct cleave_execution *request,
                                      struct cleave_error *err)
{
    if (request->input.fetch == NULL)
        return request->input.size == NULL
                   ? CLEAVE_OK
                   : cv_fail(err, CLEAVE_EINPUT,
                             "--size needs --fetch: other inputs tell it themselves");
    return CLEAVE_OK;
}

/* Before anything is opened: items and inputs exclude each other, and some of what can be
 * asked of either excludes more. */
enum cleave_status cv_request_check(const struct cleave_execution *request,
                                    struct cleave_error *err)
{
    CV_TRY(check_output(request, err));
    CV_TRY(check_items(request, err));
    return check_fetch(request, err);
}

/* --- whether chunks may stay open -------------------------------------------------- */

/* An open chunk is a command that was started, reads, and may be given what follows its piece. */

/* Whether a worker's words show it a GPU, by the variables that CUDA, ROCm and oneAPI look at. */
static bool has_gpu(const char *words)
{
    static const char *const shown[] = { "_VISIBLE_DEVICES=", "ZE_AFFINITY_MASK=" };

    for (size_t i = 0; words != NULL && i < sizeof shown / sizeof *shown; i++) {
        const char *found = strstr(words, shown[i]);

        if (found != NULL)
            return isalnum((unsigned char)found[strlen(shown[i])]) != 0;
    }
    return false;
}

/* Whether some workers of this machine have a GPU and some have not, which may be hundreds of times slower.
 * Ranges of open chunks are given out before that is known, and each that turns out to be a slow
 * worker's costs the fast one a start. */
static bool has_gpus_and_cores(const struct cleave_execution *request, uint32_t nworkers)
{
    const char *const *words = request->workers.prefixes;

    for (uint32_t w = 1; words != NULL && w < nworkers; w++)
        if (has_gpu(words[w]) != has_gpu(words[0]))
            return true;
    return false;
}

/* Whoever leads others gives what it gets to commands that stay. */
static bool has_leaders(const struct cleave_execution *request)
{
    for (size_t i = 0; i < request->hosts.count; i++)
        if (request->hosts.list[i].leads)
            return true;
    return false;
}

bool cv_request_may_open(const struct cleave_execution *request, uint32_t nworkers,
                         bool framed)
{
    /* A command may read its mates first, to their end, and of an open chunk there is none yet:
     * only who knows the command can tell, and hosts cannot be told. */
    if (request->input.pairs != NULL &&
        (request->policy.own == NULL || request->hosts.count > 0))
        return false;
    /* What is fetched has an end from the start. */
    if (request->input.fetch != NULL || has_gpus_and_cores(request, nworkers) ||
        has_leaders(request))
        return false;
    /* Commands are started for each. What frames a chunk cannot be put behind it before it is known
     * to be all. */
    return !request->persistent && !request->tell_records &&
           request->items.words == NULL && !framed;
}
