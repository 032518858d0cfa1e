/* start_limiter.c -- when the next command may start. SPDX-License-Identifier: MIT */
#include "run/common/start_limiter.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/fail.h"
#include "run/common/machine.h"

/* Descriptors of a command: at its start, with both ends of its pipes; while it runs; on average.
 * Descriptors of the rest of a run: at least, at most. */
enum { AT_FIRST = 6, LATER = 2, EACH = 4, ELSE = 6, PLENTY = 64 };
/* Between two looks at the load and the memory. */
static const double AGAIN_S = 0.5;
/* Between two tries after a failed start, how long to try if no command runs, and the number of
 * tries after which starts count as stuck. */
static const double MOMENT_S = 0.05, HOPE_S = 5;
enum { MOMENTS = 10 };

/* UINT64_MAX: unknown. */
static uint64_t memory_now(void)
{
    static const char name[] = "MemAvailable:";
    char text[512];
    const char *found;

    cv_read_first("/proc/meminfo", text, sizeof text);
    found = strstr(text, name);
    return found != NULL ? (uint64_t)strtoull(found + strlen(name), NULL, 10) * 1024
                         : UINT64_MAX;
}

/* Whether load or memory prevent a start, and why. */
static bool is_closed(const struct cv_start_limiter *limiter, char *why, size_t room)
{
    double load = 0;
    const uint64_t memory = limiter->min_memory > 0 ? memory_now() : UINT64_MAX;

    if (limiter->max_load > 0 && getloadavg(&load, 1) == 1 && load > limiter->max_load)
        snprintf(why, room,
                 "the load of this machine is %.1f, more than %g (workers.max_load)",
                 load, limiter->max_load);
    else if (memory < limiter->min_memory)
        snprintf(why, room,
                 "%.1f GB of memory are left, less than %.1f GB (workers.min_memory)",
                 (double)memory * 1e-9, (double)limiter->min_memory * 1e-9);
    else
        return false;
    return true;
}

static void woken(void *context)
{
    const struct cv_start_limiter *limiter = context;

    if (limiter->opens != NULL)
        limiter->opens(limiter->context);
}

/* A run in which no command runs for a while looks like a hang. */
static void report_closed(struct cv_start_limiter *limiter, double now_s, const char *why)
{
    if (!(limiter->closed_s > 0) || limiter->look(limiter->context).busy > 0)
        limiter->closed_s = now_s;
    if (limiter->told || limiter->tell == NULL || now_s - limiter->closed_s < HOPE_S)
        return;
    limiter->tell(limiter->context, why);
    limiter->told = true;
}

bool cv_start_limiter_look(struct cv_start_limiter *limiter, struct cv_poller *poller,
                           bool starts)
{
    const double now_s = cv_clock_s();
    double again_s =
        starts && limiter->room_s > limiter->next_s ? limiter->room_s : limiter->next_s;
    char why[128];

    if (now_s >= again_s) {
        if (!is_closed(limiter, why, sizeof why)) {
            limiter->closed_s = 0;
            return true;
        }
        report_closed(limiter, now_s, why);
        again_s = now_s + AGAIN_S;
    }
    cv_poller_set(poller, &limiter->timer, again_s, woken, limiter);
    return false;
}

void cv_start_limiter_passed(struct cv_start_limiter *limiter)
{
    if (limiter->delay_s > 0)
        limiter->next_s = cv_clock_s() + limiter->delay_s;
}

bool cv_start_limiter_wait(struct cv_start_limiter *limiter, struct cv_poller *poller,
                           const struct cleave_error *why)
{
    const double now_s = cv_clock_s();

    if (why->status != CLEAVE_ERESOURCES)
        return false;
    if (!(limiter->crowded_s > 0))
        limiter->crowded_s = now_s;
    if (limiter->look(limiter->context).busy == 0 && now_s - limiter->crowded_s > HOPE_S)
        return false;
    limiter->room_s = now_s + MOMENT_S;
    cv_poller_set(poller, &limiter->timer, limiter->room_s, woken, limiter);
    if (!limiter->told && limiter->tell != NULL)
        limiter->tell(limiter->context, why->text);
    limiter->told = true;
    return true;
}

bool cv_start_limiter_is_crowded(const struct cv_start_limiter *limiter)
{
    return limiter->crowded_s > 0 && cv_clock_s() < limiter->room_s;
}

bool cv_start_limiter_is_stuck(const struct cv_start_limiter *limiter)
{
    return limiter->crowded_s > 0 &&
           cv_clock_s() - limiter->crowded_s >
               MOMENT_S * (limiter->look(limiter->context).busy > 0 ? MOMENTS : 1);
}

void cv_start_limiter_begun(struct cv_start_limiter *limiter)
{
    limiter->crowded_s = 0;
}

void cv_start_limiter_ended(struct cv_start_limiter *limiter)
{
    limiter->room_s = 0;
}

uint64_t cv_start_limiter_files(void)
{
    struct rlimit files;

    return getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY
               ? files.rlim_cur
               : 0;
}

/* Whether the limit of descriptors could matter for this number of workers. */
static bool is_narrow(const struct cv_start_limiter *limiter, uint32_t workers)
{
    return limiter->most_files > 0 &&
           limiter->most_files < PLENTY + (uint64_t)EACH * workers;
}

bool cv_start_limiter_has_spare_files(const struct cv_start_limiter *limiter,
                                      uint32_t workers)
{
    return limiter->most_files == 0 ||
           limiter->most_files >= 2 * (PLENTY + (uint64_t)EACH * workers);
}

