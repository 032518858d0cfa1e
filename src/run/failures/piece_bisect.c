/* piece_bisect.c -- a piece that failed, in two. SPDX-License-Identifier: MIT */
#include "run/failures/piece_bisect.h"

#include <stdlib.h>

#include "base/fail.h"

/* Where the second half is one long record, a cut before the middle is looked for, each time
 * half as far from the beginning. */
enum cleave_status cv_piece_bisect(struct cv_source *source, const struct cv_piece *piece,
                                   struct cv_piece *head, struct cv_piece *tail,
                                   struct cleave_error *err)
{
    uint64_t far = (piece->body.end - piece->body.begin) / 2;

    for (;; far /= 2) {
        CV_TRY(cv_source_part(source, piece, piece->body.begin + far, head, tail, err));
        if (tail->end > tail->begin || far <= 1)
            return CLEAVE_OK;
    }
}

void cv_families_done(struct cv_bisect_groups *families)
{
    while (families->first != NULL) {
        struct cv_bisect_group *family = families->first;

        families->first = family->next;
        free(family);
    }
}

enum cleave_status cv_bisect_group_split(struct cv_bisect_groups *families,
                                         struct cv_bisect_group **family, bool isolates,
                                         struct cleave_error *err)
{
    if (*family == NULL) {
        struct cv_bisect_group *founded = calloc(1, sizeof *founded);

        if (founded == NULL)
            return cv_fail_memory(err, "chunks that failed");
        founded->next = families->first;
        families->first = founded;
        *family = founded;
    }
    (*family)->isolates = (*family)->isolates || isolates;
    (*family)->made += 2;
    return CLEAVE_OK;
}

bool cv_bisect_group_hopeless(const struct cv_bisect_group *family)
{
    return family != NULL && ((!family->any_good && family->bad >= CV_FAMILY_BAD) ||
                              family->made >= CV_FAMILY_MOST);
}

void cv_bisect_group_over(struct cv_bisect_group *family, bool good, bool single)
{
    if (family == NULL)
        return;
    family->any_good = family->any_good || good;
    family->bad += !good && single;
}
