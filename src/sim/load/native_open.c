/* native_open.c -- recalls, and commands that read as they are fed.
 * SPDX-License-Identifier: MIT
 *
 * A chunk is one range of the load, and an open chunk is extended by the range that
 * follows; cv_simulated_input_place chooses its first unit. Units are sent in pieces, which wait for
 * the port. Units that were sent or fed are not recalled. */
#include "sim/load/native_internal.h"

#include <math.h>
#include <stdlib.h>
#include "base/bisect.h"
#include "base/fail.h"
#include "base/random.h"
#include "model/platform/profile.h"

/* --- ends of activities, the pool of chunks ----------------------------------------- */

double cv_native_end_of(const struct native *native, const struct chunk *chunk,
                        enum cv_activity activity, double latency_s, double work_s)
{
    double factor = 1;
    struct cleave_profile profile;

    if (native->noisy)
        factor = cv_noise_factor(&native->run->noise, activity,
                                 native->run->items ? 0 : chunk->owner, chunk->nth,
                                 chunk->number);
    if (native->steady)
        return native->now_s + factor * (latency_s + work_s);
    profile = cv_profile_of(native->platform, chunk->worker);
    return cv_profile_end(&profile, native->now_s + factor * latency_s, factor * work_s);
}

enum cleave_status cv_native_new_chunk(struct native *native, uint32_t *out,
                                       struct cleave_error *err)
{
    if (native->nchunks >= NONE ||
        !CV_ROOM(native->chunks, &native->chunk_room, native->nchunks + 1))
        return cv_fail_memory(err, "the chunks in flight");
    *out = (uint32_t)native->nchunks++;
    return CLEAVE_OK;
}

/* --- recalls of units that are not computed ----------------------------------------- */

/* The computation ends earlier. Recalls are rare, so chunks do not hold their planned
 * end: it is computed again. */

static double noise_of(const struct native *native, const struct chunk *chunk)
{
    return native->noisy ? cv_noise_factor(&native->run->noise, CV_COMPUTE,
                                           native->run->items ? 0 : chunk->owner,
                                           chunk->nth, chunk->number)
                         : 1;
}

void cv_native_share(struct native *native, struct chunk *piece)
{
    const double visits = native->tree.visits;

    if (!cv_native_leads(native, piece->worker))
        return;
    piece->end_s = cv_led_take(&native->tree, piece->worker, native->now_s, piece->units,
                               noise_of(native, piece));
    cv_step_budget_spend(native->run->budget,
                         CV_LED_STEPS * (native->tree.visits - visits));
}

static double first_unit_at(const struct native *native, const struct chunk *chunk)
{
    return chunk->start_s +
           native->workers[chunk->worker].compute_latency_s * noise_of(native, chunk);
}

/* The end as computed at the start of the chunk. */
static double end_as_planned(struct native *native, const struct chunk *chunk)
{
    const double now_s = native->now_s;
    double end_s;

    native->now_s = chunk->start_s;
    end_s = cv_native_compute_end(native, chunk);
    native->now_s = now_s;
    return end_s;
}

/* Remove units that are not computed from the end of a chunk. Returns how many; the
 * computation then ends at *out_end_s. */
static double shorten(struct native *native, struct chunk *chunk, double units,
                      double *out_end_s)
{
    const double begin_s = first_unit_at(native, chunk);
    const double end_s = end_as_planned(native, chunk);
    const double from_s = native->now_s > begin_s ? native->now_s : begin_s;
    const struct cleave_profile profile = cv_profile_of(native->platform, chunk->worker);
    const double all_s = cv_profile_work(&profile, begin_s, end_s);
    const double rest_s = cv_profile_work(&profile, from_s, end_s);
    const double to_come = all_s > 0 && rest_s > 0 ? chunk->units * rest_s / all_s : 0;
    double taken = units < to_come ? units : to_come;

    if (taken > chunk->units) /* rounding */
        taken = chunk->units;
    if (!(taken > 0))
        return 0;
    *out_end_s = cv_profile_end(&profile, from_s, rest_s * (1 - taken / to_come));
    chunk->units = chunk->units > taken ? chunk->units - taken : 0;
    return taken;
}

