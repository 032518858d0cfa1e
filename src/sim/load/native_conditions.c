/* native_conditions.c -- undeclared effects of a run: workers that stall, hang and are
 * lost, records of unequal cost, delayed reports. SPDX-License-Identifier: MIT
 *
 * Events with `more` are not generated: each comes alone, as in most real runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/fail.h"
#include "model/platform/profile.h"
#include "sim/load/native_internal.h"

/* --- workers that are lost ------------------------------------------------------------ */

/* The chunk is no longer in a queue; `process` is NULL if it had not begun. */
static void lose_one(struct native *native, uint32_t index, struct process *process)
{
    struct native_open *open = native->open;
    struct chunk *chunk = &native->chunks[index];
    const uint32_t twin = process != NULL ? process->twin : 0;

    if (twin != 0) {
        open->processes[twin - 1].twin = 0;
        cv_native_tell(native, chunk, CLEAVE_DROPPED, 0);
        forget(native, index);
    } else if (native->run->gets_losses) {
        cv_simulated_input_return(&open->input, chunk->begin,
                                  chunk->begin + chunk->units);
        cv_native_lose(native, index);
    } else {
        chunk->silent = true;
        chunk->worker = cv_native_stand_in(native, chunk->worker);
        join_queue(native, native->queue_each ? chunk->worker : 0, index, false);
    }
}

/* Handle units that arrive at a lost worker. Units in transit to an open chunk arrive
 * first. */
static enum cleave_status lose_all(struct native *native, uint32_t worker,
                                   struct cleave_error *err)
{
    struct process *process = &native->open->processes[worker];
    uint32_t index;

    while ((index = native->processors[worker].first) != NONE) {
        struct chunk *chunk = &native->chunks[index];

        if (process != NULL && process->given < process->end && !process->awaited)
            return CLEAVE_OK;
        CV_TRY(cv_native_open_room(native, err));
        dequeue(native, &native->processors[worker]);
        if (process != NULL) {
            chunk->begin = process->begin;
            chunk->units = process->end - process->begin;
            process->key = UINT64_MAX;
            process->awaited = false;
        }
        lose_one(native, index, process);
        process = NULL;
    }
    CV_TRY(cv_native_open_room(native, err));
    cv_native_open_serve(native);
    return CLEAVE_OK;
}

void cv_native_drop(struct native *native, uint32_t worker)
{
    struct process *process = &native->open->processes[worker];
    const uint32_t index = native->processors[worker].first;
    const uint32_t next = dequeue(native, &native->processors[worker]);

    cv_native_tell(native, &native->chunks[index], CLEAVE_DROPPED, 0);
    process->key = UINT64_MAX;
    process->awaited = false;
    process->twin = 0;
    forget(native, index);
    if (next != NONE)
        cv_native_open_start(native, next);
}

/* --- answers that take time ----------------------------------------------------------- */

/* Something that was given since has made a report outdated. */
static bool is_outdated(const struct native *native, const struct cleave_event *event)
{
    const struct process *process = &native->open->processes[event->worker];
    const uint32_t index = native->processors[event->worker].first;

    return event->kind == CLEAVE_DRAINED &&
           (index == NONE || native->chunks[index].number != event->chunk ||
            process->closed || !process->drained ||
            event->units < process->end - process->begin);
}

void cv_native_answer(struct native *native, struct cleave_event *out)
{
    struct reports *answers = &native->open->answers;

    *out = answers->items[answers->first++];
    if (answers->first == answers->count)
        answers->first = answers->count = 0;
    native->open->answered = true;
    if (out->kind == CLEAVE_DONE) {
        cv_native_open_finished(native, out->units);
    } else if (out->kind == CLEAVE_RECALLED) {
        cv_simulated_input_return(&native->open->input, out->read_s,
                                  out->read_s + out->units);
        out->read_s = 0;
        cv_native_open_serve(native);
    } else if (is_outdated(native, out)) {
        out->kind = CLEAVE_START;
    }
}

static enum cleave_status hold_back(struct native *native, struct cleave_event *out,
                                    struct cleave_error *err)
{
    struct reports *answers = &native->open->answers;
    const double at_s = native->now_s + native->run->conditions.answers_s;

