/* ready_tree.c -- partials that become ready at given times: bounds and the shortest tree.
 * SPDX-License-Identifier: MIT */
#include "model/ready/ready_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/compare.h"
#include "base/heap.h"
#include "model/reduce/reduce_tree.h"

struct cv_ready_steps cv_ready_steps(const struct cv_ready_job *job)
{
    const double max = fmax(job->d, job->c), min = fmin(job->d, job->c);
    struct cv_ready_steps steps = { max, job->d + job->c, 0 };

    if (job->model == CLEAVE_READY_MERGE)
        steps.a = steps.b;
    else if (job->model == CLEAVE_READY_ABSENT)
        steps.mu = min;
    return steps;
}

bool cv_ready_is_exact(const struct cv_ready_job *job)
{
    return job->model != CLEAVE_READY_EARLY || job->d <= job->c;
}

enum cleave_status cv_ready_execute(const struct cv_ready_job *job,
                                    const uint32_t *parent, const uint32_t *turn,
                                    struct cv_arena *arena, struct cv_tree_run *out,
                                    struct cleave_error *err)
{
    const struct cv_tree_costs costs = { .transfer_s = job->d,
                                         .compute_s = job->c,
                                         .ready_s = job->ready_s,
                                         .model = job->model,
                                         .turn = turn };

    return cv_tree_run(parent, job->n, &costs, arena, out, err);
}

double cv_ready_rate(double a, double b)
{
    double low, high;

    if (!(b > 0))
        return INFINITY;
    low = log(2) / b;
    high = log(2) / a;
    for (int i = 0; i < 200 && low < high; i++) {
        const double middle = low / 2 + high / 2;

        if (middle <= low || middle >= high)
            break;
        if (exp(-middle * a) + exp(-middle * b) > 1)
            low = middle;
        else
            high = middle;
    }
    return low; /* the smaller end: the bound stays one */
}

double cv_ready_kraft(const struct cv_ready_job *job)
{
    const struct cv_ready_steps steps = cv_ready_steps(job);
    const double rate = cv_ready_rate(steps.a, steps.b);
    double last_s = job->ready_s[0], sum = 0;

    if (!cv_ready_is_exact(job))
        return -INFINITY;
    for (uint32_t i = 1; i < job->n; i++)
        last_s = fmax(last_s, job->ready_s[i]);
    if (isinf(rate))
        return last_s;
    for (uint32_t i = 0; i < job->n; i++)
        sum += exp(rate * (job->ready_s[i] - last_s));
    return last_s + log(sum) / rate;
}

/* By two queues: the old chains and the fresh ones are each in order of time. */
void cv_ready_births(const struct cv_ready_steps *steps, uint32_t n, double *out)
{
    uint32_t fresh = 0, again = 0;

    out[0] = 0;
    for (uint32_t i = 1; i < n; i++) {
        /* The chain grown at the k-th step continues A after it began that step, that is,
         * B - A before the child that was born then. */
        const double young = fresh < i ? out[fresh] : INFINITY;
        const double old =
            again + 1 < i ? out[again + 1] - steps->b + steps->a : INFINITY;

        if (young <= old)
            fresh++;
        else
            again++;
        out[i] = fmin(young, old) + steps->b;
    }
}

double cv_ready_prefix(const struct cv_ready_job *job, const double *sorted, double *room)
{
    const struct cv_ready_steps steps = cv_ready_steps(job);
    double bound = sorted[0];

    cv_ready_births(&steps, job->n, room);
    for (uint32_t i = 0; i < job->n; i++)
        bound = fmax(bound, sorted[i] + room[i]);
    if (job->n > 1)
        bound = fmax(bound,
                     sorted[0] + (job->model == CLEAVE_READY_EARLY ? job->c : steps.b));
    return bound;
}

double cv_ready_bound(const struct cv_ready_job *job)
{
    double *room = malloc(2 * (size_t)job->n * sizeof *room), bound;

    if (room == NULL)
        return NAN;
    for (uint32_t i = 0; i < job->n; i++)
        room[i] = job->ready_s[i];
    qsort(room, job->n, sizeof *room, cv_compare_doubles_down);
    bound = fmax(cv_ready_kraft(job), cv_ready_prefix(job, room, room + job->n));
    free(room);
    return bound;
}

/* --- the shortest tree for known ready times --------------------------------------- */

/* A place where a node may be born or a chain may stop. */
struct cv_ready_slot {
    double t;
    uint32_t chain;
};