bool cv_native_report_room(struct native *native, size_t count)
{
    struct reports *reports = &native->reports;

    return CV_ROOM(reports->items, &reports->room, reports->count + count);
}

void cv_native_report(struct native *native, const struct cleave_event *event)
{
    native->reports.items[native->reports.count++] = *event;
    end_at(native, native->now_s, ENDS_REPORT, event->worker);
}

enum cleave_status cv_native_recall(struct native *native,
                                    const struct cleave_order *order,
                                    struct cleave_error *err)
{
    const uint32_t index = native->processors[order->worker].first;
    struct cleave_event report = { .kind = CLEAVE_RECALLED,
                                   .worker = order->worker,
                                   .start_s = native->now_s,
                                   .time_s = native->now_s };
    double end_s = 0;

    cv_event_heap_settle(&native->heap);
    if (!cv_event_heap_reserve(&native->heap, native->heap.count + 2) ||
        !cv_native_report_room(native, 1))
        return cv_fail_memory(err, "the recalls of a run");
    if (index != NONE && cv_native_leads(native, order->worker)) {
        report.chunk = native->chunks[index].number; /* the leader passed the chunk on */
    } else if (index != NONE) {
        report.chunk = native->chunks[index].number;
        report.units = shorten(native, &native->chunks[index], order->units, &end_s);
    }
    cv_native_report(native, &report);
    if (report.units > 0)
        compute_until(native, order->worker, end_s);
    return CLEAVE_OK;
}

/* Simultaneous events come in the order of their keys, like the reports. */
void cv_native_reported(struct native *native, struct cleave_event *out)
{
    struct reports *reports = &native->reports;

    *out = reports->items[reports->first++];
    if (reports->first == reports->count)
        reports->first = reports->count = 0;
}

/* Standstills of a worker in a run. */
enum { STEPS_MOST = 4000000 };

/* --- workers that stand still --------------------------------------------------------- */

/* Add the next standstill. False: none follows, or none can be added. */
static bool grow(struct native *native, uint32_t worker)
{
    struct timeline *times = &native->open->times[worker];
    const struct cleave_profile declared = cv_profile_of(native->platform, worker);
    const struct cv_standstill *still = &times->still;

    if (isinf(times->until_s))
        return false;
    if (times->nsteps > STEPS_MOST ||
        !CV_ROOM(times->steps, &times->room, times->nsteps + declared.nsteps + 2)) {
        native->open->failed = true;
        times->until_s = INFINITY;
        return false;
    }
    for (; times->next < declared.nsteps &&
           declared.steps[times->next].from_s < still->from_s;
         times->next++) {
        times->steps[times->nsteps++] = declared.steps[times->next];
        times->factor = declared.steps[times->next].factor;
    }
    if (isfinite(still->from_s))
        times->steps[times->nsteps++] = (struct cleave_step){ still->from_s, 0 };
    while (times->next < declared.nsteps &&
           declared.steps[times->next].from_s <= still->to_s)
        times->factor = declared.steps[times->next++].factor;
    if (isfinite(still->to_s))
        times->steps[times->nsteps++] =
            (struct cleave_step){ still->to_s, times->factor };
    times->until_s = still->to_s;
    cv_standstill_next(&times->still);
    return true;
}

double cv_native_profile_until(const struct native *native, uint32_t worker)
{
    return native->open->stands_still ? native->open->times[worker].until_s : INFINITY;
}

struct cleave_profile cv_native_profile(struct native *native, uint32_t worker,
                                        double upto_s)
{
    const struct timeline *times = &native->open->times[worker];

    if (!native->open->stands_still)
        return cv_profile_of(native->platform, worker);
    while (!(times->until_s > upto_s) && grow(native, worker))
        continue;
    return (struct cleave_profile){ .steps = times->steps,
                                    .nsteps = (uint32_t)times->nsteps };
}

double cv_native_work_end(struct native *native, uint32_t worker, double begin_s,
                          double work_s)
{
    double end_s = begin_s, known_s;

    do {
        const struct cleave_profile profile = cv_native_profile(native, worker, end_s);

        known_s = cv_native_profile_until(native, worker);
        end_s = cv_profile_end(&profile, begin_s, work_s);
    } while (end_s > known_s);
    return end_s;
}

