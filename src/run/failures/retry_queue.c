/* retry_queue.c -- pieces to run again, and ranges that may be poison.
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

/* Parts of a piece that failed go before all others, to any worker that is free. */
static bool is_part(const struct cv_retry *again)
{
    return again->chunk.past.family != NULL;
}

enum cleave_status cv_retry_queue_push(struct cv_retry_queue *agains,
                                       const struct cv_retry *again,
                                       struct cleave_error *err)
{
    const bool first = is_part(again);

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
        if (cv_failure_history_doubts(&agains->items[i].chunk.past, domain))
            return true;
    return false;
}

/* How suitable the candidate is; 0 is best. */
static unsigned rank(const struct cv_retry *again, const struct cv_candidate *candidate)
{
    const struct cv_failure_history *past = &again->chunk.past;

    if (!cv_failure_history_has(past, candidate->domain))
        return candidate->suspect ? 1 : 0;
    return candidate->domain != past->items[past->count - 1].domain ? 2 : 3;
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

        if (among[i].can == CV_CAN_NOT || (is_part(again) && among[i].can != CV_CAN_NOW))
            continue;
        if (at < best_rank || (at == best_rank && is_readier(&among[i], &among[best]))) {
            best = i;
            best_rank = at;
        }
    }
    return best != SIZE_MAX && among[best].can == CV_CAN_NOW ? best : SIZE_MAX;
}

/* --- a piece that failed, in two --------------------------------------------------- */

/* If the second half is one long record, look for a cut closer to the beginning,
 * halving the distance each time. */
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

void cv_bisect_groups_free(struct cv_bisect_group *groups)
{
    for (struct cv_bisect_group *next; groups != NULL; groups = next) {
        next = groups->next;
        free(groups);
    }
}

enum cleave_status cv_bisect_group_split(struct cv_bisect_group **groups,
                                         struct cv_bisect_group **family, bool isolates,
                                         struct cleave_error *err)
{
    if (*family == NULL) {
        struct cv_bisect_group *founded = calloc(1, sizeof *founded);

        if (founded == NULL)
            return cv_fail_memory(err, "chunks that failed");
        founded->next = *groups;
        *groups = *family = founded;
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

/* --- whether a chunk is to blame for hosts that were lost with it ------------------ */

void cv_poison_tracker_done(struct cv_poison_tracker *poison)
{
    free(poison->suspects);
    *poison = (struct cv_poison_tracker){ .count = 0 };
}

static enum cleave_status add(struct cv_poison_tracker *poison,
                              const struct cv_poison_suspect *suspect,
                              struct cleave_error *err)
{
    if (!CV_ROOM(poison->suspects, &poison->room, poison->count + 1))
        return cv_fail_memory(err, "chunks that were lost");
    poison->suspects[poison->count++] = *suspect;
    return CLEAVE_OK;
}

static void note_host(struct cv_poison_suspect *suspect, const void *host)
{
    suspect->losses++;
    for (uint32_t i = 0; i < suspect->nhosts; i++)
        if (suspect->hosts[i] == host)
            return;
    if (suspect->nhosts < CV_BLAME_LOSSES)
        suspect->hosts[suspect->nhosts++] = host;
}

static bool is_guilty(const struct cv_poison_suspect *suspect, uint32_t machines)
{
    const uint32_t needed = machines < CV_BLAME_LOSSES ? machines : CV_BLAME_LOSSES;

    return suspect->losses >= CV_BLAME_LOSSES && suspect->nhosts >= needed;
}

/* Only the part of a suspect that was running again stays a suspect. */
enum cleave_status cv_poison_tracker_lost(struct cv_poison_tracker *poison,
                                          uint64_t begin, uint64_t end, const void *host,
                                          uint32_t machines, uint32_t *out_hosts,
                                          struct cleave_error *err)
{
    bool known = false;

    *out_hosts = 0;
    for (size_t i = 0; i < poison->count; i++) {
        struct cv_poison_suspect *suspect = &poison->suspects[i];

        if (suspect->end <= begin || suspect->begin >= end)
            continue;
        known = true;
        suspect->begin = suspect->begin > begin ? suspect->begin : begin;
        suspect->end = suspect->end < end ? suspect->end : end;
        note_host(suspect, host);
        if (is_guilty(suspect, machines) && suspect->nhosts > *out_hosts)
            *out_hosts = suspect->nhosts;
    }
    if (known)
        return CLEAVE_OK;
    return add(
        poison,
        &(struct cv_poison_suspect){
            .begin = begin, .end = end, .losses = 1, .nhosts = 1, .hosts = { host } },
        err);
}

enum cleave_status cv_poison_tracker_clear(struct cv_poison_tracker *poison,
                                           uint64_t begin, uint64_t end,
                                           struct cleave_error *err)
{
    for (size_t i = poison->count; i-- > 0;) {
        struct cv_poison_suspect *suspect = &poison->suspects[i];
        struct cv_poison_suspect behind = *suspect;

        if (suspect->end <= begin || suspect->begin >= end)
            continue;
        behind.begin = end;
        if (suspect->begin < begin) {
            suspect->end = begin;
        } else {
            memmove(suspect, suspect + 1, (poison->count - i - 1) * sizeof *suspect);
            poison->count--;
        }
        if (behind.begin < behind.end)
            CV_TRY(add(poison, &behind, err));
    }
    return CLEAVE_OK;
}