/* Slots of one kind in order of time: [front, back) are available to the present node,
 * `waiting` to before `end` not yet. Slots between them are taken. */
struct cv_ready_queue {
    struct cv_ready_slot *at;
    uint32_t front, back, waiting, end;
    double above; /* level minus time */
};

enum { CV_READY_FRESH, CV_READY_GROWN, CV_READY_ROOT, CV_READY_QUEUES };

struct cv_ready_late;

struct cv_ready_planner {
    uint32_t *order;  /* nodes by decreasing ready time                 */
    double *sorted;   /* times of the nodes, followed by space for as many numbers */
    uint32_t *second; /* another tree */
    uint32_t *above;  /* per chain: the one it was born from            */
    uint32_t *owner;  /* per chain: a node, or CV_NO_NODE               */
    uint32_t nchains, chains_most;
    double amin_s;   /* the least ready time                           */
    double next_s;   /* no length below it is possible                 */
    double needed_s; /* time of the tree that is being made */
    struct cv_ready_queue queue[CV_READY_QUEUES];
    struct cv_ready_late *late;
};

/* A chain born from another; its number. */
static inline uint32_t cv_ready_chain(struct cv_ready_planner *planner, uint32_t above)
{
    planner->above[planner->nchains] = above;
    planner->owner[planner->nchains] = UINT32_MAX;
    return planner->nchains++;
}

/* A chain that stops at `level` is node's. */
static inline void cv_ready_give(struct cv_ready_planner *planner,
                                 const struct cv_ready_job *job, uint32_t chain,
                                 uint32_t node, double level)
{
    const double needed_s = job->ready_s[node] + level;

    planner->owner[chain] = node;
    if (needed_s > planner->needed_s)
        planner->needed_s = needed_s;
}

static inline void cv_ready_note(struct cv_ready_planner *planner, double time_s)
{
    if (time_s < planner->next_s)
        planner->next_s = time_s;
}

/* --- receiving early, transfers dearer than combinations --------------------------- */

/* A chain that has grown k times from a fresh slot t is at t + k d, and its owner needs
 * the level t + k c only: levels do not follow times, slots come in no order, and three
 * heaps replace the queues. Optimal in all small cases tried if the better of two rules
 * is taken; not proved. */

struct slot {
    double t, level;
    uint32_t chain;
    bool fresh, usable; /* usable: available to the present node */
};

struct key {
    double first, second;
    uint32_t slot;
};

struct heap {
    struct key *at;
    uint32_t count;
};

struct cv_ready_late {
    uint32_t chains_most, nslots, nusable;
    struct slot *slots;
    struct heap wait, grow, give; /* by level; by level once grown; last first */
};

static struct cv_ready_late *ready_late_new(struct cv_arena *arena, uint32_t chains)
{
    const size_t slots = 2 * (size_t)chains;
    struct cv_ready_late *late = cv_array(arena, 1, sizeof *late);

    if (late == NULL || !CV_NEW(arena, late->slots, slots) ||
        !CV_NEW(arena, late->wait.at, slots) || !CV_NEW(arena, late->grow.at, slots) ||
        !CV_NEW(arena, late->give.at, slots))
        return NULL;
    late->chains_most = chains;
    return late;
}

static bool before(const struct key *a, const struct key *b)
{
    if (a->first != b->first)
        return a->first < b->first;
    return a->second != b->second ? a->second < b->second : a->slot < b->slot;
}

CV_HEAP(key, struct key, before)

static void push(struct heap *heap, struct key key)
{
    key_push(heap->at, heap->count++, key);
}

static uint32_t pop(struct heap *heap)
{
    return key_pop(heap->at, heap->count--).slot;
}

/* Slots that were used leave the heap when they reach its top. */
static bool top(const struct cv_ready_late *late, struct heap *heap)
{
    while (heap->count > 0 && !late->slots[heap->at[0].slot].usable)
        pop(heap);
    return heap->count > 0;
}

static void add(struct cv_ready_late *late, double t, double level, uint32_t chain,
                bool fresh)
{
    late->slots[late->nslots] = (struct slot){ t, level, chain, fresh, false };
    push(&late->wait, (struct key){ level, 0, late->nslots++ });
}

struct trial {
    struct cv_ready_planner *planner;
    const struct cv_ready_job *job;
    double b, last_deadline;
    bool by_level;
};