/* --- workers that are lost ------------------------------------------------------------ */

/* Chunks that a worker has or is about to be sent. */
static size_t count_chunks(const struct native *native, uint32_t worker)
{
    const struct queue *queues[] = {
        &native->processors[worker],
        &native->transfers[native->queue_each ? worker : 0],
        &native->open->waiting,
    };
    size_t count = 0;

    for (int k = 0; k < 3; k++)
        for (uint32_t i = queues[k]->first; i != NONE; i = native->chunks[i].next)
            count += native->chunks[i].worker == worker && !native->chunks[i].back;
    return count;
}

uint32_t cv_native_stand_in(const struct native *native, uint32_t worker)
{
    size_t least = SIZE_MAX;

    if (!native->open->gone[worker])
        return worker;
    for (uint32_t w = 0; w < native->nworkers; w++) {
        const size_t count = native->open->gone[w] ? SIZE_MAX : count_chunks(native, w);

        if (count < least) {
            least = count;
            worker = w;
        }
    }
    return worker;
}

void cv_native_tell(struct native *native, const struct chunk *chunk,
                    enum cleave_event_kind kind, double units)
{
    cv_native_report(native, &(struct cleave_event){ .kind = kind,
                                                     .worker = chunk->owner,
                                                     .chunk = chunk->number,
                                                     .units = units,
                                                     .start_s = native->now_s,
                                                     .time_s = native->now_s });
}

void cv_native_lose(struct native *native, uint32_t index)
{
    cv_native_tell(native, &native->chunks[index], CLEAVE_LOST,
                   native->chunks[index].units);
    forget(native, index);
}

/* --- a simulated command ------------------------------------------------------------ */

static const uint64_t NO_EVENT = UINT64_MAX;

/* The piece that is the input of a copy: its arrival is not reported. */
static const enum cleave_event_kind COPY_INPUT = CLEAVE_DROPPED;

/* Start-ups have their own random numbers. */
enum { START_PURPOSE = 7 };

static void plan_process(struct native *native, uint32_t worker);

static struct chunk *chunk_of(const struct native *native, uint32_t worker)
{
    return &native->chunks[native->processors[worker].first];
}

/* Seconds to read a unit, at a factor of the worker's profile. */
static double unit_time(const struct native *native, uint32_t worker, double factor)
{
    const struct cv_command_model *command = native->open->command;
    const double pipe_s = command->pipe_ups > 0 ? 1 / command->pipe_ups : 0;
    const double work_s =
        command->phi > 0 ? command->phi / (native->workers[worker].speed_ups * factor)
                         : 0;

    return (pipe_s + work_s) * native->open->processes[worker].factor;
}

/* Read from *at_s until units with this cost are read or `until_s` is reached; sets
 * *at_s. Returns the cost of the units read. */
static double read_on(struct native *native, uint32_t worker, double units,
                      double until_s, double *at_s)
{
    struct cleave_profile known = cv_native_profile(native, worker, *at_s);
    uint32_t next = 0;
    double done = 0, factor = 1;

    CV_BISECT(next, known.nsteps, i, known.steps[i].from_s <= *at_s);
    if (next > 0)
        factor = known.steps[next - 1].factor;
    while (done < units) {
        const double unit_s = unit_time(native, worker, factor);
        const double end_s = *at_s + (units - done) * unit_s;
        double till_s = until_s;

        if (next == known.nsteps)
            known = cv_native_profile(native, worker,
                                      cv_native_profile_until(native, worker));
        if (next < known.nsteps && known.steps[next].from_s < until_s)
            till_s = known.steps[next].from_s;

        if (end_s <= till_s) {
            *at_s = end_s;
            return units;
        }
        done += (till_s - *at_s) / unit_s;
        *at_s = till_s;
        if (till_s >= until_s)
            break;
        factor = known.steps[next++].factor;
    }
    return done < units ? done : units;
}

