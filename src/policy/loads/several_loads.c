/* several_loads.c -- several loads on one platform: the plan of a fluid program in chunks,
 * and the rules that people use today. SPDX-License-Identifier: MIT
 *
 * `plan` and `online` share the platform by a fluid program for the goal: a quota of every
 * load for every worker and phase. `online` solves it again whenever a load is released, for
 * the units that are not sent yet. Quotas become chunks that compute for chunk_s seconds: when the port
 * is free, the worker that runs dry first gets a chunk of the load with the largest part of
 * its quota left, loads that wait for workers a little ahead of those that wait for links.
 * `johnson` sends the quotas one load after the other, cheapest transfers first. `plan`
 * simulates all of them with four sizes of chunks and takes the best.
 *
 * `one-by-one` begins a load when the one before is done, `smith` when it is sent, and takes
 * the load with the least time per weight; `equal` gives all loads equal time on every
 * worker; `apart` lets every load send as if it were alone.
 *
 * O(workers x phases x loads) per chunk; programs: src/model/loads. The loss by rounding
 * to chunks: docs/theory/loads.md. */
#include <math.h>
#include <string.h>
#include "model/loads/loads.h"
#include "policy/common/orders.h"
#include "policy/common/setup.h"

enum rule { PROGRAM, JOHNSON, SMITH, ONE_BY_ONE, EQUAL, APART, NRULES };

struct several {
    double chunk_s; /* parameter; 0: by `part` */
    double part;    /* chunk relative to the time that all known loads take */
    uint32_t rule;
    bool knows_all; /* releases, too */
    /* State during a run: */
    struct cv_loads raw, loads; /* loads: latencies spread over units */
    struct cv_fluid *fluid;     /* NULL: the program is too large */
    struct cv_phases phases;
    double *begun;          /* quotas at the beginning of the phases */
    double *scratch;        /* a second set of phases */
    uint32_t *order, *best; /* per load */
    double *units;          /* per load: not yet sent, 0 before its release */
    bool *there;            /* per load: it was released */
    double *alone;          /* [worker * count + load]: quota of a load alone, left */
    double *served_s;       /* [worker * count + load] */
    double *
        dry_s; /* [worker * count + load]: when a worker is dry, for each load if APART */
    double *owed_s; /* per worker: computations of chunks that are not done */
    uint32_t *sending, *sent, *running; /* per worker: chunks */
    uint32_t *pending;                  /* per load: chunks that are not done */
    double tau_s, wake_s;
    uint32_t current, turn;
};

/* Parts of a load below this are rounding. */
static const double NOTHING = 1e-9;

static bool is_programmed(const struct several *s)
{
    return s->rule == PROGRAM || s->rule == JOHNSON;
}

/* --- memory -------------------------------------------------------------------------- */

static enum cleave_status start(void *state, const struct cleave_view *view,
                                struct cleave_setup *setup, struct cleave_error *err)
{
    struct several *s = state;
    const uint32_t n = view->nworkers, count = (uint32_t)view->nloads;
    const size_t cells = (size_t)n * count;
    const uint32_t parts =
        s->rule == JOHNSON || view->goal != CLEAVE_GOAL_MAKESPAN ? count : 1;

