/* knapsack_fill.c -- items in bins, and the answer made of them.
 * SPDX-License-Identifier: MIT */
#include "select/knapsack/knapsack_fill.h"

#include <stdlib.h>
#include <string.h>

#include "base/compare.h"

bool cv_fill_init(struct cv_fill *fill, const struct cv_instance *instance)
{
    const size_t nbins = instance->nbins > 0 ? instance->nbins : 1;
    const size_t nsizes = instance->nsizes > 0 ? instance->nsizes : 1;

    *fill = (struct cv_fill){ .instance = instance };
    fill->bins = calloc(nbins, sizeof *fill->bins);
    fill->used = calloc(nsizes, sizeof *fill->used);
    if (fill->bins == NULL || fill->used == NULL) {
        free(fill->bins);
        free(fill->used);
        *fill = (struct cv_fill){ .instance = NULL };
        return false;
    }
    cv_fill_clear(fill);
    return true;
}

void cv_fill_done(struct cv_fill *fill)
{
    if (fill->instance == NULL)
        return;
    for (uint32_t b = 0; b < fill->instance->nbins; b++)
        free(fill->bins[b].parts);
    free(fill->bins);
    free(fill->used);
    fill->instance = NULL;
}

void cv_fill_clear(struct cv_fill *fill)
{
    const struct cv_instance *instance = fill->instance;

    for (uint32_t g = 0; g < instance->ngroups; g++)
        for (uint32_t i = 0; i < instance->groups[g].nbins; i++) {
            fill->bins[instance->groups[g].first + i].left = instance->groups[g].capacity;
            fill->bins[instance->groups[g].first + i].nparts = 0;
        }
    memset(fill->used, 0, instance->nsizes * sizeof *fill->used);
    fill->profit = 0;
}

bool cv_fill_copy(struct cv_fill *to, const struct cv_fill *from)
{
    const struct cv_instance *instance = from->instance;

    for (uint32_t b = 0; b < instance->nbins; b++) {
        const struct cv_fill_bin *source = &from->bins[b];
        struct cv_fill_bin *bin = &to->bins[b];

        if (!CV_ROOM(bin->parts, &bin->capacity, source->nparts))
            return false;
        if (source->nparts > 0)
            memcpy(bin->parts, source->parts, source->nparts * sizeof *bin->parts);
        bin->nparts = source->nparts;
        bin->left = source->left;
    }
    memcpy(to->used, from->used, instance->nsizes * sizeof *to->used);
    to->profit = from->profit;
    return true;
}

bool cv_fill_put(struct cv_fill *fill, uint32_t bin, uint32_t size, uint32_t count)
{
    struct cv_fill_bin *to = &fill->bins[bin];

    if (count == 0)
        return true;
    if (to->nparts > 0 && to->parts[to->nparts - 1].size == size) {
        to->parts[to->nparts - 1].count += count;
    } else {
        if (!CV_ROOM(to->parts, &to->capacity, to->nparts + 1))
            return false;
        to->parts[to->nparts++] = (struct cv_fill_part){ size, count };
    }
    to->left -= fill->instance->sizes[size].weight * count;
    fill->used[size] += count;
    return true;
}

void cv_fill_empty_bin(struct cv_fill *fill, uint32_t bin)
{
    struct cv_fill_bin *from = &fill->bins[bin];

    for (size_t i = 0; i < from->nparts; i++) {
        fill->used[from->parts[i].size] -= from->parts[i].count;
        from->left +=
            fill->instance->sizes[from->parts[i].size].weight * from->parts[i].count;
    }
    from->nparts = 0;
}

double cv_fill_count(struct cv_fill *fill)
{
    fill->profit = 0;
    for (uint32_t s = 0; s < fill->instance->nsizes; s++)
        fill->profit += cv_size_profit(fill->instance, s, fill->used[s]);
    return fill->profit;
}

/* The fullest bin with room for a weight, the first of equals; UINT32_MAX: none. */
static uint32_t fullest(const struct cv_fill *fill, cv_parallel_decoder weight)
{
    const uint32_t *real = fill->instance->bin;
    uint32_t best = UINT32_MAX;

    for (uint32_t b = 0; b < fill->instance->nbins; b++) {
        const cv_parallel_decoder left = fill->bins[b].left;

        if (left < weight)
            continue;
        if (best == UINT32_MAX || left < fill->bins[best].left ||
            (left == fill->bins[best].left && real[b] < real[best]))
            best = b;
    }
    return best;
}

