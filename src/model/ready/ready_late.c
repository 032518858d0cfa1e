/* ready_late.c -- trees for nodes that receive early when transfers cost more than
 * combinations. SPDX-License-Identifier: MIT
 *
 * A chain that has grown k times from a fresh slot t stands at t + k d, and its owner needs
 * the level t + k c only: levels do not follow times, slots come in no order, and three
 * heaps take the place of the queues. Optimal in all small cases tried when the better of
 * two rules is taken; not proved. */
#include <math.h>

#include "model/ready/ready_internal.h"
#include "base/heap.h"
#include "model/reduce/reduce_tree.h"

struct slot {
    double t, level;
    uint32_t chain;
    bool fresh, usable; /* usable: may be had by the node at hand */
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

struct cv_ready_late *cv_ready_late_new(struct cv_arena *arena, uint32_t chains)
{
    const size_t slots = 2 * (size_t)chains;
    struct cv_ready_late *late = cv_array(arena, 1, sizeof *late);

    if (late == NULL)
        return NULL;
    late->chains_most = chains;
    late->slots = cv_array(arena, slots, sizeof *late->slots);
    late->wait.at = cv_array(arena, slots, sizeof *late->wait.at);
    late->grow.at = cv_array(arena, slots, sizeof *late->grow.at);
    late->give.at = cv_array(arena, slots, sizeof *late->give.at);
    return late->slots != NULL && late->wait.at != NULL && late->grow.at != NULL &&
                   late->give.at != NULL
               ? late
               : NULL;
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

/* Slots that were used meanwhile leave the heap when they come up. */
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

/* What one length is tried with. */
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

/* Chains that have grown first, each kind by time: with the heap that is free by now. */
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

bool cv_ready_decide_late(struct cv_ready_planner *planner,
                          const struct cv_ready_job *job, uint32_t root, double time_s,
                          bool by_level)
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