/* Update the position of a command. */
static void catch_up(struct native *native, uint32_t worker)
{
    struct process *process = &native->open->processes[worker];
    const struct cv_simulated_input *input = &native->open->input;
    double cost, all, done;

    if (native->now_s < process->read_at_s)
        return;
    cost = cv_simulated_input_cost(input, process->read, process->given);
    all = cost * process->weight;
    done = read_on(native, worker, all, native->now_s, &process->read_at_s);
    process->read = cv_simulated_input_reach(input, process->read,
                                             done < all ? done / process->weight : cost);
    process->read_at_s = native->now_s;
}

/* Noise of the start-up, in addition to the noise of the chunk. */
static double start_factor(const struct native *native, const struct chunk *chunk)
{
    const double spread = native->open->command->start_spread;
    const struct cv_noise *noise = &native->run->noise;
    struct cv_random random;

    if (!(spread > 0))
        return 1;
    cv_random_at(&random, cv_random_derive(noise->seed, START_PURPOSE), noise->run,
                 chunk->worker, chunk->nth);
    return exp(spread * (2 * cv_random_uniform(&random) - 1));
}

/* Start the first chunk at the processor of a worker. */
static void start_process(struct native *native, uint32_t worker,
                          const struct process *from)
{
    struct process *process = &native->open->processes[worker];
    struct chunk *chunk = chunk_of(native, worker);
    const double latency_s =
        cv_command_before_s(native->open->command,
                            native->workers[worker].compute_latency_s);

    *process = *from;
    process->factor = noise_of(native, chunk);
    process->weight =
        native->run->items ? cv_record_factor(&native->open->law, chunk->nth) : 1;
    process->ready_s =
        native->now_s + latency_s * process->factor * start_factor(native, chunk);
    process->read = process->begin;
    process->read_at_s = process->ready_s;
    process->key = NO_EVENT;
    chunk->start_s = native->now_s;
    plan_process(native, worker);
}

/* The cost of the units after a place in a chunk. */
static double cost_of(const struct native *native, const struct process *process,
                      double from)
{
    return cv_simulated_input_cost(&native->open->input, from, process->end) *
           process->weight;
}

/* The end of a command that has read its input at `end_read_s`. */
static double end_of(struct native *native, uint32_t worker, double end_read_s)
{
    const struct process *process = &native->open->processes[worker];
    const struct cv_command_model *command = native->open->command;
    const double latency_s = native->workers[worker].compute_latency_s;
    const double after_s = latency_s - cv_command_before_s(command, latency_s);
    const double work_s = cost_of(native, process, process->begin) * (1 - command->phi) /
                          native->workers[worker].speed_ups;

    end_read_s += after_s * process->factor;
    return cv_native_work_end(native, worker, end_read_s, work_s * process->factor);
}

/* An opened command first reports that it reads; without input it waits or is killed. */
static double start_at(const struct native *native, struct process *process)
{
    if (process->given > process->begin) {
        process->next = CLEAVE_STARTED;
        return process->read_at_s;
    }
    process->next = CLEAVE_DONE;
    return process->closed && !(process->end > process->begin) ? native->now_s : INFINITY;
}

/* The time of the next event of a command, whose kind is set; INFINITY: none. */
static double next_at(struct native *native, uint32_t worker)
{
    struct process *process = &native->open->processes[worker];
    double at_s = process->read_at_s;

    if (process->opened && !process->started)
        return start_at(native, process);
    if (process->given < process->end) /* the rest is being sent */
        return INFINITY;
    read_on(native, worker, cost_of(native, process, process->read), INFINITY, &at_s);
    if (!process->closed) {
        process->next = CLEAVE_DRAINED;
        return process->drained ? INFINITY : at_s;
    }
    process->next = CLEAVE_DONE;
    process->end_read_s = at_s;
    return end_of(native, worker, at_s);
}

static void plan_process(struct native *native, uint32_t worker)
{
    struct process *process = &native->open->processes[worker];
    const bool starts = process->key != NO_EVENT && process->next == CLEAVE_STARTED;
    const double at_s = next_at(native, worker);

    if (starts && process->next == CLEAVE_STARTED) /* the start does not change */
        return;
    process->key = isfinite(at_s) ? end_at(native, at_s, ENDS_PROCESS, worker) : NO_EVENT;
}

