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
    struct cv_ordered_output *gather = calloc(1, sizeof *gather);

    if (directory == NULL)
        directory = getenv("TMPDIR");
    if (directory == NULL || directory[0] == '\0')
        directory = "/tmp";
    if (gather == NULL)
        return cv_fail_memory(err, "outputs");
    gather->options = *options;
    gather->directory = strdup(directory);
    gather->sink_name =
        strdup(options->sink_name != NULL ? options->sink_name : "stdout");
    if (gather->directory == NULL || gather->sink_name == NULL) {
        cv_ordered_output_free(gather);
        return cv_fail_memory(err, "outputs");
    }
    cv_sink_init(gather);
    *out = gather;
    return CLEAVE_OK;
}

bool cv_ordered_output_separate(struct cv_ordered_output *gather)
{
    if (gather->shelves != NULL)
        return false;
    gather->options.separate = true;
    return true;
}

void cv_ordered_output_expect_taking(struct cv_ordered_output *gather)
{
    gather->options.files = true;
}

void cv_ordered_output_free(struct cv_ordered_output *gather)
{
    if (gather == NULL)
        return;
    cv_ordered_output_detach(gather);
    cv_spill_files_close(gather);
    while (gather->stores != NULL) {
        struct cv_chunk_output *next = gather->stores->next;

        cv_blocks_clear(gather->stores);
        free(gather->stores);
        gather->stores = next;
    }
    cv_blocks_trim(gather);
    free(gather->heap);
    free(gather->head);
    free(gather->directory);
    free(gather->sink_name);
    free(gather);
}

/* --- order -------------------------------------------------------------------------------- */

static enum cleave_status push(struct cv_ordered_output *gather,
                               struct cv_chunk_output *store, struct cleave_error *err)
{
    size_t at = gather->count;

    if (!CV_ROOM(gather->heap, &gather->capacity, at + 1))
        return cv_fail_memory(err, "outputs that wait");
    gather->count++;
    for (; at > 0 && gather->heap[(at - 1) / 2]->begin > store->begin; at = (at - 1) / 2)
        gather->heap[at] = gather->heap[(at - 1) / 2];
    gather->heap[at] = store;
    return CLEAVE_OK;
}

static struct cv_chunk_output *pop(struct cv_ordered_output *gather)
{
    struct cv_chunk_output *first = gather->heap[0],
                           *last = gather->heap[--gather->count];
    size_t at = 0;

    for (;;) {
        size_t child = 2 * at + 1;

        if (child + 1 < gather->count &&
            gather->heap[child + 1]->begin < gather->heap[child]->begin)
            child++;
        if (child >= gather->count || gather->heap[child]->begin >= last->begin)
            break;
        gather->heap[at] = gather->heap[child];
        at = child;
    }
    gather->heap[at] = last;
    return first;
}

/* The next output whose turn it is, or NULL. */
static struct cv_chunk_output *next_store(struct cv_ordered_output *gather)
{
    if (gather->writing == NULL && gather->count > 0 &&
        gather->heap[0]->begin <= gather->position) {
        assert(gather->heap[0]->begin == gather->position);
        gather->writing = pop(gather);
        gather->extent = 0;
    }
    if (gather->writing == NULL)
        gather->writing = cv_pass_find(gather, gather->position);
    return gather->writing;
}

/* Whether something of the output in front can be written. */
static bool has_more(struct cv_chunk_output *store)
{
    if (!store->offered)
        return true;
    return store->passes ? store->whole > 0 : cv_streamed_output_ready(store);
}

static enum cleave_status pump(struct cv_ordered_output *gather, uint64_t max,
                               enum cv_ordered_output_state *out)
{
    struct cv_chunk_output *written;