    if (answers->first > answers->count / 2) {
        answers->count -= answers->first;
        memmove(answers->items, answers->items + answers->first,
                answers->count * sizeof *answers->items);
        answers->first = 0;
    }
    if (!CV_ROOM(answers->items, &answers->room, answers->count + 1))
        return cv_fail_memory(err, "the answers of workers");
    CV_TRY(cv_native_open_room(native, err));
    answers->items[answers->count] = *out;
    answers->items[answers->count++].time_s = at_s;
    end_at(native, at_s, ENDS_ANSWER, out->worker);
    out->kind = CLEAVE_START;
    return CLEAVE_OK;
}

/* --- a run ---------------------------------------------------------------------------- */

bool cv_native_is_rough(const struct native *native)
{
    const struct cleave_conditions *conditions = &native->run->conditions;

    return native->run->copies || conditions->answers_s > 0 || conditions->nhangs > 0;
}

enum cleave_status cv_native_heed(struct native *native, struct cleave_event *out,
                                  struct cleave_error *err)
{
    const struct cleave_conditions *conditions = &native->run->conditions;
    const bool answered = native->open->answered;

    out->more = native->open->answered = false;
    for (size_t i = 0; i < conditions->nhangs; i++)
        if (native->open->gone[conditions->hangs[i].worker])
            CV_TRY(lose_all(native, conditions->hangs[i].worker, err));
    if (conditions->answers_s > 0 && cv_is_answer(out->kind) && !answered)
        CV_TRY(hold_back(native, out, err));
    return CLEAVE_OK;
}

static double hang_s(const struct cleave_conditions *conditions, uint32_t worker)
{
    double first_s = INFINITY;

    for (size_t i = 0; i < conditions->nhangs; i++)
        if (conditions->hangs[i].worker == worker)
            first_s = fmin(first_s, conditions->hangs[i].time_s);
    return first_s;
}

enum cleave_status cv_native_conditions_begin(struct native *native,
                                              struct cleave_error *err)
{
    struct native_open *open = native->open;
    const struct cleave_conditions *conditions = &native->run->conditions;
    const struct cv_noise *noise = &native->run->noise;
    const uint32_t n = native->nworkers;
    const double timeout_s =
        conditions->timeout_s > 0 ? conditions->timeout_s : CV_HOST_TIMEOUT_S;

    if (open->gone == NULL)
        open->gone = calloc(n, sizeof *open->gone);
    if (open->times == NULL)
        open->times = calloc(n, sizeof *open->times);
    if (open->gone == NULL || open->times == NULL ||
        !cv_event_heap_reserve(&native->heap, 2 * conditions->nhangs + 2))
        return cv_fail_memory(err, "the simulator");
    open->input.items = native->run->items;
    if (!cv_simulated_input_draw(&open->input, &conditions->costs, noise->seed,
                                 noise->run))
        return cv_fail_memory(err, "the costs of records");
    cv_record_law_begin(&open->law, &conditions->costs, noise->seed, noise->run);
    open->stands_still = conditions->stalls.every_s > 0 || conditions->nhangs > 0;
    open->answered = open->failed = false;
    open->answers.first = open->answers.count = 0;
    for (uint32_t w = 0; w < n; w++) {
        struct timeline *times = &open->times[w];
        const double hangs_s = hang_s(conditions, w);

        open->gone[w] = false;
        times->nsteps = times->next = 0;
        times->factor = 1;
        times->until_s = 0;
        cv_standstill_begin(&times->still, &conditions->stalls, hangs_s, noise->seed,
                            noise->run, w);
        if (isfinite(hangs_s))
            end_at(native, hangs_s + timeout_s, ENDS_WORKER, w);
    }
    return CLEAVE_OK;
}

void cv_native_conditions_done(struct native *native)
{
    struct native_open *open = native->kept_open;

    for (uint32_t w = 0; open->times != NULL && w < native->nworkers; w++)
        free(open->times[w].steps);
    free(open->times);
    free(open->gone);
    free(open->answers.items);
}
