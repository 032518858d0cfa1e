/* joint.c -- a load and the reduction of its results as one plan. SPDX-License-Identifier: MIT */
#include "model/joint/joint.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "base/compare.h"
#include "base/fail.h"
#include "base/heap.h"
#include "model/ready/ready_tree.h"
#include "model/reduce/reduce_tree.h"

/* Rate of a worker's link and processor together. */
static double rate(const struct cleave_worker *worker)
{
    return 1 / (1 / worker->bandwidth_ups + 1 / worker->speed_ups);
}

static double own_s(const struct cleave_worker *worker, double tail_s)
{
    return tail_s + worker->compute_latency_s + worker->latency_s;
}

/* `growth` of the total load with T: X1 of X0 + X1 T. */
static void find_weights(const struct cv_joint_load *load, const uint32_t *order,
                         uint32_t n, double growth, double *weights)
{
    double later = 0; /* loss of later workers when the port is free later */

    for (uint32_t k = n; k-- > 0;) {
        const struct cleave_worker *worker = &load->workers[order[k]];
        const double g = rate(worker);

        weights[k] = g * (1 + later / worker->bandwidth_ups) / growth;
        if (!load->multi)
            later = -g + (1 - g / worker->bandwidth_ups) * later;
    }
}

double cv_joint_sizes(const struct cv_joint_load *load, const uint32_t *order, uint32_t n,
                      const double *tails, double *sizes, double *weights)
{
    double free0 = 0, free1 = 0; /* the port is free at free0 + free1 T; multi: always */
    double load0 = 0, load1 = 0; /* load so far: load0 + load1 T        */
    double end_s, free_s = 0;

    for (uint32_t k = 0; k < n; k++) {
        const struct cleave_worker *worker = &load->workers[order[k]];
        const double g = rate(worker);
        const double x0 = -g * (own_s(worker, tails[k]) + free0), x1 = g * (1 - free1);

        load0 += x0;
        load1 += x1;
        if (!load->multi) {
            free0 += worker->latency_s + x0 / worker->bandwidth_ups;
            free1 += x1 / worker->bandwidth_ups;
        }
    }
    end_s = (load->units - load0) / load1;
    if (weights != NULL)
        find_weights(load, order, n, load1, weights);
    for (uint32_t k = 0; k < n && sizes != NULL; k++) {
        const struct cleave_worker *worker = &load->workers[order[k]];

        sizes[k] = rate(worker) * (end_s - own_s(worker, tails[k]) - free_s);
        if (!load->multi)
            free_s += worker->latency_s + sizes[k] / worker->bandwidth_ups;
    }
    return end_s;
}

/* A slot that may grow, or a value that may be combined. */
struct key {
    double first, second;
    uint32_t number, node;
};

struct cv_tail_workspace {
    struct cv_ready_job job; /* job.ready_s is `ready_s` below */
    struct cv_ready_steps steps;
    struct cv_arena scratch;
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
    return CV_NEW(arena, tree->parent, n) && CV_NEW(arena, tree->turn, n) &&
           CV_NEW(arena, tree->tails, n);
}

struct cv_tail_workspace *cv_tail_room_new(struct cv_arena *arena, uint32_t n,
                                           const struct cv_tail_costs *costs)
{
    struct cv_tail_workspace *room;

    if (!CV_NEW(arena, room, 1) || !CV_NEW(arena, room->heap, 2 * (size_t)n + 1) ||
        !CV_NEW(arena, room->senders, n) || !CV_NEW(arena, room->by_weight, n) ||
        !CV_NEW(arena, room->by_tail, n) || !CV_NEW(arena, room->who, n) ||
        !CV_NEW(arena, room->ready_s, n) || !tree_room(&room->shape, arena, n) ||
        !tree_room(&room->trial, arena, n))
        return NULL;
    room->job =
        (struct cv_ready_job){ n, room->ready_s, costs->d, costs->c, costs->model };
    room->steps = cv_ready_steps(&room->job);
    cv_arena_init(&room->scratch);
    room->planner = cv_ready_planner_new(arena, n, cv_ready_is_exact(&room->job));
    return room->planner != NULL ? room : NULL;
}

void cv_tail_room_done(struct cv_tail_workspace *room)
{
    if (room != NULL)
        cv_arena_done(&room->scratch);
}

