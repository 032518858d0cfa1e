/* tail_tree.c -- trees whose weighted mean of tails is small. SPDX-License-Identifier: MIT */
#include "model/joint/tail_tree.h"

#include <math.h>
#include <string.h>

#include "base/heap.h"
#include "model/ready/ready_tree.h"
#include "model/reduce/reduce_tree.h"

/* A slot that may grow, or a value that may be combined. */
struct key {
    double first, second;
    uint32_t number, node;
};

struct cv_tail_workspace {
    struct cv_tail_costs costs;
    struct cv_arena scratch; /* for executions */
    struct cv_ready_planner *planner;
    struct key *heap;
    uint32_t count;
    uint32_t *senders; /* per node                              */
    uint32_t *by_weight, *by_tail, *who;
    double *ready_s;
    struct cv_tail_tree shape; /* before nodes have taken places */
    struct cv_tail_tree trial;
};

static bool tree_room(struct cv_tail_tree *tree, struct cv_arena *arena, uint32_t n)
{
    tree->parent = cv_array(arena, n, sizeof *tree->parent);
    tree->turn = cv_array(arena, n, sizeof *tree->turn);
    tree->tails = cv_array(arena, n, sizeof *tree->tails);
    return tree->parent != NULL && tree->turn != NULL && tree->tails != NULL;
}

static struct cv_ready_job job_of(const struct cv_tail_workspace *room)
{
    return (struct cv_ready_job){ .ready_s = room->ready_s,
                                  .d = room->costs.d,
                                  .c = room->costs.c,
                                  .model = room->costs.model };
}

struct cv_tail_workspace *cv_tail_room_new(struct cv_arena *arena, uint32_t n,
                                           const struct cv_tail_costs *costs)
{
    struct cv_tail_workspace *room = cv_array(arena, 1, sizeof *room);
    struct cv_ready_job job;

    if (room == NULL)
        return NULL;
    room->costs = *costs;
    cv_arena_init(&room->scratch);
    room->heap = cv_array(arena, 2 * (size_t)n + 1, sizeof *room->heap);
    room->senders = cv_array(arena, n, sizeof *room->senders);
    room->by_weight = cv_array(arena, n, sizeof *room->by_weight);
    room->by_tail = cv_array(arena, n, sizeof *room->by_tail);
    room->who = cv_array(arena, n, sizeof *room->who);
    room->ready_s = cv_array(arena, n, sizeof *room->ready_s);
    job = job_of(room);
    room->planner = cv_ready_planner_new(arena, n, cv_ready_is_exact(&job));
    if (room->heap == NULL || room->senders == NULL || room->by_weight == NULL ||
        room->by_tail == NULL || room->who == NULL || room->ready_s == NULL ||
        room->planner == NULL || !tree_room(&room->shape, arena, n) ||
        !tree_room(&room->trial, arena, n))
        return NULL;
    return room;
}

void cv_tail_room_done(struct cv_tail_workspace *room)
{
    if (room != NULL)
        cv_arena_done(&room->scratch);
}

/* --- a heap ------------------------------------------------------------------------------ */

static bool before(const struct key *a, const struct key *b)
{
    if (a->first != b->first)
        return a->first < b->first;
    return a->second != b->second ? a->second < b->second : a->number < b->number;
}

CV_HEAP(key, struct key, before)

/* --- shapes ------------------------------------------------------------------------------- */

/* Grow the earliest slot until there are n. Who is born later is received earlier: turns
 * are counted down when all are born. */
