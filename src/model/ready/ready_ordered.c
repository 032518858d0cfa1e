/* ready_ordered.c -- neighbours only, one thing at a time. SPDX-License-Identifier: MIT */
#include "model/ready/ready_ordered.h"

#include <math.h>
#include <stdlib.h>
#include "base/bisect.h"
#include "base/compare.h"
#include "base/fail.h"
#include "model/reduce/reduce_tree.h"

/* Where the interval i .. j is cut. */
struct cv_ordered_cut {
    uint32_t cut; /* the last node of the left part */
    bool left_receives;
};

/* *which: CV_FIRST_CUT for the whole interval of a sender, else the result of the last
 * call. */
#define CV_FIRST_CUT UINT32_MAX
typedef struct cv_ordered_cut cv_ordered_cut_of(const void *context, uint32_t i,
                                                uint32_t j, uint32_t *which);

/* Take the interval apart from the top. The part cut off last was received first, and is
 * on top of the stack. */
static bool ordered_build(uint32_t n, cv_ordered_cut_of *cut_of, const void *context,
                          struct cv_arena *arena, struct cv_ordered_tree *tree)
{
    struct interval {
        uint32_t i, j, to; /* to: who receives it */
    } * stack;
    uint32_t *received, count = 0;

    if (!CV_NEW(arena, stack, (size_t)n + 1) || !CV_NEW(arena, received, n))
        return false;
    stack[count++] = (struct interval){ 0, n - 1, CV_NO_NODE };
    while (count > 0) {
        const struct interval in = stack[--count];
        uint32_t i = in.i, j = in.j, top = count, which = CV_FIRST_CUT;

        while (i < j) {
            const struct cv_ordered_cut at = cut_of(context, i, j, &which);

            stack[count++] = at.left_receives ? (struct interval){ at.cut + 1, j, 0 }
                                              : (struct interval){ i, at.cut, 0 };
            *(at.left_receives ? &j : &i) = at.left_receives ? at.cut : at.cut + 1;
        }
        tree->parent[i] = in.to;
        tree->turn[i] = in.to != CV_NO_NODE ? received[in.to]++ : 0;
        for (uint32_t k = top; k < count; k++)
            stack[k].to = i;
    }
    return true;
}

/* --- receiving early, transfers dearer than combinations --------------------------- */

/* The holder of an interval has a pair: P, the time of its port, and Q, its own time with
 * all combinations so far. Receiving a partial of t makes it max(t + B, P + d) and Q + c;
 * it is done at the greater. */

struct pair {
    double p, q;
    uint32_t cut;  /* the last node of the left part */
    uint32_t from; /* which pair of the holder's part */
    bool left_receives;
};

struct pairs {
    struct pair *at; /* in the arena */
    uint32_t count, best;
    double done_s; /* end of the best */
};

struct table {
    const struct cv_ready_job *job;
    struct cv_arena *arena;
    struct pairs *pairs; /* n x n */
    struct pair *room;
    size_t capacity;
};

static struct pairs *at(const struct table *table, uint32_t i, uint32_t j)
{
    return &table->pairs[(size_t)i * table->job->n + j];
}

CV_ORDER_BY_TWO(by_port, struct pair, p, q)