    *out = CV_GATHER_IDLE;
    if (gather->error != 0)
        return gather->failure.status;
    while (next_store(gather) != NULL) {
        if (!gather->headed && cv_ordered_output_head(gather, gather->writing,
                                                      &gather->failure) != CLEAVE_OK) {
            gather->error = EINVAL;
            return gather->failure.status;
        }
        gather->headed = true;
        CV_TRY(cv_ordered_output_write(gather, &max, out));
        if (*out != CV_GATHER_IDLE || gather->writing->offered)
            break;
        written = gather->writing;
        gather->position = written->end;
        gather->writing = NULL;
        gather->headed = false;
        cv_chunk_output_drop(written);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_ordered_output_pump(struct cv_ordered_output *gather, uint64_t max,
                                          enum cv_ordered_output_state *out,
                                          struct cleave_error *err)
{
    const enum cleave_status status = pump(gather, max, out);

    if (status != CLEAVE_OK && err != NULL)
        *err = gather->failure;
    return status;
}

/* --- with a poller ------------------------------------------------------------------------ */

static void turn(struct cv_ordered_output *gather);

static void hold_expired(void *context)
{
    struct cv_ordered_output *gather = context;

    if (gather->error == 0 && gather->watch.events == 0)
        turn(gather);
}

/* What is in front may be shown a moment later: see to it then; from then on it is wanted. */
static void await(struct cv_ordered_output *gather, struct cv_chunk_output *store)
{
    void (*const call)(void *) = store->call;
    struct cleave_error ignored; /* then it is seen to when more comes */

    if (gather->poller == NULL || store->passes)
        return;
    if (store->due_s == 0) {
        store->call = NULL;
        if (call != NULL)
            call(store->caller);
    } else if (gather->ripens.place == 0) {
        (void)cv_poller_set(gather->poller, &gather->ripens, store->due_s, hold_expired,
                            gather, &ignored);
    }
}

/* Write a little and then wait for what is needed to go on. A pipe is watched all the
 * time, as its reader may go away. */
static void turn(struct cv_ordered_output *gather)
{
    enum cv_ordered_output_state state;
    struct cv_chunk_output *next = next_store(gather);
    enum cleave_status status;

    if (gather->blocked_from_s > 0)
        gather->blocked_s += cv_clock_s() - gather->blocked_from_s;
    if (gather->options.before != NULL && next != NULL && has_more(next))
        gather->options.before(gather->options.context);
    status = pump(gather, next != NULL && next->in_blocks ? STEP_BLOCKS : STEP, &state);
    gather->blocked_from_s = state == CV_GATHER_BLOCKED ? cv_clock_s() : 0;
    if (status == CLEAVE_OK)
        status =
            cv_poller_modify(gather->poller, &gather->watch,
                             state == CV_GATHER_IDLE ? 0 : CV_WRITABLE, &gather->failure);
    if (status != CLEAVE_OK) {
        gather->error = gather->error != 0 ? gather->error : EIO;
        cv_poller_remove(gather->poller, &gather->watch);
    } else if (gather->writing != NULL && gather->writing->offered) {
        await(gather, gather->writing);
    }
}

static void sink_ready(void *context, unsigned events)
{
    struct cv_ordered_output *gather = context;

    if (gather->watch.events == 0 && events != 0) {
        (void)cv_sink_broke(gather, EPIPE);
        cv_poller_remove(gather->poller, &gather->watch);
        return;
    }
    turn(gather);
}

enum cleave_status cv_ordered_output_attach(struct cv_ordered_output *gather,
                                            struct cv_poller *poller,
                                            struct cleave_error *err)
{
    assert(gather->poller == NULL && gather->options.sink >= 0);
    CV_TRY(cv_poller_add(poller, &gather->watch, gather->options.sink,
                         cv_ordered_output_pending(gather) ? CV_WRITABLE : 0, sink_ready,
                         gather, err));
    gather->poller = poller;
    return CLEAVE_OK;
}

void cv_ordered_output_detach(struct cv_ordered_output *gather)
{
    if (gather->poller != NULL) {
        cv_poller_remove(gather->poller, &gather->watch);
        cv_poller_cancel(gather->poller, &gather->ripens);
    }
    gather->poller = NULL;
}

/* --- finished outputs --------------------------------------------------------------------- */

/* There is something new to be written: do it, if nobody waits for the sink already. */
static void start_writing(struct cv_ordered_output *gather)
{
    if (gather->poller != NULL && gather->error == 0 && gather->watch.events == 0)
        turn(gather);
}

void cv_ordered_output_offer(struct cv_chunk_output *store, uint64_t begin)
{
    struct cv_ordered_output *gather = store->gather;

    if (!(store->passes || gather->options.early) || gather->options.unordered ||
        gather->options.sink < 0)
        return;
    if (cv_ordered_output_remembers(gather, begin))
        return; /* it has to be compared with that */
    store->begin = begin;
    store->offered = true;
    if (!store->passes)
        cv_streamed_output_begin(store);
    store->next_offered = gather->offered;
    gather->offered = store;
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
    struct cv_ordered_output *gather = store->gather;
    const bool in_front = gather->writing == store ||
                          (gather->writing == NULL && store->begin == gather->position);

    if (!store->offered || !in_front)
        return;
    if (has_more(store))
        start_writing(gather);
    else
        await(gather, store);
}

enum cleave_status cv_ordered_output_finish(struct cv_ordered_output *gather,
                                            struct cv_chunk_output *store, uint64_t begin,
                                            uint64_t end, struct cleave_error *err)
{
    assert(gather->options.sink >= 0 && begin < end);
    if (gather->options.unordered) {
        begin = gather->finished;
        end = begin + 1;
    }
    assert(begin >= gather->position);
    store->begin = begin;
    store->end = end;
    if (gather->writing != store)
        CV_TRY(push(gather, store, err));
    cv_alike_look(gather, store);
    cv_pass_finish(store);
    cv_streamed_output_finish(store);
    cv_streamed_output_forget(gather, begin);
    cv_chunk_output_close(store);
    gather->finished++;
    start_writing(gather);
    return CLEAVE_OK;
}

enum cleave_status cv_ordered_output_skip(struct cv_ordered_output *gather,
                                          uint64_t begin, uint64_t end,
                                          struct cleave_error *err)
{
    struct cv_chunk_output *store;
    enum cleave_status status;

    if (gather->options.unordered)
        return CLEAVE_OK;
    CV_TRY(cv_chunk_output_open(gather, &store, err));
    status = cv_ordered_output_finish(gather, store, begin, end, err);
    if (status != CLEAVE_OK)
        cv_chunk_output_drop(store);
    return status;
}

enum cleave_status cv_ordered_output_status(const struct cv_ordered_output *gather,
                                            int *out_errno, struct cleave_error *err)
{
    if (out_errno != NULL)
        *out_errno = gather->error;
    if (gather->error == 0)
        return CLEAVE_OK;
    if (err != NULL)
        *err = gather->failure;
    return gather->failure.status;
}

bool cv_ordered_output_pending(const struct cv_ordered_output *gather)
{
    return (gather->writing != NULL && !gather->writing->offered) || gather->count > 0;
}

struct cv_ordered_output_usage
cv_ordered_output_usage(const struct cv_ordered_output *gather)
{
    return (struct cv_ordered_output_usage){ gather->written,   gather->memory,
                                             gather->disk,      gather->most_disk,
                                             gather->blocked_s, gather->head_goes_on };
}
