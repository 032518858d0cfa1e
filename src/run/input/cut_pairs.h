/* cut_pairs.h -- cut two files of mates after the same number of records.
 * SPDX-License-Identifier: MIT
 *
 * Record i of the one belongs to record i of the other, so cutting takes counting: both
 * files are read up to the cut, once for all cuts. */
#ifndef CV_CUT_PAIRS_H
#define CV_CUT_PAIRS_H
#include "run/input/cut_file.h"

struct cv_pair_cut {
    uint64_t first, second; /* boundaries of the two files   */
    uint64_t records;       /* before either of them         */
};

/* For one thread at a time. The fields are for the functions of this header. */
struct cv_cut_pairs {
    struct cv_cut_file *first, *second; /* borrowed               */
    struct cv_pair_cut *cuts;           /* owned: known, in order */
    size_t ncuts, capacity;
    uint64_t grain; /* bytes of the first file between known cuts */
};

/* Both files must have the same splitter, for which cv_splitter_pairs holds. */
enum cleave_status cv_cut_pairs_init(struct cv_cut_pairs *pairs,
                                     struct cv_cut_file *first,
                                     struct cv_cut_file *second,
                                     struct cleave_error *err);
void cv_cut_pairs_done(struct cv_cut_pairs *pairs);
/* The first boundary of the first file at or after `offset`, and the place of the same
 * record in the second file. Fails if one file ends before the other. */
enum cleave_status cv_cut_pairs_at(struct cv_cut_pairs *pairs, uint64_t offset,
                                   struct cv_pair_cut *out, struct cleave_error *err);

#endif
