/* scripted_clock.h -- the poller of a scripted world: time passes at once.
 * SPDX-License-Identifier: MIT */
#ifndef SCRIPTED_CLOCK_H
#define SCRIPTED_CLOCK_H
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/common/poller.h"

enum { WORLD_WAITS = 400000, WORLD_HANGUPS = 8 };

struct cv_poller {
    struct cv_timer *timers[4096];
    size_t ntimers;
    struct cv_watch *watches[64];
    size_t nwatches;
    sigset_t mask;
};

static struct {
    double now_s;
    struct cv_poller *poller; /* the only poller */
    uint64_t waits;
    uint32_t number;  /* position in the script */
    const char *said; /* notes of the run: borrowed                                    */
    /* SIGHUP comes at these times. */
    double hangups_s[WORLD_HANGUPS];
    uint32_t nhangups;
    struct cv_timer hangups[WORLD_HANGUPS];
    void (*signalled)(void *context, int signal);
    void *signal_context;
} world;

double cv_cpu_clock_s(void)
{
    return 0;
}

double cv_clock_s(void)
{
    return world.now_s;
}

enum cleave_status cv_poller_new(struct cv_poller **out, struct cleave_error *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return cv_fail_memory(err, "a poller");
    world.poller = *out;
    return CLEAVE_OK;
}

void cv_poller_free(struct cv_poller *poller)
{
    world.poller = NULL;
    free(poller);
}

enum cleave_status cv_poller_add(struct cv_poller *poller, struct cv_watch *watch, int fd,
                                 unsigned events,
                                 void (*call)(void *context, unsigned events),
                                 void *context, struct cleave_error *err)
{
    (void)err;
    assert_true(poller->nwatches < 64);
    *watch = (struct cv_watch){
        .fd = fd, .events = events, .call = call, .context = context, .added = true
    };
    poller->watches[poller->nwatches++] = watch;
    return CLEAVE_OK;
}

enum cleave_status cv_poller_add_aside(struct cv_poller *poller, struct cv_watch *watch,
                                       int fd,
                                       void (*call)(void *context, unsigned events),
                                       void *context, struct cleave_error *err)
{
    return cv_poller_add(poller, watch, fd, CV_READABLE, call, context, err);
}

enum cleave_status cv_poller_modify(struct cv_poller *poller, struct cv_watch *watch,
                                    unsigned events, struct cleave_error *err)
{
    (void)poller;
    (void)err;
    watch->events = events;
    return CLEAVE_OK;
}

void cv_poller_remove(struct cv_poller *poller, struct cv_watch *watch)
{
    for (size_t i = 0; i < poller->nwatches; i++)
        if (poller->watches[i] == watch)
            poller->watches[i] = poller->watches[--poller->nwatches];
    watch->added = false;
}

void cv_poller_cancel(struct cv_poller *poller, struct cv_timer *timer)
{
    if (!timer->is_set)
        return;
    timer->is_set = false;
    for (size_t i = 0; i < poller->ntimers; i++)
        if (poller->timers[i] == timer) {
            memmove(&poller->timers[i], &poller->timers[i + 1],
                    (--poller->ntimers - i) * sizeof(struct cv_timer *));
            return;
        }
}

/* Timers of one instant are called in the order they were set. */
void cv_poller_set(struct cv_poller *poller, struct cv_timer *timer, double due_s,
                   void (*call)(void *context), void *context)
{
    cv_poller_cancel(poller, timer);
    assert_true(poller->ntimers < 4096);
    *timer = (struct cv_timer){
        .due_s = due_s, .call = call, .context = context, .is_set = true
    };
    poller->timers[poller->ntimers++] = timer;
}

static void hang_up(void *context)
{
    (void)context;
    world.signalled(world.signal_context, SIGHUP);
}

enum cleave_status cv_poller_signals(struct cv_poller *poller, const int *signals,
                                     size_t count,
                                     void (*call)(void *context, int signal),
                                     void *context, struct cleave_error *err)
{
    (void)signals;
    (void)count;
    (void)err;
    world.signalled = call;
    world.signal_context = context;
    for (uint32_t i = 0; i < world.nhangups; i++)
        cv_poller_set(poller, &world.hangups[i], world.hangups_s[i], hang_up, NULL);
    return CLEAVE_OK;
}

void cv_poller_hold_signals(struct cv_poller *poller)
{
    (void)poller;
}

enum cleave_status cv_poller_set_guard(struct cv_poller *poller,
                                       void (*failed)(void *context,
                                                      const struct cleave_error *err),
                                       void *context, struct cleave_error *err)
{
    (void)poller;
    (void)failed;
    (void)context;
    (void)err;
    return CLEAVE_OK;
}

void cv_poller_lend_guard(struct cv_poller *poller, struct cv_guard *guard)
{
    (void)poller;
    (void)guard;
}

struct cv_guard *cv_poller_guard(const struct cv_poller *poller)
{
    (void)poller;
    return NULL;
}

struct cv_starter *cv_poller_starter(struct cv_poller *poller)
{
    (void)poller;
    return NULL;
}

enum cleave_status cv_poller_null(struct cv_poller *poller, int *out,
                                  struct cleave_error *err)
{
    (void)poller;
    (void)err;
    *out = -1;
    return CLEAVE_OK;
}

const sigset_t *cv_poller_old_mask(const struct cv_poller *poller)
{
    return &poller->mask;
}

static bool call_watches(struct cv_poller *poller)
{
    bool any = false;

    for (size_t i = 0; i < poller->nwatches; i++)
        if (poller->watches[i]->events != 0) {
            poller->watches[i]->call(poller->watches[i]->context,
                                     poller->watches[i]->events);
            any = true;
        }
    return any;
}

/* To the next thing that happens, at once. A run that waits for nothing hangs. */
enum cleave_status cv_poller_wait(struct cv_poller *poller, double timeout_s,
                                  struct cleave_error *err)
{
    struct cv_timer *next = NULL;

    (void)err;
    if (++world.waits > WORLD_WAITS)
        fail_msg("script %u\n%s: the run does not end: %g s have passed", world.number,
                 world.said, world.now_s);
    if (call_watches(poller))
        return CLEAVE_OK;
    for (size_t i = 0; i < poller->ntimers; i++)
        if (next == NULL || poller->timers[i]->due_s < next->due_s)
            next = poller->timers[i];
    if (timeout_s >= 0 && (next == NULL || next->due_s > world.now_s + timeout_s)) {
        world.now_s += timeout_s;
        return CLEAVE_OK;
    }
    if (next == NULL)
        fail_msg("script %u\n%s: the run hangs after %g s: nothing will happen any more",
                 world.number, world.said, world.now_s);
    world.now_s = fmax(world.now_s, next->due_s);
    cv_poller_cancel(poller, next);
    next->call(next->context);
    return CLEAVE_OK;
}

#endif
