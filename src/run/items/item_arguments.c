/* item_arguments.c -- the arguments of a command: rows, parted into columns.
 * SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/items/item_commands.h"

void cv_item_arguments_done(struct cv_item_arguments *arguments)
{
    free(arguments->items);
    free(arguments->bytes);
    *arguments = (struct cv_item_arguments){ .items = NULL };
}

static enum cleave_status grow_array(struct cv_item_arguments *out, size_t count,
                                     struct cleave_error *err)
{
    return CV_ROOM(out->items, &out->room, count)
               ? CLEAVE_OK
               : cv_fail_memory(err, "the arguments of a command");
}

/* A column, without blanks around it. */
static enum cleave_status add_column(struct cv_item_arguments *out, char *from, char *to,
                                     struct cleave_error *err)
{
    CV_TRY(grow_array(out, out->count + 1, err));
    while (from < to && isspace((unsigned char)*from))
        from++;
    while (to > from && isspace((unsigned char)to[-1]))
        to--;
    *to = '\0';
    out->items[out->count++] = from;
    return CLEAVE_OK;
}

/* The columns of the value that was copied to `bytes`. */
static enum cleave_status part_value(const regex_t *columns, char *bytes,
                                     struct cv_item_arguments *out,
                                     struct cleave_error *err)
{
    regmatch_t match;

    while (regexec(columns, bytes, 1, &match, 0) == 0 && match.rm_eo > match.rm_so) {
        char *next = bytes + match.rm_eo;

        CV_TRY(add_column(out, bytes, bytes + match.rm_so, err));
        bytes = next;
    }
    return add_column(out, bytes, bytes + strlen(bytes), err);
}

static enum cleave_status part_all(const struct cv_item_commands *commands,
                                   struct cv_item_arguments *out,
                                   struct cleave_error *err)
{
    const size_t nvalues = out->count;
    const char **values = out->items;
    size_t length = 0, at = 0;
    enum cleave_status status = CLEAVE_OK;

    for (size_t i = 0; i < nvalues; i++)
        length += strlen(values[i]) + 1;
    if (!CV_ROOM(out->bytes, &out->bytes_room, length))
        return cv_fail_memory(err, "the arguments of a command");
    out->items = NULL;
    out->count = out->room = 0;
    for (size_t i = 0; status == CLEAVE_OK && i < nvalues; i++) {
        const size_t size = strlen(values[i]) + 1;

        memcpy(out->bytes + at, values[i], size);
        status = part_value(&commands->columns, out->bytes + at, out, err);
        at += size;
    }
    free(values);
    return status;
}

enum cleave_status cv_item_arguments_get(const struct cv_item_commands *commands,
                                         uint64_t index, struct cv_item_arguments *out,
                                         struct cleave_error *err)
{
    const struct cv_item_lists *lists = &commands->lists;
    const uint64_t begin =
        commands->per > 0 ? index * commands->per : commands->cuts[index];
    uint64_t end = commands->per > 0 ? begin + commands->per : commands->cuts[index + 1];

    end = end < lists->rows ? end : lists->rows;
    out->count = 0;
    CV_TRY(grow_array(out, (size_t)(end - begin) * lists->count + 1, err));
    for (uint64_t row = begin; row < end; row++) {
        cv_item_lists_row(lists, commands->order != NULL ? commands->order[row] : row,
                          out->items + out->count);
        out->count += lists->count;
    }
    return commands->has_columns ? part_all(commands, out, err) : CLEAVE_OK;
}
