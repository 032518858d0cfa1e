/* journal_speeds.c -- how fast workers were that a journal has chunks of.
 * SPDX-License-Identifier: MIT
 *
 * A chunk took a start and its bytes over the speed of its worker. Of chunks that were open the
 * start is there. Where it is not, no start is longer than the shortest chunk, and the first
 * chunks of a run are so small that it is hardly more than one: so that is taken off. What is
 * left gives speeds, which choose who is given what first, and are forgotten where something is
 * measured. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/journal/journal_internal.h"

/* Those that differ by less are equal, as far as one journal can tell. */
static const double ALIKE = 1.25;

/* What is known of a worker: bytes, and the time they took without starts; starts. */
struct sum {
    double bytes, time_s;
    double starts_s, starts;
};

static struct sum *find(const char *const *names, uint32_t count, struct sum *sums,
                        const char *name)
{
    for (uint32_t w = 0; w < count; w++)
        if (names[w] != NULL && strcmp(names[w], name) == 0)
            return &sums[w];
    return NULL;
}

static void add_up(const struct cv_journal *journal, const char *const *names,
                   uint32_t count, struct sum *sums)
{
    double shortest_s = INFINITY;

    for (size_t i = 0; i < journal->nrows; i++)
        shortest_s = fmin(shortest_s, journal->rows[i].chunk.seconds);
    for (size_t i = 0; i < journal->nrows; i++) {
        const struct cv_journal_chunk *chunk = &journal->rows[i].chunk;
        struct sum *sum = find(names, count, sums, chunk->worker);
        const double start_s = chunk->start_s > 0 ? chunk->start_s : shortest_s;

        if (sum == NULL)
            continue;
        sum->starts += chunk->start_s > 0;
        sum->starts_s += chunk->start_s;
        if (!(chunk->seconds > start_s))
            continue;
        sum->bytes += (double)(chunk->end - chunk->begin);
        sum->time_s += chunk->seconds - start_s;
    }
}

/* Starts of those that show none are as those of the others. */
static void find_starts(const struct sum *sums, uint32_t count,
                        struct cv_journal_costs *out)
{
    double starts_s = 0, starts = 0;

    for (uint32_t w = 0; w < count; w++) {
        starts_s += sums[w].starts_s;
        starts += sums[w].starts;
    }
    out->starts_known = starts > 0;
    for (uint32_t w = 0; w < count; w++)
        out->start_s[w] = sums[w].starts > 0 ? sums[w].starts_s / sums[w].starts
                          : starts > 0       ? starts_s / starts
                                             : 0;
}

enum cleave_status cv_journal_speeds(const struct cv_journal *journal,
                                     const char *const *names, uint32_t count,
                                     struct cv_journal_costs *out,
                                     struct cleave_error *err)
{
    struct sum *sums = calloc(count, sizeof *sums);
    double min = INFINITY, max = 0, sum = 0;

    if (sums == NULL)
        return cv_fail_memory(err, "the journal");
    add_up(journal, names, count, sums);
    for (uint32_t w = 0; w < count; w++) {
        out->speed_ups[w] = sums[w].time_s > 0 ? sums[w].bytes / sums[w].time_s : 0;
        min = fmin(min, out->speed_ups[w]);
        max = fmax(max, out->speed_ups[w]);
        sum += out->speed_ups[w];
    }
    find_starts(sums, count, out);
    free(sums);
    out->known = min > 0 && isfinite(max);
    out->differ = max >= ALIKE * min;
    for (uint32_t w = 0; out->known && !out->differ && w < count; w++)
        out->speed_ups[w] = sum / count;
    return CLEAVE_OK;
}
