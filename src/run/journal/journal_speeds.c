/* journal_speeds.c -- how fast workers were that a journal has chunks of.
 * SPDX-License-Identifier: MIT
 *
 * A chunk took a start and its bytes over the speed of its worker. No start is longer than the
 * shortest chunk, and the first chunks of a run are so small that it is hardly more than one: so
 * that is taken off all. What is left gives speeds in proportion, and more is not asked for: they
 * choose who is given what first, and are forgotten where something is measured. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "run/journal/journal_inner.h"

/* Those that differ by less are equal, as far as one journal can tell. */
static const double ALIKE = 1.25;

/* What is known of a worker: bytes, and the time they took without starts. */
struct sum {
    double bytes, time_s;
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
    double start_s = INFINITY;

    for (size_t i = 0; i < journal->nrows; i++)
        start_s = fmin(start_s, journal->rows[i].chunk.seconds);
    for (size_t i = 0; i < journal->nrows; i++) {
        const struct cv_journal_chunk *chunk = &journal->rows[i].chunk;
        struct sum *sum = find(names, count, sums, chunk->worker);

        if (sum == NULL || !(chunk->seconds > start_s))
            continue;
        sum->bytes += (double)(chunk->end - chunk->begin);
        sum->time_s += chunk->seconds - start_s;
    }
}

enum cleave_status cv_journal_speeds(const struct cv_journal *journal,
                                     const char *const *names, uint32_t count,
                                     double *out_ups, bool *out_known,
                                     struct cleave_error *err)
{
    struct sum *sums = calloc(count, sizeof *sums);
    double least = INFINITY, most = 0;

    if (sums == NULL)
        return cv_fail_memory(err, "the journal");
    add_up(journal, names, count, sums);
    for (uint32_t w = 0; w < count; w++) {
        out_ups[w] = sums[w].time_s > 0 ? sums[w].bytes / sums[w].time_s : 0;
        least = fmin(least, out_ups[w]);
        most = fmax(most, out_ups[w]);
    }
    free(sums);
    *out_known = least > 0 && isfinite(most) && most >= ALIKE * least;
    return CLEAVE_OK;
}