    if (!CV_NEW(setup->arena, s->units, count) ||
        !cv_loads_init(&s->loads, view, s->units, setup->arena) ||
        !cv_loads_init(&s->raw, view, s->units, setup->arena) ||
        !CV_NEW(setup->arena, s->alone, cells) ||
        !CV_NEW(setup->arena, s->served_s, cells) ||
        !CV_NEW(setup->arena, s->dry_s, cells) || !CV_NEW(setup->arena, s->owed_s, n) ||
        !CV_NEW(setup->arena, s->sending, n) || !CV_NEW(setup->arena, s->sent, n) ||
        !CV_NEW(setup->arena, s->running, n) || !CV_NEW(setup->arena, s->order, count) ||
        !CV_NEW(setup->arena, s->best, count) || !CV_NEW(setup->arena, s->there, count) ||
        !CV_NEW(setup->arena, s->pending, count))
        return cv_fail_memory(err, "the state of a policy");
    s->current = UINT32_MAX;
    s->wake_s = -1;
    if (!is_programmed(s))
        return CLEAVE_OK;
    if (!cv_fluid_init(&s->loads, s->rule == JOHNSON ? 1 : parts, false, setup->arena,
                       &s->fluid) ||
        !cv_phases_init(&s->phases, &s->loads, parts, setup->arena) ||
        !CV_NEW(setup->arena, s->begun, parts * cells) ||
        !CV_NEW(setup->arena, s->scratch, parts * cells))
        return cv_fail_memory(err, "the state of a policy");
    return s->fluid != NULL
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EINPUT,
                         "the program for %u workers and %u loads is too large: expected "
                         "fewer of them, or policy smith, equal, apart or one-by-one",
                         n, count);
}

/* --- programs ------------------------------------------------------------------------ */

/* Seconds of the link, all links together, for each second of the workers that load k
 * takes. */
static double link_share(const struct several *s, uint32_t k)
{
    double link_s = 0, compute_s = 0;

    for (uint32_t i = 0; i < s->loads.n; i++) {
        const size_t at = (size_t)i * s->loads.count + k;

        link_s += s->loads.c[at] * s->phases.quota[at];
        compute_s += s->loads.e[at] * s->phases.quota[at];
    }
    return compute_s > 0 ? link_s / compute_s : 0;
}

/* One load after the other, least transfer first. */
static void queue_loads(struct several *s)
{
    const size_t cells = (size_t)s->loads.n * s->loads.count;

    for (uint32_t k = 0; k < s->loads.count; k++) {
        uint32_t at = k;

        for (; at > 0 && link_share(s, s->order[at - 1]) > link_share(s, k); at--)
            s->order[at] = s->order[at - 1];
        s->order[at] = k;
    }
    memcpy(s->scratch, s->phases.quota, cells * sizeof *s->scratch);
    s->phases.count = s->loads.count;
    for (uint32_t j = 0; j < s->loads.count; j++)
        for (size_t x = 0; x < cells; x++)
            s->phases.quota[j * cells + x] =
                x % s->loads.count == s->order[j] ? s->scratch[x] : 0;
}

/* Try order[from ..] in every order; the best is kept. */
static void try_orders(struct several *s, uint32_t from, double *value)
{
    const uint32_t count = s->loads.count;

    if (from + 1 >= count) {
        const double found = cv_fluid_order(s->fluid, &s->loads, s->order, false, NULL);

        if (found < *value * (1 - 1e-12)) {
            *value = found;
            memcpy(s->best, s->order, count * sizeof *s->best);
        }
        return;
    }
    for (uint32_t i = from; i < count; i++) {
        const uint32_t k = s->order[i];

        s->order[i] = s->order[from];
        s->order[from] = k;
        try_orders(s, from + 1, value);
        s->order[from] = s->order[i];
        s->order[i] = k;
    }
}

/* Exchange neighbours while that helps, in two passes. */
static void exchange_neighbours(struct several *s, uint32_t from, double *value)
{
    for (uint32_t i = 0; i < 2 * (s->loads.count - from); i++) {
        const uint32_t at = from + i % (s->loads.count - from), k = s->order[at];
        double found;

        if (at + 1 == s->loads.count)
            continue;
        s->order[at] = s->order[at + 1];
        s->order[at + 1] = k;
        found = cv_fluid_order(s->fluid, &s->loads, s->order, false, NULL);
        if (found < *value * (1 - 1e-12)) {
            *value = found;
        } else {
            s->order[at + 1] = s->order[at];
            s->order[at] = k;
        }
    }
}

/* Time alone per weight; loads that are done or not there come first. */
static double rank_of(const struct several *s, uint32_t k)
{
    return s->units[k] > 0 ? s->loads.alone_s[k] / s->loads.weight[k] : -1;
}

