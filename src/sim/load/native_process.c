/* native_process.c -- a simulated command: when it reads, and when it ends.
 * SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/random.h"
#include "model/platform/profile.h"
#include "sim/load/native_open.h"

/* No event has this key. */
static const uint64_t NO_EVENT = UINT64_MAX;

/* Start-ups are drawn apart from other noise. */
enum { START_PURPOSE = 7 };

static struct chunk *chunk_of(const struct native *native, uint32_t worker)
{
    return &native->chunks[native->processors[worker].first];
}

/* Seconds that a unit takes to be read, at a factor of the worker's profile. */
static double unit_time(const struct native *native, uint32_t worker, double factor)
{
    const struct cv_command_model *command = native->open->command;
    const double pipe_s = command->pipe_ups > 0 ? 1 / command->pipe_ups : 0;
    const double work_s =
        command->phi > 0 ? command->phi / (native->workers[worker].speed_ups * factor)
                         : 0;

    return (pipe_s + work_s) * native->open->processes[worker].factor;
}

/* Read from *at_s on, until `units` are read or it is `until_s`: *at_s is then when that
 * was. Returns how many were read. */
static double read_on(const struct native *native, uint32_t worker, double units,
                      double until_s, double *at_s)
{
    uint32_t nsteps = 0, next = 0;
    const struct cleave_step *steps =
        cleave_platform_profile(native->platform, worker, &nsteps);
    double done = 0, factor = 1;

    while (next < nsteps && steps[next].from_s <= *at_s)
        factor = steps[next++].factor;
    while (done < units) {
        const double unit_s = unit_time(native, worker, factor);
        const double end_s = *at_s + (units - done) * unit_s;
        const double till_s =
            next < nsteps && steps[next].from_s < until_s ? steps[next].from_s : until_s;

        if (end_s <= till_s) {
            *at_s = end_s;
            return units;
        }
        done += (till_s - *at_s) / unit_s;
        *at_s = till_s;
        if (till_s >= until_s)
            break;
        factor = steps[next++].factor;
    }
    return done < units ? done : units;
}

void cv_native_process_catch_up(struct native *native, uint32_t worker)
{
    struct process *process = &native->open->processes[worker];

    if (native->now_s < process->read_at_s)
        return;
    process->read += read_on(native, worker, process->given - process->read,
                             native->now_s, &process->read_at_s);
    process->read_at_s = native->now_s;
}

static double noise_of(const struct native *native, const struct chunk *chunk)
{
    return native->noisy ? cv_noise_factor(&native->run->noise, CV_COMPUTE, chunk->worker,
                                           chunk->nth, chunk->number)
                         : 1;
}

/* What its start-up takes times as long, beside the noise of all that it does. */
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

void cv_native_process_start(struct native *native, uint32_t worker,
                             const struct process *from)
{
    struct process *process = &native->open->processes[worker];
    struct chunk *chunk = chunk_of(native, worker);
    const double latency_s =
        cv_command_before_s(native->open->command,
                            native->workers[worker].compute_latency_s);

    *process = *from;
    process->factor = noise_of(native, chunk);
    process->ready_s =
        native->now_s + latency_s * process->factor * start_factor(native, chunk);
    process->read = process->begin;
    process->read_at_s = process->ready_s;
    process->key = NO_EVENT;
    chunk->start_s = native->now_s;
    cv_native_process_plan(native, worker);
}

/* When it ends that has read the end of its input at `end_read_s`. */
static double end_of(const struct native *native, uint32_t worker, double end_read_s)
{
    const struct process *process = &native->open->processes[worker];
    const struct cv_command_model *command = native->open->command;
    const double latency_s = native->workers[worker].compute_latency_s;
    const double after_s = latency_s - cv_command_before_s(command, latency_s);
    const double work_s = (process->end - process->begin) * (1 - command->phi) /
                          native->workers[worker].speed_ups;
    const struct cleave_profile profile = cv_profile_of(native->platform, worker);

    end_read_s += after_s * process->factor;
    return cv_profile_end(&profile, end_read_s, work_s * process->factor);
}

/* One that was opened tells first that it reads; without input it waits or is killed. */
static double start_at(const struct native *native, struct process *process)
{
    if (process->given > process->begin) {
        process->next = CLEAVE_STARTED;
        return process->read_at_s;
    }
    process->next = CLEAVE_DONE;
    return process->closed && !(process->end > process->begin) ? native->now_s : INFINITY;
}

/* The next that it has to tell, and when; INFINITY: nothing before something happens. */
static double next_at(const struct native *native, uint32_t worker)
{
    struct process *process = &native->open->processes[worker];
    double at_s = process->read_at_s;

    if (process->opened && !process->started)
        return start_at(native, process);
    if (process->given < process->end) /* the rest is on its way */
        return INFINITY;
    read_on(native, worker, process->end - process->read, INFINITY, &at_s);
    if (!process->closed) {
        process->next = CLEAVE_DRAINED;
        return process->drained ? INFINITY : at_s;
    }
    process->next = CLEAVE_DONE;
    process->end_read_s = at_s;
    return end_of(native, worker, at_s);
}

void cv_native_process_plan(struct native *native, uint32_t worker)
{
    struct process *process = &native->open->processes[worker];
    const bool starts = process->key != NO_EVENT && process->next == CLEAVE_STARTED;
    const double at_s = next_at(native, worker);

    if (starts && process->next == CLEAVE_STARTED) /* that it starts does not change */
        return;
    process->key = isfinite(at_s) ? end_at(native, at_s, ENDS_PROCESS, worker) : NO_EVENT;
}

void cv_native_process_give(struct native *native, uint32_t worker, double units)
{
    struct process *process = &native->open->processes[worker];

    cv_native_process_catch_up(native, worker);
    process->given += units;
    /* Sums of parts may miss the whole by rounding. */
    if (process->end - process->given <= native->open->input.free.grain)
        process->given = process->end;
    process->drained = false;
    cv_native_process_plan(native, worker);
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
        process->started = true;
    } else {
        process->drained = true;
        process->read = process->end;
        process->read_at_s = native->now_s;
    }
    cv_native_process_plan(native, worker);
    return false;
}
