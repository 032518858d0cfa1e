/* ready_ordered.c -- neighbours only, one thing at a time. SPDX-License-Identifier: MIT */
#include "model/ready/ready_ordered.h"

#include <math.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/fail.h"
#include "model/ready/ordered_internal.h"
#include "model/reduce/reduce_tree.h"

/* --- is there an ordered tree ------------------------------------------------------------ */

/* Add 2^-depth to a sum whose bits stand in `bits`, coarse to fine, none finer than that.
 * Returns the bit that became one. */
static int32_t add_bit(int32_t *bits, uint32_t *count, int32_t depth)
{
    while (*count > 0 && bits[*count - 1] == depth) {
        --*count;
        depth--;
    }
    bits[(*count)++] = depth;
    return depth;
}

/* Whether there is an ordered binary tree whose leaf i has at most depth[i]; negative: it
 * cannot. `bits` is room for n + 1 numbers. carries[i], which may be NULL, becomes the
 * depth at which leaf i and the one before it part, for i > 0. */
static bool leaves_fit(const int32_t *depth, uint32_t n, int32_t *bits, int32_t *carries)
{
    uint32_t count = 0;
    int32_t changed = 0; /* the coarsest bit that changed since the last leaf began */

    for (uint32_t i = 0; i < n; i++) {
        bool round = false;

        if (depth[i] < 0 || (count > 0 && bits[0] == 0))
            return false;
        while (count > 0 && bits[count - 1] > depth[i]) {
            count--;
            round = true;
        }
        if (round) {
            const int32_t carry = add_bit(bits, &count, depth[i]);

            changed = carry < changed ? carry : changed;
            if (bits[0] == 0)
                return false;
        }
        if (carries != NULL)
            carries[i] = changed - 1;
        changed = add_bit(bits, &count, depth[i]);
    }
    return true;
}

/* --- the least length ---------------------------------------------------------------------- */

struct search {
    const struct cv_ready_job *job;
    double b;
    int32_t *depth, *bits, *carries;
    double *candidates;
};

/* How often b fits, forgiving what rounding did. */
static double level(double time_s, double b)
{
    const double exact = time_s / b, near = nearbyint(exact);

    return fabs(exact - near) <= 1e-9 * fmax(1, fabs(near)) ? near : floor(exact);
}

static bool fits(struct search *search, double time_s, int32_t *carries)
{
    const struct cv_ready_job *job = search->job;

    for (uint32_t i = 0; i < job->n; i++) {
        const double max = level(time_s - job->ready_s[i], search->b);

        search->depth[i] = (int32_t)fmax(-1, fmin(max, 1e9));
    }
    return leaves_fit(search->depth, job->n, search->bits, carries);
}

/* T is a ready time plus k b: first the k for the last one, then within one b below. */
static double least_length(struct search *search)
{
    const struct cv_ready_job *job = search->job;
    double last_s = 0, base_s;
    uint32_t count = 0, low = 0, high;
    double k = 1;

    for (uint32_t i = 0; i < job->n; i++)
        last_s = fmax(last_s, job->ready_s[i]);
    while (!fits(search, last_s + k * search->b, NULL))
        k++;
    base_s = last_s + (k - 1) * search->b;
    for (uint32_t i = 0; i < job->n; i++) {
        const double at = job->ready_s[i] +
                          (level(base_s - job->ready_s[i], search->b) + 1) * search->b;

        if (at > base_s && at <= last_s + k * search->b)
            search->candidates[count++] = at;
    }
    search->candidates[count++] = last_s + k * search->b;
    qsort(search->candidates, count, sizeof *search->candidates, cv_compare_doubles);
    for (high = count - 1; low < high;) {
        const uint32_t middle = low + (high - low) / 2;

        if (fits(search, search->candidates[middle], NULL))
            high = middle;
        else
            low = middle + 1;
    }
    return search->candidates[low];
}

/* --- the tree ------------------------------------------------------------------------------ */

/* Intervals still to be combined, from left to right: who holds one, when it is there, and
 * at which depth it parts from the one before. */
struct piece {
    uint32_t holder;
    int32_t parts;
    double done_s;
};