/* Whether there are descriptors for one more command and for the needs of `busy` others. The
 * highest numbers are usually free, so they are counted first. */
static bool has_files(const struct cv_start_limiter *limiter, uint32_t busy)
{
    uint64_t needed = AT_FIRST + ELSE + (uint64_t)LATER * (busy + 1);

    if (!is_narrow(limiter, busy + 1))
        return true;
    for (uint64_t fd = limiter->most_files; fd > 0 && needed > 0; fd--)
        needed -= fcntl((int)fd - 1, F_GETFD) < 0;
    return needed == 0;
}

/* Called for every start: `look` takes long if there are many workers. */
enum cleave_status cv_start_limiter_room(const struct cv_start_limiter *limiter,
                                         struct cleave_error *err)
{
    struct cv_start_usage crowd;

    if (!is_narrow(limiter, limiter->workers))
        return CLEAVE_OK;
    crowd = limiter->look(limiter->context);
    if (crowd.busy + crowd.held == 0 || has_files(limiter, crowd.busy + crowd.held))
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_ERESOURCES,
                   "too few open files for %u workers (see: ulimit -n)",
                   limiter->workers);
}

/* --- slow streams -------------------------------------------------------------------- */

/* For all workers together: with many workers there are cores for the starts. */
static const double LONGEST_S = 0.01;
/* A start for fewer bytes than it costs waits this long: at most ten starts per second. */
static const double CHEAP_S = 0.1;
enum { MUCH = 16 << 20 };
/* Work of less than this time is not divided. */
static const double LITTLE_S = 0.02;
/* A command that reads within this time was idle. */
static const double AT_ONCE_S = 0.005;
/* A command holds no more than it reads at once. */
static const double GULP = 4096;
/* After this much work, older measurements count half. */
static const double MEMORY_S = 10;

/* Waking up is enough: the run looks at its streams in every turn. */
static void stream_woken(void *context)
{
    (void)context;
}

bool cv_slow_stream_look(struct cv_slow_stream *slow, struct cv_poller *poller,
                         const struct cv_incoming *input)
{
    const double now_s = cv_clock_s();
    const double ready = (double)input->ready;
    const double longest_s = ready < input->speed_ups * input->start_s ? CHEAP_S
                             : input->idle                             ? 0
                                           : LONGEST_S / input->workers;
    bool may_start;

    if (!(slow->since_s > 0))
        slow->since_s = now_s;
    may_start = ready > 0 && (ready >= (double)input->wanted ||
                              ready >= (double)MUCH / input->workers ||
                              now_s >= slow->since_s + longest_s);
    if (may_start || !(ready > 0))
        slow->since_s = 0;
    else
        cv_poller_set(poller, &slow->timer, slow->since_s + longest_s, stream_woken,
                      slow);
    return may_start;
}

uint64_t cv_slow_stream_part(const struct cv_incoming *input)
{
    const double ready = (double)input->ready;
    const double part =
        fmax(ready / input->workers, input->speed_ups * fmax(input->start_s, LITTLE_S));

    return part < 1 ? 1 : part < ready ? (uint64_t)part : input->ready;
}

void cv_slow_stream_wake(struct cv_slow_stream *slow, struct cv_poller *poller,
                         double time_s)
{
    if (slow->look_s > cv_clock_s() && slow->look_s <= time_s)
        return;
    slow->look_s = time_s;
    cv_poller_set(poller, &slow->looks, time_s, stream_woken, slow);
}

static void learn(struct cv_slow_stream *slow, double bytes, double work_s)
{
    if (slow->work_s > MEMORY_S) {
        slow->bytes /= 2;
        slow->work_s /= 2;
    }
    slow->bytes += bytes;
    slow->work_s += work_s;
}

void cv_unread_input_give(struct cv_unread_input *unread, uint64_t bytes, double now_s)
{
    unread->given = (double)bytes;
    unread->given_s = now_s;
}

/* A late read means that the command worked on the bytes it had. If it was given more than it
 * reads at once, all but the last bytes are processed. */
void cv_unread_input_read(struct cv_unread_input *unread, struct cv_slow_stream *slow,
                          double now_s)
{
    const double last = fmin(unread->given, GULP);
    const bool late = now_s - unread->given_s > AT_ONCE_S;

    if (!(unread->given > 0))
        return;
    if (unread->since_s > 0 && unread->given > GULP)
        learn(slow, unread->given - last, now_s - unread->given_s);
    else if (unread->since_s > 0 && late)
        learn(slow, unread->bytes, now_s - unread->since_s);
    *unread = (struct cv_unread_input){ .bytes = last, .since_s = now_s };
}

void cv_unread_input_end(struct cv_unread_input *unread, struct cv_slow_stream *slow,
                         double read_s, double now_s)
{
    if (!(read_s > 0))
        return;
    cv_unread_input_read(unread, slow, read_s);
    if (unread->since_s > 0 && now_s - read_s > AT_ONCE_S)
        learn(slow, unread->bytes, now_s - unread->since_s);
}

double cv_unread_input_rest(const struct cv_unread_input *unread,
                            const struct cv_slow_stream *slow, double now_s)
{
    if (!(slow->bytes > 0) || !(unread->since_s > 0))
        return 0;
    return fmax(0,
                unread->bytes * slow->work_s / slow->bytes - (now_s - unread->since_s));
}
