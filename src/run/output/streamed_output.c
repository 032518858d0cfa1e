/* streamed_output.c -- what the output in front has, written before its command is done.
 * SPDX-License-Identifier: MIT
 *
 * Outputs are kept as ever, in files, and what has been written of one stays there until it is
 * finished: that costs neither a copy nor memory. So a chunk can be done again after some of its
 * output was written: the new output is not shown before it is whole, and has to begin with what
 * was. Of an output that is not done again only the end is read, to find where its last line ends.
 *
 * What a command writes in its first moment waits for that long: one that fails at once leaves
 * nothing in the output, and short ones are written with one call each. */
#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/output/ordered_output_internal.h"

enum { WINDOW = 16 * 1024 }; /* read at a time */

/* Where the bytes of it from `at` on are, at most `length` and as far as they lie behind one
 * another. There are some. */
static struct cv_extent extent_at(const struct cv_chunk_output *store, uint64_t at,
                                  uint64_t length)
{
    const struct cv_extent *extent = store->extents;
    uint64_t begin, left;

    for (; at >= extent->end - extent->begin; extent++)
        at -= extent->end - extent->begin;
    begin = extent->begin + at;
    left = extent->end - begin;
    return (struct cv_extent){ extent->spill, begin,
                               begin + (left < length ? left : length) };
}

static bool read_at(const struct cv_chunk_output *store, uint64_t at, char *room,
                    size_t length)
{
    while (length > 0) {
        const struct cv_extent part = extent_at(store, at, length);
        const size_t some = (size_t)(part.end - part.begin);

        if (pread(part.spill->fd, room, some, (off_t)part.begin) != (ssize_t)some)
            return false;
        at += some;
        room += some;
        length -= some;
    }
    return true;
}

/* Find the end of its last line in what has come since it was last looked for. What cannot be
 * read is left until the output is whole, when whoever writes it says so. */
static void look(struct cv_chunk_output *store)
{
    const uint64_t size = cv_chunk_output_size(store);
    uint64_t end = size;
    char bytes[WINDOW];

    while (end > store->looked) {
        const uint64_t left = end - store->looked;
        const size_t length = left < WINDOW ? (size_t)left : WINDOW;
        const char *line = NULL;

        if (read_at(store, end - length, bytes, length))
            line = memrchr(bytes, '\n', length);
        if (line != NULL) {
            store->line_end = end - length + (uint64_t)(line + 1 - bytes);
            break;
        }
        end -= length;
    }
    store->looked = size;
}

void cv_streamed_output_begin(struct cv_chunk_output *store)
{
    store->due_s = cv_clock_s() + CV_EARLY_MOMENT_S;
}

bool cv_streamed_output_ready(struct cv_chunk_output *store)
{
    if (store->due_s > 0 && cv_clock_s() >= store->due_s)
        store->due_s = 0;
    if (store->due_s > 0 || cv_chunk_output_size(store) == store->shown)
        return false;
    look(store);
    return store->line_end > store->shown;
}

enum cleave_status cv_streamed_output_write(struct cv_ordered_output *outputs,
                                            uint64_t *max,
                                            enum cv_ordered_output_state *out)
{
    struct cv_chunk_output *store = outputs->writing;

    *out = cv_streamed_output_ready(store) ? CV_GATHER_BUSY : CV_GATHER_IDLE;
    while (*out == CV_GATHER_BUSY && *max > 0) {
        const uint64_t left = store->line_end - store->shown;
        const struct cv_extent part =
            extent_at(store, store->shown, left < *max ? left : *max);
        size_t done;

        CV_TRY(cv_sink_wrote(outputs,
                             cv_sink_write(outputs, &part, part.end - part.begin), max,
                             &done, out));
        store->shown += done;
        if (store->shown == store->line_end)
            *out = CV_GATHER_IDLE;
    }
    return CLEAVE_OK;
}

/* What is at its front was written and is not needed any more. */
static void leave_out(struct cv_chunk_output *store, uint64_t bytes)
{
    for (size_t i = 0; i < store->nextents && bytes > 0; i++) {
        struct cv_extent *extent = &store->extents[i];
        const uint64_t length = extent->end - extent->begin;
        const uint64_t some = length < bytes ? length : bytes;

        extent->begin += some;
        bytes -= some;
    }
}

void cv_streamed_output_finish(struct cv_chunk_output *store)
{
    leave_out(store, store->shown);
    store->passed += store->shown;
    store->shown = 0;
}

void cv_streamed_output_keep_lines(struct cv_chunk_output *store)
{
    look(store);
    cv_chunk_output_cut(store, cv_chunk_output_size(store) - store->line_end);
}

/* --- done again --------------------------------------------------------------------------- */

void cv_streamed_output_remember(struct cv_chunk_output *store)
{
    struct cv_ordered_output *outputs = store->outputs;

    assert(outputs->said == NULL && outputs->writing == store && store->shown > 0);
    outputs->writing = NULL;
    cv_chunk_output_take_out(store);
    cv_chunk_output_close(store);
    outputs->said = store;
}

bool cv_ordered_output_remembers(const struct cv_ordered_output *outputs, uint64_t begin)
{
    return outputs->said != NULL && outputs->said->begin == begin;
}

void cv_streamed_output_forget(struct cv_ordered_output *outputs, uint64_t begin)
{
    struct cv_chunk_output *said = outputs->said;

    if (!cv_ordered_output_remembers(outputs, begin))
        return;
    outputs->said = NULL;
    cv_chunk_output_drop(said);
}

/* Whether the output, which is whole, begins with what was shown of another. It is read. */
static bool begins_with(struct cv_chunk_output *store, const struct cv_chunk_output *said)
{
    char room[WINDOW], bytes[WINDOW];
    struct cleave_error ignored;

    for (uint64_t at = 0; at < said->shown;) {
        const uint64_t left = said->shown - at;
        const void *got;
        size_t length;

        if (cv_chunk_output_read(store, room, left < WINDOW ? (size_t)left : WINDOW, &got,
                                 &length, &ignored) != CLEAVE_OK ||
            length == 0 || !read_at(said, at, bytes, length) ||
            memcmp(got, bytes, length) != 0)
            return false;
        at += length;
    }
    cv_chunk_output_read_over(store);
    return true;
}

bool cv_ordered_output_repeats(struct cv_chunk_output *store, uint64_t begin)
{
    const struct cv_chunk_output *said = store->outputs->said;

    if (!cv_ordered_output_remembers(store->outputs, begin))
        return true;
    if (!begins_with(store, said))
        return false;
    store->passed = said->shown;
    cv_streamed_output_forget(store->outputs, begin);
    return true;
}