/* Keep the pairs that no other pair beats in both. */
static bool keep(struct table *table, size_t count, struct pairs *out)
{
    size_t kept = 0;

    qsort(table->room, count, sizeof *table->room, by_port);
    for (size_t k = 0; k < count; k++)
        if (kept == 0 || table->room[k].q < table->room[kept - 1].q)
            table->room[kept++] = table->room[k];
    out->at = cv_array(table->arena, kept, sizeof *out->at);
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

        if (!CV_NEW(table->arena, own->at, 1))
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

/* A sender is the best pair of its part; a receiver was a pair of another part before. */
static struct cv_ordered_cut cut_of(const void *context, uint32_t i, uint32_t j,
                                    uint32_t *which)
{
    const struct pairs *pairs = at(context, i, j);
    const struct pair *pair = &pairs->at[*which != CV_FIRST_CUT ? *which : pairs->best];

    *which = pair->from;
    return (struct cv_ordered_cut){ pair->cut, pair->left_receives };
}

static bool ordered_late(const struct cv_ready_job *job, struct cv_arena *arena,
                         struct cv_ordered_tree *tree, double *out_s)
{
    struct table table = { .job = job, .arena = arena };
    bool ok = CV_NEW(arena, table.pairs, (size_t)job->n * job->n) && fill(&table);

    if (ok)
        *out_s = at(&table, 0, job->n - 1)->done_s;
    ok = ok && (tree == NULL || ordered_build(job->n, cut_of, &table, arena, tree));
    free(table.room);
    return ok;
}

/* The plan of an interval: the least time, the cut, and the side that receives. */
struct best {
    double done_s;
    uint32_t cut; /* the last node of the left part */
    bool left_receives;
};

struct overlap {
    const struct cv_ready_job *job;
    double a, b, mu;
    struct best *best; /* row i begins with (i, i) */
};

static struct best *overlap_at(const struct overlap *overlap, uint32_t i, uint32_t j)
{
    const size_t n = overlap->job->n;

    return &overlap->best[i * n - (size_t)i * (i + 1) / 2 + j];
}

/* The time that counts when the holder of i .. j receives once more. */
static double counts(const struct overlap *overlap, uint32_t i, uint32_t j)
{
    return overlap_at(overlap, i, j)->done_s + (i == j ? overlap->mu : 0);
}

/* If the left part receives, the cost of the holder rises with k and that of the sender
 * falls; mirrored if the right part receives. */
static double holder(const struct overlap *overlap, uint32_t i, uint32_t j, uint32_t k,
                     bool left_receives)
{
    return (left_receives ? counts(overlap, i, k) : counts(overlap, k + 1, j)) +
           overlap->a;
}

static double sender(const struct overlap *overlap, uint32_t i, uint32_t j, uint32_t k,
                     bool left_receives)
{
    return (left_receives ? overlap_at(overlap, k + 1, j)->done_s
                          : overlap_at(overlap, i, k)->done_s) +
           overlap->b;
}

static void try_cut(const struct overlap *overlap, uint32_t i, uint32_t j, uint32_t k,
                    bool left_receives, struct best *best)
{
    const double done_s = fmax(holder(overlap, i, j, k, left_receives),
                               sender(overlap, i, j, k, left_receives));

    if (done_s < best->done_s)
        *best = (struct best){ done_s, k, left_receives };
}

/* The least k of i .. j - 1 at which the rising cost is at least the falling: the best
 * cut is that or the one before. */
static void find_cut(const struct overlap *overlap, uint32_t i, uint32_t j,
                     bool left_receives, struct best *best)
{
    uint32_t low;

    CV_BISECT(low, j - 1 - i, k,
              left_receives ? holder(overlap, i, j, i + k, true) <
                                  sender(overlap, i, j, i + k, true)
                            : sender(overlap, i, j, i + k, false) <
                                  holder(overlap, i, j, i + k, false));
    low += i;
    try_cut(overlap, i, j, low, left_receives, best);
    if (low > i)
        try_cut(overlap, i, j, low - 1, left_receives, best);
}

static struct cv_ordered_cut overlap_cut_of(const void *context, uint32_t i, uint32_t j,
                                            uint32_t *which)
{
    const struct best *best = overlap_at(context, i, j);

    (void)which;
    return (struct cv_ordered_cut){ best->cut, best->left_receives };
}

static bool ordered_overlap(const struct cv_ready_job *job, struct cv_arena *arena,
                            struct cv_ordered_tree *tree, double *out_s)
{
    const struct cv_ready_steps steps = cv_ready_steps(job);
    const size_t n = job->n;
    struct overlap overlap = { job, steps.a, steps.b, steps.mu, NULL };

    if (!CV_NEW(arena, overlap.best, n * (n + 1) / 2))
        return false;
    for (uint32_t i = 0; i < n; i++)
        overlap_at(&overlap, i, i)->done_s = job->ready_s[i];
    for (uint32_t j = 1; j < n; j++) {
        for (uint32_t i = j; i-- > 0;) {
            struct best best = { INFINITY, i, true };

            find_cut(&overlap, i, j, true, &best);
            find_cut(&overlap, i, j, false, &best);
            *overlap_at(&overlap, i, j) = best;
        }
    }
    *out_s = overlap_at(&overlap, 0, job->n - 1)->done_s;
    return tree == NULL || ordered_build(job->n, overlap_cut_of, &overlap, arena, tree);
}

/* Add 2^-depth to a sum with the bits `bits`, coarse to fine. Returns the bit that became
 * one. */
static int32_t add_bit(int32_t *bits, uint32_t *count, int32_t depth)
{
    while (*count > 0 && bits[*count - 1] == depth) {
        --*count;
        depth--;
    }
    bits[(*count)++] = depth;
    return depth;
}

/* Whether there is an ordered binary tree whose leaf i has at most depth[i]; none with a
 * negative depth. `bits` has room for n + 1 numbers. carries[i], unless NULL, becomes the
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

struct search {
    const struct cv_ready_job *job;
    double b;
    int32_t *depth, *bits, *carries;
    double *candidates;
};

/* How often b fits, up to rounding. */
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
    uint32_t count = 0, least;
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
    CV_BISECT(least, count - 1, i, !fits(search, search->candidates[i], NULL));
    return search->candidates[least];
}

