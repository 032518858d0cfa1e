/* halves.c -- a piece that failed, in two. SPDX-License-Identifier: MIT */
#include "run/fails/halves.h"

#include <stdlib.h>

#include "base/fail.h"

/* Where the second half is one long record, a cut before the middle is looked for, each time
 * half as far from the beginning. */
enum cleave_status cv_halve(struct cv_source *source, const struct cv_piece *piece,
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

void cv_families_done(struct cv_families *families)
{
    while (families->first != NULL) {
        struct cv_family *family = families->first;

        families->first = family->next;
        free(family);
    }
}

enum cleave_status cv_family_split(struct cv_families *families,
                                   struct cv_family **family, bool isolates,
                                   struct cleave_error *err)
{
    if (*family == NULL) {
        struct cv_family *founded = calloc(1, sizeof *founded);

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

bool cv_family_hopeless(const struct cv_family *family)
{
    return family != NULL && ((!family->any_good && family->bad >= CV_FAMILY_BAD) ||
                              family->made >= CV_FAMILY_MOST);
}

void cv_family_over(struct cv_family *family, bool good, bool single)
{
    if (family == NULL)
        return;
    family->any_good = family->any_good || good;
    family->bad += !good && single;
}