static void admit(const struct trial *trial, double deadline)
{
    struct cv_ready_late *late = trial->planner->late;

    while (late->wait.count > 0 && late->wait.at[0].first <= deadline) {
        const uint32_t which = pop(&late->wait);
        struct slot *slot = &late->slots[which];

        if (slot->t + trial->b <= trial->last_deadline)
            push(&late->grow, (struct key){ slot->level + trial->job->c, 0, which });
        slot->usable = true;
        late->nusable++;
        push(&late->give, trial->by_level
                              ? (struct key){ -slot->level, -slot->t, which }
                              : (struct key){ -slot->t, -slot->level, which });
    }
}

static uint32_t take(struct cv_ready_late *late, struct heap *heap)
{
    const uint32_t which = pop(heap);

    late->slots[which].usable = false;
    late->nusable--;
    return which;
}

static void grow_all(const struct trial *trial, double deadline, uint32_t left)
{
    struct cv_ready_planner *planner = trial->planner;
    struct cv_ready_late *late = planner->late;

    while (late->nusable < left && top(late, &late->grow) &&
           late->grow.at[0].first <= deadline && planner->nchains < late->chains_most) {
        const struct slot slot = late->slots[take(late, &late->grow)];

        add(late, slot.t + trial->job->d, slot.level + trial->job->c, slot.chain, false);
        add(late, slot.t + trial->b, slot.t + trial->b,
            cv_ready_chain(planner, slot.chain), true);
        admit(trial, deadline);
    }
}

/* Chains that have grown first, each kind by time, with the heap that is free by now. */
static void give_rest(const struct trial *trial, uint32_t root, uint32_t from)
{
    struct cv_ready_late *late = trial->planner->late;

    late->grow.count = 0;
    for (uint32_t i = 0; i < late->nslots; i++)
        if (late->slots[i].usable)
            push(&late->grow, (struct key){ late->slots[i].fresh, late->slots[i].t, i });
    for (uint32_t k = from; k < trial->job->n; k++) {
        const struct slot *slot;

        if (trial->planner->order[k] == root)
            continue;
        slot = &late->slots[pop(&late->grow)];
        cv_ready_give(trial->planner, trial->job, slot->chain, trial->planner->order[k],
                      slot->level);
    }
}

static bool begin(const struct trial *trial, uint32_t root, double time_s)
{
    struct cv_ready_planner *planner = trial->planner;
    struct cv_ready_late *late = planner->late;
    const struct cv_ready_job *job = trial->job;

    late->nslots = late->nusable = 0;
    late->wait.count = late->grow.count = late->give.count = 0;
    planner->nchains = 0;
    planner->next_s = INFINITY;
    planner->needed_s = 0;
    cv_ready_chain(planner, CV_NO_NODE);
    if (root == CV_NO_NODE) {
        add(late, 0, 0, 0, true);
        return true;
    }
    cv_ready_give(planner, job, 0, root, 0);
    for (uint32_t k = 0; k + 1 < job->n; k++) {
        if ((k + 1.0) * job->c > time_s - job->ready_s[root])
            break;
        add(late, trial->b + k * job->d, trial->b + k * job->d,
            cv_ready_chain(planner, 0), true);
    }
    return job->ready_s[root] <= time_s;
}

/* Whether a tree was found for early with d > c, up to the owners of chains: a node gets
 * the available slot with the greatest t, or the greatest level. */
static bool ready_decide_late(struct cv_ready_planner *planner,
                              const struct cv_ready_job *job, uint32_t root,
                              double time_s, bool by_level)
{
    const struct trial trial = { planner, job, job->d + job->c, time_s - planner->amin_s,
                                 by_level };
    struct cv_ready_late *late = planner->late;
    uint32_t left = job->n - (root != CV_NO_NODE);

    if (!begin(&trial, root, time_s))
        return false;
    for (uint32_t k = 0; k < job->n && left > 0; k++) {
        const double deadline = time_s - planner->sorted[k];
        const struct slot *slot;

        if (planner->order[k] == root)
            continue;
        admit(&trial, deadline);
        grow_all(&trial, deadline, left);
        if (late->nusable >= left) {
            give_rest(&trial, root, k);
            return true;
        }
        if (!top(late, &late->give))
            return false;
        slot = &late->slots[take(late, &late->give)];
        cv_ready_give(planner, job, slot->chain, planner->order[k], slot->level);
        left--;
    }
    return true;
}