static double order_loads(struct several *s)
{
    enum { ALL_ORDERS = 4 };
    const uint32_t count = s->loads.count;
    uint32_t from = 0;
    double value;

    for (uint32_t k = 0; k < count; k++) {
        uint32_t at = k;

        from += !(s->units[k] > 0);
        for (; at > 0 && rank_of(s, s->order[at - 1]) > rank_of(s, k); at--)
            s->order[at] = s->order[at - 1];
        s->order[at] = k;
    }
    value = cv_fluid_order(s->fluid, &s->loads, s->order, false, NULL);
    memcpy(s->best, s->order, count * sizeof *s->best);
    if (count - from <= ALL_ORDERS) {
        try_orders(s, from, &value);
        memcpy(s->order, s->best, count * sizeof *s->order);
    } else {
        exchange_neighbours(s, from, &value);
    }
    return cv_fluid_order(s->fluid, &s->loads, s->order, false, &s->phases);
}

/* Solve the program for units[]. False: no solution was found. */
static bool solve(struct several *s, const struct cleave_view *view, double now_s)
{
    enum { STRETCH_TURNS = 9 };
    double found;

    if (s->rule == JOHNSON || view->goal == CLEAVE_GOAL_MAKESPAN)
        found = cv_fluid_makespan(s->fluid, &s->loads, false, &s->phases);
    else if (view->goal == CLEAVE_GOAL_WEIGHTED)
        found = order_loads(s);
    else
        found = cv_fluid_stretch(s->fluid, &s->loads, now_s, false, STRETCH_TURNS,
                                 &s->phases);
    if (!isfinite(found))
        return false;
    if (s->rule == JOHNSON)
        queue_loads(s);
    memcpy(s->begun, s->phases.quota,
           (size_t)s->phases.count * s->loads.n * s->loads.count * sizeof *s->begun);
    return true;
}

/* Choose the seconds of a chunk by the least time that units[] take together. */
static void set_chunk(struct several *s, const struct cleave_view *view)
{
    double known_s = 0;

    if (s->fluid != NULL)
        known_s = cv_fluid_makespan(s->fluid, &s->raw, false, NULL);
    for (uint32_t k = 0; !(known_s > 0 && isfinite(known_s)) && k < s->raw.count; k++)
        known_s += s->units[k] > 0 ? cv_loads_alone(&s->raw, k, NULL) : 0;
    s->tau_s = s->chunk_s > 0 ? s->chunk_s : s->part * known_s;
    cv_loads_charge(&s->loads, view, s->tau_s);
}

/* No solution was found: every load gets its quotas alone, all in one phase. */
static void share_alone(struct several *s)
{
    const size_t cells = (size_t)s->raw.n * s->raw.count;

    s->phases.count = 1;
    memset(s->phases.quota, 0, cells * sizeof *s->phases.quota);
    for (uint32_t k = 0; k < s->raw.count; k++)
        if (s->units[k] > 0)
            cv_loads_alone(&s->loads, k, s->phases.quota);
    memcpy(s->begun, s->phases.quota, cells * sizeof *s->begun);
}

/* Notice loads that were released, and share the platform again if there are any. */
static void release(struct several *s, const struct cleave_view *view, double now_s)
{
    bool any = false;

    for (uint32_t k = 0; k < s->raw.count; k++) {
        const struct cleave_load *load = &view->loads[k];

        if (s->there[k] || !(load->units > 0) || load->release_s > now_s)
            continue;
        s->there[k] = any = true;
        s->units[k] = load->units;
        s->loads.alone_s[k] = s->raw.alone_s[k] = load->alone_s;
    }
    if (!any)
        return;
    if (!s->knows_all)
        set_chunk(s, view);
    for (uint32_t k = 0; !is_programmed(s) && k < s->raw.count; k++)
        if (s->there[k] && s->units[k] >= view->loads[k].units)
            cv_loads_alone(&s->loads, k, s->alone);
    if (is_programmed(s) && !solve(s, view, now_s))
        share_alone(s);
}

