/* piece_bisect.h -- a piece that failed, in two. SPDX-License-Identifier: MIT
 *
 * One bad record among n is found by about 2 log2 n runs of the command, and what is
 * around it is done on the way. */
#ifndef CV_PIECE_BISECT_H
#define CV_PIECE_BISECT_H
#include "run/failures/failure_history.h"
#include "run/input/source.h"

enum {
    CV_FAMILY_BAD = 16,   /* records that failed before one succeeded: all may be bad   */
    CV_FAMILY_MOST = 2000 /* parts that are made of one piece                           */
};

/* All parts of a piece that failed. */
struct cv_bisect_group {
    struct cv_bisect_group
        *next;          /* of all there are                                         */
    uint32_t made, bad; /* parts in all; single records that failed                     */
    bool any_good;      /* a part has succeeded                                         */
    bool isolates;      /* to the last record                                           */
};

/* Part a piece near its middle. *tail is empty if it is a single record. */
enum cleave_status cv_piece_bisect(struct cv_source *source, const struct cv_piece *piece,
                                   struct cv_piece *head, struct cv_piece *tail,
                                   struct cleave_error *err);

/* All families of a run; all zero: none. */
struct cv_bisect_groups {
    struct cv_bisect_group
        *first; /* owned                                                   */
};

void cv_families_done(struct cv_bisect_groups *families);
/* A piece becomes two; one without a family founds it. */
enum cleave_status cv_bisect_group_split(struct cv_bisect_groups *families,
                                         struct cv_bisect_group **family, bool isolates,
                                         struct cleave_error *err);
/* Whether it is of no use to part pieces of the family any further. */
bool cv_bisect_group_hopeless(const struct cv_bisect_group *family);
/* A part, be it of no family, is over. */
void cv_bisect_group_over(struct cv_bisect_group *family, bool good, bool single);

#endif
