/* ordered_late.c -- neighbours only, receiving early, transfers dearer than combinations.
 * SPDX-License-Identifier: MIT
 *
 * The holder of an interval is known by a pair: P, from which its port counts, and Q, its
 * own time with all combinations so far. Receiving what is there at t makes max(t + B,
 * P + d) and Q + c of them; it is done at the greater. */
#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/fail.h"
#include "model/ready/ordered_internal.h"

struct pair {
    double p, q;
    uint32_t cut;  /* the last node of the left part */
    uint32_t from; /* which pair of the holder's part */
    bool left_receives;
};

struct pairs {
    struct pair *at; /* in the arena */
    uint32_t count, best;
    double done_s; /* of the best */
};

struct table {
    const struct cv_ready_job *job;
    struct cv_arena arena;
    struct pairs *pairs; /* n x n */
    struct pair *room;
    size_t capacity;
};

static struct pairs *at(const struct table *table, uint32_t i, uint32_t j)
{
    return &table->pairs[(size_t)i * table->job->n + j];
}

CV_ORDER_BY_TWO(by_port, struct pair, p, q)

/* Keep the pairs of which none is at least as good in both. */
static bool keep(struct table *table, size_t count, struct pairs *out)
{
    size_t kept = 0;

    qsort(table->room, count, sizeof *table->room, by_port);
    for (size_t k = 0; k < count; k++)
        if (kept == 0 || table->room[k].q < table->room[kept - 1].q)
            table->room[kept++] = table->room[k];
    out->at = cv_array(&table->arena, kept, sizeof *out->at);
    out->count = (uint32_t)kept;
    out->done_s = INFINITY;
    for (uint32_t k = 0; out->at != NULL && k < kept; k++) {
        const double done_s = fmax(table->room[k].p, table->room[k].q);

        out->at[k] = table->room[k];
        if (done_s < out->done_s) {
            out->done_s = done_s;
            out->best = k;
        }
    }
    return out->at != NULL;
}

static bool add_cut(struct table *table, uint32_t i, uint32_t j, uint32_t k, bool left,
                    size_t *count)
{
    const struct pairs *held = left ? at(table, i, k) : at(table, k + 1, j);
    const double t = (left ? at(table, k + 1, j) : at(table, i, k))->done_s;
    const double d = table->job->d, c = table->job->c;

    if (!CV_ROOM(table->room, &table->capacity, *count + held->count))
        return false;
    for (uint32_t x = 0; x < held->count; x++)
        table->room[(*count)++] = (struct pair){ fmax(t + d + c, held->at[x].p + d),
                                                 held->at[x].q + c, k, x, left };
    return true;
}

static bool fill(struct table *table)
{
    const uint32_t n = table->job->n;

    for (uint32_t i = 0; i < n; i++) {
        struct pairs *own = at(table, i, i);

        own->at = cv_array(&table->arena, 1, sizeof *own->at);
        if (own->at == NULL)
            return false;
        own->at[0] = (struct pair){ .p = -INFINITY, .q = table->job->ready_s[i] };
        own->count = 1;
        own->done_s = table->job->ready_s[i];
    }
    for (uint32_t j = 1; j < n; j++)
        for (uint32_t i = j; i-- > 0;) {
            size_t count = 0;

            for (uint32_t k = i; k < j; k++)
                if (!add_cut(table, i, j, k, true, &count) ||
                    !add_cut(table, i, j, k, false, &count))
                    return false;
            if (!keep(table, count, at(table, i, j)))
                return false;
        }
    return true;
}

/* A sender is its part's best pair; who receives was one of another part's pairs before. */
static struct cv_ordered_cut cut_of(const void *context, uint32_t i, uint32_t j,
                                    uint32_t *which)
{
    const struct pairs *pairs = at(context, i, j);
    const struct pair *pair = &pairs->at[*which != CV_FIRST_CUT ? *which : pairs->best];

    *which = pair->from;
    return (struct cv_ordered_cut){ pair->cut, pair->left_receives };
}

enum cleave_status cv_ordered_late(const struct cv_ready_job *job,
                                   struct cv_ordered_tree *tree, double *out_s,
                                   struct cleave_error *err)
{
    struct table table = { .job = job };
    bool ok;

    cv_arena_init(&table.arena);
    table.pairs = cv_array(&table.arena, (size_t)job->n * job->n, sizeof *table.pairs);
    ok = table.pairs != NULL && fill(&table);
    if (ok)
        *out_s = at(&table, 0, job->n - 1)->done_s;
    ok = ok && (tree == NULL || cv_ordered_build(job->n, cut_of, &table, tree));
    free(table.room);
    cv_arena_done(&table.arena);
    return ok ? CLEAVE_OK : cv_fail_memory(err, "all intervals");
}
