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

/* --- who retries it ---------------------------------------------------------------- */

static void count(struct cv_candidate_sum *sum, const struct cv_candidate *candidate)
{
    sum->there += candidate->can != CV_CAN_NOT;
    sum->now += candidate->can == CV_CAN_NOW;
}

void cv_candidates_add(struct cv_candidates *among, struct cv_candidate candidate)
{
    if (among->count == 0)
        memset(among->sums, 0, sizeof among->sums);
    among->items[among->count++] = candidate;
    count(&among->sums[candidate.suspect], &candidate);
}

void cv_candidates_take(struct cv_candidates *among, size_t index)
{
    struct cv_candidate *candidate = &among->items[index];

    among->sums[candidate->suspect].now -= candidate->can == CV_CAN_NOW;
    candidate->can = CV_CAN_LATER;
}

bool cv_candidates_all_busy(const struct cv_candidates *among)
{
    return among->sums[false].now + among->sums[true].now == 0;
}

/* Ranks of candidates for a piece, the best one first; the first two as in `sums`. */
enum { TRUSTED, SUSPECT, FAILED_WITH, FAILED_LAST, RANKS };

static unsigned rank(const struct cv_retry *again, const struct cv_candidate *candidate)
{
    const struct cv_failure_history *past = &again->chunk.past;

    if (!cv_failure_history_has(past, candidate->domain))
        return candidate->suspect ? SUSPECT : TRUSTED;
    return candidate->domain != past->items[past->count - 1].domain ? FAILED_WITH
                                                                    : FAILED_LAST;
}

/* Move the candidates of a domain that the piece has failed with to their rank. */
static void move_domain(const struct cv_candidates *among, const struct cv_retry *again,
                        uint32_t domain, struct cv_candidate_sum sums[RANKS])
{
    for (size_t i = domain; i < among->count && among->items[i].domain == domain; i++) {
        const struct cv_candidate *candidate = &among->items[i];
        struct cv_candidate_sum one = { 0, 0 };

        count(&one, candidate);
        sums[candidate->suspect].there -= one.there;
        sums[candidate->suspect].now -= one.now;
        count(&sums[rank(again, candidate)], candidate);
    }
}

size_t cv_candidates_pick(const struct cv_candidates *among, const struct cv_retry *again)
{
    const struct cv_failure_history *past = &again->chunk.past;
    struct cv_candidate_sum sums[RANKS] = { among->sums[false], among->sums[true] };
    unsigned best = 0;
    size_t found = SIZE_MAX;

    for (uint32_t i = 0; i < past->count; i++)
        move_domain(among, again, past->items[i].domain, sums);
    while (best < RANKS && sums[best].now == 0 &&
           (sums[best].there == 0 || is_part(again)))
        best++;
    if (best == RANKS || sums[best].now == 0)
        return SIZE_MAX;
    for (size_t i = 0; i < among->count; i++) {
        const struct cv_candidate *candidate = &among->items[i];

        if (candidate->can != CV_CAN_NOW || rank(again, candidate) != best)
            continue;
        if (candidate->proven)
            return i;
        found = found == SIZE_MAX ? i : found;
    }
    return found;
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
