/* rounds_guide.c -- prices that a good plan suggests. SPDX-License-Identifier: MIT
 *
 * The closed form of a chain is a list of sums, and its end is a linear function of the first
 * pivot, which the load tells. Going through the list backwards gives the derivative of the
 * end by the length of every message, O(K) for all of K letters. If the words are an
 * optimal vertex these are the multipliers of the linear program: they fall over the sends
 * and rise over the returns. If they are not, they still guide. */
#include "model/rounds/rounds_guide.h"

#include <math.h>

/* Derivatives of the end by what the closed form computes. */
struct backwards {
    struct cv_rounds_workspace *room;
    const struct cv_rounds_words *words;
    uint32_t n, growing;
    bool lifo;
    double per_unit;         /* seconds that a unit more takes           */
    uint32_t *after;         /* send word: the next letter of the worker */
    double *z, *y, *x;       /* x: of pivots                             */
    double *send_s, *back_s; /* of the lengths of messages               */
};

static const struct cv_rounds_cost *cost_of(const struct backwards *b, uint32_t worker)
{
    return &b->room->costs[worker];
}

/* The place of pivot i in the return word. */
static uint32_t back_place(const struct backwards *b, uint32_t i)
{
    return b->lifo ? b->n - 1 - i : i;
}

static void find_after(struct backwards *b)
{
    for (uint32_t k = b->words->nsend; k-- > 0;) {
        const uint32_t w = b->words->send[k];

        b->after[k] = k < b->growing ? b->room->next[w] : k;
        b->room->next[w] = k;
    }
}

static void through_returns(struct backwards *b)
{
    const struct cv_rounds_words *words = b->words;

    for (uint32_t k = words->nback; k-- > 0;) {
        const struct cv_rounds_cost *c = cost_of(b, words->back[k]);
        double x = b->y[k + 1] * c->back_s;

        b->back_s[k] += b->y[k + 1];
        b->y[k] += b->y[k + 1];
        if (k < b->n) {
            b->x[b->lifo ? b->n - 1 - k : k] += x;
            continue;
        }
        x -= b->per_unit;
        b->y[k] += c->speed * x;
        b->y[b->room->before[b->room->back_id[k] - words->nsend]] -= c->speed * x;
    }
}

static void through_sends(struct backwards *b)
{
    const struct cv_rounds_words *words = b->words;

    for (uint32_t k = 0; k < words->nsend; k++) {
        const struct cv_rounds_cost *c = cost_of(b, words->send[k]);
        const double x = b->z[k] * c->send_s - b->per_unit;

        b->send_s[k] += b->z[k];
        b->z[k + 1] += b->z[k];
        if (k >= b->growing) {
            b->x[k - b->growing] += x;
            continue;
        }
        b->z[k + 1] += c->speed * x;
        b->z[b->after[k] + 1] -= c->speed * x;
    }
}

/* Each pivot follows from the one before. */
static void through_pivots(struct backwards *b)
{
    for (uint32_t i = b->n; i-- > 1;) {
        const struct cv_rounds_cost *c = cost_of(b, b->words->send[b->growing + i]);
        const struct cv_rounds_cost *before =
            cost_of(b, b->words->send[b->growing + i - 1]);
        const double own = c->send_s + c->compute_s + (b->lifo ? c->back_s : 0);
        const double gap = -b->x[i] / own;

        b->send_s[b->growing + i] += gap;
        b->x[i - 1] -= gap * (before->compute_s + (b->lifo ? 0 : before->back_s));
        if (b->lifo)
            b->back_s[back_place(b, i)] += gap;
        else
            b->back_s[back_place(b, i - 1)] -= gap;
    }
}

/* How much later all ends with a unit more, from the coefficients of the first pivot. */
static double per_unit(const struct backwards *b)
{
    const struct cv_rounds_words *words = b->words;
    const double *z = b->room->z, *y = b->room->y, *xs = b->room->xs, *xr = b->room->xr;
    const struct cv_rounds_cost *c = cost_of(b, words->send[b->growing]);
    double sum = 0, end;

    for (uint32_t k = 0; k < words->nsend; k++)
        sum += xs[(size_t)3 * k];
    for (uint32_t k = b->n; k < words->nback; k++)
        sum += xr[(size_t)3 * k];
    end = z[0] - z[(size_t)3 * (b->growing + 1)] +
          xs[(size_t)3 * b->growing] * c->compute_s + y[(size_t)3 * words->nback] -
          y[(size_t)3 * back_place(b, 0)];
    return end / sum;
}

/* Prices of sends do not rise and those of returns do not fall. */
static void make_monotone(struct cv_rounds_guide *guide)
{
    for (uint32_t k = guide->nsend; k-- > 1;)
        guide->send[k - 1].price = fmax(guide->send[k - 1].price, guide->send[k].price);
    for (uint32_t k = 1; k < guide->nback; k++)
        guide->back[k].price = fmax(guide->back[k].price, guide->back[k - 1].price);
}

