/* asked_check.c -- whether what is asked for can be had together.
 * SPDX-License-Identifier: MIT */
#include "run/asked/asked_check.h"

#include "base/fail.h"

/* Several items for a command: nothing is known of each of them. */
static enum cleave_status check_several(const struct cleave_execution *asked,
                                        struct cleave_error *err)
{
    const struct cleave_items *items = &asked->items;

    if (items->several != NULL && items->sizes == NULL && items->errors == NULL &&
        items->keep == NULL && items->tag == NULL && items->sends == NULL &&
        items->returns == NULL && asked->journal.path == NULL &&
        !(asked->failing.timeout_share > 0))
        return CLEAVE_OK;
    return cv_fail(
        err, CLEAVE_EINPUT,
        "expected several items for a command without anything for each of them");
}

/* What has been written of a chunk cannot be taken back, and is not there any more. */
static enum cleave_status check_lines(const struct cleave_execution *asked,
                                      struct cleave_error *err)
{
    if (asked->reduce.command != NULL || asked->journal.path != NULL ||
        asked->output.header != NULL || asked->failing.retries > 0 ||
        asked->failing.isolate || asked->persistent || asked->output.direct ||
        asked->output.descriptor < 1)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected lines of chunks as they come or a reduction, a journal, a "
            "header of outputs, retries, a search for bad records or commands that "
            "stay, got both");
    return CLEAVE_OK;
}

/* What is done again is done as a whole, and is the next output. */
static enum cleave_status check_early(const struct cleave_execution *asked,
                                      struct cleave_error *err)
{
    if (asked->items.words != NULL || asked->output.lines || asked->output.unordered)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected outputs of chunks in their order to be written early, or "
            "items, lines as they come or outputs in any order, got both");
    return check_lines(asked, err);
}

/* Outputs that are written before they are whole, or by commands themselves. */
static enum cleave_status check_output(const struct cleave_execution *asked,
                                       struct cleave_error *err)
{
    const bool items = asked->items.words != NULL;

    if (asked->output.early)
        CV_TRY(check_early(asked, err));
    if (asked->output.lines && !items)
        return check_lines(asked, err);
    if ((asked->output.direct || asked->output.lines) &&
        (!items || asked->reduce.command != NULL || asked->journal.path != NULL ||
         (asked->items.tag != NULL && asked->output.direct) ||
         asked->items.keep != NULL || asked->output.descriptor < 1))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected items whose outputs are not wanted for anything else, as "
            "their commands are to write themselves");
    return CLEAVE_OK;
}

/* Items are done one at a time, by commands that read nothing. */
static enum cleave_status check_items(const struct cleave_execution *asked,
                                      struct cleave_error *err)
{
    if (asked->failing.timeout_share > 0 &&
        (asked->items.words == NULL || asked->hosts.count > 0))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected a part of the median as the limit of items on this machine "
            "only");
    if (asked->items.words == NULL)
        return CLEAVE_OK;
    if (asked->output.direct && asked->hosts.count > 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected items whose commands write to the output themselves or "
                       "hosts, got both");
    if (asked->persistent || asked->input.count > 0 || asked->input.fetch != NULL ||
        asked->input.pairs != NULL || asked->input.header ||
        asked->failing.directory != NULL)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected items or an input with its header, mates, folder of what failed or "
            "a command that stays, got both");
    if (asked->items.more != NULL &&
        (asked->items.sizes != NULL || asked->journal.path != NULL))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected items that come, or all of them with what they take or a "
            "journal, got both");
    if (asked->items.sizes != NULL && asked->sharing.block != 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected items with sizes or a block, got both");
    if (asked->items.most > 1)
        return check_several(asked, err);
    if (asked->items.sizes == NULL &&
        (asked->sharing.policy != NULL || asked->sharing.own_policy != NULL ||
         asked->sharing.block != 1))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected items without a policy or a block: they are done one at "
                       "a time");
    return CLEAVE_OK;
}

static enum cleave_status check_fetch(const struct cleave_execution *asked,
                                      struct cleave_error *err)
{
    if (asked->input.fetch == NULL)
        return asked->input.size == NULL
                   ? CLEAVE_OK
                   : cv_fail(err, CLEAVE_EINPUT,
                             "--size needs --fetch: other inputs tell it themselves");
    return CLEAVE_OK;
}

enum cleave_status cv_asked_check(const struct cleave_execution *asked,
                                  struct cleave_error *err)
{
    CV_TRY(check_output(asked, err));
    CV_TRY(check_items(asked, err));
    return check_fetch(asked, err);
}