bool cv_fill_greedy(struct cv_fill *fill, struct cv_work *work)
{
    const struct cv_instance *instance = fill->instance;
    cv_parallel_decoder roomiest = 0;

    for (uint32_t b = 0; b < instance->nbins; b++)
        roomiest = fill->bins[b].left > roomiest ? fill->bins[b].left : roomiest;
    for (uint32_t i = 0; i < instance->nsegments; i++) {
        const struct cv_segment *segment = &instance->segments[instance->by_density[i]];
        const uint32_t s = segment->size;
        const struct cv_size *size = &instance->sizes[s];
        uint32_t left = cv_segment_left(segment, fill->used[s]);

        while (left > 0 && size->weight <= roomiest) {
            const uint32_t b = fullest(fill, size->weight);
            uint32_t now;

            (void)cv_work_spend(work, instance->nbins);
            if (b == UINT32_MAX) {
                /* Nothing has room: lighter items only from here on. */
                roomiest = size->weight - 1;
                break;
            }
            now = cv_wide_times(fill->bins[b].left, size->weight, left);
            if (!cv_fill_put(fill, b, s, now))
                return false;
            left -= now;
        }
    }
    return true;
}

/* --- the answer ----------------------------------------------------------------------- */

/* Which segment of a size is handed out next. */
struct hand_out {
    uint32_t segment, given;
};

CV_ORDER_BY(by_class, struct cv_knapsack_part, item_class)

/* Sort the parts of a bin and join those of one class; returns how many are left. */
static size_t join_parts(struct cv_knapsack_part *parts, size_t n)
{
    size_t kept = 0;

    qsort(parts, n, sizeof *parts, by_class);
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && parts[kept - 1].item_class == parts[i].item_class)
            parts[kept - 1].count += parts[i].count;
        else
            parts[kept++] = parts[i];
    }
    return kept;
}

/* Write the parts of a bin, the most profitable items of each size first. */
static size_t write_parts(const struct cv_fill *fill, uint32_t bin,
                          struct hand_out *hand_out, struct cv_knapsack_part *parts)
{
    const struct cv_instance *instance = fill->instance;
    size_t n = 0;

    for (size_t i = 0; i < fill->bins[bin].nparts; i++) {
        const struct cv_fill_part *part = &fill->bins[bin].parts[i];
        struct hand_out *next = &hand_out[part->size];
        uint32_t left = part->count;

        while (left > 0) {
            const struct cv_segment *segment =
                &instance->segments[instance->sizes[part->size].first + next->segment];
            const uint32_t rest = segment->count - next->given;
            const uint32_t now = left < rest ? left : rest;

            if (now > 0)
                parts[n++] = (struct cv_knapsack_part){ segment->item_class, now };
            left -= now;
            next->given += now;
            if (next->given == segment->count) {
                next->segment++;
                next->given = 0;
            }
        }
    }
    return join_parts(parts, n);
}

static bool add_up(const struct cv_knapsack *problem, struct cv_arena *arena,
                   struct cv_knapsack_answer *out)
{
    uint64_t *counts = cv_array(arena, problem->nclasses, sizeof *counts);

    if (counts == NULL)
        return false;
    out->selected = 0;
    for (size_t i = 0; i < out->first[problem->nbins]; i++) {
        counts[out->parts[i].item_class] += out->parts[i].count;
        out->selected += out->parts[i].count;
    }
    out->profit = 0;
    for (uint32_t i = 0; i < problem->nclasses; i++)
        out->profit += problem->classes[i].profit * (double)counts[i];
    return true;
}

bool cv_fill_answer(const struct cv_fill *fill, const struct cv_knapsack *problem,
                    struct cv_arena *arena, struct cv_knapsack_answer *out)
{
    const struct cv_instance *instance = fill->instance;
    struct hand_out *hand_out = cv_array(arena, instance->nsizes, sizeof *hand_out);
    uint32_t *place = cv_array(arena, problem->nbins, sizeof *place);
    size_t max = instance->nsegments, n = 0;

    for (uint32_t b = 0; b < instance->nbins; b++)
        max += fill->bins[b].nparts;
    out->first = cv_array(arena, (size_t)problem->nbins + 1, sizeof *out->first);
    out->parts = cv_array(arena, max, sizeof *out->parts);
    if (hand_out == NULL || place == NULL || out->first == NULL || out->parts == NULL)
        return false;
    for (uint32_t b = 0; b < instance->nbins; b++)
        place[instance->bin[b]] = b + 1;
    for (uint32_t b = 0; b < problem->nbins; b++) {
        out->first[b] = n;
        if (place[b] > 0)
            n += write_parts(fill, place[b] - 1, hand_out, out->parts + n);
    }
    out->first[problem->nbins] = n;
    return add_up(problem, arena, out);
}