static bool before(const struct key *a, const struct key *b)
{
    if (a->first != b->first)
        return a->first < b->first;
    return a->second != b->second ? a->second < b->second : a->number < b->number;
}

CV_HEAP(key, struct key, before)

/* Grow the earliest slot until there are n. A node born later is received earlier: turns
 * are counted down when all are born. */
double cv_varn_tree(struct cv_tail_workspace *room, uint32_t n, struct cv_tail_tree *out)
{
    const struct cv_ready_job *job = &room->job;
    const struct cv_ready_steps steps = room->steps;
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
            job->model == CLEAVE_READY_EARLY ? out->tails[above] + job->c : t + steps.b;
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
    const struct cv_ready_job *job = &room->job;
    const struct cv_ready_steps steps = room->steps;
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

        while (born_s[up] < 0) { /* up to a known one, and down again */
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
            tree->tails[i] += job->model == CLEAVE_READY_EARLY
                                  ? m * job->c
                                  : steps.b + (m - 1) * steps.a;
    }
}

/* Combine the two least weights; the heavier of them keeps the result. */
static double huffman(struct cv_tail_workspace *room, const double *weights, uint32_t n,
                      struct cv_tail_tree *out)
{
    uint32_t number = n;
    double sum = 0;

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
    find_tails(room, n, out);
    for (uint32_t i = 0; i < n; i++)
        sum += weights[i] * out->tails[i];
    return sum;
}

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
    struct cv_ready_job job = room->job;
    const double rate =
        cv_ready_rate(fmax(job.d, job.c), room->steps.b); /* as if there were overlap */
    double min = INFINITY;
    struct cv_tree_run run;

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

static double quick_tree(struct cv_tail_workspace *room, const double *weights,
                         uint32_t n, struct cv_tail_tree *out)
{
    if (room->job.model == CLEAVE_READY_MERGE)
        return huffman(room, weights, n, out);
    cv_varn_tree(room, n, &room->shape);
    return place(room, weights, n, &room->shape, out);
}

double cv_tail_tree(struct cv_tail_workspace *room, const double *weights, uint32_t n,
                    struct cv_tail_tree *out)
{
    /* 1 has the guarantee; the others often help. */
    static const double kappas[] = { 0.5, 0.75, 1, 1.5 };
    const struct cv_ready_job *costs = &room->job;
    double best = quick_tree(room, weights, n, out), sum;