/* --- who gets the next chunk --------------------------------------------------------- */

/* A chunk, or the time at which to look again. */
struct choice {
    uint32_t worker, load;
    double units, wait_s;
};

/* Whether units of a load can be sent. */
static bool is_open(const struct several *s, uint32_t k)
{
    return s->units[k] > 0 && s->there[k];
}

/* How many times as long as the workers the links take for load k. */
static double link_ratio(const struct several *s, uint32_t i, uint32_t k)
{
    const size_t at = (size_t)i * s->raw.count + k;

    return s->raw.c[at] / s->raw.e[at] * (s->raw.multi ? 1 : s->raw.n);
}

/* The load of a program for worker i: the largest part left in its first phase. Loads that
 * wait for workers run a little ahead. UINT32_MAX: none. */
static uint32_t pick_quota(const struct several *s, uint32_t i, double *out_units,
                           double *out_todo_s)
{
    const double AHEAD = 0.15;
    const uint32_t n = s->raw.n, count = s->raw.count;
    uint32_t best = UINT32_MAX;
    double most = 0;

    *out_todo_s = 0;
    for (uint32_t j = 0; j < s->phases.count; j++) {
        const bool first = best == UINT32_MAX;

        for (uint32_t k = 0; k < count; k++) {
            const size_t at = ((size_t)j * n + i) * count + k;
            const double left = s->phases.quota[at];

            *out_todo_s += left * s->raw.e[(size_t)i * count + k];
            if (first && is_open(s, k) && left > 0 &&
                left / s->begun[at] + AHEAD / (1 + link_ratio(s, i, k)) > most) {
                most = left / s->begun[at] + AHEAD / (1 + link_ratio(s, i, k));
                best = k;
                *out_units = left;
            }
        }
    }
    return best;
}

/* The load of a rule for worker i: the one with the least time served there. */
static uint32_t pick_alone(const struct several *s, uint32_t i, uint32_t only,
                           double *out_units, double *out_todo_s)
{
    const uint32_t count = s->raw.count;
    uint32_t best = UINT32_MAX;

    for (uint32_t k = 0; k < count; k++) {
        const size_t at = (size_t)i * count + k;

        if (!is_open(s, k) || (only != UINT32_MAX && k != only) || !(s->alone[at] > 0) ||
            (best != UINT32_MAX &&
             s->served_s[at] >= s->served_s[(size_t)i * count + best]))
            continue;
        best = k;
        *out_units = s->alone[at];
        *out_todo_s = s->alone[at] * s->raw.e[at];
    }
    return best;
}

/* When worker i has nothing left to do, as the load may know it. */
static double dry_at(const struct several *s, uint32_t i, uint32_t k)
{
    return s->dry_s[(size_t)i * s->raw.count + (s->rule == APART ? k : 0)];
}

/* Units of the next chunk: a quarter of its length at first, half of the rest at the
 * end, but not less than the latencies of the worker. */
static double chunk_of(const struct several *s, uint32_t i, uint32_t k, double units,
                       double todo_s)
{
    const size_t at = (size_t)i * s->raw.count + k;
    const double chunk_s = s->loads.chunk_s[at],
                 latencies_s = s->raw.latency_s[i] + s->raw.start_s[i],
                 least_s = fmin(chunk_s, fmax(chunk_s / 4, latencies_s)),
                 ramp_s = least_s * exp2(s->sent[i] < 9 ? s->sent[i] : 9),
                 chunk = fmin(chunk_s, fmin(ramp_s, fmax(todo_s / 2, least_s))) /
                         s->raw.e[at];

    return units - chunk < 0.3 * chunk ? units : chunk;
}

/* Whether a load may still be released. */
static bool may_come(const struct several *s)
{
    for (uint32_t k = 0; s->knows_all && k < s->raw.count; k++)
        if (!s->there[k])
            return true;
    return !s->knows_all;
}

