/* stream_pack.c -- put workers into clusters by weights that do not depend on the order.
 * SPDX-License-Identifier: MIT */
#include "select/streams/stream_pack.h"

#include <stdlib.h>

#include "base/fail.h"
#include "select/knapsack/knapsack.h"

bool cv_set_init(struct cv_stream_set *set, uint32_t n, struct cv_arena *arena)
{
    set->clusters = cv_array(arena, n, sizeof *set->clusters);
    set->n = set->clusters != NULL ? n : 0;
    for (uint32_t m = 0; m < set->n; m++)
        cv_cluster_init(&set->clusters[m]);
    return set->clusters != NULL;
}

void cv_set_done(struct cv_stream_set *set)
{
    for (uint32_t m = 0; m < set->n; m++)
        cv_cluster_done(&set->clusters[m]);
}

void cv_set_clear(struct cv_stream_set *set)
{
    for (uint32_t m = 0; m < set->n; m++)
        cv_cluster_clear(&set->clusters[m]);
}

double cv_set_throughput(const struct cv_stream_field *field,
                         const struct cv_stream_set *set)
{
    double sum = 0;

    for (uint32_t m = 0; m < set->n; m++)
        sum += cv_cluster_throughput(field, &set->clusters[m]);
    return sum;
}

struct entry {
    double weight, profit;
    uint32_t worker;
};

static int by_kind(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;

    if (a->weight != b->weight)
        return a->weight < b->weight ? -1 : 1;
    if (a->profit != b->profit)
        return a->profit > b->profit ? -1 : 1;
    return (a->worker > b->worker) - (a->worker < b->worker);
}

/* Workers sorted so that those of a class stand together. */
struct classes {
    struct entry *entries;
    struct cv_item_class *list;
    uint32_t *next; /* class -> its first entry that was not handed out */
    uint32_t n;
};

static bool classify(const struct cv_stream_field *field, const struct cv_pack *pack,
                     struct cv_arena *arena, struct classes *out)
{
    out->entries = cv_array(arena, pack->n, sizeof *out->entries);
    out->list = cv_array(arena, pack->n, sizeof *out->list);
    out->next = cv_array(arena, pack->n, sizeof *out->next);
    out->n = 0;
    if (out->entries == NULL || out->list == NULL || out->next == NULL)
        return false;
    for (uint32_t i = 0; i < pack->n; i++) {
        const uint32_t w = pack->workers[i];

        out->entries[i] = (struct entry){ pack->weight[w], field->profit[w], w };
    }
    qsort(out->entries, pack->n, sizeof *out->entries, by_kind);
    for (uint32_t i = 0; i < pack->n; i++) {
        const struct entry *entry = &out->entries[i];
        struct cv_item_class *last = &out->list[out->n > 0 ? out->n - 1 : 0];

        if (out->n > 0 && last->weight == entry->weight &&
            last->profit == entry->profit) {
            last->count++;
            continue;
        }
        out->next[out->n] = i;
        out->list[out->n++] = (struct cv_item_class){ entry->weight, entry->profit, 1 };
    }
    return true;
}

static enum cleave_status hand_out(struct cv_stream_field *field, struct classes *classes,
                                   const struct cv_knapsack_answer *answer,
                                   struct cv_stream_set *set, struct cleave_error *err)
{
    for (uint32_t m = 0; m < set->n; m++)
        for (size_t p = answer->first[m]; p < answer->first[m + 1]; p++) {
            const struct cv_knapsack_part *part = &answer->parts[p];

            for (uint32_t i = 0; i < part->count; i++) {
                const uint32_t at = classes->next[part->item_class]++;

                if (!cv_cluster_add(field, &set->clusters[m],
                                    classes->entries[at].worker))
                    return cv_fail_memory(err, "the clusters");
            }
        }
    return CLEAVE_OK;
}

static enum cleave_status pack_in(struct cv_stream_field *field,
                                  const struct cv_pack *pack, struct cv_stream_set *set,
                                  struct cv_arena *arena, struct cv_pack_answer *out,
                                  struct cleave_error *err)
{
    struct cv_knapsack_answer answer;
    struct cv_knapsack problem;
    struct classes classes;

    if (!classify(field, pack, arena, &classes))
        return cv_fail_memory(err, "the classes of workers");
    problem = (struct cv_knapsack){
        .classes = classes.list,
        .nclasses = classes.n,
        .nbins = set->n,
        .capacity = pack->capacity,
    };
    CV_TRY(cv_knapsack_solve(&problem, pack->work, arena, &answer, err));
    CV_TRY(hand_out(field, &classes, &answer, set, err));
    *out = (struct cv_pack_answer){ answer.upper_bound, answer.optimal };
    return CLEAVE_OK;
}

enum cleave_status cv_stream_pack(struct cv_stream_field *field,
                                  const struct cv_pack *pack, struct cv_stream_set *set,
                                  struct cv_pack_answer *out, struct cleave_error *err)
{
    enum cleave_status status;
    struct cv_arena arena;

    cv_set_clear(set);
    *out = (struct cv_pack_answer){ 0, true };
    if (pack->n == 0 || !(pack->capacity > 0))
        return CLEAVE_OK;
    cv_arena_init(&arena);
    status = pack_in(field, pack, set, &arena, out, err);
    cv_arena_done(&arena);
    return status;
}

enum cleave_status cv_stream_pack_bound(struct cv_stream_field *field,
                                        const struct cv_pack *pack, uint32_t nclusters,
                                        double *out, struct cleave_error *err)
{
    enum cleave_status status;
    struct classes classes;
    struct cv_arena arena;

    cv_arena_init(&arena);
    if (classify(field, pack, &arena, &classes)) {
        const struct cv_knapsack problem = { .classes = classes.list,
                                             .nclasses = classes.n,
                                             .nbins = nclusters,
                                             .capacity = pack->capacity };

        status = cv_knapsack_surrogate_lp(&problem, out, err);
    } else {
        status = cv_fail_memory(err, "the classes of workers");
    }
    cv_arena_done(&arena);
    return status;
}
