/* key_limits.c -- items and records with the same key that run at a time. SPDX-License-Identifier: MIT
 *
 * A chunk counts once for each key of its records. Keys in use are counted from the running attempts
 * whenever these have changed: no end of an attempt can leave a key in use. */
#include "run/master/exec_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"

static size_t count_limits(const struct cv_exec_run *run)
{
    return run->request->items.nlimits + run->request->input.nlimits;
}

static uint32_t max_of(const struct cv_exec_run *run, size_t limit)
{
    return run->request->items.nlimits > 0 ? run->request->items.limits[limit].max
                                           : run->request->input.limits[limit].max;
}

/* The keys of a running or pending piece, one for each limit and record. */
static const uint64_t *keys_of(const struct cv_exec_run *run, struct cv_range piece,
                               uint64_t *records)
{
    const struct cleave_items *items = &run->request->items;

    if (items->nlimits == 0)
        return cv_source_keys(run->queue.source, piece, records);
    for (size_t i = 0; i < items->nlimits; i++)
        run->limits.item[i] =
            (uint64_t)(i + 1) << 32 | items->limits[i].keys[piece.begin];
    *records = 1;
    return run->limits.item;
}

/* --- keys in use ---------------------------------------------------------------------------- */

/* The slot of a key, or the free one where it belongs. */
static struct cv_key_use *find_use(const struct cv_key_limits *limits, uint64_t key)
{
    size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);

    for (;; at++) {
        struct cv_key_use *use = &limits->uses[at & (limits->nslots - 1)];

        if (use->key == key || use->key == 0)
            return use;
    }
}

static bool grow(struct cv_key_limits *limits)
{
    struct cv_key_limits larger = *limits;

    larger.nslots = limits->nslots > 0 ? 2 * limits->nslots : 64;
    larger.uses = calloc(larger.nslots, sizeof *larger.uses);
    if (larger.uses == NULL)
        return false;
    for (size_t i = 0; i < limits->nslots; i++)
        if (limits->uses[i].key != 0)
            *find_use(&larger, limits->uses[i].key) = limits->uses[i];
    free(limits->uses);
    *limits = larger;
    return true;
}

/* Count a key of running piece `piece`, from 1. */
static bool count_key(struct cv_key_limits *limits, uint64_t key, uint32_t piece)
{
    struct cv_key_use *use;

    if (2 * limits->nkeys >= limits->nslots && !grow(limits))
        return false;
    use = find_use(limits, key);
    limits->nkeys += use->key == 0;
    use->key = key;
    use->chunks += use->last != piece;
    use->last = piece;
    return true;
}

static bool count_pieces(struct cv_exec_run *run)
{
    struct cv_key_limits *limits = &run->limits;

    if (limits->nslots > 0)
        memset(limits->uses, 0, limits->nslots * sizeof *limits->uses);
    limits->nkeys = 0;
    for (uint32_t p = 0; p < limits->npieces; p++) {
        uint64_t records;
        const uint64_t *keys = keys_of(run, limits->pieces[p], &records);

        for (uint64_t k = 0; k < records * count_limits(run); k++)
            if (keys[k] != 0 && !count_key(limits, keys[k], p + 1))
                return false;
    }
    return true;
}

/* Note the pieces of running attempts. *changed: others than before are running. */
static bool note_running(struct cv_exec_run *run, bool *changed)
{
    struct cv_key_limits *limits = &run->limits;
    size_t n = 0;

    *changed = false;
    for (uint32_t w = 0; w < run->pool.first_spare; w++)
        for (uint32_t i = 0; i < run->table.items[w].count; i++) {
            const struct cv_attempt *attempt = &run->table.items[w].items[i];
            const struct cv_range piece = { attempt->slot.piece.begin,
                                            attempt->slot.piece.end };

            if (!cv_attempt_is_running(attempt) || cv_attempt_is_empty(attempt))
                continue;
            if (!CV_ROOM(limits->pieces, &limits->room, n + 1))
                return false;
            *changed = *changed || n >= limits->npieces ||
                       limits->pieces[n].begin != piece.begin ||
                       limits->pieces[n].end != piece.end;
            limits->pieces[n++] = piece;
        }
    *changed = *changed || n != limits->npieces;
    limits->npieces = n;
    return true;
}

/* Let `uses` be the keys in use. False: no memory, which ends the run. */
static bool count_running(struct cv_exec_run *run)
{
    struct cleave_error err;
    bool changed;

    if (note_running(run, &changed) && (!changed || count_pieces(run)))
        return true;
    (void)cv_fail_memory(&err, "the keys in use");
    cv_event_queue_fail(&run->events, &err);
    run->limits.npieces = 0;
    return false;
}

/* --- starts ------------------------------------------------------------------------------------- */

/* Whether the keys of an item or record, in `uses`, are below their limits. */
static bool allows(const void *context, const uint64_t *keys)
{
    const struct cv_exec_run *run = context;

    for (size_t i = 0; run->limits.nslots > 0 && i < count_limits(run); i++)
        if (keys[i] != 0 && find_use(&run->limits, keys[i])->chunks >= max_of(run, i))
            return false;
    return true;
}

enum cleave_status cv_key_limits_open(struct cv_exec_run *run, struct cleave_error *err)
{
    const size_t count = run->request->items.nlimits;

    if (count == 0 || run->limits.item != NULL)
        return CLEAVE_OK;
    run->limits.item = calloc(count, sizeof *run->limits.item);
    return run->limits.item != NULL ? CLEAVE_OK
                                    : cv_fail_memory(err, "the limits of items");
}

void cv_key_limits_done(struct cv_exec_run *run)
{
    free(run->limits.item);
    free(run->limits.pieces);
    free(run->limits.uses);
    run->limits = (struct cv_key_limits){ .item = NULL };
}

bool cv_key_limits_allow(struct cv_exec_run *run, uint64_t begin, uint64_t end)
{
    const size_t nlimits = count_limits(run);
    const uint64_t *keys;
    uint64_t records;
    bool allowed = true;

    if (nlimits == 0)
        return true;
    if (!count_running(run))
        return false;
    keys = keys_of(run, (struct cv_range){ begin, end }, &records);
    for (uint64_t i = 0; allowed && i < records; i++)
        allowed = allows(run, keys + i * nlimits);
    return allowed;
}

bool cv_key_limits_find(struct cv_exec_run *run, uint64_t *out)
{
    uint64_t records;

    if (!count_running(run))
        return false;
    for (uint64_t item = 0; cv_source_find_item(run->queue.source, item, &item); item++) {
        *out = item;
        if (allows(run, keys_of(run, (struct cv_range){ item, item + 1 }, &records)))
            return true;
    }
    return false;
}

bool cv_key_limits_filter(struct cv_exec_run *run, struct cv_taker *taker)
{
    if (run->request->input.nlimits == 0)
        return true;
    taker->allows = allows;
    taker->context = run;
    return count_running(run);
}