/* The worker that is dry first, among workers whose link is free. `only`: no other load. */
static bool choose(const struct several *s, const struct cleave_view *view, double now_s,
                   uint32_t only, struct choice *out)
{
    const double slack_s = 1e-9 * (now_s + s->tau_s);
    const bool guarded = may_come(s);
    double first_s = INFINITY;

    for (uint32_t i = 0; i < s->raw.n; i++) {
        double units = 0, todo_s = 0, ahead_s, dry_s;
        uint32_t k;

        if (s->sending[i] > 0)
            continue;
        k = is_programmed(s) ? pick_quota(s, i, &units, &todo_s)
                             : pick_alone(s, i, only, &units, &todo_s);
        if (k == UINT32_MAX)
            continue;
        units = chunk_of(s, i, k, units, todo_s);
        if (view->memory != NULL)
            units = fmin(units, view->memory[i]);
        /* A message and a half ahead, more if no load can come that would have to wait. */
        ahead_s = s->raw.latency_s[i] + units * s->raw.c[(size_t)i * s->raw.count + k] +
                  s->tau_s / 2;
        if (s->rule == JOHNSON)
            ahead_s = INFINITY;
        else if (!guarded)
            ahead_s *= 4;
        dry_s = dry_at(s, i, k);
        if (dry_s - now_s > ahead_s + slack_s)
            out->wait_s = fmin(out->wait_s, dry_s - ahead_s);
        else if (dry_s < first_s) {
            first_s = dry_s;
            out->worker = i;
            out->load = k;
            out->units = units;
        }
    }
    return first_s < INFINITY;
}

/* The only load that a rule may send now, or UINT32_MAX: any. False: none yet. */
static bool choose_load(struct several *s, const struct cleave_view *view, uint32_t *out)
{
    uint32_t best = UINT32_MAX;

    *out = UINT32_MAX;
    if (s->rule != SMITH && s->rule != ONE_BY_ONE)
        return true;
    if (s->current != UINT32_MAX &&
        (s->units[s->current] > 0 ||
         (s->rule == ONE_BY_ONE && s->pending[s->current] > 0)))
        best = s->current;
    for (uint32_t k = 0; (best == UINT32_MAX || best != s->current) && k < s->raw.count;
         k++)
        if (is_open(s, k) &&
            (best == UINT32_MAX ||
             (s->rule == SMITH ? rank_of(s, k) < rank_of(s, best)
                               : view->loads[k].release_s < view->loads[best].release_s)))
            best = k;
    s->current = *out = best;
    return best != UINT32_MAX && s->units[best] > 0;
}

/* Rounding has left some units without a quota: the fastest worker gets them. */
static void share_rest(struct several *s)
{
    for (uint32_t k = 0; k < s->raw.count; k++) {
        double *quota = is_programmed(s) ? s->phases.quota : s->alone, shared = 0;
        const uint32_t parts = is_programmed(s) ? s->phases.count : 1;
        uint32_t fastest = 0;

        for (uint32_t j = 0; j < parts; j++)
            for (uint32_t i = 0; i < s->raw.n; i++)
                shared += quota[((size_t)j * s->raw.n + i) * s->raw.count + k];
        for (uint32_t i = 1; i < s->raw.n; i++)
            if (s->raw.e[(size_t)i * s->raw.count + k] <
                s->raw.e[(size_t)fastest * s->raw.count + k])
                fastest = i;
        if (!is_open(s, k) || shared > NOTHING * s->units[k])
            continue;
        if (is_programmed(s)) {
            s->phases.count += s->phases.count == 0;
            s->begun[(size_t)fastest * s->raw.count + k] = s->units[k];
        }
        quota[(size_t)fastest * s->raw.count + k] = s->units[k];
    }
}

