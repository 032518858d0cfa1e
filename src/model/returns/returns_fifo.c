/* returns_fifo.c -- first sent, first or last returned. SPDX-License-Identifier: MIT
 *
 * Without fixed costs LIFO is as if each worker had a link of send_s + back_s a unit and
 * sent nothing back: fastest such links first is best, and everybody helps.
 *
 * FIFO with one ratio: links by nondecreasing send_s (ratio <= 1; else the instance is
 * read backwards), and the next one helps iff the work W of those before it is less than
 * L / back_s; the first that does not help ends it. On a single port the one that would
 * overfill it gets what is left of it.
 *
 * Unequal ratios are in returns_unequal.c, fixed costs in returns_improve.c. */
#include "model/returns/returns.h"

#include <math.h>
#include <string.h>

#include "model/returns/returns_chain.h"
#include "model/returns/returns_improve.h"
#include "model/returns/returns_internal.h"
#include "model/returns/returns_unequal.h"

/* Up to here a linear program has the last word on a single port. */
enum { POLISH_MOST = 64 };

/* What the solvers below work in. */
struct chain_room {
    uint32_t *order;
    double *shares; /* by place; keys by worker before that */
    double *units;  /* by worker                            */
};

static bool grow_array(struct chain_room *room, struct cv_arena *arena, uint32_t n)
{
    room->order = cv_array(arena, n, sizeof *room->order);
    room->shares = cv_array(arena, n, sizeof *room->shares);
    room->units = cv_array(arena, n, sizeof *room->units);
    return room->order != NULL && room->shares != NULL && room->units != NULL;
}

/* The schedule of `n` workers in the room's order with its shares. */
static enum cleave_status finish(const struct cv_returns *returns, enum cv_chain kind,
                                 struct chain_room *room, uint32_t n, double lifespan_s,
                                 bool everyone, struct cv_arena *arena,
                                 struct cv_round_trip *out, struct cleave_error *err)
{
    for (uint32_t k = 0; k < n; k++)
        room->units[room->order[k]] = room->shares[k];
    CV_TRY(cv_returns_make(returns, room->order, room->order, n, room->units, lifespan_s,
                           everyone, arena, out, err));
    if (kind == CV_CHAIN_LIFO)
        cv_returns_reverse(out->back, out->n);
    return CLEAVE_OK;
}

/* Workers by send_s, or for LIFO by send_s + back_s; slowest first if `backwards`. */
static bool sort_links(const struct cv_returns *returns, enum cv_chain kind,
                       bool backwards, struct chain_room *room, struct cv_arena *arena)
{
    for (uint32_t i = 0; i < returns->n; i++) {
        const struct cv_trip *t = &returns->trips[i];
        const double link = kind == CV_CHAIN_LIFO ? t->send_s + t->back_s : t->send_s;

        room->shares[i] = backwards ? -link : link;
    }
    return cv_returns_sort(room->shares, returns->n, arena, room->order);
}

/* FIFO shares would grow along the orders: better read backwards, where they shrink. */
static bool grows(const struct cv_returns *returns)
{
    double growth = 0;

    for (uint32_t i = 0; i < returns->n; i++) {
        const struct cv_trip *t = &returns->trips[i];

        if (!(t->back_s > 0))
            return false;
        growth += log((t->compute_s + t->back_s) / (t->compute_s + t->send_s));
    }
    return growth > 0;
}

static enum cleave_status improve(const struct cv_returns *returns, enum cv_chain kind,
                                  double lifespan_s, struct chain_room *room,
                                  struct cv_arena *arena, struct cv_round_trip *out,
                                  struct cleave_error *err)
{
    const bool turn = kind == CV_CHAIN_FIFO && grows(returns);
    struct cv_returns turned = *returns;
    uint32_t n;

    if (cv_returns_hopeless(returns, lifespan_s)) {
        CV_TRY(cv_returns_nothing(returns, lifespan_s, arena, out, err));
        out->optimal = true;
        return CLEAVE_OK;
    }
    if (turn)
        CV_TRY(cv_returns_interchange(returns, arena, &turned, err));
    if (!cv_chain_improve(&turned, kind, lifespan_s, room->order, &n, arena))
        return cv_fail_memory(err, "schedule with fixed costs");
    cv_chain_fill(&turned, kind, room->order, n, lifespan_s, room->shares);
    CV_TRY(finish(&turned, kind, room, n, lifespan_s, false, arena, out, err));
    if (turn)
        cv_returns_interchange_back(out);
    out->optimal = returns->n == 1;
    return CLEAVE_OK;
}

enum cleave_status cv_returns_lifo(const struct cv_returns *returns, double lifespan_s,
                                   struct cv_arena *arena, struct cv_round_trip *out,
                                   struct cleave_error *err)
{
    struct chain_room room;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    if (!grow_array(&room, arena, returns->n))
        return cv_fail_memory(err, "LIFO schedule");
    if (!cv_returns_linear(returns))
        return improve(returns, CV_CHAIN_LIFO, lifespan_s, &room, arena, out, err);
    if (!sort_links(returns, CV_CHAIN_LIFO, false, &room, arena))
        return cv_fail_memory(err, "LIFO schedule");
    cv_chain_tight(returns, CV_CHAIN_LIFO, room.order, returns->n, lifespan_s,
                   room.shares);
    CV_TRY(finish(returns, CV_CHAIN_LIFO, &room, returns->n, lifespan_s, false, arena,
                  out, err));
    out->optimal = true;
    return CLEAVE_OK;
}

