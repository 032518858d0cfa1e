/* ordered_output.c -- write the outputs of commands in order. SPDX-License-Identifier: MIT
 *
 * Finished outputs wait in a heap by their place in the input, unordered ones by when they
 * were finished; the one on top is written once nothing is missing before it. */
#include "run/output/ordered_output.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "run/output/ordered_output_internal.h"

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

static enum cleave_status push(struct cv_ordered_output *outputs,
                               struct cv_chunk_output *store, struct cleave_error *err)
{
    size_t at = outputs->count;

    if (!CV_ROOM(outputs->heap, &outputs->capacity, at + 1))
        return cv_fail_memory(err, "outputs that wait");
    outputs->count++;
    for (; at > 0 && outputs->heap[(at - 1) / 2]->begin > store->begin; at = (at - 1) / 2)
        outputs->heap[at] = outputs->heap[(at - 1) / 2];
    outputs->heap[at] = store;
    return CLEAVE_OK;
}

static struct cv_chunk_output *pop(struct cv_ordered_output *outputs)
{
    struct cv_chunk_output *first = outputs->heap[0],
                           *last = outputs->heap[--outputs->count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < outputs->count &&
            outputs->heap[child + 1]->begin < outputs->heap[child]->begin)
            child++;
        if (child >= outputs->count || outputs->heap[child]->begin >= last->begin)
            break;
        outputs->heap[at] = outputs->heap[child];
        at = child;
    }
    outputs->heap[at] = last;
    return first;
}

/* The next output whose turn it is, or NULL. */
static struct cv_chunk_output *next_store(struct cv_ordered_output *outputs)
{
    if (outputs->writing == NULL && outputs->count > 0 &&
        outputs->heap[0]->begin <= outputs->position) {
        assert(outputs->heap[0]->begin == outputs->position);
        outputs->writing = pop(outputs);
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
    if (outputs->writing != store)
        CV_TRY(push(outputs, store, err));
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