/* Take units from the first quota that has some. */
static void take_quota(struct several *s, const struct choice *choice)
{
    const size_t at = (size_t)choice->worker * s->raw.count + choice->load,
                 cells = (size_t)s->raw.n * s->raw.count;
    double *quota = &s->alone[at];

    for (uint32_t j = 0; is_programmed(s) && j < s->phases.count; j++)
        if (s->phases.quota[j * cells + at] > 0) {
            quota = &s->phases.quota[j * cells + at];
            break;
        }
    *quota -= choice->units;
    if (*quota < NOTHING * choice->units)
        *quota = 0;
}

static void send(struct several *s, const struct cleave_view *view, double now_s,
                 struct choice *choice, struct cleave_orders *orders)
{
    const uint32_t i = choice->worker, k = choice->load;
    const size_t at = (size_t)i * s->raw.count + k;
    double *dry_s = &s->dry_s[(size_t)i * s->raw.count + (s->rule == APART ? k : 0)];
    double work_s;

    take_quota(s, choice);
    if (s->units[k] - choice->units < NOTHING * view->loads[k].units)
        choice->units = s->units[k];
    work_s = s->raw.start_s[i] + choice->units * s->raw.e[at];
    s->units[k] -= choice->units;
    *dry_s =
        fmax(*dry_s, now_s + s->raw.latency_s[i] + choice->units * s->raw.c[at]) + work_s;
    s->owed_s[i] += work_s;
    s->served_s[at] += choice->units * s->raw.e[at];
    s->sent[i]++;
    s->running[i]++;
    s->pending[k]++;
    for (uint32_t w = s->raw.multi ? i : 0; w < (s->raw.multi ? i + 1 : s->raw.n); w++)
        s->sending[w] = 1;
    cleave_order_load(orders, i, k, choice->units);
}

/* Ports that are free send; if none may, wait for the time at which one may. */
static void serve(struct several *s, const struct cleave_view *view, double now_s,
                  struct cleave_orders *orders)
{
    const uint32_t tries = s->rule == APART ? s->raw.count : 1;
    bool rest = true, sent = true;
    uint32_t only;

    while (sent && choose_load(s, view, &only)) {
        struct choice choice = { .wait_s = INFINITY };

        sent = false;
        for (uint32_t t = 0; !sent && t < tries; t++) {
            if (s->rule == APART)
                only = (s->turn + t) % s->raw.count;
            sent = choose(s, view, now_s, only, &choice);
        }
        if (sent) {
            send(s, view, now_s, &choice, orders);
            s->turn = choice.load + 1;
        } else if (isfinite(choice.wait_s)) {
            if (s->wake_s > now_s && s->wake_s <= choice.wait_s)
                return;
            s->wake_s = fmax(now_s, choice.wait_s);
            cleave_order_wake(orders, 0, s->wake_s);
        } else if (rest) {
            share_rest(s);
            rest = false;
            sent = true;
        }
    }
}

/* Update ports and workers after an event. */
static void note(struct several *s, const struct cleave_event *event)
{
    const uint32_t i = event->worker, k = (uint32_t)event->item;

    if (event->kind == CLEAVE_SENT) {
        for (uint32_t w = s->raw.multi ? i : 0; w < (s->raw.multi ? i + 1 : s->raw.n);
             w++)
            s->sending[w] = 0;
    } else if (event->kind == CLEAVE_DONE) {
        double *dry_s = &s->dry_s[(size_t)i * s->raw.count + (s->rule == APART ? k : 0)];

        s->owed_s[i] -=
            s->raw.start_s[i] + event->units * s->raw.e[(size_t)i * s->raw.count + k];
        s->pending[k]--;
        if (--s->running[i] == 0) {
            s->owed_s[i] = 0;
            *dry_s = event->time_s;
        } else if (s->rule != APART) {
            *dry_s = fmax(*dry_s, event->time_s + s->owed_s[i]);
        }
    }
}