/* Combine the last two pieces; the left one receives. */
static void combine(struct piece *pieces, uint32_t *count, double b,
                    struct cv_ordered_tree *tree, uint32_t *received)
{
    struct piece *left = &pieces[*count - 2];
    const struct piece *right = &pieces[*count - 1];

    tree->parent[right->holder] = left->holder;
    tree->turn[right->holder] = received[left->holder]++;
    left->done_s = fmax(left->done_s, right->done_s) + b;
    --*count;
}

/* Deepest first: a piece is combined with the one before it once what follows parts from
 * it no deeper. */
static enum cleave_status build(const struct search *search, struct cv_ordered_tree *tree,
                                double *out_s, struct cleave_error *err)
{
    const struct cv_ready_job *job = search->job;
    struct piece *pieces = calloc((size_t)job->n + 1, sizeof *pieces);
    uint32_t *received = calloc((size_t)job->n + 1, sizeof *received), count = 0;

    if (pieces == NULL || received == NULL) {
        free(pieces);
        free(received);
        return cv_fail_memory(err, "an ordered tree");
    }
    for (uint32_t i = 0; i < job->n; i++) {
        while (count > 1 && pieces[count - 1].parts >= search->carries[i])
            combine(pieces, &count, search->b, tree, received);
        pieces[count++] = (struct piece){ i, search->carries[i], job->ready_s[i] };
    }
    while (count > 1)
        combine(pieces, &count, search->b, tree, received);
    tree->parent[pieces[0].holder] = CV_NO_NODE;
    tree->turn[pieces[0].holder] = 0;
    *out_s = pieces[0].done_s;
    free(pieces);
    free(received);
    return CLEAVE_OK;
}

static enum cleave_status ordered_merge(const struct cv_ready_job *job,
                                        struct cv_ordered_tree *tree, double *out_s,
                                        struct cleave_error *err)
{
    const size_t n = job->n;
    struct search search = { .job = job, .b = job->d + job->c };
    enum cleave_status status = CLEAVE_OK;
    double least_s;

    search.depth = malloc((3 * n + 1) * sizeof *search.depth);
    search.candidates = malloc((n + 1) * sizeof *search.candidates);
    if (search.depth == NULL || search.candidates == NULL) {
        free(search.depth);
        free(search.candidates);
        return cv_fail_memory(err, "an ordered tree");
    }
    search.bits = search.depth + n;
    search.carries = search.bits + n + 1;
    least_s = least_length(&search);
    if (tree != NULL && fits(&search, least_s, search.carries))
        status = build(&search, tree, &least_s, err);
    *out_s = least_s;
    free(search.depth);
    free(search.candidates);
    return status;
}

/* Nothing takes time: the first node receives all, each when the one before has come. */
static void free_chain(const struct cv_ready_job *job, struct cv_ordered_tree *tree,
                       double *out_s)
{
    *out_s = 0;
    for (uint32_t i = 0; i < job->n; i++) {
        *out_s = fmax(*out_s, job->ready_s[i]);
        if (tree == NULL)
            continue;
        tree->parent[i] = i == 0 ? CV_NO_NODE : 0;
        tree->turn[i] = i == 0 ? 0 : i - 1;
    }
}

enum cleave_status cv_ready_ordered(const struct cv_ready_job *job,
                                    struct cv_ordered_tree *tree, double *out_s,
                                    struct cleave_error *err)
{
    const uint32_t max =
        cv_ready_is_exact(job) ? CV_READY_ORDERED_MOST : CV_READY_ORDERED_LATE_MOST;

    if (job->n == 1 || !(job->d + job->c > 0)) {
        free_chain(job, tree, out_s);
        return CLEAVE_OK;
    }
    if (job->model == CLEAVE_READY_MERGE)
        return ordered_merge(job, tree, out_s, err);
    if (job->n > max)
        return cv_fail(err, CLEAVE_EINPUT,
                       "an ordered tree with overlap looks at all intervals: expected at "
                       "most %u nodes, got %u; without overlap (merge) there may be any "
                       "number",
                       max, job->n);
    return cv_ready_is_exact(job) ? cv_ordered_overlap(job, tree, out_s, err)
                                  : cv_ordered_late(job, tree, out_s, err);
}
