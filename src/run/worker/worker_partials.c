/* worker_partials.c -- partial results that a worker keeps, receives and sends.
 * SPDX-License-Identifier: MIT */
#include "run/worker/worker_partials.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/wire/protocol.h"

enum { FRAME = 256 * 1024 };

struct cv_worker_partial *cv_partials_find(const struct cv_worker_partials *partials,
                                           uint64_t id)
{
    struct cv_worker_partial *held = partials->held;

    while (held != NULL && (held->id != id || held->forgotten))
        held = held->next;
    return held;
}

static struct cv_worker_partial *add(struct cv_worker_partials *partials, uint64_t id,
                                     struct cv_chunk_output *store)
{
    struct cv_worker_partial *held = calloc(1, sizeof *held);

    if (held == NULL)
        return NULL;
    held->id = id;
    held->store = store;
    held->next = partials->held;
    partials->held = held;
    return held;
}

static enum cleave_status complete(struct cv_worker_partial *held,
                                   struct cleave_error *err)
{
    CV_TRY(cv_ordered_output_take(held->store, &held->taken, err));
    held->complete = true;
    return CLEAVE_OK;
}

enum cleave_status cv_partials_add(struct cv_worker_partials *partials, uint64_t id,
                                   struct cv_chunk_output *store,
                                   struct cleave_error *err)
{
    struct cv_worker_partial *held = add(partials, id, store);

    if (held == NULL) {
        cv_chunk_output_drop(store);
        return cv_fail_memory(err, "a partial result");
    }
    return complete(held, err);
}

static void drop_unused(struct cv_worker_partials *partials,
                        struct cv_worker_partial *held)
{
    struct cv_worker_partial **at = &partials->held;

    if (!held->forgotten || !held->complete || held->users > 0)
        return;
    while (*at != held)
        at = &(*at)->next;
    *at = held->next;
    cv_chunk_output_drop(held->store);
    free(held);
}

/* Bytes of a forgotten partial result are dropped; its entry goes with the last of
 * them. */
static bool refuse(struct cv_worker_partials *partials, uint64_t id, bool last)
{
    struct cv_worker_partial *held = partials->held;

    while (held != NULL && (held->id != id || !held->forgotten || held->complete))
        held = held->next;
    if (held == NULL)
        return false;
    held->complete = last;
    drop_unused(partials, held);
    return true;
}

enum cleave_status cv_partials_take(struct cv_worker_partials *partials,
                                    struct cv_ordered_output *outputs,
                                    const struct cv_frame_head *head,
                                    const unsigned char *payload, bool *out_complete,
                                    struct cleave_error *err)
{
    const bool last = (head->flags & CV_FRAME_LAST) != 0;
    struct cv_worker_partial *held;

    *out_complete = false;
    if (refuse(partials, head->chunk, last))
        return CLEAVE_OK;
    held = cv_partials_find(partials, head->chunk);
    if (head->type != CV_FRAME_PARTIAL || (held != NULL && held->complete))
        return cv_fail(err, CLEAVE_EINPUT,
                       "got a frame from another worker that is not expected");
    if (held == NULL) {
        struct cv_chunk_output *store;

        CV_TRY(cv_chunk_output_open(outputs, &store, err));
        held = add(partials, head->chunk, store);
        if (held == NULL) {
            cv_chunk_output_drop(store);
            return cv_fail_memory(err, "a partial result");
        }
    }
    if (head->value != cv_chunk_output_size(held->store))
        return cv_fail(err, CLEAVE_EINPUT,
                       "%llu bytes of a partial result were sent before, and %llu came",
                       (unsigned long long)head->value,
                       (unsigned long long)cv_chunk_output_size(held->store));
    CV_TRY(cv_chunk_output_write(held->store, payload, head->length, err));
    *out_complete = last;
    return last ? complete(held, err) : CLEAVE_OK;
}

enum cleave_status cv_partials_forget(struct cv_worker_partials *partials, uint64_t id,
                                      struct cleave_error *err)
{
    struct cv_worker_partial *held = cv_partials_find(partials, id);

    if (held == NULL)
        held = add(partials, id, NULL);
    if (held == NULL)
        return cv_fail_memory(err, "a partial result");
    held->forgotten = true;
    if (!held->complete) {
        cv_chunk_output_drop(held->store);
        held->store = NULL;
    }
    drop_unused(partials, held);
    return CLEAVE_OK;
}

void cv_partials_release(struct cv_worker_partials *partials,
                         struct cv_worker_partial *held)
{
    held->users--;
    drop_unused(partials, held);
}

/* --- sending ------------------------------------------------------------------------ */

enum cleave_status cv_partials_send(struct cv_worker_partials *partials, uint64_t id,
                                    uint32_t peer, uint64_t name,
                                    struct cleave_error *err)
{
    struct cv_worker_partial *held = cv_partials_find(partials, id);
    struct cv_partial_out **line =
        peer == 0 ? &partials->for_master : &partials->for_peers;
    struct cv_partial_out *message;

    if (held == NULL || !held->complete)
        return cv_fail(err, CLEAVE_EINPUT,
                       "was asked for a partial result that is not here");
    message = calloc(1, sizeof *message);
    if (message == NULL)
        return cv_fail_memory(err, "a partial result");
    held->users++;
    *message = (struct cv_partial_out){
        .held = held, .peer = peer, .name = name, .at = held->taken.begin
    };
    while (*line != NULL)
        line = &(*line)->next;
    *line = message;
    return CLEAVE_OK;
}

enum cleave_status cv_partials_next(struct cv_worker_partials *partials, bool for_master,
                                    struct cv_frame_head *head, unsigned char *payload,
                                    bool *out_any, struct cleave_error *err)
{
    struct cv_partial_out **line =
        for_master ? &partials->for_master : &partials->for_peers;
    struct cv_partial_out *message = *line;
    const struct cv_taken *taken;
    uint64_t left, before;
    ssize_t got = 0;

    *out_any = message != NULL;
    if (message == NULL)
        return CLEAVE_OK;
    taken = &message->held->taken;
    left = taken->end - message->at;
    if (left > 0)
        got = pread(taken->fd, payload, (size_t)(left < FRAME ? left : FRAME),
                    (off_t)message->at);
    if (got < 0 || (got == 0 && left > 0))
        return cv_fail(err, CLEAVE_EENGINE, "cannot read a partial result again");
    before = message->at - taken->begin;
    message->at += (uint64_t)got;
    *head =
        (struct cv_frame_head){ .type = CV_FRAME_PARTIAL,
                                .flags = message->at == taken->end ? CV_FRAME_LAST : 0,
                                .length = (uint32_t)got,
                                .peer = message->peer,
                                .chunk = message->name,
                                .value = before };
    if (message->at == taken->end) {
        *line = message->next;
        cv_partials_release(partials, message->held);
        free(message);
    }
    return CLEAVE_OK;
}

static void drop_parcels(struct cv_partial_out **line)
{
    while (*line != NULL) {
        struct cv_partial_out *message = *line;

        *line = message->next;
        free(message);
    }
}

void cv_partials_done(struct cv_worker_partials *partials)
{
    drop_parcels(&partials->for_peers);
    drop_parcels(&partials->for_master);
    while (partials->held != NULL) {
        struct cv_worker_partial *held = partials->held;

        partials->held = held->next;
        cv_chunk_output_drop(held->store);
        free(held);
    }
}
