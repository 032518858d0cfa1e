/* knapsack_pack.c -- find room for all of a selection, or none.
 * SPDX-License-Identifier: MIT
 *
 * What the surrogate knapsack selects is the optimum if it can be packed, and it leaves
 * little capacity unused. So bins are filled one after the other, each with the heaviest
 * item that is left (in some bin it must be) and every set of others that wastes no more
 * than what may still be wasted in all. Depth first, with limited work. */
#include "select/knapsack/knapsack_fill.h"

#include <stdlib.h>
#include <string.h>

/* Limit of bins times sizes, the depth of the search at worst. */
enum { MOST_DEPTH = 6000 };

/* Items put into a bin. */
struct step {
    uint32_t bin, size, count;
};

struct packing {
    const struct cv_instance *instance;
    struct cv_work *work;
    uint32_t *left;               /* per size                                    */
    uint32_t *filled;             /* per group: bins                            */
    cv_parallel_decoder *lighter; /* per bin and size: what is left from it on  */
    struct step *steps;
    size_t nsteps;
};

static bool next_bin(struct packing *packing, cv_parallel_decoder waste);

/* Go on filling a bin of `group` with sizes from `size` on. */
static bool fill_bin(struct packing *packing, uint32_t group, uint32_t size,
                     cv_parallel_decoder rest, cv_parallel_decoder waste)
{
    const struct cv_instance *instance = packing->instance;
    const uint32_t bin = instance->groups[group].first + packing->filled[group];
    const cv_parallel_decoder *lighter =
        packing->lighter + (size_t)bin * instance->nsizes;
    uint32_t max;

    while (size < instance->nsizes &&
           (packing->left[size] == 0 || instance->sizes[size].weight > rest))
        size++;
    if (!cv_work_spend(packing->work, 8))
        return false;
    if (size == instance->nsizes || rest == 0) {
        bool found;

        if (rest > waste)
            return false;
        packing->filled[group]++;
        found = next_bin(packing, waste - rest);
        if (!found)
            packing->filled[group]--;
        return found;
    }
    if (rest > waste && lighter[size] < rest - waste)
        return false;
    max = cv_wide_times(rest, instance->sizes[size].weight, packing->left[size]);
    for (uint32_t count = max + 1; count-- > 0 && packing->work->left > 0;) {
        const size_t nsteps = packing->nsteps;

        if (count > 0)
            packing->steps[packing->nsteps++] = (struct step){ bin, size, count };
        packing->left[size] -= count;
        if (fill_bin(packing, group, size + 1,
                     rest - instance->sizes[size].weight * count, waste))
            return true;
        packing->left[size] += count;
        packing->nsteps = nsteps;
    }
    return false;
}

/* Fill one more bin with the heaviest item and others; true when nothing is left. */
static bool next_bin(struct packing *packing, cv_parallel_decoder waste)
{
    const struct cv_instance *instance = packing->instance;
    uint32_t heaviest = 0;

    while (heaviest < instance->nsizes && packing->left[heaviest] == 0)
        heaviest++;
    if (heaviest == instance->nsizes)
        return true;
    for (uint32_t g = 0; g < instance->ngroups; g++) {
        const struct cv_knapsack_group *group = &instance->groups[g];
        const cv_parallel_decoder weight = instance->sizes[heaviest].weight;
        const size_t bin = group->first + packing->filled[g];
        cv_parallel_decoder *lighter = packing->lighter + bin * instance->nsizes, sum = 0;

        if (packing->filled[g] == group->nbins || group->capacity < weight)
            continue;
        packing->left[heaviest]--;
        for (uint32_t s = instance->nsizes; s-- > 0;) {
            sum += instance->sizes[s].weight * packing->left[s];
            lighter[s] = sum;
        }
        (void)cv_work_spend(packing->work, instance->nsizes);
        packing->steps[packing->nsteps++] = (struct step){ (uint32_t)bin, heaviest, 1 };
        if (fill_bin(packing, g, heaviest, group->capacity - weight, waste))
            return true;
        packing->left[heaviest]++;
        packing->nsteps--;
    }
    return false;
}

static bool search(struct packing *packing, const uint32_t *take, struct cv_fill *trial,
                   bool *packed)
{
    const struct cv_instance *instance = packing->instance;
    cv_parallel_decoder capacity = 0, weight = 0;

    *packed = false;
    memcpy(packing->left, take, instance->nsizes * sizeof *take);
    for (uint32_t g = 0; g < instance->ngroups; g++)
        capacity += instance->groups[g].capacity * instance->groups[g].nbins;
    for (uint32_t s = 0; s < instance->nsizes; s++)
        weight += instance->sizes[s].weight * take[s];
    if (weight > capacity || !next_bin(packing, capacity - weight))
        return true;
    cv_fill_clear(trial);
    for (size_t i = 0; i < packing->nsteps; i++)
        if (!cv_fill_put(trial, packing->steps[i].bin, packing->steps[i].size,
                         packing->steps[i].count))
            return false;
    *packed = true;
    return true;
}

bool cv_fill_pack(struct cv_fill *trial, const uint32_t *take, struct cv_work *work,
                  bool *packed)
{
    const struct cv_instance *instance = trial->instance;
    const size_t cells = (size_t)instance->nbins * instance->nsizes;
    struct packing packing = { .instance = instance, .work = work };
    bool made;

    *packed = false;
    if (cells == 0 || cells > MOST_DEPTH)
        return true;
    packing.left = calloc(instance->nsizes, sizeof *packing.left);
    packing.filled = calloc(instance->ngroups, sizeof *packing.filled);
    packing.lighter = calloc(cells, sizeof *packing.lighter);
    packing.steps = calloc(cells + instance->nbins, sizeof *packing.steps);
    made = packing.left != NULL && packing.filled != NULL && packing.lighter != NULL &&
           packing.steps != NULL && search(&packing, take, trial, packed);
    free(packing.left);
    free(packing.filled);
    free(packing.lighter);
    free(packing.steps);
    return made;
}
