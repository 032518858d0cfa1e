/* cut_pairs.c -- cut two files of mates after the same number of records.
 * SPDX-License-Identifier: MIT */
#include "run/input/cut_pairs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"
#include "base/text.h"
#include "run/split/split_kind.h"

enum { GRAIN = 1 << 20, CUTS_MOST = 1 << 14 };

static enum cleave_status add_cut(struct cv_cut_pairs *pairs, struct cv_pair_cut cut,
                                  struct cleave_error *err)
{
    if (!CV_ROOM(pairs->cuts, &pairs->capacity, pairs->ncuts + 1))
        return cv_fail_memory(err, "an index of the input");
    pairs->cuts[pairs->ncuts++] = cut;
    return CLEAVE_OK;
}

enum cleave_status cv_cut_pairs_init(struct cv_cut_pairs *pairs,
                                     struct cv_cut_file *first,
                                     struct cv_cut_file *second, struct cleave_error *err)
{
    const uint64_t grain = first->size / CUTS_MOST;

    *pairs = (struct cv_cut_pairs){ .first = first, .second = second };
    pairs->grain = grain > GRAIN ? grain : GRAIN;
    if (!cv_splitter_pairs(first->splitter) || !cv_splitter_pairs(second->splitter))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected the splitter 'fastq' for pairs, "
                       "got '%s'",
                       cv_splitter_text(first->splitter));
    return add_cut(pairs, (struct cv_pair_cut){ 0, 0, 0 }, err);
}

void cv_cut_pairs_done(struct cv_cut_pairs *pairs)
{
    if (pairs == NULL)
        return;
    free(pairs->cuts);
    pairs->cuts = NULL;
    pairs->ncuts = pairs->capacity = 0;
}

/* One file ended before the other: how many records each of them has. */
static enum cleave_status say_counts(struct cv_cut_pairs *pairs, struct cv_pair_cut from,
                                     struct cleave_error *err)
{
    struct cv_cut_file *first = pairs->first, *second = pairs->second;
    const struct cv_place place = { second->name, 0, 0, NULL };
    char shown[100];
    uint64_t n, m;

    CV_TRY(cv_cut_file_count(first, from.first, first->size, &n, err));
    CV_TRY(cv_cut_file_count(second, from.second, second->size, &m, err));
    return cv_fail_at(err, &place,
                      "expected %" PRIu64 " records, as many as %s has, got %" PRIu64,
                      from.records + n,
                      cv_shown(first->name, strlen(first->name), shown, sizeof shown),
                      from.records + m);
}

/* From a known cut to the first one at or after `offset` of the first file. */
static enum cleave_status step(struct cv_cut_pairs *pairs, struct cv_pair_cut from,
                               uint64_t offset, struct cv_pair_cut *out,
                               struct cleave_error *err)
{
    struct cv_cut_file *first = pairs->first, *second = pairs->second;
    struct cv_walk one, two;
    uint64_t n, m;
    bool ends, fewer, more;

    cv_walk_init(&one, from.first);
    one.until = offset;
    CV_TRY(cv_cut_file_walk(first, &one, first->size, err));
    n = cv_walk_records(&one);
    ends = one.boundary < offset || first->size == 0;
    /* Where the first file ends, there must be no record left in the second. */
    cv_walk_init(&two, from.second);
    two.max = n > 0 ? n : 1;
    CV_TRY(cv_cut_file_walk(second, &two, second->size, err));
    m = cv_walk_records(&two);
    fewer = ends ? m < n : two.found < n;
    more = ends && (two.found == two.max || m > n);
    if (fewer || more)
        return say_counts(pairs, from, err);
    out->first = ends ? first->size : one.boundary;
    out->second = ends ? second->size : two.boundary;
    out->records = from.records + n;
    return CLEAVE_OK;
}

enum cleave_status cv_cut_pairs_at(struct cv_cut_pairs *pairs, uint64_t offset,
                                   struct cv_pair_cut *out, struct cleave_error *err)
{
    struct cv_pair_cut cut = pairs->cuts[pairs->ncuts - 1];
    size_t known;

    if (offset > pairs->first->size)
        offset = pairs->first->size;
    while (offset - cut.first >= pairs->grain && cut.first < offset) {
        CV_TRY(step(pairs, cut, cut.first + pairs->grain, &cut, err));
        CV_TRY(add_cut(pairs, cut, err));
    }
    /* The last known cut that is not behind `offset`. */
    CV_BISECT(known, pairs->ncuts, i, pairs->cuts[i].first <= offset);
    cut = pairs->cuts[known > 0 ? known - 1 : 0];
    if (cut.first < offset || pairs->first->size == 0)
        CV_TRY(step(pairs, cut, offset, &cut, err));
    *out = cut;
    return CLEAVE_OK;
}
