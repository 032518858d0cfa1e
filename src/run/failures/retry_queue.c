/* retry_queue.c -- pieces that are to be done again, before all that is new.
 * SPDX-License-Identifier: MIT */
#include "run/failures/retry_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"

void cv_retry_queue_done(struct cv_retry_queue *agains)
{
    free(agains->items);
    *agains = (struct cv_retry_queue){ .count = 0 };
}

enum cleave_status cv_retry_queue_push(struct cv_retry_queue *agains,
                                       const struct cv_retry *again, bool first,
                                       struct cleave_error *err)
{
    if (!CV_ROOM(agains->items, &agains->room, agains->count + 1))
        return cv_fail_memory(err, "chunks that failed");
    if (first)
        memmove(agains->items + 1, agains->items, agains->count * sizeof *agains->items);
    agains->items[first ? 0 : agains->count] = *again;
    agains->count++;
    return CLEAVE_OK;
}

struct cv_retry cv_retry_queue_take(struct cv_retry_queue *agains, size_t index)
{
    const struct cv_retry taken = agains->items[index];

    agains->count--;
    memmove(&agains->items[index], &agains->items[index + 1],
            (agains->count - index) * sizeof taken);
    return taken;
}

bool cv_retry_queue_has_failure_of(const struct cv_retry_queue *agains, uint32_t domain)
{
    for (size_t i = 0; i < agains->count; i++)
        if (cv_failure_history_doubts(&agains->items[i].past, domain))
            return true;
    return false;
}

/* How good it is that this one does it; 0 is best. */
static unsigned rank(const struct cv_retry *again, const struct cv_candidate *candidate)
{
    const struct cv_failure_history *past = &again->past;

    if (!cv_failure_history_has(past, candidate->domain))
        return candidate->suspect ? 1 : 0;
    return candidate->domain != past->domains[past->count - 1] ? 2 : 3;
}

static bool is_readier(const struct cv_candidate *one, const struct cv_candidate *other)
{
    return one->can != other->can ? one->can > other->can : one->proven && !other->proven;
}

size_t cv_retry_queue_pick_worker(const struct cv_retry *again,
                                  const struct cv_candidate *among, size_t count)
{
    size_t best = SIZE_MAX;
    unsigned best_rank = 4;

    for (size_t i = 0; i < count; i++) {
        const unsigned at = rank(again, &among[i]);

        if (among[i].can == CV_CAN_NOT || (again->hurried && among[i].can != CV_CAN_NOW))
            continue;
        if (at < best_rank || (at == best_rank && is_readier(&among[i], &among[best]))) {
            best = i;
            best_rank = at;
        }
    }
    return best != SIZE_MAX && among[best].can == CV_CAN_NOW ? best : SIZE_MAX;
}
