/* desk.c -- chunks under way, and whose they are. SPDX-License-Identifier: MIT */
#include "run/master/desk.h"

#include <stdlib.h>

#include "base/fail.h"

enum cleave_status cv_desks_open(struct cv_desks *desks, uint32_t nworkers,
                                 struct cleave_error *err)
{
    desks->items = calloc(nworkers, sizeof *desks->items);
    if (desks->items == NULL)
        return cv_fail_memory(err, "the engine");
    desks->count = nworkers;
    return CLEAVE_OK;
}

void cv_desks_close(struct cv_desks *desks)
{
    for (uint32_t w = 0; w < desks->count; w++) {
        for (uint32_t i = 0; i < desks->items[w].nerrands; i++)
            cv_slot_done(&desks->items[w].errands[i].slot);
        free(desks->items[w].errands);
    }
    free(desks->items);
    desks->items = NULL;
    desks->count = 0;
}

enum cleave_status cv_desk_room(struct cv_desk *desk, uint32_t nerrands,
                                struct cleave_error *err)
{
    free(desk->errands); /* of a place that nobody had */
    desk->nerrands = 0;
    desk->errands = calloc(nerrands, sizeof *desk->errands);
    if (desk->errands == NULL)
        return cv_fail_memory(err, "the workers");
    desk->nerrands = nerrands;
    return CLEAVE_OK;
}

struct cv_errand *cv_errand_of(struct cv_slot *slot)
{
    return (struct cv_errand *)slot; /* it is its first member */
}

bool cv_desks_busy(const struct cv_desks *desks, uint32_t worker)
{
    for (uint32_t i = 0; worker < desks->count && i < desks->items[worker].nerrands; i++)
        if (desks->items[worker].errands[i].slot.busy ||
            desks->items[worker].errands[i].opened)
            return true;
    return false;
}

struct cv_errand *cv_desks_opened(const struct cv_desks *desks, uint32_t worker)
{
    const struct cv_desk *desk = &desks->items[worker];

    for (uint32_t i = 0; i < desk->nerrands; i++)
        if (desk->errands[i].opened)
            return &desk->errands[i];
    return NULL;
}

struct cv_errand *cv_desks_free(const struct cv_desks *desks, uint32_t worker)
{
    const struct cv_desk *desk = &desks->items[worker];

    for (uint32_t i = 0; i < desk->nerrands; i++)
        if (!desk->errands[i].slot.busy && !desk->errands[i].opened)
            return &desk->errands[i];
    return NULL;
}

bool cv_desks_accuse(const struct cv_desks *desks, uint32_t party)
{
    for (uint32_t w = 0; w < desks->count; w++)
        for (uint32_t i = 0; i < desks->items[w].nerrands; i++)
            if (desks->items[w].errands[i].slot.busy &&
                cv_history_doubts(&desks->items[w].errands[i].past, party))
                return true;
    return false;
}

struct cv_errand *cv_desks_last(const struct cv_desks *desks, uint32_t worker)
{
    const struct cv_desk *desk = &desks->items[worker];
    struct cv_errand *last = NULL;

    for (uint32_t i = 0; i < desk->nerrands; i++)
        if (desk->errands[i].slot.busy && desk->errands[i].owner == worker &&
            !desk->errands[i].quiet &&
            (last == NULL || desk->errands[i].chunk > last->chunk))
            last = &desk->errands[i];
    return last;
}

void cv_desks_stop(struct cv_desks *desks)
{
    for (uint32_t w = 0; w < desks->count; w++)
        for (uint32_t i = 0; i < desks->items[w].nerrands; i++)
            cv_slot_stop(&desks->items[w].errands[i].slot);
}

bool cv_desks_left(struct cv_desks *desks)
{
    bool left = true;

    for (uint32_t w = 0; w < desks->count; w++)
        for (uint32_t i = 0; i < desks->items[w].nerrands; i++)
            left &= cv_slot_leave(&desks->items[w].errands[i].slot);
    return left;
}
