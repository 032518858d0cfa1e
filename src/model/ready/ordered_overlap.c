/* ordered_overlap.c -- neighbours only, with overlap. SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "model/ready/ordered_internal.h"

/* Of an interval: the least time, where it is cut, and which side receives. */
struct best {
    double done_s;
    uint32_t cut; /* the last node of the left part */
    bool left_receives;
};

struct table {
    const struct cv_ready_job *job;
    double a, b, mu;
    struct best *best; /* row i begins with (i, i) */
};

static struct best *at(const struct table *table, uint32_t i, uint32_t j)
{
    const size_t n = table->job->n;

    return &table->best[i * n - (size_t)i * (i + 1) / 2 + j];
}

/* What counts when the holder of i .. j receives once more. */
static double counts(const struct table *table, uint32_t i, uint32_t j)
{
    return at(table, i, j)->done_s + (i == j ? table->mu : 0);
}

/* When the left part receives, what it costs rises with k by the holder, falls by the
 * sender; mirrored when the right part does. */
static double holder(const struct table *table, uint32_t i, uint32_t j, uint32_t k,
                     bool left_receives)
{
    return (left_receives ? counts(table, i, k) : counts(table, k + 1, j)) + table->a;
}

static double sender(const struct table *table, uint32_t i, uint32_t j, uint32_t k,
                     bool left_receives)
{
    return (left_receives ? at(table, k + 1, j)->done_s : at(table, i, k)->done_s) +
           table->b;
}

static void try_cut(const struct table *table, uint32_t i, uint32_t j, uint32_t k,
                    bool left_receives, struct best *best)
{
    const double done_s = fmax(holder(table, i, j, k, left_receives),
                               sender(table, i, j, k, left_receives));

    if (done_s < best->done_s)
        *best = (struct best){ done_s, k, left_receives };
}

/* The least k of i .. j - 1 at which what rises with k is at least what falls: the best
 * cut is that or the one before. */
static void find_cut(const struct table *table, uint32_t i, uint32_t j,
                     bool left_receives, struct best *best)
{
    uint32_t low = i, high = j - 1;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const double holds = holder(table, i, j, middle, left_receives);
        const double sends = sender(table, i, j, middle, left_receives);

        if (left_receives ? holds >= sends : sends >= holds)
            high = middle;
        else
            low = middle + 1;
    }
    try_cut(table, i, j, low, left_receives, best);
    if (low > i)
        try_cut(table, i, j, low - 1, left_receives, best);
}

static struct cv_ordered_cut cut_of(const void *context, uint32_t i, uint32_t j,
                                    uint32_t *which)
{
    const struct best *best = at(context, i, j);

    (void)which;
    return (struct cv_ordered_cut){ best->cut, best->left_receives };
}

enum cleave_status cv_ordered_overlap(const struct cv_ready_job *job,
                                      struct cv_ordered_tree *tree, double *out_s,
                                      struct cleave_error *err)
{
    const struct cv_ready_steps steps = cv_ready_steps(job);
    const size_t n = job->n;
    struct table table = { job, steps.a, steps.b, steps.mu,
                           calloc(n * (n + 1) / 2, sizeof *table.best) };
    enum cleave_status status = CLEAVE_OK;

    if (table.best == NULL)
        return cv_fail_memory(err, "all intervals");
    for (uint32_t i = 0; i < n; i++)
        at(&table, i, i)->done_s = job->ready_s[i];
    for (uint32_t j = 1; j < n; j++) {
        for (uint32_t i = j; i-- > 0;) {
            struct best best = { INFINITY, i, true };

            find_cut(&table, i, j, true, &best);
            find_cut(&table, i, j, false, &best);
            *at(&table, i, j) = best;
        }
    }
    *out_s = at(&table, 0, job->n - 1)->done_s;
    if (tree != NULL && !cv_ordered_build(job->n, cut_of, &table, tree))
        status = cv_fail_memory(err, "an ordered tree");
    free(table.best);
    return status;
}