/* Units have arrived over the link. */
static void feed_process(struct native *native, uint32_t worker, double units)
{
    struct process *process = &native->open->processes[worker];

    catch_up(native, worker);
    process->given += units;
    /* Sums of parts may differ from the total by rounding. */
    if (process->end - process->given <= native->open->input.free.grain)
        process->given = process->end;
    process->drained = false;
    plan_process(native, worker);
}

bool cv_native_process_tell(struct native *native, uint32_t worker,
                            struct cleave_event *out)
{
    struct process *process = &native->open->processes[worker];
    struct chunk *chunk = chunk_of(native, worker);

    *out = (struct cleave_event){ .kind = process->next,
                                  .worker = worker,
                                  .chunk = chunk->number,
                                  .units = process->end - process->begin,
                                  .start_s = chunk->start_s,
                                  .time_s = native->now_s };
    process->key = NO_EVENT;
    if (process->next == CLEAVE_DONE) {
        chunk->units = out->units;
        if (process->opened && out->units > 0)
            out->read_s = process->end_read_s;
        return true;
    }
    if (process->next == CLEAVE_STARTED) {
        process->started = native->open->input.begun = true;
    } else {
        process->drained = true;
        process->read = process->end;
        process->read_at_s = native->now_s;
        out->output = native->open->command->emits ? out->units : 0;
    }
    plan_process(native, worker);
    return false;
}

/* --- the input ---------------------------------------------------------------------- */

/* A chunk for which nothing was left ends at once. Room for its reports exists. */
static void give_nothing(struct native *native, uint32_t index)
{
    const struct chunk *chunk = &native->chunks[index];
    struct cleave_event event = { .kind = CLEAVE_SENT,
                                  .worker = chunk->worker,
                                  .chunk = chunk->number,
                                  .start_s = native->now_s,
                                  .time_s = native->now_s };

    cv_native_report(native, &event);
    event.kind = CLEAVE_DONE;
    cv_native_report(native, &event);
    finish(native, index);
}

void cv_native_open_serve(struct native *native)
{
    struct native_open *open = native->open;

    while (open->waiting.first != NONE) {
        const uint32_t index = open->waiting.first;
        struct chunk *chunk = &native->chunks[index];
        const double request = chunk->units;

        if (!cv_simulated_input_take(&open->input, &chunk->units, &chunk->begin))
            return;
        open->waiting.first = chunk->next;
        open->nwaiting--;
        open->input.wished -= request;
        if (request > 0 && !(chunk->units > 0))
            give_nothing(native, index);
        else
            join_queue(native, native->queue_each ? chunk->worker : 0, index, false);
    }
    open->input.wished = 0;
}

static void arrive(struct native *native)
{
    if (cv_simulated_input_arrive(&native->open->input))
        end_at(native, native->now_s, ENDS_STREAM, 0);
}

double cv_native_left(const void *engine)
{
    const struct native *native = engine;

    return cv_simulated_input_left(&native->open->input);
}

enum cleave_status cv_native_open_begin(struct native *native, struct cleave_error *err)
{
    struct native_open *open = native->kept_open;
    const uint32_t n = native->nworkers;

    native->open = NULL;
    if (native->run->command == NULL)
        return CLEAVE_OK;
    if (open == NULL) {
        open = native->kept_open = calloc(1, sizeof *open);
        if (open != NULL)
            open->processes = calloc(n, sizeof *open->processes);
        if (open == NULL || open->processes == NULL)
            return cv_fail_memory(err, "the simulator");
    }
    native->open = open;
    open->command = native->run->command;
    open->nwaiting = 0;
    open->waiting = (struct queue){ NONE, NONE };
    cv_simulated_input_begin(&open->input, native->run->units, native->run->hold, n,
                             open->command->record);
    if (!cv_free_ranges_reserve(&open->input.free))
        return cv_fail_memory(err, "the simulator");
    arrive(native);
    return CLEAVE_OK;
}

void cv_native_open_done(struct native *native)
{
    struct native_open *open = native->kept_open;

    if (open == NULL)
        return;
    cv_simulated_input_done(&open->input);
    free(open->processes);
    free(open);
}

/* --- orders ------------------------------------------------------------------------- */