    if (n == 1 || !(costs->d + costs->c > 0) || costs->model == CLEAVE_READY_MERGE)
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

/* Growth of a tree with time, INFINITY without costs; false: unknown, at the master. A
 * transfer that is longer than a combination, and early, counts as one that is as long. */
static bool has_bound(const struct cv_joint_job *job, double *out_rate)
{
    const bool early = job->costs.model == CLEAVE_READY_EARLY;
    const struct cv_ready_job costs = { .d = early ? fmin(job->costs.d, job->costs.c)
                                                   : job->costs.d,
                                        .c = job->costs.c,
                                        .model = job->costs.model };
    const struct cv_ready_steps steps = cv_ready_steps(&costs);

    *out_rate = cv_ready_rate(steps.a, steps.b);
    return !job->at_master;
}

/* The present set of workers, in the order of sending. */
struct trial {
    const struct cv_joint_job *job;
    uint32_t *order;
    uint32_t n;
    double *none; /* tails of 0            */
    double *sizes, *weights;
    double rate; /* growth of a tree with time; 0: it has no bound */
    struct cv_tail_tree tree;
    struct cv_tail_workspace *room;
};

static void take_all(struct trial *trial)
{
    trial->n = trial->job->nworkers;
    memcpy(trial->order, trial->job->order, trial->n * sizeof *trial->order);
}

static bool trial_room(struct trial *trial, struct cv_arena *arena)
{
    const struct cv_joint_job *job = trial->job;
    const uint32_t n = job->nworkers;

    if (!CV_NEW(arena, trial->order, n) || !CV_NEW(arena, trial->none, n) ||
        !CV_NEW(arena, trial->sizes, n) || !CV_NEW(arena, trial->weights, n) ||
        !tree_room(&trial->tree, arena, n))
        return false;
    take_all(trial);
    trial->room = cv_tail_room_new(arena, n, &job->costs);
    return trial->room != NULL;
}

static void leave_out(struct trial *trial, uint32_t place)
{
    memmove(trial->order + place, trial->order + place + 1,
            (--trial->n - place) * sizeof *trial->order);
}

static void take_in(struct trial *trial, uint32_t worker, uint32_t place)
{
    memmove(trial->order + place + 1, trial->order + place,
            (trial->n++ - place) * sizeof *trial->order);
    trial->order[place] = worker;
}

static uint32_t least_of(const double *values, uint32_t n)
{
    uint32_t min = 0;

    for (uint32_t k = 1; k < n; k++)
        if (values[k] < values[min])
            min = k;
    return min;
}

/* Seen from the end, a combination makes two partials of one, `folders` at a time; the
 * last are divided first. So with one folder the last partial must arrive c before the
 * end, and each one before it c more, the first two together. The port takes d each, one
 * after the other. Tails decrease. */
static void star_tails(const struct cv_joint_job *job, uint32_t n, double *tails)
{
    const uint32_t folders = job->folders > 1 ? job->folders : 1;
    uint32_t fresh = 1, total = 1, left = n;
    double received_s = -job->costs.d;

    for (uint32_t level = 0; left > 0; level++) {
        uint32_t divided = fresh < folders ? fresh : folders;

        if (divided > n - total)
            divided = n - total;
        for (uint32_t k = divided; k < fresh; k++) {
            received_s = fmax(level * job->costs.c, received_s + job->costs.d);
            tails[--left] = received_s + job->costs.d;
        }
        fresh = 2 * divided;
        total += divided;
    }
}

/* The greatest weight to the shortest tail; the longest tail. */
static double place_star(struct trial *trial)
{
    struct cv_tail_workspace *room = trial->room;

    star_tails(trial->job, trial->n, room->shape.tails);
    sort_by(room, trial->weights, 1, trial->n, room->by_weight);
    for (uint32_t k = 0; k < trial->n; k++)
        trial->tree.tails[room->by_weight[k]] = room->shape.tails[k];
    return room->shape.tails[0];
}

/* A port that serves one message at a time receives nothing before all is sent: the worker
 * served last gets less, the workers before it more, until the first partial is in time. */
static double wait_for_port(struct trial *trial, double end_s, double tail_s)
{
    const struct cv_joint_load *load = &trial->job->load;
    const uint32_t last = trial->n - 1;
    double sent_s = 0, units = 0, port = 0, late_s; /* grow by `units`, `port` with T */

    for (uint32_t k = 0; k <= last; k++) {
        const struct cleave_worker *worker = &load->workers[trial->order[k]];
        const double more = k < last ? rate(worker) * (1 - port) : -units;

        sent_s += worker->latency_s + trial->sizes[k] / worker->bandwidth_ups;
        port += more / worker->bandwidth_ups;
        units += more;
        trial->none[k] = more;
    }
    late_s = fmax(0, (sent_s + tail_s - end_s) / (1 - port));
    for (uint32_t k = 0; k <= last; k++) {
        trial->sizes[k] += trial->none[k] * late_s;
        trial->none[k] = 0;
    }
    return end_s + late_s;
}

/* The end for this set in this order; INFINITY if fewer workers are better. With a limit
 * the end may be that of a tree found quickly, or INFINITY if none is below the limit. */
static double try_set(struct trial *trial, double limit_s)
{
    const struct cv_joint_job *job = trial->job;
    const uint32_t n = trial->n;
    double tail_s = 0, bound_s, end_s;

    bound_s =
        cv_joint_sizes(&job->load, trial->order, n, trial->none, NULL, trial->weights);
    if (trial->weights[least_of(trial->weights, n)] <= 0)
        return INFINITY;
    for (uint32_t k = 0; k < n && trial->rate > 0; k++)
        bound_s -= trial->weights[k] * log(trial->weights[k]) / trial->rate;
    if (bound_s >= limit_s)
        return INFINITY;
    if (job->at_master)
        tail_s = place_star(trial);
    else if (isfinite(limit_s))
        quick_tree(trial->room, trial->weights, n, &trial->tree);
    else
        cv_tail_tree(trial->room, trial->weights, n, &trial->tree);
    end_s = cv_joint_sizes(&job->load, trial->order, n, trial->tree.tails, trial->sizes,
                           NULL);
    if (job->at_master && !job->load.multi && !job->duplex)
        end_s = wait_for_port(trial, end_s, tail_s);
    return trial->sizes[least_of(trial->sizes, n)] < 0 ? INFINITY : end_s;
}

/* The place for which try_set has no end. */
static uint32_t needless(const struct trial *trial)
{
    const uint32_t weak = least_of(trial->weights, trial->n);

    return trial->weights[weak] <= 0 ? weak : least_of(trial->sizes, trial->n);
}

/* The load alone, with workers that help it. */
static double load_only(struct trial *trial)
{
    const struct cv_joint_load *load = &trial->job->load;

    for (;;) {
        const double end_s = cv_joint_sizes(load, trial->order, trial->n, trial->none,
                                            trial->sizes, trial->weights);
        const uint32_t small = least_of(trial->sizes, trial->n);
        const uint32_t weak = least_of(trial->weights, trial->n);

        if (trial->n == 1 || (trial->sizes[small] >= 0 && trial->weights[weak] > 0))
            return end_s;
        leave_out(trial, trial->sizes[small] < 0 ? small : weak);
    }
}

static double reduction_length(struct trial *trial)
{
    const struct cv_tail_costs *costs = &trial->job->costs;

    if (trial->job->at_master)
        return place_star(trial);
    return costs->model == CLEAVE_READY_MERGE
               ? cv_ceil_log2(trial->n) * (costs->d + costs->c)
               : cv_reduce_length(trial->n, costs->d, costs->c);
}

static bool keep(const struct trial *trial, double end_s, struct cv_arena *arena,
                 struct cv_joint_plan *out)
{
    const uint32_t n = trial->job->nworkers;

