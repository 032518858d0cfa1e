/* ordered_output.c -- write the outputs of commands in order. SPDX-License-Identifier: MIT
 *
 * Finished outputs wait in a heap by their place in the input, unordered ones by when they
 * were finished; the one on top is written once nothing is missing before it. */
#include "run/output/ordered_output.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/fail.h"
#include "base/heap.h"
#include "run/output/ordered_output_internal.h"

/* --- lines of an output, written before it is finished ----------------------------- */

/* Whoever fills a store may offer it: when all before it has been written, it is the one in front,
 * and its lines are written as they become whole. It is kept in blocks, which come back as they
 * are written, so that an output without an end takes no memory if it is read. What the memory has
 * no room for, as it has to wait or is read slowly, goes to disk as ever; once that has been
 * written, too, the beginning of a line that is left comes back from there and the space is free.
 * 
 * A store in front costs a copy of its bytes, and a search for the end of the last line in
 * those that have just come. To become the one in front costs a look at all that are offered,
 * of which there are as many as commands at a time. */

enum { LINE = 64 * 1024 }; /* a longer one stays on disk */

struct cv_chunk_output *cv_pass_find(const struct cv_ordered_output *outputs,
                                     uint64_t begin)
{
    struct cv_chunk_output *store = outputs->offered;

    while (store != NULL && store->begin != begin)
        store = store->next_offered;
    return store;
}

/* Have the beginning of a line in memory again, if it is not too long, and leave the disk. */
static void come_back(struct cv_chunk_output *store)
{
    const struct cv_extent extent = store->extents[0];
    const uint64_t length = extent.end - extent.begin;
    unsigned char *at = NULL;
    size_t room = 0;

    if (length > LINE)
        return;
    if (length > 0)
        at = cv_blocks_room(store, (size_t)length, &room);
    if (room < length || (length > 0 && pread(extent.spill->fd, at, (size_t)length,
                                              (off_t)extent.begin) != (ssize_t)length))
        return;
    if (store->filling)
        cv_spill_file_return(store->outputs, extent.spill);
    store->filling = false;
    cv_spill_file_leave(store->outputs, extent.spill);
    store->nextents = 0;
    if (length > 0)
        cv_blocks_added(store, (size_t)length);
}

void cv_pass_written(struct cv_chunk_output *store, uint64_t bytes)
{
    store->whole -= bytes;
    store->passed += bytes;
    if (store->whole == 0 && store->nextents > 0 && store->blocks.bytes == 0)
        come_back(store);
}

/* The rest of it is written from where it is now. */
void cv_pass_finish(struct cv_chunk_output *store)
{
    if (store->offered && store->outputs->writing == store)
        store->outputs->extent = 0;
    cv_chunk_output_take_out(store);
}

/* --- what the output in front has, written before its command is done -------------- */

/* Outputs are kept as ever, in files, and what has been written of one stays there until it is
 * finished: that costs neither a copy nor memory. So a chunk can be done again after some of its
 * output was written: the new output is not shown before it is whole, and has to begin with what
 * was. Of an output that is not done again only the end is read, to find where its last line ends.
 * 
 * What a command writes in its first moment waits for that long: one that fails at once leaves
 * nothing in the output, and short ones are written with one call each. */

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

/* --- write an output whose turn it is ---------------------------------------------- */

/* Write the blocks of the store that is being written, at most *most bytes. */
static enum cleave_status write_blocks(struct cv_ordered_output *outputs, uint64_t *max,
                                       enum cv_ordered_output_state *out)
{
    struct cv_chunk_output *store = outputs->writing;

    while (store->blocks.bytes > 0 && *max > 0 && *out == CV_GATHER_BUSY) {
        size_t length, done;
        const unsigned char *bytes = cv_blocks_front(store, &length);
        const int64_t got =
            cv_sink_write_bytes(outputs, bytes, length < *max ? length : (size_t)*max);

        CV_TRY(cv_sink_wrote(outputs, got, max, &done, out));
        if (done > 0)
            cv_blocks_gone(store, done);
    }
    return CLEAVE_OK;
}

/* Write what is left of the store that is being written, at most *most bytes. */
static enum cleave_status write_store(struct cv_ordered_output *outputs, uint64_t *max,
                                      enum cv_ordered_output_state *out)
{
    struct cv_chunk_output *store = outputs->writing;

