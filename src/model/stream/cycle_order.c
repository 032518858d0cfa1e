/* cycle_order.c -- the order of service that costs least.
 * SPDX-License-Identifier: MIT
 *
 * Matching the i-th least `leave` with the i-th least `enter` is the cheapest
 * assignment. Exchanging the followers of ranks i and i + 1 costs
 *
 *     max(0, least(leave, enter) of rank i + 1 - greatest(leave, enter) of rank i)
 *
 * more, and joins two cycles if they lie in different ones. A cheapest set of such
 * exchanges that joins all cycles is a spanning tree, and the sum of its costs is what
 * the cheapest cycle costs above the assignment, provided that the exchanges are made in
 * this order: those at ranks with enter >= leave from the greatest rank down, then the
 * others from the least up. */
#include "model/stream/cycle_order.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"

struct ranked {
    double value;
    uint32_t index;
};

CV_ORDER_BY_TWO(by_value, struct ranked, value, index)

static struct ranked *rank(const double *values, uint32_t n, struct cv_arena *arena)
{
    struct ranked *ranks = cv_array(arena, n, sizeof *ranks);

    for (uint32_t i = 0; ranks != NULL && i < n; i++)
        ranks[i] = (struct ranked){ values[i], i };
    if (ranks != NULL)
        qsort(ranks, n, sizeof *ranks, by_value);
    return ranks;
}

double cv_cycle_cost(const struct cv_cycle *cycle, const uint32_t *order)
{
    double cost = 0;

    for (uint32_t i = 0; i < cycle->n; i++) {
        const uint32_t next = i + 1 < cycle->n ? i + 1 : 0;

        cost += fmax(cycle->leave[order != NULL ? order[i] : i],
                     cycle->enter[order != NULL ? order[next] : next]);
    }
    return cost;
}

/* The cycles of an assignment as sets that are joined. */
static uint32_t root_of(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static bool join(uint32_t *parent, uint32_t i, uint32_t j)
{
    i = root_of(parent, i);
    j = root_of(parent, j);
    if (i < j)
        parent[j] = i;
    else
        parent[i] = j;
    return i != j;
}

struct matching {
    struct ranked *leave, *enter; /* by rank                                         */
    uint32_t *next;               /* rank of leave -> place that follows             */
    uint32_t *parent;             /* place -> set of joined cycles                   */
    struct ranked *swaps;         /* by cost: exchange of ranks index and index + 1  */
    bool *taken;                  /* rank -> is the exchange with the next one made  */
    uint32_t *after;              /* place -> place that follows                     */
};

static bool matching_init(struct matching *m, const struct cv_cycle *cycle,
                          struct cv_arena *arena)
{
    const uint32_t n = cycle->n;

    m->leave = rank(cycle->leave, n, arena);
    m->enter = rank(cycle->enter, n, arena);
    m->next = cv_array(arena, n, sizeof *m->next);
    m->parent = cv_array(arena, n, sizeof *m->parent);
    m->swaps = cv_array(arena, n, sizeof *m->swaps);
    m->taken = cv_array(arena, n, sizeof *m->taken);
    m->after = cv_array(arena, n, sizeof *m->after);
    return m->leave != NULL && m->enter != NULL && m->next != NULL && m->parent != NULL &&
           m->swaps != NULL && m->taken != NULL && m->after != NULL;
}

/* Choose the cheapest exchanges that make one cycle out of all. */
static void choose_swaps(struct matching *m, uint32_t n)
{
    uint32_t cycles = n;

    for (uint32_t i = 0; i < n; i++)
        m->parent[i] = i;
    for (uint32_t i = 0; i < n; i++) {
        m->next[i] = m->enter[i].index;
        cycles -= join(m->parent, m->leave[i].index, m->enter[i].index);
    }
    for (uint32_t i = 0; i + 1 < n; i++) {
        const double above = fmin(m->leave[i + 1].value, m->enter[i + 1].value);
        const double below = fmax(m->leave[i].value, m->enter[i].value);

        m->swaps[i] = (struct ranked){ fmax(0, above - below), i };
    }
    if (cycles > 1)
        qsort(m->swaps, n - 1, sizeof *m->swaps, by_value);
    for (uint32_t i = 0; cycles > 1; i++) {
        const uint32_t at = m->swaps[i].index;

        m->taken[at] = join(m->parent, m->leave[at].index, m->leave[at + 1].index);
        cycles -= m->taken[at];
    }
}

static void swap_next(struct matching *m, uint32_t at)
{
    const uint32_t kept = m->next[at];

    m->next[at] = m->next[at + 1];
    m->next[at + 1] = kept;
}

static void make_swaps(struct matching *m, uint32_t n)
{
    for (uint32_t i = n; i-- > 0;)
        if (m->taken[i] && m->enter[i].value >= m->leave[i].value)
            swap_next(m, i);
    for (uint32_t i = 0; i < n; i++)
        if (m->taken[i] && m->enter[i].value < m->leave[i].value)
            swap_next(m, i);
}

bool cv_cycle_best(const struct cv_cycle *cycle, struct cv_arena *arena, uint32_t *order,
                   double *out_cost, double *out_bound)
{
    const uint32_t n = cycle->n;
    struct matching m;
    double bound = 0;

    if (!matching_init(&m, cycle, arena))
        return false;
    for (uint32_t i = 0; i < n; i++)
        bound += fmax(m.leave[i].value, m.enter[i].value);
    choose_swaps(&m, n);
    make_swaps(&m, n);
    for (uint32_t i = 0; i < n; i++)
        m.after[m.leave[i].index] = m.next[i];
    for (uint32_t i = 0, at = 0; i < n; i++, at = m.after[at])
        order[i] = at;
    *out_cost = cv_cycle_cost(cycle, order);
    if (out_bound != NULL)
        *out_bound = bound;
    return true;
}

bool cv_cycle_of_times(const struct cv_stream_times *times, uint32_t n,
                       struct cv_arena *arena, struct cv_cycle *out, double *out_base)
{
    double *leave = cv_array(arena, n, sizeof *leave);
    double *enter = cv_array(arena, n, sizeof *enter);
    double base = 0;

    if (leave == NULL || enter == NULL)
        return false;
    for (uint32_t w = 0; w < n; w++) {
        leave[w] = cv_send_time(&times[w]) - times[w].return_second_s;
        enter[w] = times[w].return_first_s;
        base += times[w].return_second_s;
    }
    *out = (struct cv_cycle){ leave, enter, n };
    *out_base = base;
    return true;
}