void cv_native_open_send(struct native *native, uint32_t index)
{
    struct native_open *open = native->open;
    struct chunk *chunk = &native->chunks[index];

    if (open->gone[chunk->worker] && native->run->gets_losses) {
        cv_native_lose(native, index);
        return;
    }
    chunk->worker = cv_native_stand_in(native, chunk->worker);
    chunk->begin = 0; /* for a chunk without units */
    enqueue(native, &open->waiting, index);
    open->nwaiting++;
    open->input.wished += chunk->units;
    cv_native_open_serve(native);
}

void cv_native_open_start(struct native *native, uint32_t index)
{
    const struct chunk *chunk = &native->chunks[index];
    const struct process process = { .begin = chunk->begin,
                                     .end = chunk->begin + chunk->units,
                                     .given = chunk->begin + chunk->units,
                                     .closed = true };

    start_process(native, chunk->worker, &process);
}

static void report(struct native *native, const struct cleave_order *order,
                   const struct cleave_event *event)
{
    struct cleave_event full = *event;
    const uint32_t index = native->processors[order->worker].first;

    full.worker = order->worker;
    full.chunk = index != NONE ? native->chunks[index].number : 0;
    full.start_s = full.time_s = native->now_s;
    cv_native_report(native, &full);
}

/* Send units of an open chunk; `kind` is reported on arrival, or at once without
 * units. */
static enum cleave_status send_piece(struct native *native,
                                     const struct cleave_order *order, double units,
                                     enum cleave_event_kind kind,
                                     struct cleave_error *err)
{
    const struct chunk *whole;
    uint32_t index = NONE;

    if (!(units > 0)) {
        report(native, order, &(struct cleave_event){ .kind = kind });
        return CLEAVE_OK;
    }
    CV_TRY(take_chunk(native, &index, err));
    whole = &native->chunks[native->processors[order->worker].first];
    native->chunks[index] = (struct chunk){ .units = units,
                                            .number = whole->number,
                                            .worker = order->worker,
                                            .owner = order->worker,
                                            .nth = whole->nth,
                                            .piece = kind };
    join_queue(native, native->queue_each ? order->worker : 0, index, false);
    return CLEAVE_OK;
}

/* Whether the largest free range could extend an open chunk. */
static bool could_extend(const struct native *native)
{
    const struct cv_free_ranges *free = &native->open->input.free;
    const double begin = cv_free_ranges_largest(free);

    for (uint32_t w = 0; w < native->nworkers; w++) {
        const struct process *process = &native->open->processes[w];

        if (process->opened && !process->closed && process->end > process->begin &&
            fabs(process->end - begin) <= free->grain)
            return true;
    }
    return false;
}

/* Extend the open chunk of a worker by up to `units`; returns how many. */
static double lengthen(struct native *native, uint32_t worker, double units)
{
    struct process *process = &native->open->processes[worker];
    double begin = 0, taken;

    catch_up(native, worker);
    if (!process->started && !(process->end > process->begin)) {
        taken = cv_simulated_input_place(&native->open->input, units,
                                         could_extend(native), &begin);
        process->begin = process->end = process->given = process->read = begin;
    } else {
        taken = cv_free_ranges_take_at(&native->open->input.free, units, process->end);
    }
    process->end += taken;
    if (taken > 0)
        plan_process(native, worker); /* no longer drained */
    return taken;
}

static enum cleave_status open_chunk(struct native *native,
                                     const struct cleave_order *order,
                                     struct cleave_error *err)
{
    const struct process process = { .opened = true };
    uint32_t index = NONE;

    CV_TRY(take_chunk(native, &index, err));
    native->chunks[index] = (struct chunk){ .number = native->numbered++,
                                            .worker = order->worker,
                                            .owner = order->worker,
                                            .nth = native->nth[order->worker]++ };
    if (native->open->gone[order->worker]) {
        native->chunks[index].units = order->units;
        cv_native_lose(native, index);
        return CLEAVE_OK;
    }
    enqueue(native, &native->processors[order->worker], index);
    start_process(native, order->worker, &process);
    return send_piece(native, order, lengthen(native, order->worker, order->units),
                      CLEAVE_SENT, err);
}