    *out = CV_GATHER_BUSY;
    CV_TRY(write_blocks(outputs, max, out));
    if (store->blocks.bytes > 0)
        return CLEAVE_OK;
    for (; outputs->extent < store->nextents; outputs->extent++) {
        struct cv_extent *extent = &store->extents[outputs->extent];

        while (extent->begin < extent->end) {
            const uint64_t left = extent->end - extent->begin;
            size_t done;

            if (*max == 0 || *out == CV_GATHER_BLOCKED)
                return CLEAVE_OK;
            CV_TRY(
                cv_sink_wrote(outputs,
                              cv_sink_write(outputs, extent, left < *max ? left : *max),
                              max, &done, out));
            extent->begin += done;
        }
    }
    *out = CV_GATHER_IDLE;
    return CLEAVE_OK;
}

enum cleave_status cv_ordered_output_write(struct cv_ordered_output *outputs,
                                           uint64_t *max,
                                           enum cv_ordered_output_state *out)
{
    struct cv_chunk_output *store = outputs->writing;
    uint64_t room, left;

    if (!store->offered)
        return write_store(outputs, max, out);
    if (!store->passes)
        return cv_streamed_output_write(outputs, max, out);
    outputs->extent = 0; /* more may have come to one that was empty */
    left = room = store->whole < *max ? store->whole : *max;
    CV_TRY(write_store(outputs, &left, out));
    cv_pass_written(store, room - left);
    if (store->whole == 0)
        *out = CV_GATHER_IDLE;
    return CLEAVE_OK;
}

/* --- write the outputs of commands in order ---------------------------------------- */

/* Written in one turn of the poller. What is in blocks comes over links, which may bring
 * more in a turn than the smaller one. */
enum { STEP = 4 << 20, STEP_BLOCKS = 32 << 20 };

enum cleave_status cv_ordered_output_new(const struct cv_ordered_output_options *options,
                                         struct cv_ordered_output **out,
                                         struct cleave_error *err)
{
    const char *directory = options->directory;
    struct cv_ordered_output *outputs = calloc(1, sizeof *outputs);

    if (directory == NULL)
        directory = getenv("TMPDIR");
    if (directory == NULL || directory[0] == '\0')
        directory = "/tmp";
    if (outputs == NULL)
        return cv_fail_memory(err, "outputs");
    outputs->options = *options;
    outputs->directory = strdup(directory);
    outputs->sink_name =
        strdup(options->sink_name != NULL ? options->sink_name : "stdout");
    if (outputs->directory == NULL || outputs->sink_name == NULL) {
        cv_ordered_output_free(outputs);
        return cv_fail_memory(err, "outputs");
    }
    cv_sink_init(outputs);
    *out = outputs;
    return CLEAVE_OK;
}

bool cv_ordered_output_separate(struct cv_ordered_output *outputs)
{
    if (outputs->spills != NULL)
        return false;
    outputs->options.separate = true;
    return true;
}

void cv_ordered_output_expect_taking(struct cv_ordered_output *outputs)
{
    outputs->options.files = true;
}

void cv_ordered_output_free(struct cv_ordered_output *outputs)
{
    if (outputs == NULL)
        return;
    cv_ordered_output_detach(outputs);
    cv_spill_files_close(outputs);
    while (outputs->stores != NULL) {
        struct cv_chunk_output *next = outputs->stores->next;

        cv_blocks_clear(outputs->stores);
        free(outputs->stores);
        outputs->stores = next;
    }
    cv_blocks_trim(outputs);
    free(outputs->heap);
    free(outputs->head);
    free(outputs->directory);
    free(outputs->sink_name);
    free(outputs);
}

/* --- order -------------------------------------------------------------------------------- */

#define BEFORE(a, b) ((*(a))->begin < (*(b))->begin)
CV_HEAP(finished, struct cv_chunk_output *, BEFORE)

/* The next output whose turn it is, or NULL. */
static struct cv_chunk_output *next_store(struct cv_ordered_output *outputs)
{
    if (outputs->writing == NULL && outputs->count > 0 &&
        outputs->heap[0]->begin <= outputs->position) {
        assert(outputs->heap[0]->begin == outputs->position);
        outputs->writing = finished_pop(outputs->heap, outputs->count--);
        outputs->extent = 0;
    }
    if (outputs->writing == NULL)
        outputs->writing = cv_pass_find(outputs, outputs->position);
    return outputs->writing;
}