/* Intervals to combine, from left to right: the holder, its time, and the depth at which
 * it parts from the interval before. */
struct piece {
    uint32_t holder;
    int32_t parts;
    double done_s;
};

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

/* Deepest first: a piece is combined with the one before it once the next parts from it
 * no deeper. */
static bool build(const struct search *search, struct cv_arena *arena,
                  struct cv_ordered_tree *tree, double *out_s)
{
    const struct cv_ready_job *job = search->job;
    struct piece *pieces;
    uint32_t *received, count = 0;

    if (!CV_NEW(arena, pieces, (size_t)job->n + 1) ||
        !CV_NEW(arena, received, (size_t)job->n + 1))
        return false;
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
    return true;
}

static bool ordered_merge(const struct cv_ready_job *job, struct cv_arena *arena,
                          struct cv_ordered_tree *tree, double *out_s)
{
    const size_t n = job->n;
    struct search search = { .job = job, .b = job->d + job->c };

    if (!CV_NEW(arena, search.depth, n) || !CV_NEW(arena, search.bits, n + 1) ||
        !CV_NEW(arena, search.carries, n) || !CV_NEW(arena, search.candidates, n + 1))
        return false;
    *out_s = least_length(&search);
    return tree == NULL || !fits(&search, *out_s, search.carries) ||
           build(&search, arena, tree, out_s);
}

/* Nothing takes time: the first node receives all, one after the other. */
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
    const bool merge = job->model == CLEAVE_READY_MERGE;
    struct cv_arena arena;
    bool ok;

    if (job->n == 1 || !(job->d + job->c > 0)) {
        free_chain(job, tree, out_s);
        return CLEAVE_OK;
    }
    if (!merge && job->n > max)
        return cv_fail(err, CLEAVE_EINPUT,
                       "an ordered tree with overlap looks at all intervals: expected at "
                       "most %u nodes, got %u; without overlap (merge) there may be any "
                       "number",
                       max, job->n);
    cv_arena_init(&arena);
    ok = merge                    ? ordered_merge(job, &arena, tree, out_s)
         : cv_ready_is_exact(job) ? ordered_overlap(job, &arena, tree, out_s)
                                  : ordered_late(job, &arena, tree, out_s);
    cv_arena_done(&arena);
    return ok ? CLEAVE_OK : cv_fail_memory(err, "an ordered tree");
}
