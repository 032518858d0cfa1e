/* range_set.c -- a set of bytes, kept as sorted ranges. SPDX-License-Identifier: MIT */
#include "run/common/range_set.h"

#include <assert.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/fail.h"

/* Nodes are referred to by number, because their memory moves; 0 means none. */
struct cv_range_node {
    struct cv_range range;
    uint32_t left, right; /* left of a free node: the next free node */
    uint32_t weight;      /* >= the weights of the children */
};

void cv_range_set_init(struct cv_range_set *set)
{
    *set = (struct cv_range_set){ .nodes = NULL };
}

void cv_range_set_done(struct cv_range_set *set)
{
    if (set == NULL)
        return;
    free(set->nodes);
    cv_range_set_init(set);
}

/* The first node that ends after `offset`, or at it if `touching`. */
static uint32_t first_ending(const struct cv_range_set *set, uint64_t offset,
                             bool touching)
{
    uint32_t found = 0;

    for (uint32_t at = set->root; at != 0;) {
        const struct cv_range_node *node = &set->nodes[at];
        const bool behind =
            touching ? node->range.end >= offset : node->range.end > offset;

        found = behind ? at : found;
        at = behind ? node->left : node->right;
    }
    return found;
}

/* Merge two trees; all ranges of `left` come first. */
static uint32_t merge(struct cv_range_set *set, uint32_t left, uint32_t right)
{
    uint32_t root = 0, *link = &root;

    for (; left != 0 && right != 0; set->steps++) {
        if (set->nodes[left].weight >= set->nodes[right].weight) {
            *link = left;
            link = &set->nodes[left].right;
            left = *link;
        } else {
            *link = right;
            link = &set->nodes[right].left;
            right = *link;
        }
    }
    *link = left != 0 ? left : right;
    return root;
}

/* Split a tree into ranges that begin before `offset` and the rest. */
static void split(struct cv_range_set *set, uint32_t at, uint64_t offset, uint32_t *left,
                  uint32_t *right)
{
    for (; at != 0; set->steps++) {
        if (set->nodes[at].range.begin < offset) {
            *left = at;
            left = &set->nodes[at].right;
            at = *left;
        } else {
            *right = at;
            right = &set->nodes[at].left;
            at = *right;
        }
    }
    *left = *right = 0;
}

/* Make sure that a free node exists. */
static enum cleave_status reserve_node(struct cv_range_set *set, struct cleave_error *err)
{
    if (set->free != 0)
        return CLEAVE_OK;
    if (set->used == 0)
        set->used = 1;
    if (set->used >= UINT32_MAX || !CV_ROOM(set->nodes, &set->capacity, set->used + 1))
        return cv_fail_memory(err, "a set of ranges");
    set->free = (uint32_t)set->used++;
    set->nodes[set->free].left = 0;
    return CLEAVE_OK;
}

/* Consecutive numbers give unrelated weights. */
static uint32_t weigh(uint32_t number)
{
    number *= 0x9e3779b9U;
    number = (number ^ number >> 16) * 0x85ebca6bU;
    number = (number ^ number >> 13) * 0xc2b2ae35U;
    return number ^ number >> 16;
}

/* A free node exists, and no range of the set touches this one. */
static void insert(struct cv_range_set *set, struct cv_range range)
{
    const uint32_t at = set->free;
    struct cv_range_node *node = &set->nodes[at];
    uint32_t *link = &set->root;

    set->free = node->left;
    *node = (struct cv_range_node){ .range = range, .weight = weigh(++set->made) };
    for (; *link != 0 && set->nodes[*link].weight >= node->weight; set->steps++)
        link = range.begin < set->nodes[*link].range.begin ? &set->nodes[*link].left
                                                           : &set->nodes[*link].right;
    split(set, *link, range.begin, &node->left, &node->right);
    *link = at;
}

static void erase(struct cv_range_set *set, uint32_t at)
{
    struct cv_range_node *node = &set->nodes[at];
    uint32_t *link = &set->root;

    for (; *link != at; set->steps++)
        link = node->range.begin < set->nodes[*link].range.begin
                   ? &set->nodes[*link].left
                   : &set->nodes[*link].right;
    *link = merge(set, node->left, node->right);
    node->left = set->free;
    set->free = at;
}

bool cv_range_set_find(const struct cv_range_set *set, uint64_t offset,
                       struct cv_range *out)
{
    const uint32_t at = first_ending(set, offset, false);

    if (at != 0)
        *out = set->nodes[at].range;
    return at != 0;
}

/* Let node `at` cover [begin, end) and remove the following ranges that it touches. */
static void join(struct cv_range_set *set, uint32_t at, uint64_t begin, uint64_t end)
{
    const uint64_t ended = set->nodes[at].range.end;
    struct cv_range joined = set->nodes[at].range;
    uint64_t held = joined.end - joined.begin;
    uint32_t next;

    joined.begin = begin < joined.begin ? begin : joined.begin;
    joined.end = end > joined.end ? end : joined.end;
    while ((next = first_ending(set, ended, false)) != 0 &&
           set->nodes[next].range.begin <= end) {
        const struct cv_range range = set->nodes[next].range;

        joined.end = range.end > joined.end ? range.end : joined.end;
        held += range.end - range.begin;
        erase(set, next);
    }
    set->nodes[at].range = joined;
    set->total += joined.end - joined.begin - held;
}

enum cleave_status cv_range_set_put(struct cv_range_set *set, uint64_t begin,
                                    uint64_t end, struct cleave_error *err)
{
    const uint32_t at = first_ending(set, begin, true);

    assert(begin <= end);
    if (begin == end)
        return CLEAVE_OK;
    if (at != 0 && set->nodes[at].range.begin <= end) {
        join(set, at, begin, end);
        return CLEAVE_OK;
    }
    CV_TRY(reserve_node(set, err));
    insert(set, (struct cv_range){ begin, end });
    set->total += end - begin;
    return CLEAVE_OK;
}

enum cleave_status cv_range_set_remove(struct cv_range_set *set, uint64_t begin,
                                       uint64_t end, struct cleave_error *err)
{
    uint32_t at;

    assert(begin <= end);
    if (begin == end)
        return CLEAVE_OK;
    CV_TRY(reserve_node(set, err));
    while ((at = first_ending(set, begin, false)) != 0 &&
           set->nodes[at].range.begin < end) {
        struct cv_range *range = &set->nodes[at].range;
        const struct cv_range rest = { end, range->end };
        const uint64_t from = range->begin > begin ? range->begin : begin;

        set->total -= (range->end < end ? range->end : end) - from;
        if (range->begin < begin) {
            range->end = begin;
            if (rest.end > end)
                insert(set, rest);
        } else if (rest.end > end) {
            range->begin = end;
        } else {
            erase(set, at);
        }
    }
    return CLEAVE_OK;
}
