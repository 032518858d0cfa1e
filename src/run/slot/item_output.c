/* item_output.c -- what becomes of the output of an item. SPDX-License-Identifier: MIT */
#include "run/slot/item_output.h"

#include <stdlib.h>
#include <string.h>
#include <cleave/execute.h>

#include "base/fail.h"

enum { READ = 64 << 10 };

/* The lines of `bytes`, with the text before each that begins in them. */
static enum cleave_status put_lines(struct cv_chunk_output *to, const char *text,
                                    const char *bytes, size_t length, bool *begins,
                                    struct cleave_error *err)
{
    while (length > 0) {
        const char *end = memchr(bytes, '\n', length);
        const size_t line = end != NULL ? (size_t)(end + 1 - bytes) : length;

        if (*begins)
            CV_TRY(cv_chunk_output_write(to, text, strlen(text), err));
        CV_TRY(cv_chunk_output_write(to, bytes, line, err));
        *begins = end != NULL;
        bytes += line;
        length -= line;
    }
    return CLEAVE_OK;
}

static enum cleave_status copy_lines(struct cv_chunk_output *from,
                                     struct cv_chunk_output *to, const char *text,
                                     struct cleave_error *err)
{
    char *room = malloc(READ);
    enum cleave_status status = CLEAVE_OK;
    bool begins = true;
    size_t length = 1;

    if (room == NULL)
        return cv_fail_memory(err, "an output");
    while (status == CLEAVE_OK && length > 0) {
        const void *bytes = NULL;

        status = cv_chunk_output_read(from, room, READ, &bytes, &length, err);
        if (status == CLEAVE_OK)
            status = put_lines(to, text, bytes, length, &begins, err);
    }
    free(room);
    return status;
}

/* Another store takes the place of the one there is. */
static enum cleave_status replace(const struct cv_slot *slot,
                                  struct cv_chunk_output **store, const char *text,
                                  size_t length, bool lines, struct cleave_error *err)
{
    struct cv_chunk_output *made;
    enum cleave_status status;

    CV_TRY(cv_chunk_output_open(slot->outputs, &made, err));
    status = lines ? copy_lines(*store, made, text, err)
                   : cv_chunk_output_write(made, text, length, err);
    cv_chunk_output_drop(status == CLEAVE_OK ? *store : made);
    if (status == CLEAVE_OK)
        *store = made;
    return status;
}

enum cleave_status cv_item_output_format(const struct cv_slot *slot,
                                         struct cv_chunk_output **store,
                                         struct cleave_error *err)
{
    const struct cleave_items *items = slot->items;
    const uint64_t item = slot->piece.begin;
    enum cleave_status status = CLEAVE_OK;
    struct cv_taken taken;
    size_t length = 0;
    char *text;

    if (items == NULL || *store == NULL)
        return CLEAVE_OK;
    if (items->keep != NULL) {
        CV_TRY(cv_ordered_output_take(*store, &taken, err));
        CV_TRY(items->keep(items->context, item, taken.fd, taken.begin, taken.end, &text,
                           &length, err));
        status = replace(slot, store, text != NULL ? text : "", text != NULL ? length : 0,
                         false, err);
        free(text);
        return status;
    }
    if (items->tag == NULL || cv_chunk_output_size(*store) == 0)
        return CLEAVE_OK;
    CV_TRY(items->tag(items->context, item, slot->worker + 1, &text, err));
    status = replace(slot, store, text, 0, true, err);
    free(text);
    return status;
}
