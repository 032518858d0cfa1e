/* ordered_late.c -- neighbours only, receiving early, transfers dearer than combinations.
 * SPDX-License-Identifier: MIT
 *
 * The holder of an interval is known by a pair: P, from which its port counts, and Q, its
 * own time with all combinations so far. Receiving what is there at t makes max(t + B,
 * P + d) and Q + c of them; it is done at the greater. */
#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "model/ready/ordered_inner.h"
#include "model/reduce/reduce_tree.h"

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

static int by_port(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    return (x->q > y->q) - (x->q < y->q);
}

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

/* From the top down, as in ordered_overlap.c; a sender is its part's best pair. */
static bool build(const struct table *table, struct cv_ordered_tree *tree)
{
    const uint32_t n = table->job->n;
    struct interval {
        uint32_t i, j, to;
    } *stack = malloc(((size_t)n + 1) * sizeof *stack);
    uint32_t *received = calloc((size_t)n + 1, sizeof *received), count = 0;
    const bool ok = stack != NULL && received != NULL;

    if (ok)
        stack[count++] = (struct interval){ 0, n - 1, CV_NO_NODE };
    while (count > 0) {
        struct interval in = stack[--count];
        uint32_t i = in.i, j = in.j, top = count, which = at(table, i, j)->best;

        while (i < j) {
            const struct pair *pair = &at(table, i, j)->at[which];

            stack[count++] = pair->left_receives
                                 ? (struct interval){ pair->cut + 1, j, 0 }
                                 : (struct interval){ i, pair->cut, 0 };
            which = pair->from;
            *(pair->left_receives ? &j : &i) =
                pair->left_receives ? pair->cut : pair->cut + 1;
        }
        tree->parent[i] = in.to;
        tree->turn[i] = 0;
        if (in.to != CV_NO_NODE)
            tree->turn[i] = received[in.to]++;
        for (uint32_t k = top; k < count; k++)
            stack[k].to = i;
    }
    free(stack);
    free(received);
    return ok;
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
    ok = ok && (tree == NULL || build(&table, tree));
    free(table.room);
    cv_arena_done(&table.arena);
    return ok ? CLEAVE_OK : cv_fail_memory(err, "all intervals");
}