    if (out->order == NULL &&
        (!CV_NEW(arena, out->order, n) || !CV_NEW(arena, out->sizes, n) ||
         !CV_NEW(arena, out->tails, n) || !CV_NEW(arena, out->with_s, n) ||
         (!trial->job->at_master &&
          (!CV_NEW(arena, out->parent, n) || !CV_NEW(arena, out->turn, n)))))
        return false;
    out->end_s = end_s;
    out->used = trial->n;
    memcpy(out->order, trial->order, trial->n * sizeof *out->order);
    memcpy(out->sizes, trial->sizes, trial->n * sizeof *out->sizes);
    memcpy(out->tails, trial->tree.tails, trial->n * sizeof *out->tails);
    if (!trial->job->at_master) {
        memcpy(out->parent, trial->tree.parent, trial->n * sizeof *out->parent);
        memcpy(out->turn, trial->tree.turn, trial->n * sizeof *out->turn);
    }
    return true;
}

/* From the set of the trial down: the smallest one leaves if a size is negative, else the worker of
 * least weight. False when memory is short. */
static bool eliminate(struct trial *trial, struct cv_arena *arena,
                      struct cv_joint_plan *out)
{
    for (;;) {
        const double end_s = try_set(trial, INFINITY);

        if (end_s < out->end_s && !keep(trial, end_s, arena, out))
            return false;
        if (trial->n == 1 || (trial->job->all && isfinite(out->end_s)))
            return true;
        leave_out(trial,
                  isinf(end_s) ? needless(trial) : least_of(trial->weights, trial->n));
    }
}

/* The set of `plan` once more. */
static void restore(struct trial *trial, const struct cv_joint_plan *plan)
{
    trial->n = plan->used;
    for (uint32_t k = 0; k < plan->used; k++)
        trial->order[k] = plan->order[k];
}

/* n: not used. */
static uint32_t place_of(const struct trial *trial, uint32_t worker)
{
    uint32_t place = 0;

    while (place < trial->n && trial->order[place] != worker)
        place++;
    return place;
}

/* Where a worker of the job's order belongs among the workers that are used. */
static uint32_t own_place(const struct trial *trial, uint32_t worker,
                          const uint32_t *rank)
{
    uint32_t place = 0;

    while (place < trial->n && rank[trial->order[place]] < rank[worker])
        place++;
    return place;
}

/* Keep the set of the trial if it is better by more than rounding. */
static bool try_change(struct trial *trial, struct cv_arena *arena,
                       struct cv_joint_plan *plan, bool *better)
{
    const double limit_s = plan->end_s * (1 - 1e-9), end_s = try_set(trial, limit_s);

