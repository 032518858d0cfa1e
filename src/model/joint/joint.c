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
    struct cv_ready_job job; /* its ready times are those below */
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

double cv_tail_tree(struct cv_tail_workspace *room, const double *weights, uint32_t n,
                    struct cv_tail_tree *out)
{
    /* 1 has the guarantee; the others often help. */
    static const double kappas[] = { 0.5, 0.75, 1, 1.5 };
    const struct cv_ready_job *costs = &room->job;
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

/* The present attempt: places of an order that gets shorter. */
struct trial {
    const struct cv_joint_job *job;
    uint32_t *order;
    uint32_t n;
    double *none; /* tails of 0            */
    double *sizes, *weights;
    struct cv_tail_tree tree;
    struct cv_tail_workspace *room;
};

static bool trial_room(struct trial *trial, struct cv_arena *arena)
{
    const uint32_t n = trial->job->nworkers;

    if (!CV_NEW(arena, trial->order, n) || !CV_NEW(arena, trial->none, n) ||
        !CV_NEW(arena, trial->sizes, n) || !CV_NEW(arena, trial->weights, n) ||
        !tree_room(&trial->tree, arena, n))
        return false;
    memcpy(trial->order, trial->job->order, n * sizeof *trial->order);
    trial->n = n;
    return true;
}

static void leave_out(struct trial *trial, uint32_t place)
{
    memmove(trial->order + place, trial->order + place + 1,
            (--trial->n - place) * sizeof *trial->order);
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
 * after the other. */
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

/* The end when partials return in the order of sending; INFINITY if a size is negative. A
 * single port receives none before it has sent all. */
static double try_star(struct trial *trial, bool apart)
{
    const struct cv_joint_job *job = trial->job;
    double end_s, sent_s = 0;

    star_tails(job, trial->n, trial->tree.tails);
    end_s = cv_joint_sizes(&job->load, trial->order, trial->n,
                           apart ? trial->none : trial->tree.tails, trial->sizes,
                           trial->weights);
    if (trial->sizes[least_of(trial->sizes, trial->n)] < 0)
        return INFINITY;
    if (apart)
        return end_s + trial->tree.tails[0];
    for (uint32_t k = 0; k < trial->n; k++) {
        const struct cleave_worker *worker = &job->load.workers[trial->order[k]];

        sent_s += worker->latency_s + trial->sizes[k] / worker->bandwidth_ups;
    }
    if (!job->load.multi && !job->duplex)
        end_s = fmax(end_s, trial->tree.tails[0] + sent_s);
    return end_s;
}

/* Workers with negative sizes leave. */
static double try_tree(struct trial *trial)
{
    const struct cv_joint_load *load = &trial->job->load;
    double end_s;

    for (;;) {
        uint32_t min;

        cv_joint_sizes(load, trial->order, trial->n, trial->none, NULL, trial->weights);
        min = least_of(trial->weights, trial->n);
        if (trial->weights[min] <= 0 && trial->n > 1) {
            leave_out(trial, min);
            continue;
        }
        cv_tail_tree(trial->room, trial->weights, trial->n, &trial->tree);
        end_s = cv_joint_sizes(load, trial->order, trial->n, trial->tree.tails,
                               trial->sizes, NULL);
        min = least_of(trial->sizes, trial->n);
        if (trial->sizes[min] >= 0 || trial->n == 1)
            return end_s;
        leave_out(trial, min);
    }
}

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

static double apart_tree(struct trial *trial)
{
    const struct cv_tail_costs *costs = &trial->job->costs;
    const double load_s = load_only(trial);

    return load_s + (costs->model == CLEAVE_READY_MERGE
                         ? cv_ceil_log2(trial->n) * (costs->d + costs->c)
                         : cv_reduce_length(trial->n, costs->d, costs->c));
}

static bool keep(const struct trial *trial, double end_s, struct cv_arena *arena,
                 struct cv_joint_plan *out)
{
    const uint32_t n = trial->job->nworkers;

    if (out->order == NULL &&
        (!CV_NEW(arena, out->order, n) || !CV_NEW(arena, out->sizes, n) ||
         !CV_NEW(arena, out->tails, n) || !CV_NEW(arena, out->weights, n) ||
         !CV_NEW(arena, out->turn, n) ||
         (!trial->job->at_master && !CV_NEW(arena, out->parent, n))))
        return false;
    out->end_s = end_s;
    out->used = trial->n;
    memcpy(out->order, trial->order, trial->n * sizeof *out->order);
    memcpy(out->sizes, trial->sizes, trial->n * sizeof *out->sizes);
    memcpy(out->tails, trial->tree.tails, trial->n * sizeof *out->tails);
    memcpy(out->weights, trial->weights, trial->n * sizeof *out->weights);
    for (uint32_t k = 0; k < trial->n; k++)
        out->turn[k] = trial->job->at_master ? k : trial->tree.turn[k];
    if (!trial->job->at_master)
        memcpy(out->parent, trial->tree.parent, trial->n * sizeof *out->parent);
    return true;
}

/* The best plan with fewer and fewer workers; `apart`: of the load alone, followed by the
 * reduction. False when memory is short. */
static bool try_all(struct trial *trial, bool apart, struct cv_arena *arena,
                    struct cv_joint_plan *out)
{
    const struct cv_joint_job *job = trial->job;

    while (trial->n > 0) {
        const double end_s = job->at_master ? try_star(trial, apart)
                             : apart        ? apart_tree(trial)
                                            : try_tree(trial);

        if (end_s < out->end_s && !keep(trial, end_s, arena, out))
            return false;
        if (trial->n == 1 || (job->all && isfinite(out->end_s)))
            break;
        if (job->at_master) {
            trial->n--;
            continue;
        }
        cv_joint_sizes(&job->load, trial->order, trial->n, trial->none, NULL,
                       trial->weights);
        leave_out(trial, least_of(trial->weights, trial->n));
        /* Fewer workers only take longer. */
        if (!apart && cv_joint_sizes(&job->load, trial->order, trial->n, trial->none,
                                     NULL, NULL) > out->end_s)
            break;
    }
    return true;
}

enum cleave_status cv_joint_plan(const struct cv_joint_job *job, struct cv_arena *arena,
                                 struct cv_joint_plan *out, struct cleave_error *err)
{
    struct trial trial = { .job = job };
    struct cv_joint_plan plan = { .end_s = INFINITY };
    bool ok;

    if (trial_room(&trial, arena))
        trial.room = cv_tail_room_new(arena, job->nworkers, &job->costs);
    ok = trial.room != NULL && try_all(&trial, false, arena, &plan);
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
    ok = trial_room(&trial, &arena) && try_all(&trial, true, &arena, &plan);
    cv_arena_done(&arena);
    *out_s = plan.end_s;
    *out_used = plan.used;
    return ok ? CLEAVE_OK : cv_fail_memory(err, "a plan");
}

static bool has_bound(const struct cv_joint_job *job, double *out_rate)
{
    const struct cv_ready_job costs = { .d = job->costs.d,
                                        .c = job->costs.c,
                                        .model = job->costs.model };
    const struct cv_ready_steps steps = cv_ready_steps(&costs);

    *out_rate = cv_ready_rate(steps.a, steps.b);
    return !job->at_master && cv_ready_is_exact(&costs);
}

double cv_joint_entropy(const struct cv_joint_job *job, const uint32_t *order, uint32_t n,
                        double *room)
{
    double rate, end_s, sum = 0;

    if (!has_bound(job, &rate))
        return NAN;
    for (uint32_t k = 0; k < n; k++)
        room[k] = 0;
    end_s = cv_joint_sizes(&job->load, order, n, room, NULL, room);
    for (uint32_t k = 0; k < n; k++)
        if (room[k] > 0)
            sum -= room[k] * log(room[k]);
    return isinf(rate) ? end_s : end_s + sum / rate;
}

/* The most units within T with total weight G: the workers of greatest rate g first, each
 * worth g (T + ln(g) / s), minus G ln(G) / s; the best G. */
static double capacity(const double *rates, uint32_t n, double rate, double time_s)
{
    double value = 0, weight = 0, all = 0;

    for (uint32_t i = 0; i < n; i++) {
        const double price = time_s + log(rates[i]) / rate;
        const double more = fmin(rates[i], fmax(0, exp(price * rate - 1) - weight));

        if (more <= 0)
            break;
        value += price * more;
        weight += more;
        all = value - weight * log(weight) / rate;
        if (more < rates[i])
            break;
    }
    return all;
}

double cv_joint_bound(const struct cv_joint_job *job, double *room)
{
    const uint32_t n = job->nworkers;
    double growth, latency = INFINITY, low = 0, high = 1;

    if (!has_bound(job, &growth) || isinf(growth))
        return NAN;
    for (uint32_t i = 0; i < n; i++) {
        const struct cleave_worker *worker = &job->load.workers[i];

        room[i] = rate(worker);
        latency = fmin(latency, worker->compute_latency_s + worker->latency_s);
    }
    qsort(room, n, sizeof *room, cv_compare_doubles_down);
    while (capacity(room, n, growth, high) < job->load.units && high < 1e300)
        high *= 2;
    for (int i = 0; i < 100; i++) {
        const double middle = low / 2 + high / 2;

        if (capacity(room, n, growth, middle) >= job->load.units)
            high = middle;
        else
            low = middle;
    }
    return low + latency;
}