double cv_varn_tree(struct cv_tail_workspace *room, uint32_t n, struct cv_tail_tree *out)
{
    const struct cv_ready_job job = job_of(room);
    const struct cv_ready_steps steps = cv_ready_steps(&job);
    double sum = 0;

    room->count = 0;
    memset(room->senders, 0, n * sizeof *room->senders);
    out->parent[0] = CV_NO_NODE;
    out->turn[0] = 0;
    out->tails[0] = 0;
    key_push(room->heap, room->count++, (struct key){ steps.mu, 0, 0, 0 });
    for (uint32_t i = 1; i < n; i++) {
        const struct key slot = key_pop(room->heap, room->count--);
        const double t = slot.second;
        const uint32_t above = slot.node;

        out->parent[i] = above;
        out->turn[i] = room->senders[above]++;
        out->tails[i] = t + steps.b;
        out->tails[above] =
            job.model == CLEAVE_READY_EARLY ? out->tails[above] + job.c : t + steps.b;
        key_push(room->heap, room->count++,
                 (struct key){ t + steps.a, t + steps.a, above, above });
        key_push(room->heap, room->count++,
                 (struct key){ t + steps.b + steps.mu, t + steps.b, i, i });
    }
    for (uint32_t i = 1; i < n; i++)
        out->turn[i] = room->senders[out->parent[i]] - 1 - out->turn[i];
    for (uint32_t i = 0; i < n; i++)
        sum += out->tails[i];
    return sum;
}

/* Tails of a tree with turns: receivers before their senders. */
static void find_tails(struct cv_tail_workspace *room, uint32_t n,
                       struct cv_tail_tree *tree)
{
    const struct cv_ready_job job = job_of(room);
    const struct cv_ready_steps steps = cv_ready_steps(&job);
    double *born_s = room->ready_s; /* no longer needed */
    uint32_t *stack = room->who;

    memset(room->senders, 0, n * sizeof *room->senders);
    for (uint32_t i = 0; i < n; i++)
        if (tree->parent[i] != CV_NO_NODE)
            room->senders[tree->parent[i]]++;
    for (uint32_t i = 0; i < n; i++)
        born_s[i] = -1;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t up = i, depth = 0;

        while (born_s[up] < 0) { /* up to who is known, and down again */
            stack[depth++] = up;
            if (tree->parent[up] == CV_NO_NODE)
                break;
            up = tree->parent[up];
        }
        while (depth-- > 0) {
            const uint32_t node = stack[depth], to = tree->parent[node];

            born_s[node] = to == CV_NO_NODE
                               ? 0
                               : born_s[to] + steps.b +
                                     (room->senders[to] - 1 - tree->turn[node]) * steps.a;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t m = room->senders[i];

        tree->tails[i] = born_s[i];
        if (m > 0)
            tree->tails[i] +=
                job.model == CLEAVE_READY_EARLY ? m * job.c : steps.b + (m - 1) * steps.a;
    }
}

/* Combine the two least weights; the heavier of them keeps the result. */
static void huffman_shape(struct cv_tail_workspace *room, const double *weights,
                          uint32_t n, struct cv_tail_tree *out)
{
    uint32_t number = n;

    room->count = 0;
    memset(room->senders, 0, n * sizeof *room->senders);
    for (uint32_t i = 0; i < n; i++)
        key_push(room->heap, room->count++, (struct key){ weights[i], 0, i, i });
    while (room->count > 1) {
        const struct key less = key_pop(room->heap, room->count--),
                         more = key_pop(room->heap, room->count--);

        out->parent[less.node] = more.node;
        out->turn[less.node] = room->senders[more.node]++;
        key_push(room->heap, room->count++,
                 (struct key){ less.first + more.first, 0, number++, more.node });
    }
    out->parent[room->heap[0].node] = CV_NO_NODE;
    out->turn[room->heap[0].node] = 0;
}

/* --- places ------------------------------------------------------------------------------- */

static void sort_by(struct cv_tail_workspace *room, const double *value, double sign,
                    uint32_t n, uint32_t *out)
{
    room->count = 0;
    for (uint32_t i = 0; i < n; i++)
        key_push(room->heap, room->count++, (struct key){ sign * value[i], 0, i, i });
    for (uint32_t i = 0; i < n; i++)
        out[i] = key_pop(room->heap, room->count--).node;
}