    if (!(end_s < limit_s))
        return true;
    *better = true;
    return keep(trial, end_s, arena, plan);
}

enum { MOST_CHANGES = 5000 }; /* so that 1,000 workers take seconds */

/* The plan with one change for a worker. Place n: it leaves, or joins at its place in the
 * job's order; another place: it moves there, or takes part instead of the worker there. */
static void change(struct trial *trial, const struct cv_joint_plan *plan, uint32_t worker,
                   uint32_t place, const uint32_t *rank)
{
    uint32_t at;

    restore(trial, plan);
    at = place_of(trial, worker);
    if (at < plan->used)
        leave_out(trial, at);
    else if (place < plan->used)
        leave_out(trial, place);
    if (at == plan->used)
        take_in(trial, worker, own_place(trial, worker, rank));
    else if (place < plan->used)
        take_in(trial, worker, place);
}

/* One change after the other while the plan gets better. False when memory is short. */
static bool improve(struct trial *trial, const uint32_t *rank, struct cv_arena *arena,
                    struct cv_joint_plan *plan)
{
    const struct cv_joint_job *job = trial->job;
    uint32_t tried = 0;
    bool better = true;

    while (better) {
        better = false;
        for (uint32_t i = 0; i < job->nworkers; i++)
            for (uint32_t place = 0; place <= plan->used; place++) {
                if (tried++ == MOST_CHANGES)
                    return true;
                change(trial, plan, job->order[i], place, rank);
                if (trial->n > 0 && !try_change(trial, arena, plan, &better))
                    return false;
            }
    }
    return true;
}

/* The end with `worker`, which is not in the set; the workers left without units by it
 * leave. INFINITY: it would get nothing itself. */
static double end_with(struct trial *trial, uint32_t worker, const uint32_t *rank)
{
    take_in(trial, worker, own_place(trial, worker, rank));
    for (;;) {
        const double end_s = try_set(trial, INFINITY);
        uint32_t least;

        if (isfinite(end_s))
            return end_s;
        least = needless(trial);
        if (trial->order[least] == worker)
            return INFINITY;
        leave_out(trial, least);
    }
}

/* The end with one worker more, for each that is left out; a better plan is kept. False
 * when memory is short. */
static bool find_ends(struct trial *trial, const uint32_t *rank, struct cv_arena *arena,
                      struct cv_joint_plan *plan)
{
    for (uint32_t i = 0; i < trial->job->nworkers; i++) {
        restore(trial, plan);
        plan->with_s[i] = plan->end_s;
        if (place_of(trial, i) < trial->n)
            continue;
        plan->with_s[i] = end_with(trial, i, rank);
        if (!(plan->with_s[i] < plan->end_s * (1 - 1e-9)) || trial->job->all)
            continue;
        if (!keep(trial, plan->with_s[i], arena, plan))
            return false;
        i = UINT32_MAX; /* once more from the first */
    }
    return true;
}

/* The load planned alone, then the reduction, with the best number of workers or with all
 * that help the load. False when memory is short. */
static bool plan_apart(struct trial *trial, struct cv_arena *arena,
                       struct cv_joint_plan *out)
{
    for (;;) {
        const double end_s = load_only(trial) + reduction_length(trial);

        if (end_s < out->end_s && !keep(trial, end_s, arena, out))
            return false;
        if (trial->job->all || trial->n == 1)
            return true;
        leave_out(trial, least_of(trial->weights, trial->n));
    }
}

/* The fastest worker alone. */
static void take_one(struct trial *trial)
{
    const struct cv_joint_job *job = trial->job;
    double best_s = INFINITY;

    trial->n = 1;
    for (uint32_t i = 0; i < job->nworkers; i++) {
        const uint32_t before = trial->order[0];
        double end_s;

        trial->order[0] = i;
        end_s = try_set(trial, INFINITY);
        if (end_s < best_s)
            best_s = end_s;
        else
            trial->order[0] = before;
    }
}

/* The best plan that is found from three starts: all workers, the workers of the load
 * planned alone, and one worker. */
static bool best_plan(struct trial *trial, struct cv_arena *arena,
                      struct cv_joint_plan *out)
{
    const struct cv_joint_job *job = trial->job;
    uint32_t *rank = cv_array(arena, job->nworkers, sizeof *rank);
    struct cv_joint_plan apart = { .end_s = INFINITY };

