/* open_check.c -- which workers have an open chunk. SPDX-License-Identifier: MIT */
#include "engine/open_check.h"

bool cv_open_check_init(struct cv_open_check *check, struct cv_arena *arena,
                        uint32_t nworkers)
{
    check->nworkers = nworkers;
    check->workers = cv_array(arena, nworkers, sizeof *check->workers);
    return check->workers != NULL;
}

const char *cv_open_check_order(struct cv_open_check *check,
                                const struct cleave_order *order)
{
    struct cv_open_chunk *chunk = &check->workers[order->worker];

    switch (order->kind) {
    case CLEAVE_SEND:
        chunk->sent++;
        return NULL;
    case CLEAVE_OPEN:
        if (chunk->there)
            return "it has one that has not ended";
        if (chunk->sent > 0)
            return "it has something else to do";
        *chunk = (struct cv_open_chunk){ .there = true, .open = true };
        return NULL;
    case CLEAVE_EXTEND:
        if (!chunk->open)
            return "it has none that is open";
        if (chunk->due > 0)
            return "nobody has said yet what came of the last time";
        chunk->due = order->units;
        return NULL;
    case CLEAVE_CLOSE:
        if (!chunk->open)
            return "it has none that is open";
        chunk->open = false;
        return NULL;
    default: /* a look harms nobody */
        return NULL;
    }
}

double cv_open_check_note(struct cv_open_check *check, const struct cleave_event *event)
{
    struct cv_open_chunk *chunk;
    double due;

    if (event->kind != CLEAVE_EXTENDED && event->kind != CLEAVE_DONE &&
        event->kind != CLEAVE_LOST)
        return 0;
    chunk = &check->workers[event->worker];
    due = chunk->due;
    chunk->due = 0;
    if (event->kind == CLEAVE_EXTENDED)
        return due - event->units;
    /* It does one after the other, and was idle when one was opened. */
    if (!chunk->there)
        chunk->sent -= chunk->sent > 0;
    chunk->there = chunk->open = false;
    return due;
}

uint32_t cv_open_check_left(const struct cv_open_check *check)
{
    uint32_t w = 0;

    while (w < check->nworkers && !check->workers[w].open)
        w++;
    return w;
}