static void decide(void *state, const struct cleave_view *view,
                   const struct cleave_event *event, struct cleave_orders *orders)
{
    struct several *s = state;

    note(s, event);
    if (event->more)
        return;
    if (event->kind == CLEAVE_START && s->knows_all) {
        for (uint32_t k = 0; k < s->raw.count; k++)
            s->units[k] = view->loads[k].units;
        set_chunk(s, view);
        for (uint32_t k = 0; k < s->raw.count; k++)
            s->units[k] = 0;
    }
    release(s, view, event->time_s);
    serve(s, view, event->time_s, orders);
}

/* --- plans --------------------------------------------------------------------------- */

/* Rules with a size of chunks, as a part of the time that all loads take: plans try them in
 * simulation. */
#define SIZES(X, rule) X(rule, 0.025) X(rule, 0.05) X(rule, 0.1) X(rule, 0.2)
#define TRIALS(X)     \
    SIZES(X, PROGRAM) \
    SIZES(X, JOHNSON) SIZES(X, SMITH) SIZES(X, ONE_BY_ONE) SIZES(X, EQUAL) SIZES(X, APART)

static const char *const rule_names[] = {
    [PROGRAM] = "online",        [JOHNSON] = "johnson", [SMITH] = "smith",
    [ONE_BY_ONE] = "one-by-one", [EQUAL] = "equal",     [APART] = "apart"
};

static const struct trial {
    uint32_t rule;
    double part;
    struct cleave_param params[3];
} trials[] = {
#define TRIAL(index, size)                                                              \
    { index,                                                                            \
      size,                                                                             \
      { { "rule", CLEAVE_PARAM_COUNT, offsetof(struct several, rule), index, 0, NRULES, \
          "" },                                                                         \
        { "part", CLEAVE_PARAM_REAL, offsetof(struct several, part), size, 0, 1, "" },  \
        { 0 } } },
    TRIALS(TRIAL)
#undef TRIAL
};
enum { NTRIALS = sizeof trials / sizeof *trials };

static enum cleave_status plan_trial(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    struct several *s = state;

    (void)view, (void)setup, (void)err;
    s->knows_all = true;
    return CLEAVE_OK;
}

/* Take the best of the rules in `rules`, a set of bits. */
static enum cleave_status try_rules(struct several *s, unsigned rules,
                                    const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    double best = INFINITY, value;
    unsigned tried = 0;

    for (const struct trial *trial = trials; trial < trials + NTRIALS; trial++) {
        const struct cleave_policy policy = { .name = rule_names[trial->rule],
                                              .task = CLEAVE_TASK_LOADS,
                                              .knows_releases = true,
                                              .state_size = sizeof(struct several),
                                              .params = trial->params,
                                              .plan = plan_trial,
                                              .start = start,
                                              .decide = decide };

        if ((rules & 1u << trial->rule) == 0)
            continue;
        status = cleave_setup_forecast(setup, &policy, view, 1, &value, err);
        if (status != CLEAVE_OK && status != CLEAVE_EINPUT)
            return status;
        tried += status == CLEAVE_OK;
        if (status != CLEAVE_OK || !(value < best * (1 - 1e-9)))
            continue;
        best = value;
        s->rule = trial->rule;
        s->part = trial->part;
    }
    if (isinf(best))
        return status;
    if (rules != 1u << s->rule)
        cv_note_picked(setup, rule_names[s->rule],
                       "best of %u rules and sizes of chunks in simulation", tried);
    return CLEAVE_OK;
}

/* The phases of the program at the start, and the size of chunks. */
static enum cleave_status note_plan(const struct several *planned,
                                    const struct cleave_view *view,
                                    struct cleave_setup *setup, struct cleave_error *err)
{
    struct several s = *planned;
    struct cleave_phase *phases;
    const size_t cells = (size_t)view->nworkers * view->nloads;