/* The position that can be observed: units that are read at once leave the pipe before
 * they are processed. At first the pipe is narrow. */
static double reached(const struct native *native, uint32_t worker)
{
    enum { NARROW = 4 };
    const struct cv_command_model *command = native->open->command;
    const struct process *process = &native->open->processes[worker];
    const double read = process->read - process->begin;
    const double gulp =
        read < NARROW * command->ahead
            ? fmin(command->ahead, command->gulp_s * native->workers[worker].speed_ups)
            : command->gulp_s * native->workers[worker].speed_ups;

    if (!(gulp > 0) || !process->started)
        return process->read;
    return fmin(process->given, process->begin + (floor(read / gulp) + 1) * gulp);
}

static void query(struct native *native, const struct cleave_order *order)
{
    struct cleave_event seen = { .kind = CLEAVE_PROGRESS };

    if (native->processors[order->worker].first != NONE) {
        catch_up(native, order->worker);
        seen.units =
            reached(native, order->worker) - native->open->processes[order->worker].begin;
        seen.output = native->open->command->emits ? seen.units : 0;
    }
    report(native, order, &seen);
}

/* Remove units that were not given from the end of a chunk. */
static void recall(struct native *native, const struct cleave_order *order)
{
    struct cleave_event recalled = { .kind = CLEAVE_RECALLED };
    struct process *process = &native->open->processes[order->worker];

    if (native->processors[order->worker].first != NONE && process->twin == 0 &&
        !(process->given < process->end)) {
        catch_up(native, order->worker);
        recalled.units =
            fmin(order->units, process->end - reached(native, order->worker) -
                                   native->open->command->ahead);
        if (recalled.units < native->open->input.free.record)
            recalled.units = 0;
    }
    if (native->run->conditions.answers_s > 0) /* free when the answer arrives */
        recalled.read_s = process->end - recalled.units;
    report(native, order, &recalled);
    if (!(recalled.units > 0))
        return;
    if (!(native->run->conditions.answers_s > 0))
        cv_simulated_input_return(&native->open->input, process->end - recalled.units,
                                  process->end);
    process->end -= recalled.units;
    if (process->end - process->read <= native->open->input.free.grain)
        process->end = process->read; /* rounding */
    if (process->end - process->begin <= native->open->input.free.grain)
        process->end = process->begin; /* rounding */
    process->given = process->end;
    plan_process(native, order->worker);
    cv_native_open_serve(native);
}

/* Whether the chunk of `peer` can be copied. An open one is closed in any case. */
static bool may_copy(struct native *native, const struct cleave_order *order)
{
    const struct cleave_order all = { .worker = order->peer, .units = INFINITY };
    struct process *original = &native->open->processes[order->peer];
    const bool there = native->processors[order->peer].first != NONE;
    const bool may = there && !original->copied && !(original->given < original->end) &&
                     !native->open->gone[order->worker] &&
                     native->processors[order->worker].first == NONE;

    if (there && !original->closed) {
        if (may)
            recall(native, &all);
        original->closed = true;
        plan_process(native, order->peer);
    }
    return may && original->end > original->begin;
}

/* The command starts when all input has arrived. */
static enum cleave_status copy_chunk(struct native *native,
                                     const struct cleave_order *order,
                                     struct cleave_error *err)
{
    struct process *original = &native->open->processes[order->peer];
    const uint32_t nth = native->nth[order->worker]++;
    const struct chunk *first;
    uint32_t index = NONE;

    if (!may_copy(native, order)) {
        report(native, order, &(struct cleave_event){ .kind = CLEAVE_DROPPED });
        return CLEAVE_OK;
    }
    CV_TRY(take_chunk(native, &index, err));
    first = chunk_of(native, order->peer);
    native->chunks[index] =
        (struct chunk){ .number = first->number,
                        .worker = order->worker,
                        .owner = order->worker,
                        .nth = native->run->items ? first->nth : nth };
    enqueue(native, &native->processors[order->worker], index);
    native->open->processes[order->worker] = (struct process){ .begin = original->begin,
                                                               .end = original->end,
                                                               .given = original->begin,
                                                               .read = original->begin,
                                                               .weight = original->weight,
                                                               .factor = 1,
                                                               .key = NO_EVENT,
                                                               .closed = true,
                                                               .copied = true,
                                                               .awaited = true,
                                                               .twin = order->peer + 1 };
    original->copied = true;
    original->twin = order->worker + 1;
    return send_piece(native, order, original->end - original->begin, COPY_INPUT, err);
}

