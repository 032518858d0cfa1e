/* worker_folding.c -- the folds that a worker was told to make, one after the other.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "run/fold_command.h"
#include "run/fold_frames.h"
#include "run/worker_folding.h"

/* How often it was tried, and what there is to say. */
static void report(struct cv_worker_fold *fold, enum cv_fold_frame type,
                   const struct cv_fold_order *order, uint64_t bytes, const char *text)
{
    struct cv_packer packer = { NULL, 0, 0, false };

    cv_pack_number(&packer, order->attempt);
    if (text != NULL)
        cv_pack_text(&packer, text);
    if (!packer.failed)
        cv_link_send(&fold->worker->link,
                     &(struct cv_frame_head){
                         .type = (uint8_t)type, .chunk = order->id, .value = bytes },
                     packer.bytes, packer.length);
    cv_pack_done(&packer);
}

/* The parts stay until the master says that they are not needed any more. */
static void end_order(struct cv_worker_fold *fold)
{
    struct cv_fold_order *order = fold->running;

    fold->running = NULL;
    for (size_t i = 0; i < order->count; i++)
        cv_holding_release(&fold->holding, order->held[i]);
    free(order);
}

static enum cleave_status set_command(struct cv_worker_fold *fold, const char *text,
                                      struct cleave_error *err)
{
    const char *const words[] = { "/bin/sh", "-c", text, NULL };

    if (fold->has_command)
        cv_command_done(&fold->command);
    fold->has_command = false;
    CV_TRY(cv_command_init(&fold->command, NULL, words, err));
    fold->has_command = true;
    return cv_command_set(&fold->command, "CLEAVE_WORKER", fold->worker->job.names[0],
                          err);
}

/* Of two partials, which have files of their own. */
static enum cleave_status launch_on_files(struct cv_worker_fold *fold,
                                          struct cleave_error *err)
{
    const struct cv_fold_order *order = fold->running;
    const int fds[] = { order->held[0]->taken.fd, order->held[1]->taken.fd };
    struct cv_text text = { NULL, 0, 0, false };
    enum cleave_status status = cv_fold_name_files(fold->text, fds, &text)
                                    ? set_command(fold, text.bytes, err)
                                    : cv_fail_memory(err, "a command");

    cv_text_done(&text);
    CV_TRY(status);
    return cv_slot_start_parts(&fold->slot, NULL, 0, err);
}

static enum cleave_status launch(struct cv_worker_fold *fold, struct cleave_error *err)
{
    const struct cv_fold_order *order = fold->running;
    struct cv_part parts[CV_FOLD_MOST];

    if (cv_fold_takes_files(fold->text))
        return launch_on_files(fold, err);

    for (size_t i = 0; i < order->count; i++) {
        const struct cv_taken *taken = &order->held[i]->taken;

        parts[i] = (struct cv_part){ .fd = taken->fd,
                                     .begin = taken->begin,
                                     .end = taken->end,
                                     .name = "a partial result" };
    }
    return cv_slot_start_parts(&fold->slot, parts, order->count, err);
}

/* The master will end the run, unless it has called the order off. */
static void give_up(struct cv_worker_fold *fold, const char *text)
{
    report(fold, CV_FRAME_FOLD_FAILED, fold->running, 0, text);
    end_order(fold);
}

static void start_order(struct cv_worker_fold *fold)
{
    struct cleave_error err;

    if (launch(fold, &err) != CLEAVE_OK)
        give_up(fold, err.text);
}

static bool all_here(const struct cv_worker_fold *fold, struct cv_fold_order *order)
{
    for (size_t i = 0; i < order->count; i++) {
        order->held[i] = cv_holding_find(&fold->holding, order->names[i]);
        if (order->held[i] == NULL || !order->held[i]->complete)
            return false;
    }
    return true;
}

/* The first order of which all is here. */
void cv_folding_next(struct cv_worker_fold *fold)
{
    struct cv_fold_order **at = &fold->orders, *order;

    if (fold->running != NULL || fold->stopped)
        return;
    while (*at != NULL && !all_here(fold, *at))
        at = &(*at)->next;
    order = *at;
    if (order == NULL)
        return;
    *at = order->next;
    for (size_t i = 0; i < order->count; i++)
        order->held[i]->users++;
    order->attempt = 1;
    fold->running = order;
    start_order(fold);
}