    if (rank == NULL || !eliminate(trial, arena, out))
        return false;
    for (uint32_t i = 0; i < job->nworkers; i++)
        rank[job->order[i]] = i;
    if (!job->all) {
        struct cv_joint_plan starts[] = { *out,
                                          { .end_s = INFINITY },
                                          { .end_s = INFINITY } };

        take_all(trial);
        if (!plan_apart(trial, arena, &apart))
            return false;
        for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
            if (i == 1)
                restore(trial, &apart);
            else if (i == 2)
                take_one(trial);
            if ((i > 0 && !eliminate(trial, arena, &starts[i])) ||
                !improve(trial, rank, arena, &starts[i]))
                return false;
            if (starts[i].end_s < out->end_s)
                *out = starts[i];
        }
    }
    /* One worker alone always has a plan. */
    return out->with_s != NULL && find_ends(trial, rank, arena, out);
}

enum cleave_status cv_joint_plan(const struct cv_joint_job *job, struct cv_arena *arena,
                                 struct cv_joint_plan *out, struct cleave_error *err)
{
    struct trial trial = { .job = job };
    struct cv_joint_plan plan = { .end_s = INFINITY };
    bool ok;

    if (!has_bound(job, &trial.rate) || isinf(trial.rate))
        trial.rate = 0;
    ok = trial_room(&trial, arena) && best_plan(&trial, arena, &plan);
    cv_tail_room_done(trial.room);
    if (!ok)
        return cv_fail_memory(err, "a plan");
    *out = plan;
    return CLEAVE_OK;
}

enum cleave_status cv_joint_apart(const struct cv_joint_job *job, double *out_s,
                                  uint32_t *out_used, struct cleave_error *err)
{
    struct trial trial = { .job = job };
    struct cv_joint_plan plan = { .end_s = INFINITY };
    struct cv_arena arena;
    bool ok;

    cv_arena_init(&arena);
    ok = trial_room(&trial, &arena) && plan_apart(&trial, &arena, &plan);
    cv_tail_room_done(trial.room);
    cv_arena_done(&arena);
    *out_s = plan.end_s;
    *out_used = plan.used;
    return ok ? CLEAVE_OK : cv_fail_memory(err, "a plan");
}

/* For the bound: the cost of a unit of the weight of some worker, and the largest part of
 * that weight. */
struct dose {
    double cost, most;
    uint32_t number;
};

CV_ORDER_BY_TWO(by_cost, struct dose, cost, number)

struct bound_room {
    const struct cv_joint_job *job;
    double *weight;            /* [m]: most total weight of m workers             */
    struct dose *load, *tails; /* latencies and tails, by cost                     */
};

/* The most weight of m workers in any order, without latencies: decreasing bandwidth is the
 * best order, so the worker in front of the workers already counted adds
 * g (1 - weight / b). */
static void find_most(struct bound_room *room)
{
    const struct cv_joint_job *job = room->job;

    for (uint32_t k = job->nworkers; k-- > 0;) {
        const struct cleave_worker *worker = &job->load.workers[job->order[k]];
        const double g = rate(worker);

        for (uint32_t m = job->nworkers - k; m > 0; m--) {
            const double later = room->weight[m - 1];
            const double most =
                later + (job->load.multi ? g : g * (1 - later / worker->bandwidth_ups));

            room->weight[m] = fmax(room->weight[m], most);
        }
    }
}

/* (units + cost) / weight is least where a unit of weight costs as much; the weights of the
 * load and of the tails are filled by the cheapest first. */
static double fill(const struct bound_room *room, uint32_t m)
{
    const double most = room->weight[m];
    double used = 0, cost = room->job->load.units, load = room->load[0].most,
           tail = room->tails[0].most, end_s = INFINITY;

    for (uint32_t i = 0, k = 0; used < most && i < room->job->nworkers && k < m;) {
        const double price = room->load[i].cost + room->tails[k].cost;
        const double more = fmin(most - used, fmin(load, tail));

        if (price >= end_s)
            break;
        used += more;
        cost += more * price;
        end_s = cost / used;
        load -= more;
        tail -= more;
        if (load <= 0 && ++i < room->job->nworkers)
            load = room->load[i].most;
        if (tail <= 0 && ++k < m)
            tail = room->tails[k].most;
    }
    return end_s;
}

/* The most units within T with total weight G: of the workers with the greatest prices
 * T + ln(g) / s - latency first, minus G ln(G) / s; the best G up to `most`. */