enum cleave_status cv_native_open_submit(struct native *native,
                                         const struct cleave_order *order,
                                         struct cleave_error *err)
{
    /* A chunk may be lost in this instant, and CLEAVE_LOST not yet told. */
    const bool there = native->processors[order->worker].first != NONE;

    if (!there && (order->kind == CLEAVE_EXTEND || order->kind == CLEAVE_CLOSE))
        return CLEAVE_OK;
    switch (order->kind) {
    case CLEAVE_OPEN:
        return open_chunk(native, order, err);
    case CLEAVE_EXTEND:
        return send_piece(native, order, lengthen(native, order->worker, order->units),
                          CLEAVE_EXTENDED, err);
    case CLEAVE_CLOSE:
        catch_up(native, order->worker);
        native->open->processes[order->worker].closed = true;
        plan_process(native, order->worker);
        return CLEAVE_OK;
    case CLEAVE_QUERY:
        query(native, order);
        return CLEAVE_OK;
    case CLEAVE_COPY:
        return copy_chunk(native, order, err);
    default:
        recall(native, order);
        return CLEAVE_OK;
    }
}

/* --- events ------------------------------------------------------------------------- */

void cv_native_open_arrived(struct native *native, const struct chunk *piece,
                            struct cleave_event *out)
{
    const struct process *process = &native->open->processes[piece->worker];
    struct process whole;

    *out = (struct cleave_event){ .kind = piece->piece,
                                  .worker = piece->worker,
                                  .chunk = piece->number,
                                  .units = piece->units,
                                  .start_s = piece->start_s,
                                  .time_s = native->now_s };
    if (piece->piece != COPY_INPUT) {
        feed_process(native, piece->worker, piece->units);
        return;
    }
    out->kind = CLEAVE_START;
    if (!process->awaited || chunk_of(native, piece->worker)->number != piece->number)
        return; /* the other attempt was first */
    whole = *process;
    whole.given = whole.end;
    whole.awaited = false;
    start_process(native, piece->worker, &whole);
}

void cv_native_open_finished(struct native *native, double units)
{
    native->open->input.finished += units;
    arrive(native);
    cv_native_open_serve(native);
}

void cv_native_open_ended(struct native *native, struct cleave_event *out)
{
    native->open->input.ended = true;
    *out = (struct cleave_event){ .kind = CLEAVE_ENDED,
                                  .units = cv_native_left(native),
                                  .start_s = native->now_s,
                                  .time_s = native->now_s };
}

enum cleave_status cv_native_open_room(struct native *native, struct cleave_error *err)
{
    struct native_open *open = native->open;

    if (open->failed)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected stalls further apart: workers stall millions of times");
    /* One event per port and process, one event that is replaced, and reports. */
    cv_event_heap_settle(&native->heap);
    if (!cv_event_heap_reserve(&native->heap, native->heap.count + native->nqueues +
                                                  2 * (size_t)native->nworkers +
                                                  2 * open->nwaiting + 8) ||
        !cv_native_report_room(native, 2 * open->nwaiting + 4) ||
        !cv_free_ranges_reserve(&open->input.free))
        return cv_fail_memory(err, "the events of a run");
    return CLEAVE_OK;
}

void cv_native_open_drop(struct native *native)
{
    struct cv_event_heap *heap = &native->heap;

    cv_event_heap_settle(heap);
    while (heap->count > 0) {
        const uint64_t key = heap->items[0].key;
        const uint32_t place = (uint32_t)(key >> KIND_BITS) & ((1u << PLACE_BITS) - 1);

        if ((key & ((1u << KIND_BITS) - 1)) != ENDS_PROCESS ||
            native->open->processes[place].key == key)
            return;
        cv_event_heap_take(heap);
        cv_event_heap_settle(heap);
    }
}