/* The greatest weight to the shortest tail of `shape`; the weighted sum. */
static double place(struct cv_tail_workspace *room, const double *weights, uint32_t n,
                    const struct cv_tail_tree *shape, struct cv_tail_tree *out)
{
    double sum = 0;

    sort_by(room, weights, -1, n, room->by_weight);
    sort_by(room, shape->tails, 1, n, room->by_tail);
    for (uint32_t k = 0; k < n; k++)
        room->who[room->by_tail[k]] = room->by_weight[k];
    for (uint32_t v = 0; v < n; v++) {
        const uint32_t node = room->who[v];

        out->tails[node] = shape->tails[v];
        out->turn[node] = shape->turn[v];
        out->parent[node] =
            shape->parent[v] == CV_NO_NODE ? CV_NO_NODE : room->who[shape->parent[v]];
        sum += weights[node] * shape->tails[v];
    }
    return sum;
}

static void copy(const struct cv_tail_tree *from, uint32_t n, struct cv_tail_tree *to)
{
    memcpy(to->parent, from->parent, n * sizeof *to->parent);
    memcpy(to->turn, from->turn, n * sizeof *to->turn);
    memcpy(to->tails, from->tails, n * sizeof *to->tails);
}

/* The shortest tree for ready times kappa ln(y) / s, senders in the order they ask; false
 * when memory is short. */
static bool ready_shape(struct cv_tail_workspace *room, const double *weights, uint32_t n,
                        double kappa, struct cv_tail_tree *out)
{
    struct cv_ready_job job = job_of(room);
    const struct cv_ready_steps steps = cv_ready_steps(&job);
    const double rate =
        cv_ready_rate(fmax(job.d, job.c), steps.b); /* as if there were overlap */
    double min = INFINITY;
    struct cv_ready_run run;

    job.n = n;
    for (uint32_t i = 0; i < n; i++) {
        room->ready_s[i] = kappa * log(fmax(weights[i], 1e-12)) / rate;
        min = fmin(min, room->ready_s[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        room->ready_s[i] -= min;
    cv_ready_tree(room->planner, &job, CV_NO_NODE, out->parent);
    cv_arena_reset(&room->scratch);
    if (cv_ready_execute(&job, out->parent, NULL, &room->scratch, &run, NULL) !=
        CLEAVE_OK)
        return false;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = run.first[i]; k < run.first[i + 1]; k++)
            out->turn[run.sender[k]] = k - run.first[i];
    out->turn[run.root] = 0;
    find_tails(room, n, out);
    return true;
}

static double huffman(struct cv_tail_workspace *room, const double *weights, uint32_t n,
                      struct cv_tail_tree *out)
{
    double sum = 0;

    huffman_shape(room, weights, n, out);
    find_tails(room, n, out);
    for (uint32_t i = 0; i < n; i++)
        sum += weights[i] * out->tails[i];
    return sum;
}

double cv_tail_tree(struct cv_tail_workspace *room, const double *weights, uint32_t n,
                    struct cv_tail_tree *out)
{
    /* 1 has the guarantee, the others often help. */
    static const double kappas[] = { 0.5, 0.75, 1, 1.5 };
    const struct cv_tail_costs *costs = &room->costs;
    double best, sum;

    if (costs->model == CLEAVE_READY_MERGE)
        return huffman(room, weights, n, out);
    cv_varn_tree(room, n, &room->shape);
    best = place(room, weights, n, &room->shape, out);
    if (n == 1 || !(costs->d + costs->c > 0))
        return best;
    if (fmin(costs->d, costs->c) == 0 && costs->model == CLEAVE_READY_ABSENT) {
        sum = huffman(room, weights, n, &room->trial);
        if (sum < best)
            copy(&room->trial, n, out);
        return fmin(sum, best);
    }
    for (size_t i = 0; i < sizeof kappas / sizeof *kappas; i++) {
        if (!ready_shape(room, weights, n, kappas[i], &room->shape))
            return best;
        sum = place(room, weights, n, &room->shape, &room->trial);
        if (sum < best) {
            copy(&room->trial, n, out);
            best = sum;
        }
    }
    return best;
}
