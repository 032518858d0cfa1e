/* return_check.c -- which results are ready and which have come back.
 * SPDX-License-Identifier: MIT */
#include "engine/return_check.h"

#include <stdlib.h>

#include "base/arena.h"

enum { ON_ITS_WAY, READY, ASKED_FOR, HERE };

void cv_return_check_clear(struct cv_return_check *check)
{
    check->count = 0;
    check->returned = 0;
}

void cv_return_check_done(struct cv_return_check *check)
{
    free(check->chunks);
    check->chunks = NULL;
    check->count = check->room = 0;
}

bool cv_return_check_sent(struct cv_return_check *check, uint32_t worker)
{
    if (!CV_ROOM(check->chunks, &check->room, check->count + 1))
        return false;
    check->chunks[check->count++] = (struct cv_return_chunk){ worker, ON_ITS_WAY };
    return true;
}

void cv_return_check_computed(struct cv_return_check *check, uint64_t chunk)
{
    check->chunks[chunk].stage = READY;
}

void cv_return_check_returned(struct cv_return_check *check, uint64_t chunk)
{
    check->chunks[chunk].stage = HERE;
    check->returned++;
}

const char *cv_return_check_order(struct cv_return_check *check, uint32_t worker,
                                  uint64_t chunk)
{
    if (chunk >= check->count)
        return "there is no such chunk";
    if (check->chunks[chunk].worker != worker)
        return "another worker has that chunk";
    if (check->chunks[chunk].stage == ON_ITS_WAY)
        return "it is not computed yet";
    if (check->chunks[chunk].stage != READY)
        return "it was asked for before";
    check->chunks[chunk].stage = ASKED_FOR;
    return NULL;
}