struct cv_ready_planner *cv_ready_planner_new(struct cv_arena *arena, uint32_t n,
                                              bool exact)
{
    /* At most 2 n slots grow. The limit of the heuristic is arbitrary. */
    const size_t chains = exact ? 2 * (size_t)n + 2 : 4 * (size_t)n + 4096;
    struct cv_ready_planner *planner = cv_array(arena, 1, sizeof *planner);

    if (planner == NULL)
        return NULL;
    planner->chains_most = (uint32_t)chains;
    if (!CV_NEW(arena, planner->order, n) ||
        !CV_NEW(arena, planner->sorted, 2 * (size_t)n) ||
        !CV_NEW(arena, planner->second, n) ||
        !CV_NEW(arena, planner->above, chains + n) ||
        !CV_NEW(arena, planner->owner, chains + n))
        return NULL;
    for (int i = 0; i < CV_READY_QUEUES; i++) {
        if (!CV_NEW(arena, planner->queue[i].at, i == CV_READY_ROOT ? n : chains))
            return NULL;
    }
    if (!exact) {
        planner->late = ready_late_new(arena, planner->chains_most);
        if (planner->late == NULL)
            return NULL;
    }
    return planner;
}

static int later_first(const void *left, const void *right, void *context)
{
    const uint32_t *a = left, *b = right;
    const struct cv_ready_job *const *job = context;
    const double *times_s = (*job)->ready_s;

    return cv_order(CV_COMPARE(times_s[*b], times_s[*a]), CV_COMPARE(*a, *b), 0);
}

static void sort_nodes(struct cv_ready_planner *planner, const struct cv_ready_job *job)
{
    const uint32_t n = job->n;

    for (uint32_t i = 0; i < n; i++)
        planner->order[i] = i;
    qsort_r(planner->order, n, sizeof *planner->order, later_first, &job);
    for (uint32_t i = 0; i < n; i++)
        planner->sorted[i] = job->ready_s[planner->order[i]];
    planner->amin_s = planner->sorted[n - 1];
}

static void add_slot(struct cv_ready_queue *queue, double t, uint32_t chain)
{
    queue->at[queue->end++] = (struct cv_ready_slot){ t, chain };
}

/* Number of available slots at deadline D, after waiting slots have been examined. */
static uint32_t tree_admit(struct cv_ready_planner *planner,
                           const struct cv_ready_steps *steps, double deadline,
                           double last_deadline)
{
    uint32_t count = 0;

    for (int i = 0; i < CV_READY_QUEUES; i++) {
        struct cv_ready_queue *queue = &planner->queue[i];

        for (; queue->waiting < queue->end &&
               queue->at[queue->waiting].t + queue->above <= deadline;
             queue->waiting++) {
            const struct cv_ready_slot slot = queue->at[queue->waiting];

            /* If it grew, its child would be born too late. */
            if (slot.t + steps->b > last_deadline)
                cv_ready_note(planner, slot.t + steps->b + planner->amin_s);
            queue->at[queue->back++] = slot;
        }
        count += queue->back - queue->front;
    }
    return count;
}

/* The queue whose front has the least time, or NULL if its child would be born too
 * late. */
static struct cv_ready_queue *first_to_grow(struct cv_ready_planner *planner,
                                            const struct cv_ready_steps *steps,
                                            double last_deadline)
{
    struct cv_ready_queue *first = NULL;

    for (int i = 0; i < CV_READY_QUEUES; i++) {
        struct cv_ready_queue *queue = &planner->queue[i];

        if (queue->front < queue->back &&
            (first == NULL || queue->at[queue->front].t < first->at[first->front].t))
            first = queue;
    }
    return first != NULL && first->at[first->front].t + steps->b <= last_deadline ? first
                                                                                  : NULL;
}

static void grow(struct cv_ready_planner *planner, const struct cv_ready_steps *steps,
                 struct cv_ready_queue *queue)
{
    const struct cv_ready_slot slot = queue->at[queue->front++];

    add_slot(&planner->queue[CV_READY_GROWN], slot.t + steps->a, slot.chain);
    add_slot(&planner->queue[CV_READY_FRESH], slot.t + steps->b,
             cv_ready_chain(planner, slot.chain));
}

/* The available slot with the greatest time, the higher level among equal ones; NULL:
 * none. */
static struct cv_ready_queue *last_to_give(struct cv_ready_planner *planner)
{
    struct cv_ready_queue *last = NULL;