/* --- one ratio, at most 1 ----------------------------------------------------------- */

/* How many of the sorted workers help; the last of them may have to share the port. All
 * sums are in units of u_1, as in returns_chain.c. */
static uint32_t count_helpful(const struct cv_returns *returns, const uint32_t *order)
{
    double u = 1, work = 0, back = 0, messages = 0;

    for (uint32_t k = 0; k < returns->n; k++) {
        const struct cv_trip *t = &returns->trips[order[k]];
        const double share = u / (t->compute_s + t->send_s);

        if (!(share > 0) || !(work * t->back_s < 1 + back) ||
            (returns->single && messages >= 1 + back))
            return k;
        work += share;
        back += t->back_s * share;
        messages += (t->send_s + t->back_s) * share;
        u = (t->compute_s + t->back_s) * share;
    }
    return returns->n;
}

/* Without fixed costs some prefix of an order fills any port. */
static uint32_t fill_prefix(const struct cv_returns *returns, double lifespan_s,
                            struct chain_room *room, uint32_t n)
{
    while (n > 0 && cv_chain_fill(returns, CV_CHAIN_FIFO, room->order, n, lifespan_s,
                                  room->shares) < 0)
        n--;
    return n;
}

static enum cleave_status fifo_one_ratio(const struct cv_returns *returns, bool backwards,
                                         double lifespan_s, struct chain_room *room,
                                         struct cv_arena *arena,
                                         struct cv_round_trip *out,
                                         struct cleave_error *err)
{
    struct cv_returns turned;
    uint32_t n;

    if (!sort_links(returns, CV_CHAIN_FIFO, backwards, room, arena))
        return cv_fail_memory(err, "FIFO schedule");
    if (backwards) {
        CV_TRY(cv_returns_interchange(returns, arena, &turned, err));
        cv_returns_reverse(room->order, returns->n);
        returns = &turned;
    }
    n = fill_prefix(returns, lifespan_s, room, count_helpful(returns, room->order));
    CV_TRY(finish(returns, CV_CHAIN_FIFO, room, n, lifespan_s, false, arena, out, err));
    if (backwards)
        cv_returns_interchange_back(out);
    out->optimal = true;
    return CLEAVE_OK;
}

/* On a single port it may be somebody else than the last who should wait, or another set
 * that fills it: the best shares for the order found, those left out at its end. */
static enum cleave_status polish(const struct cv_returns *returns, double lifespan_s,
                                 struct cv_arena *arena, struct cv_round_trip *trip,
                                 struct cleave_error *err)
{
    uint32_t order[POLISH_MOST], n = trip->n;
    struct cv_round_trip other;

    if (!returns->single || trip->optimal || returns->n > POLISH_MOST ||
        cv_step_budget_over(returns->budget))
        return CLEAVE_OK;
    memcpy(order, trip->send, n * sizeof *order);
    for (uint32_t i = 0; i < returns->n; i++)
        if (!(trip->units[i] > 0))
            order[n++] = i;
    CV_TRY(cv_returns_given(returns, order, order, n, lifespan_s, arena, &other, err));
    other.optimal = false;
    if (other.work > trip->work)
        *trip = other;
    return CLEAVE_OK;
}

enum cleave_status cv_returns_fifo(const struct cv_returns *returns, double lifespan_s,
                                   struct cv_arena *arena, struct cv_round_trip *out,
                                   struct cleave_error *err)
{
    struct cv_round_trip best, other;
    struct chain_room room;
    double ratio;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    if (!grow_array(&room, arena, returns->n))
        return cv_fail_memory(err, "FIFO schedule");
    if (!cv_returns_linear(returns)) {
        CV_TRY(improve(returns, CV_CHAIN_FIFO, lifespan_s, &room, arena, &best, err));
    } else if (cv_returns_uniform(returns, &ratio)) {
        CV_TRY(fifo_one_ratio(returns, ratio > 1, lifespan_s, &room, arena, &best, err));
    } else {
        CV_TRY(cv_fifo_unequal(returns, lifespan_s, arena, &best, err));
        if (!best.optimal) {
            CV_TRY(
                improve(returns, CV_CHAIN_FIFO, lifespan_s, &room, arena, &other, err));
            best = other.work > best.work ? other : best;
        }
    }
    CV_TRY(polish(returns, lifespan_s, arena, &best, err));
    *out = best;
    return CLEAVE_OK;
}

enum cleave_status cv_returns_fifo_all(const struct cv_returns *returns,
                                       double lifespan_s, struct cv_arena *arena,
                                       struct cv_round_trip *out,
                                       struct cleave_error *err)
{
    const bool linear = cv_returns_linear(returns);
    struct chain_room room;
    double ratio = 0;
    bool uniform;

    CV_TRY(cv_returns_check(returns, lifespan_s, err));
    uniform = cv_returns_uniform(returns, &ratio);
    if (!grow_array(&room, arena, returns->n) ||
        !sort_links(returns, CV_CHAIN_FIFO, uniform && ratio > 1, &room, arena))
        return cv_fail_memory(err, "FIFO schedule");
    cv_chain_tight(returns, CV_CHAIN_FIFO, room.order, returns->n, lifespan_s,
                   room.shares);
    CV_TRY(finish(returns, CV_CHAIN_FIFO, &room, returns->n, lifespan_s, true, arena, out,
                  err));
    out->optimal = linear && uniform;
    return CLEAVE_OK;
}