static double capacity(const struct dose *load, uint32_t n, double growth, double most,
                       double time_s)
{
    double value = 0, weight = 0, all = 0;

    for (uint32_t i = 0; i < n; i++) {
        const double price = time_s - load[i].cost;
        const double room = fmin(most, exp(price * growth - 1)) - weight;
        const double more = fmin(load[i].most, room);

        if (more <= 0)
            break;
        value += price * more;
        weight += more;
        all = value - weight * log(weight) / growth;
        if (more < load[i].most)
            break;
    }
    return all;
}

static double tree_bound(const struct bound_room *room, double growth)
{
    const uint32_t n = room->job->nworkers;
    double low = 0, high = 1;

    for (uint32_t i = 0; i < n; i++)
        room->load[i].cost -= log(room->load[i].most) / growth;
    qsort(room->load, n, sizeof *room->load, by_cost);
    while (capacity(room->load, n, growth, room->weight[n], high) <
               room->job->load.units &&
           high < 1e300)
        high *= 2;
    for (int i = 0; i < 100; i++) {
        const double middle = low / 2 + high / 2;

        if (capacity(room->load, n, growth, room->weight[n], middle) >=
            room->job->load.units)
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* Tails of n workers, two or more, in ascending order: no tree has shorter tails. A node
 * ends with a transfer and a combination, or with its own partial early. */
static void tree_tails(const struct cv_joint_job *job, uint32_t n, double *tails)
{
    const bool early = job->costs.model == CLEAVE_READY_EARLY;
    const struct cv_ready_job costs = { .d = job->costs.d,
                                        .c = job->costs.c,
                                        .model = job->costs.model };
    const struct cv_ready_steps steps = cv_ready_steps(&costs);

    cv_ready_births(&steps, n, tails);
    for (uint32_t k = 0; k < n; k++)
        tails[k] = fmax(tails[k], early && k == 0 ? costs.c : steps.b);
}

/* At the master; a port that serves one message at a time sends all first. */
static double star_bound(const struct bound_room *room, double *tails)
{
    const struct cv_joint_job *job = room->job;
    double end_s = INFINITY, send_s = INFINITY;

    for (uint32_t i = 0; i < job->nworkers; i++)
        send_s = fmin(send_s, job->load.workers[i].latency_s +
                                  job->load.units / job->load.workers[i].bandwidth_ups);
    for (uint32_t m = 2; m <= job->nworkers; m++) {
        star_tails(job, m, tails);
        for (uint32_t k = 0; k < m; k++)
            room->tails[k].cost = tails[m - 1 - k];
        end_s = fmin(end_s, fmax(fill(room, m),
                                 job->load.multi || job->duplex ? 0 : send_s + tails[0]));
    }
    return end_s;
}

/* Two workers or more. */
static double several(const struct bound_room *room, double *tails)
{
    const uint32_t n = room->job->nworkers;
    double end_s, growth;

    if (!has_bound(room->job, &growth))
        return star_bound(room, tails);
    tree_tails(room->job, n, tails);
    for (uint32_t k = 0; k < n; k++)
        room->tails[k].cost = tails[k];
    end_s = fill(room, n);
    return isinf(growth) ? end_s : fmax(end_s, tree_bound(room, growth));
}

enum cleave_status cv_joint_bound(const struct cv_joint_job *job, double *out_s,
                                  struct cleave_error *err)
{
    const uint32_t n = job->nworkers;
    struct bound_room room = { .job = job };
    struct cv_arena arena;
    double *tails, tail = job->at_master ? job->costs.d : 0;
    bool ok;

    cv_arena_init(&arena);
    ok = CV_NEW(&arena, room.weight, n + 1) && CV_NEW(&arena, room.load, n) &&
         CV_NEW(&arena, room.tails, n) && CV_NEW(&arena, tails, n);
    *out_s = INFINITY;
    for (uint32_t i = 0; ok && i < n; i++) {
        const struct cleave_worker *worker = &job->load.workers[i];
        const double g = rate(worker);

        *out_s = fmin(*out_s, job->load.units / g + own_s(worker, tail));
        room.load[i] = (struct dose){ own_s(worker, 0), g, i };
        room.tails[i] = (struct dose){ -g, g, i };
    }
    if (ok) {
        find_most(&room);
        qsort(room.load, n, sizeof *room.load, by_cost);
        qsort(room.tails, n, sizeof *room.tails, by_cost);
        *out_s = fmin(*out_s, several(&room, tails));
    }
    cv_arena_done(&arena);
    return ok ? CLEAVE_OK : cv_fail_memory(err, "a bound");
}
