/* item_rows.c -- which rows of the lists each command has. SPDX-License-Identifier: MIT */
#include "run/items/item_rows.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/random.h"
#include "run/items/item_stream.h"

/* A line of this length is short enough for any system, whatever its environment. */
enum { MANY_BYTES = 128 * 1024 - 2048 };

enum cleave_status cv_item_rows_shuffle(struct cv_item_commands *commands, uint64_t seed,
                                        struct cleave_error *err)
{
    const uint64_t rows = commands->lists.rows;
    struct cv_random random;

    commands->order = rows < SIZE_MAX / sizeof *commands->order
                          ? malloc((size_t)(rows + 1) * sizeof *commands->order)
                          : NULL;
    if (commands->order == NULL)
        return cv_fail_memory(err, "--shuf");
    cv_random_at(&random, seed, 0, 0, 0);
    for (uint64_t i = 0; i < rows; i++) {
        const uint64_t other = (uint64_t)(cv_random_uniform(&random) * (double)(i + 1));

        commands->order[i] = i;
        if (other < i) {
            commands->order[i] = commands->order[other];
            commands->order[other] = i;
        }
    }
    return CLEAVE_OK;
}

/* --- how many each command has -------------------------------------------------------------- */

/* The rows from `begin` on that fit into a command. */
static enum cleave_status count_fitting(struct cv_item_commands *commands, uint64_t begin,
                                        uint64_t max, struct cv_item_arguments *arguments,
                                        uint64_t *out, struct cleave_error *err)
{
    uint64_t low = 1, high = max, step = 1;
    struct cv_text line = { NULL, 0, 0, false };
    enum cleave_status status = CLEAVE_OK;

    /* Twice as many until they do not fit, then in halves between. */
    for (bool grows = true; status == CLEAVE_OK && low < high;) {
        const uint64_t request =
            grows ? (2 * step < high ? 2 * step : high) : low + (high - low + 1) / 2;

        commands->cuts[0] = begin;
        commands->cuts[1] = begin + request;
        status = cv_item_arguments_get(commands, 0, arguments, err);
        line.length = 0;
        if (status == CLEAVE_OK)
            cv_item_template_line(&commands->template,
                                  &(struct cv_item_values){ arguments->items,
                                                            arguments->count, 1, 1, 0 },
                                  &line);
        if (line.failed)
            status = cv_fail_memory(err, "a command");
        if (line.length <= MANY_BYTES) {
            low = step = request;
        } else {
            high = request - 1;
            grows = false;
        }
    }
    cv_text_done(&line);
    *out = low;
    return status;
}

struct cv_item_commands cv_item_commands_some(const struct cv_item_commands *commands,
                                              uint64_t first, uint64_t count,
                                              uint64_t cuts[2])
{
    struct cv_item_commands some = *commands;

    cuts[0] = first;
    cuts[1] = first + count;
    some.per = 0;
    some.cuts = cuts;
    some.base = first;
    some.count = 1;
    return some;
}

enum cleave_status cv_item_commands_run_line(const struct cv_item_commands *commands,
                                             uint64_t first, uint64_t count,
                                             uint32_t slot, struct cv_text *out,
                                             struct cleave_error *err)
{
    uint64_t cuts[2];
    struct cv_item_commands some;

    if (count <= 1)
        return cv_item_commands_line(commands, first, slot, out, err);
    some = cv_item_commands_some(commands, first, count, cuts);
    return cv_item_commands_line(&some, 0, slot, out, err);
}

/* Bytes of the command for one row. */
static enum cleave_status measure(const struct cv_item_commands *commands, uint64_t row,
                                  size_t *out, struct cleave_error *err)
{
    struct cv_text line = { NULL, 0, 0, false };
    uint64_t cuts[2];
    const struct cv_item_commands one = cv_item_commands_some(commands, row, 1, cuts);
    const enum cleave_status status = cv_item_commands_line(&one, 0, 1, &line, err);

    *out = line.length;
    cv_text_done(&line);
    return status;
}

/* A row adds no more to a line than all of the command that it alone would have. */
enum cleave_status cv_item_commands_fit(const struct cv_item_commands *commands,
                                        uint64_t first, uint64_t count, uint64_t *out,
                                        struct cleave_error *err)
{
    size_t bytes = 0, length;
    uint64_t fit = 0;

    while (fit < count && bytes <= MANY_BYTES) {
        CV_TRY(measure(commands, first + fit, &length, err));
        bytes += length;
        fit += bytes <= MANY_BYTES;
    }
    *out = fit > 1 ? fit : 1;
    return CLEAVE_OK;
}

enum cleave_status cv_item_rows_cut(struct cv_item_commands *commands,
                                    const struct cv_item_options *options,
                                    struct cleave_error *err)
{
    const uint64_t rows = commands->lists.rows;
    struct cv_item_arguments arguments = { .items = NULL };
    enum cleave_status status = CLEAVE_OK;
    uint64_t *cuts = NULL, fitting = 0, max = options->per;
    size_t count = 0, room = 0;
    uint64_t scratch[2];

    for (uint64_t at = 0; status == CLEAVE_OK && at < rows;) {
        const uint64_t left = rows - at;

        if (!CV_ROOM(cuts, &room, count + 2))
            status = cv_fail_memory(err, "the commands");
        commands->cuts = scratch;
        if (status == CLEAVE_OK)
            status = count_fitting(commands, at, max > 0 && max < left ? max : left,
                                   &arguments, &fitting, err);
        commands->cuts = NULL;
        if (status != CLEAVE_OK)
            break;
        if (fitting == left && options->spread > 1 && max == 0)
            fitting = max = 1 + (left - 1) / options->spread;
        cuts[count++] = at;
        at += fitting;
        cuts[count] = at;
    }
    cv_item_arguments_done(&arguments);
    commands->cuts = cuts;
    commands->count = count;
    return status;
}

/* --- rows that come ----------------------------------------------------------------------- */

void cv_item_rows_count(struct cv_item_commands *commands, bool ended)
{
    const uint64_t rows = commands->lists.rows;

    commands->count = (rows + (ended ? commands->per - 1 : 0)) / commands->per;
}

enum cleave_status cv_item_commands_more(struct cv_item_commands *commands, bool *ended,
                                         struct cleave_error *err)
{
    CV_TRY(cv_item_stream_read(commands->stream, &commands->lists, ended, err));
    CV_TRY(cv_item_lists_close(&commands->lists, err));
    cv_item_rows_count(commands, *ended);
    return CLEAVE_OK;
}

void cv_item_commands_over(struct cv_item_commands *commands, uint64_t index)
{
    const uint64_t begin = index * commands->per, end = begin + commands->per;

    for (uint64_t row = begin; row < end && row < commands->lists.rows; row++)
        cv_item_lists_over(&commands->lists, row);
}
