/* thread_slot.c -- a function of this program in the place of a command.
 * SPDX-License-Identifier: MIT
 *
 * The function runs in a thread and writes its output into a pipe. The slot is over when the
 * function has closed the pipe. A time limit does not apply. */
#include <string.h>

#include "base/fail.h"
#include "run/common/threads.h"
#include "run/slot/slot_kind.h"

enum { TURN = 8 << 20 }; /* bytes moved before other callbacks run */

static void *run_function(void *context)
{
    struct cv_slot_function *function = context;

    function->succeeded =
        function->call(function->context, function->fd, &function->stop);
    cv_close(&function->fd);
    return NULL;
}

static void join(struct cv_slot *slot)
{
    cv_slot_close_output(slot);
    pthread_join(slot->function.thread, NULL);
    slot->busy = false;
}

static void function_ready(void *context, unsigned events)
{
    struct cv_slot *slot = context;
    enum cv_chunk_output_state state;
    struct cleave_error err;

    (void)events;
    if (cv_chunk_output_pump(slot->store, slot->out, TURN, &state, &err) != CLEAVE_OK) {
        cv_slot_broke(slot, &err);
        return;
    }
    if (state != CV_STORE_END)
        return;
    join(slot);
    slot->events->ended(slot->context, slot,
                        slot->stopping             ? CV_SLOT_STOPPED
                        : slot->function.succeeded ? CV_SLOT_DONE
                                                   : CV_SLOT_FAILED);
}

static void stop_function(struct cv_slot *slot)
{
    if (!slot->busy)
        return;
    slot->stopping = true;
    atomic_store(&slot->function.stop, true);
}

static void done_function(struct cv_slot *slot)
{
    if (!slot->busy)
        return;
    stop_function(slot);
    join(slot); /* a write to the closed pipe fails */
    cv_chunk_output_drop(slot->store);
    slot->store = NULL;
}

static uint64_t fed_function(const struct cv_slot *slot)
{
    return slot->piece.body.end;
}

static bool leave_function(struct cv_slot *slot)
{
    return !slot->busy;
}

static const struct cv_slot_kind function_kind = {
    .fed = fed_function,
    .stop = stop_function,
    .leave = leave_function,
    .done = done_function,
};

static enum cleave_status start_thread(struct cv_slot *slot, struct cv_pipe *pipe,
                                       struct cleave_error *err)
{
    int error;

    CV_TRY(cv_pipe_open(pipe, err));
    CV_TRY(cv_poller_add(slot->poller, &slot->out_watch, pipe->read, CV_READABLE,
                         function_ready, slot, err));
    slot->function.fd = pipe->write;
    error =
        cv_nosignal_thread_create(&slot->function.thread, run_function, &slot->function);
    if (error != 0) {
        cv_poller_remove(slot->poller, &slot->out_watch);
        return cv_fail(err, CLEAVE_ERESOURCES, "cannot start a thread: %s",
                       strerror(error));
    }
    slot->out = pipe->read;
    return CLEAVE_OK;
}

enum cleave_status cv_slot_start_function(struct cv_slot *slot,
                                          bool (*call)(void *context, int fd,
                                                       const atomic_bool *stop),
                                          void *context, struct cleave_error *err)
{
    struct cv_pipe pipe = { -1, -1 };
    enum cleave_status status;

    slot->piece = (struct cv_piece){ .fd = -1, .mate_fd = -1 };
    slot->open = (struct cv_open_slot){ .on = false };
    slot->kind = &function_kind;
    slot->function.call = call;
    slot->function.context = context;
    atomic_store(&slot->function.stop, false);
    slot->stopping = slot->timed_out = false;
    slot->start_s = cv_clock_s();
    CV_TRY(cv_chunk_output_open(slot->outputs, &slot->store, err));
    status = start_thread(slot, &pipe, err);
    slot->busy = status == CLEAVE_OK;
    if (status == CLEAVE_OK)
        return CLEAVE_OK;
    cv_pipe_close(&pipe);
    cv_chunk_output_drop(slot->store);
    slot->store = NULL;
    return status;
}