    for (int i = 0; i < CV_READY_QUEUES; i++) {
        struct cv_ready_queue *queue = &planner->queue[i];

        if (queue->front == queue->back)
            continue;
        if (last == NULL || queue->at[queue->back - 1].t > last->at[last->back - 1].t ||
            (queue->at[queue->back - 1].t == last->at[last->back - 1].t &&
             queue->above > last->above))
            last = queue;
    }
    return last;
}

/* As many slots as nodes: chains that have grown must have an owner. The earliest others
 * are given. */
static void tree_give_rest(struct cv_ready_planner *planner,
                           const struct cv_ready_job *job, uint32_t root, uint32_t from)
{
    struct cv_ready_queue *grown = &planner->queue[CV_READY_GROWN];
    struct cv_ready_queue *fresh = &planner->queue[CV_READY_FRESH];
    struct cv_ready_queue *roots = &planner->queue[CV_READY_ROOT];

    for (uint32_t k = from; k < job->n; k++) {
        struct cv_ready_queue *queue;
        struct cv_ready_slot slot;

        if (planner->order[k] == root)
            continue;
        if (grown->front < grown->back)
            queue = grown;
        else if (roots->front == roots->back ||
                 (fresh->front < fresh->back &&
                  fresh->at[fresh->front].t <= roots->at[roots->front].t))
            queue = fresh;
        else
            queue = roots;
        slot = queue->at[queue->front++];
        cv_ready_give(planner, job, slot.chain, planner->order[k], slot.t + queue->above);
    }
}

/* The node that has the result owns the first chain: the time to receive k + 1. */
static double root_needs(const struct cv_ready_job *job,
                         const struct cv_ready_steps *steps, uint32_t k)
{
    return job->model == CLEAVE_READY_EARLY ? (k + 1.0) * job->c
                                            : steps->b + k * steps->a;
}

/* The first slot, or, for a given root, all slots at which it can receive. False if it
 * cannot hold the result in time. */
static bool tree_begin(struct cv_ready_planner *planner, const struct cv_ready_job *job,
                       const struct cv_ready_steps *steps, uint32_t root, double time_s)
{
    for (int i = 0; i < CV_READY_QUEUES; i++) {
        struct cv_ready_queue *queue = &planner->queue[i];

        queue->front = queue->back = queue->waiting = queue->end = 0;
        queue->above = i == CV_READY_GROWN ? steps->mu : 0;
    }
    planner->nchains = 0;
    planner->next_s = INFINITY;
    planner->needed_s = 0;
    cv_ready_chain(planner, CV_NO_NODE);
    if (root == CV_NO_NODE) {
        add_slot(&planner->queue[CV_READY_FRESH], 0, 0);
        return true;
    }
    cv_ready_give(planner, job, 0, root, 0);
    for (uint32_t k = 0; k + 1 < job->n; k++) {
        const double needs = root_needs(job, steps, k);

        if (needs > time_s - job->ready_s[root]) {
            cv_ready_note(planner, needs + job->ready_s[root]);
            break;
        }
        add_slot(&planner->queue[CV_READY_ROOT], steps->b + k * steps->a,
                 cv_ready_chain(planner, 0));
    }
    return job->ready_s[root] <= time_s;
}

static bool decide_exact(struct cv_ready_planner *planner, const struct cv_ready_job *job,
                         uint32_t root, double time_s)
{
    const struct cv_ready_steps steps = cv_ready_steps(job);
    /* The level of a chain that has grown once more, above its time. */
    const double grown = job->model == CLEAVE_READY_EARLY ? steps.a : steps.b;
    const double last_deadline = time_s - planner->amin_s;
    uint32_t left = job->n - (root != CV_NO_NODE);

    if (!tree_begin(planner, job, &steps, root, time_s)) {
        cv_ready_note(planner, job->ready_s[root]);
        return false;
    }
    for (uint32_t k = 0; k < job->n && left > 0; k++) {
        const double ready_s = planner->sorted[k], deadline = time_s - ready_s;
        struct cv_ready_queue *queue;
        uint32_t count;

        if (planner->order[k] == root)
            continue;
        count = tree_admit(planner, &steps, deadline, last_deadline);
        queue = first_to_grow(planner, &steps, last_deadline);
        while (count < left && queue != NULL &&
               queue->at[queue->front].t + grown <= deadline) {
            grow(planner, &steps, queue);
            count = tree_admit(planner, &steps, deadline, last_deadline);
            queue = first_to_grow(planner, &steps, last_deadline);
        }
        if (count >= left) {
            tree_give_rest(planner, job, root, k);
            return true;
        }
        if (queue != NULL)
            cv_ready_note(planner, queue->at[queue->front].t + grown + ready_s);
        for (int i = 0; i < CV_READY_QUEUES; i++) {
            const struct cv_ready_queue *waits = &planner->queue[i];

            if (waits->waiting < waits->end)
                cv_ready_note(planner,
                              waits->at[waits->waiting].t + waits->above + ready_s);
        }
        queue = last_to_give(planner);
        if (queue == NULL)
            return false;
        queue->back--;
        cv_ready_give(planner, job, queue->at[queue->back].chain, planner->order[k],
                      queue->at[queue->back].t + queue->above);
        left--;
    }
    return true;
}