static void describe_end(const struct cv_slot *slot, enum cv_slot_end end, char *out,
                         size_t size)
{
    if (end == CV_SLOT_TIMED_OUT)
        snprintf(out, size, "the command that reduces took longer than %g s",
                 slot->timeout_s);
    else if (slot->process.signal != 0)
        snprintf(out, size, "the command that reduces was ended by signal %d",
                 slot->process.signal);
    else
        snprintf(out, size, "the command that reduces exited with status %d",
                 slot->process.exit_code);
}

/* The parts have become one, which lies here. */
static void accept(struct cv_worker_fold *fold, struct cv_store *store)
{
    const struct cv_fold_order *order = fold->running;
    const uint64_t bytes = cv_store_size(store);
    struct cleave_error err;

    if (cv_holding_add(&fold->holding, order->id, store, &err) != CLEAVE_OK) {
        cv_worker_fail(fold->worker, &err);
        return;
    }
    report(fold, CV_FRAME_FOLDED, order, bytes, NULL);
    end_order(fold);
}

static void slot_ended(void *context, struct cv_slot *slot, enum cv_slot_end end)
{
    struct cv_worker_fold *fold = context;
    struct cv_store *store = slot->store;
    struct cv_fold_order *order = fold->running;
    char how[200];

    slot->store = NULL;
    if (end == CV_SLOT_DONE) {
        accept(fold, store);
        cv_folding_next(fold);
        return;
    }
    cv_store_drop(store);
    if (end == CV_SLOT_STOPPED || order->off || fold->stopped) {
        end_order(fold);
        cv_folding_next(fold);
    } else if (order->attempt <= fold->retries) {
        order->attempt++;
        start_order(fold);
    } else {
        describe_end(slot, end, how, sizeof how);
        give_up(fold, how);
    }
}

static void slot_broke(void *context, const struct cleave_error *err)
{
    struct cv_worker_fold *fold = context;

    cv_worker_fail(fold->worker, err);
}

enum cleave_status cv_folding_begin(struct cv_worker_fold *fold, const char *text,
                                    double timeout_s, struct cleave_error *err)
{
    struct cv_worker *worker = fold->worker;

    fold->text = text;
    CV_TRY(set_command(fold, text, err));
    if (cv_fold_takes_files(text) && !cv_gather_separate(worker->gather))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected the command that reduces before there are outputs");
    cv_slot_init(&fold->slot);
    fold->slot.poller = worker->poller;
    fold->slot.gather = worker->gather;
    fold->slot.command = &fold->command;
    fold->slot.timeout_s = timeout_s;
    fold->slot.ended = slot_ended;
    fold->slot.broke = slot_broke;
    fold->slot.context = fold;
    return CLEAVE_OK;
}

void cv_folding_call_off(struct cv_worker_fold *fold, uint64_t id)
{
    struct cv_fold_order **at = &fold->orders, *order;

    if (fold->running != NULL && fold->running->id == id) {
        fold->running->off = true;
        cv_slot_stop(&fold->slot);
        return;
    }
    while (*at != NULL && (*at)->id != id)
        at = &(*at)->next;
    order = *at;
    if (order == NULL)
        return; /* it has been made: the master will hear it, and say what to do */
    *at = order->next;
    free(order);
}

void cv_folding_stop(struct cv_worker_fold *fold)
{
    fold->stopped = true;
    if (fold->running != NULL)
        cv_slot_stop(&fold->slot);
}

void cv_folding_done(struct cv_worker_fold *fold)
{
    if (fold->has_command) {
        cv_slot_done(&fold->slot);
        cv_command_done(&fold->command);
    }
    fold->has_command = false;
    while (fold->orders != NULL) {
        struct cv_fold_order *order = fold->orders;

        fold->orders = order->next;
        free(order);
    }
    free(fold->running);
    fold->running = NULL;
}