/* Whether something of the output in front can be written. */
static bool has_more(struct cv_chunk_output *store)
{
    if (!store->offered)
        return true;
    return store->passes ? store->whole > 0 : cv_streamed_output_ready(store);
}

static enum cleave_status pump(struct cv_ordered_output *outputs, uint64_t max,
                               enum cv_ordered_output_state *out)
{
    struct cv_chunk_output *written;

    *out = CV_GATHER_IDLE;
    if (outputs->error != 0)
        return outputs->failure.status;
    while (next_store(outputs) != NULL) {
        if (!outputs->headed && cv_ordered_output_head(outputs, outputs->writing,
                                                       &outputs->failure) != CLEAVE_OK) {
            outputs->error = EINVAL;
            return outputs->failure.status;
        }
        outputs->headed = true;
        CV_TRY(cv_ordered_output_write(outputs, &max, out));
        if (*out != CV_GATHER_IDLE || outputs->writing->offered)
            break;
        written = outputs->writing;
        outputs->position = written->end;
        outputs->writing = NULL;
        outputs->headed = false;
        cv_chunk_output_drop(written);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_ordered_output_pump(struct cv_ordered_output *outputs, uint64_t max,
                                          enum cv_ordered_output_state *out,
                                          struct cleave_error *err)
{
    const enum cleave_status status = pump(outputs, max, out);

    if (status != CLEAVE_OK && err != NULL)
        *err = outputs->failure;
    return status;
}

/* --- with a poller ------------------------------------------------------------------------ */

static void turn(struct cv_ordered_output *outputs);

static void hold_expired(void *context)
{
    struct cv_ordered_output *outputs = context;

    if (outputs->error == 0 && outputs->watch.events == 0)
        turn(outputs);
}

/* What is in front may be shown a moment later: see to it then; from then on it is wanted. */
static void await(struct cv_ordered_output *outputs, struct cv_chunk_output *store)
{
    void (*const call)(void *) = store->call;
    struct cleave_error ignored; /* then it is seen to when more comes */

    if (outputs->poller == NULL || store->passes)
        return;
    if (store->due_s == 0) {
        store->call = NULL;
        if (call != NULL)
            call(store->caller);
    } else if (outputs->ripens.place == 0) {
        (void)cv_poller_set(outputs->poller, &outputs->ripens, store->due_s, hold_expired,
                            outputs, &ignored);
    }
}

/* Write a little and then wait for what is needed to go on. A pipe is watched all the
 * time, as its reader may go away. */
static void turn(struct cv_ordered_output *outputs)
{
    enum cv_ordered_output_state state;
    struct cv_chunk_output *next = next_store(outputs);
    enum cleave_status status;

    if (outputs->blocked_from_s > 0)
        outputs->blocked_s += cv_clock_s() - outputs->blocked_from_s;
    if (outputs->options.before != NULL && next != NULL && has_more(next))
        outputs->options.before(outputs->options.context);
    status = pump(outputs, next != NULL && next->in_blocks ? STEP_BLOCKS : STEP, &state);
    outputs->blocked_from_s = state == CV_GATHER_BLOCKED ? cv_clock_s() : 0;
    if (status == CLEAVE_OK)
        status = cv_poller_modify(outputs->poller, &outputs->watch,
                                  state == CV_GATHER_IDLE ? 0 : CV_WRITABLE,
                                  &outputs->failure);
    if (status != CLEAVE_OK) {
        outputs->error = outputs->error != 0 ? outputs->error : EIO;
        cv_poller_remove(outputs->poller, &outputs->watch);
    } else if (outputs->writing != NULL && outputs->writing->offered) {
        await(outputs, outputs->writing);
    }
}

static void sink_ready(void *context, unsigned events)
{
    struct cv_ordered_output *outputs = context;

    if (outputs->watch.events == 0 && events != 0) {
        (void)cv_sink_broke(outputs, EPIPE);
        cv_poller_remove(outputs->poller, &outputs->watch);
        return;
    }
    turn(outputs);
}

enum cleave_status cv_ordered_output_attach(struct cv_ordered_output *outputs,
                                            struct cv_poller *poller,
                                            struct cleave_error *err)
{
    assert(outputs->poller == NULL && outputs->options.sink >= 0);
    CV_TRY(cv_poller_add(poller, &outputs->watch, outputs->options.sink,
                         cv_ordered_output_pending(outputs) ? CV_WRITABLE : 0, sink_ready,
                         outputs, err));
    outputs->poller = poller;
    return CLEAVE_OK;
}

void cv_ordered_output_detach(struct cv_ordered_output *outputs)
{
    if (outputs->poller != NULL) {
        cv_poller_remove(outputs->poller, &outputs->watch);
        cv_poller_cancel(outputs->poller, &outputs->ripens);
    }
    outputs->poller = NULL;
}

/* --- finished outputs --------------------------------------------------------------------- */

/* There is something new to be written: do it, if nobody waits for the sink already. */
static void start_writing(struct cv_ordered_output *outputs)
{
    if (outputs->poller != NULL && outputs->error == 0 && outputs->watch.events == 0)
        turn(outputs);
}

void cv_ordered_output_offer(struct cv_chunk_output *store, uint64_t begin)
{
    struct cv_ordered_output *outputs = store->outputs;

    if (!(store->passes || outputs->options.early) || outputs->options.unordered ||
        outputs->options.sink < 0)
        return;
    if (cv_ordered_output_remembers(outputs, begin))
        return; /* it has to be compared with that */
    store->begin = begin;
    store->offered = true;
    if (!store->passes)
        cv_streamed_output_begin(store);
    store->next_offered = outputs->offered;
    outputs->offered = store;
    cv_ordered_output_pass_on(store);
}

void cv_ordered_output_offer_away(struct cv_chunk_output *store, uint64_t begin,
                                  void (*call)(void *context), void *context)
{
    if (!store->passes) {
        store->call = call;
        store->caller = context;
    }
    cv_ordered_output_offer(store, begin);
}

void cv_ordered_output_pass_on(struct cv_chunk_output *store)
{
    struct cv_ordered_output *outputs = store->outputs;
    const bool in_front = outputs->writing == store ||
                          (outputs->writing == NULL && store->begin == outputs->position);

    if (!store->offered || !in_front)
        return;
    if (has_more(store))
        start_writing(outputs);
    else
        await(outputs, store);
}

enum cleave_status cv_ordered_output_finish(struct cv_ordered_output *outputs,
                                            struct cv_chunk_output *store, uint64_t begin,
                                            uint64_t end, struct cleave_error *err)
{
    assert(outputs->options.sink >= 0 && begin < end);
    if (outputs->options.unordered) {
        begin = outputs->finished;
        end = begin + 1;
    }
    assert(begin >= outputs->position);
    store->begin = begin;
    store->end = end;
    if (outputs->writing != store) {
        if (!CV_ROOM(outputs->heap, &outputs->capacity, outputs->count + 1))
            return cv_fail_memory(err, "outputs that wait");
        finished_push(outputs->heap, outputs->count++, store);
    }
    cv_alike_look(outputs, store);
    cv_pass_finish(store);
    cv_streamed_output_finish(store);
    cv_streamed_output_forget(outputs, begin);
    cv_chunk_output_close(store);
    outputs->finished++;
    start_writing(outputs);
    return CLEAVE_OK;
}

enum cleave_status cv_ordered_output_skip(struct cv_ordered_output *outputs,
                                          uint64_t begin, uint64_t end,
                                          struct cleave_error *err)
{
    struct cv_chunk_output *store;
    enum cleave_status status;

    if (outputs->options.unordered)
        return CLEAVE_OK;
    CV_TRY(cv_chunk_output_open(outputs, &store, err));
    status = cv_ordered_output_finish(outputs, store, begin, end, err);
    if (status != CLEAVE_OK)
        cv_chunk_output_drop(store);
    return status;
}

enum cleave_status cv_ordered_output_status(const struct cv_ordered_output *outputs,
                                            int *out_errno, struct cleave_error *err)
{
    if (out_errno != NULL)
        *out_errno = outputs->error;
    if (outputs->error == 0)
        return CLEAVE_OK;
    if (err != NULL)
        *err = outputs->failure;
    return outputs->failure.status;
}

bool cv_ordered_output_pending(const struct cv_ordered_output *outputs)
{
    return (outputs->writing != NULL && !outputs->writing->offered) || outputs->count > 0;
}

struct cv_ordered_output_usage
cv_ordered_output_usage(const struct cv_ordered_output *outputs)
{
    return (struct cv_ordered_output_usage){ outputs->written,   outputs->memory,
                                             outputs->disk,      outputs->most_disk,
                                             outputs->blocked_s, outputs->head_goes_on };
}