    CV_TRY(start(&s, view, setup, err));
    for (size_t k = 0; k < view->nloads; k++)
        s.units[k] = view->loads[k].units;
    set_chunk(&s, view);
    cv_note_fact(setup, "chunk_s", s.tau_s);
    for (size_t k = 0; k < view->nloads; k++)
        s.units[k] = view->loads[k].release_s > 0 ? 0 : view->loads[k].units;
    if (!is_programmed(&s) || setup->notes == NULL || !solve(&s, view, 0))
        return CLEAVE_OK;
    if (!CV_NEW(setup->arena, phases, s.phases.count))
        return cv_fail_memory(err, "the phases of a plan");
    for (uint32_t j = 0; j < s.phases.count; j++)
        phases[j] =
            (struct cleave_phase){ s.phases.until_s[j], &s.phases.quota[j * cells] };
    setup->notes->phases = phases;
    setup->notes->nphases = s.phases.count;
    return CLEAVE_OK;
}

static enum cleave_status plan_rules(void *state, unsigned rules,
                                     const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    struct several *s = state;

    s->knows_all = true;
    CV_TRY(try_rules(s, rules, view, setup, err));
    return note_plan(s, view, setup, err);
}

static enum cleave_status plan_online(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct several *s = state;

    s->rule = PROGRAM;
    s->part = 0.1; /* between the sizes that plans try */
    return note_plan(s, view, setup, err);
}

#define PLAN(name, rules)                                                              \
    static enum cleave_status plan_##name(void *state, const struct cleave_view *view, \
                                          struct cleave_setup *setup,                  \
                                          struct cleave_error *err)                    \
    {                                                                                  \
        return plan_rules(state, rules, view, setup, err);                             \
    }
PLAN(best, 1u << PROGRAM | 1u << JOHNSON | 1u << SMITH | 1u << EQUAL)
PLAN(johnson, 1u << JOHNSON)
PLAN(smith, 1u << SMITH)
PLAN(one_by_one, 1u << ONE_BY_ONE)
PLAN(equal, 1u << EQUAL)
PLAN(apart, 1u << APART)
#undef PLAN

static const struct cleave_param params[] = {
    { "chunk", CLEAVE_PARAM_REAL, offsetof(struct several, chunk_s), 0, 0, 1e12,
      "seconds that a chunk computes; 0: the policy chooses" },
    { 0 },
};

#define POLICY(variable, text, says, source, planner, knows, tries) \
    const struct cleave_policy cleave_policy_##variable = {         \
        .name = text,                                               \
        .summary = says,                                            \
        .reference = source,                                        \
        .task = CLEAVE_TASK_LOADS,                                  \
        .needs = tries,                                             \
        .knows_releases = knows,                                    \
        .state_size = sizeof(struct several),                       \
        .params = params,                                           \
        .plan = planner,                                            \
        .start = start,                                             \
        .decide = decide,                                           \
    }

POLICY(plan, "plan",
       "the best of a fluid program, johnson, smith and equal in simulation",
       "docs/theory/loads.md", plan_best, true, CLEAVE_NEEDS_FORECAST);
POLICY(online, "online",
       "a fluid program for all released loads, solved again at every release",
       "docs/theory/loads.md; Benoit, Marchal, Pineau, Robert, Vivien 2010", plan_online,
       false, 0);
POLICY(johnson, "johnson", "quotas of the program, least transfer per computation first",
       "docs/theory/loads.md; Johnson 1954", plan_johnson, true, CLEAVE_NEEDS_FORECAST);
POLICY(smith, "smith", "one load after the other is sent, least time per weight first",
       "Smith 1956", plan_smith, true, CLEAVE_NEEDS_FORECAST);
POLICY(one_by_one, "one-by-one", "a load begins when the one before is done",
       "the usual shell loop", plan_one_by_one, true, CLEAVE_NEEDS_FORECAST);
POLICY(equal, "equal", "all loads get equal time on every worker", "processor sharing",
       plan_equal, true, CLEAVE_NEEDS_FORECAST);
POLICY(apart, "apart", "every load sends as if it were alone",
       "runs that do not know of each other", plan_apart, true, CLEAVE_NEEDS_FORECAST);
