/* poison_chunks.c -- whether a chunk is to blame for hosts that were lost with it.
 * SPDX-License-Identifier: MIT */
#include "run/failures/poison_chunks.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"

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

/* What is in both is more suspicious than what was in one of them: the rest of a suspect
 * was not there this time. */
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