/* Messages of a word as parts of the end, with prices that are at least 0. */
static void set_times(const struct backwards *b, struct cv_rounds_guide *out)
{
    const struct cv_rounds_words *words = b->words;
    double at_s = 0;

    for (uint32_t k = 0; k < words->nsend; k++) {
        const struct cv_rounds_cost *c = cost_of(b, words->send[k]);
        const double begin_s = at_s;

        at_s += c->send_fixed_s + b->room->best_units[k] * c->send_s;
        out->send[k] = (struct cv_priced){ begin_s / out->end_s, at_s / out->end_s,
                                           fmax(0, b->send_s[k] / b->per_unit) };
    }
    at_s = out->end_s;
    for (uint32_t k = words->nback; k-- > 0;) {
        const struct cv_rounds_cost *c = cost_of(b, words->back[k]);
        const double until_s = at_s;

        at_s -= c->back_fixed_s + b->room->best_units[b->room->back_id[k]] * c->back_s;
        out->back[k] = (struct cv_priced){ at_s / out->end_s, until_s / out->end_s,
                                           fmax(0, b->back_s[k] / b->per_unit) };
    }
    make_monotone(out);
}

static bool set_up(struct backwards *b, struct cv_rounds_guide *out,
                   struct cv_arena *arena)
{
    const size_t nsend = b->words->nsend, nback = b->words->nback;

    b->after = cv_array(arena, nsend, sizeof *b->after);
    b->z = cv_array(arena, nsend + 1, sizeof *b->z);
    b->y = cv_array(arena, nback + 1, sizeof *b->y);
    b->x = cv_array(arena, b->n, sizeof *b->x);
    b->send_s = cv_array(arena, nsend, sizeof *b->send_s);
    b->back_s = cv_array(arena, nback, sizeof *b->back_s);
    out->send = cv_array(arena, nsend, sizeof *out->send);
    out->back = cv_array(arena, nback, sizeof *out->back);
    out->nsend = (uint32_t)nsend;
    out->nback = (uint32_t)nback;
    return b->after != NULL && b->z != NULL && b->y != NULL && b->x != NULL &&
           b->send_s != NULL && b->back_s != NULL && out->send != NULL &&
           out->back != NULL;
}

enum cleave_status cv_rounds_guide(struct cv_rounds_workspace *room,
                                   const struct cv_rounds_candidate *chain,
                                   struct cv_arena *arena, struct cv_rounds_guide *out,
                                   struct cleave_error *err)
{
    struct backwards b = { .room = room,
                           .words = &chain->words,
                           .n = chain->chain,
                           .growing = chain->words.nsend - chain->chain,
                           .lifo = chain->lifo };

    if (!set_up(&b, out, arena))
        return cv_fail_memory(err, "prices");
    (void)cv_rounds_chain_tight(room, b.words, b.n, b.lifo);
    find_after(&b);
    out->end_s = room->closed_s;
    b.per_unit = per_unit(&b);
    b.z[0] = 1;
    b.z[b.growing + 1] -= 1;
    b.y[b.words->nback] = 1;
    b.y[back_place(&b, 0)] -= 1;
    b.x[0] = cost_of(&b, b.words->send[b.growing])->compute_s;
    through_returns(&b);
    through_sends(&b);
    through_pivots(&b);
    set_times(&b, out);
    return CLEAVE_OK;
}

static void set_lp_times(const struct cv_rounds *rounds,
                         const struct cv_rounds_plan *plan, const double *send,
                         const double *back, struct cv_rounds_guide *out)
{
    const double end_s = out->end_s = plan->makespan_s;
    double at_s = 0;

    out->nsend = out->nback = plan->nchunks;
    for (uint32_t k = 0; k < plan->nchunks; k++) {
        const struct cv_trip *t = &rounds->returns.trips[plan->worker[k]];
        const double begin_s = at_s;

        at_s += t->send_fixed_s + plan->units[k] * t->send_s;
        out->send[k] =
            (struct cv_priced){ begin_s / end_s, at_s / end_s, fmax(0, send[k]) };
    }
    at_s = end_s;
    for (uint32_t i = plan->nchunks; i-- > 0;) {
        const uint32_t k = plan->back[i];
        const struct cv_trip *t = &rounds->returns.trips[plan->worker[k]];
        const double until_s = at_s;

        at_s -= t->back_fixed_s + plan->units[k] * t->back_s;
        out->back[i] =
            (struct cv_priced){ at_s / end_s, until_s / end_s, fmax(0, back[k]) };
    }
    make_monotone(out);
}

enum cleave_status cv_rounds_guide_lp(const struct cv_rounds *rounds,
                                      struct cv_rounds_plan *plan, struct cv_arena *arena,
                                      struct cv_rounds_guide *out, bool *out_known,
                                      struct cleave_error *err)
{
    const uint32_t n = plan->nchunks;
    struct cv_rounds duplex = *rounds;
    double *send = cv_array(arena, n, sizeof *send);
    double *back = cv_array(arena, n, sizeof *back);

    out->send = cv_array(arena, n, sizeof *out->send);
    out->back = cv_array(arena, n, sizeof *out->back);
    if (send == NULL || back == NULL || out->send == NULL || out->back == NULL)
        return cv_fail_memory(err, "prices");
    duplex.returns.single = false;
    CV_TRY(cv_rounds_lp_prices(&duplex, plan, send, back, out_known, arena, err));
    if (*out_known)
        set_lp_times(rounds, plan, send, back, out);
    return CLEAVE_OK;
}
