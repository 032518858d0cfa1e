/* item_limits.c -- items with the same key that run at a time. SPDX-License-Identifier: MIT
 *
 * Keys in use are counted from the running attempts whenever an item is looked for: no end of an
 * attempt can leave a key in use. */
#include "run/master/exec_run.h"

#include <stdlib.h>

#include "base/fail.h"

enum cleave_status cv_item_limits_open(struct cv_exec_run *run, struct cleave_error *err)
{
    const struct cleave_items *items = &run->request->items;
    size_t keys = 0;

    if (items->nlimits == 0 || run->key_uses != NULL)
        return CLEAVE_OK;
    for (size_t i = 0; i < items->nlimits; i++)
        keys += items->limits[i].nkeys;
    run->key_uses = calloc(keys, sizeof *run->key_uses);
    return run->key_uses != NULL ? CLEAVE_OK : cv_fail_memory(err, "the limits of items");
}

/* Add `change` to the uses of all keys of an item. Returns whether each was below its limit. */
static bool use_keys(struct cv_exec_run *run, uint64_t item, int change)
{
    const struct cleave_items *items = &run->request->items;
    uint32_t *uses = run->key_uses;
    bool below = true;

    for (size_t i = 0; i < items->nlimits; i++) {
        const struct cleave_limit *limit = &items->limits[i];

        below = below && uses[limit->keys[item]] < limit->max;
        uses[limit->keys[item]] += (uint32_t)change;
        uses += limit->nkeys;
    }
    return below;
}

static void count_running(struct cv_exec_run *run, int change)
{
    for (uint32_t w = 0; w < run->table.count; w++)
        for (uint32_t i = 0; i < run->table.items[w].count; i++) {
            const struct cv_attempt *attempt = &run->table.items[w].items[i];

            if (cv_attempt_is_running(attempt) && !cv_attempt_is_empty(attempt))
                use_keys(run, attempt->slot.piece.begin, change);
        }
}

bool cv_item_limits_allow(struct cv_exec_run *run, uint64_t item)
{
    bool allowed;

    if (run->key_uses == NULL)
        return true;
    count_running(run, 1);
    allowed = use_keys(run, item, 0);
    count_running(run, -1);
    return allowed;
}

bool cv_item_limits_find(struct cv_exec_run *run, uint64_t *out)
{
    bool found = false;

    count_running(run, 1);
    for (uint64_t item = 0; !found && cv_source_find_item(run->queue.source, item, &item);
         item++) {
        found = use_keys(run, item, 0);
        *out = item;
    }
    count_running(run, -1);
    return found;
}