/* The parent of a node owns the chain that the node's chain was born from. */
static void find_parents(const struct cv_ready_planner *planner, uint32_t *parent)
{
    for (uint32_t chain = 0; chain < planner->nchains; chain++) {
        const uint32_t node = planner->owner[chain], above = planner->above[chain];

        if (node != CV_NO_NODE)
            parent[node] = above == CV_NO_NODE ? CV_NO_NODE : planner->owner[above];
    }
}

/* The time of a given root for the senders that it receives. */
static void note_root(struct cv_ready_planner *planner, const struct cv_ready_job *job,
                      uint32_t root)
{
    const struct cv_ready_steps steps = cv_ready_steps(job);
    uint32_t received = 0;

    for (uint32_t chain = 1; chain < planner->nchains; chain++)
        received += planner->above[chain] == 0 && planner->owner[chain] != CV_NO_NODE;
    if (received > 0)
        planner->needed_s =
            fmax(planner->needed_s,
                 job->ready_s[root] + root_needs(job, &steps, received - 1));
}

/* parent may be NULL. */
static bool decide(struct cv_ready_planner *planner, const struct cv_ready_job *job,
                   uint32_t root, double time_s, bool by_level, uint32_t *parent,
                   double *out_s)
{
    const bool found = cv_ready_is_exact(job)
                           ? decide_exact(planner, job, root, time_s)
                           : ready_decide_late(planner, job, root, time_s, by_level);

    if (found && root != CV_NO_NODE)
        note_root(planner, job, root);
    if (found && parent != NULL)
        find_parents(planner, parent);
    *out_s = found ? planner->needed_s : planner->next_s;
    return found;
}

static double search(struct cv_ready_planner *planner, const struct cv_ready_job *job,
                     uint32_t root, bool by_level, double low_s, uint32_t *parent)
{
    const bool exact = cv_ready_is_exact(job);
    double step_s = job->d + job->c, try_s = low_s, high_s = INFINITY, got_s;

    while (!decide(planner, job, root, try_s, by_level, NULL, &high_s)) {
        low_s = try_s;
        try_s += step_s;
        step_s = step_s > 0 ? 2 * step_s : 1;
    }
    while (low_s < high_s && high_s - low_s > 1e-12 * (1 + fabs(high_s))) {
        const double middle_s = low_s + (high_s - low_s) / 2;

        if (!(middle_s < high_s))
            break;
        if (decide(planner, job, root, middle_s, by_level, NULL, &got_s)) {
            try_s = middle_s; /* the tree is the one for this length */
            high_s = got_s;
        } else {
            low_s = exact && got_s > middle_s ? got_s : middle_s;
        }
    }
    decide(planner, job, root, try_s, by_level, parent, &high_s);
    return high_s;
}

double cv_ready_tree(struct cv_ready_planner *planner, const struct cv_ready_job *job,
                     uint32_t root, uint32_t *parent)
{
    double low_s, kraft_s, length_s;

    sort_nodes(planner, job);
    low_s = cv_ready_prefix(job, planner->sorted, planner->sorted + job->n);
    kraft_s = cv_ready_kraft(job);
    low_s = fmax(low_s, kraft_s - 1e-9 * (1 + fabs(kraft_s)));
    length_s = search(planner, job, root, false, low_s, parent);
    if (!cv_ready_is_exact(job)) {
        const double other_s = search(planner, job, root, true, low_s, planner->second);

        if (other_s < length_s) {
            memcpy(parent, planner->second, job->n * sizeof *parent);
            length_s = other_s;
        }
    }
    return length_s;
}
