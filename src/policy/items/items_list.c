/* items_list.c -- items in the order of their list, to any free worker.
 * SPDX-License-Identifier: MIT
 *
 * Graham's list scheduling, the rule of xargs -P and most job runners. Needs no costs
 * and no sizes. On m equal workers it takes at most 2 - 1/m of the optimum; on unequal
 * ones a long item that a slow worker gets last can take as many times as long as speeds
 * differ.
 *
 * O(workers) for a decision. */
#include "policy/common/setup.h"
#include "policy/common/reserved_workers.h"

struct items_list {
    uint64_t next;   /* the first item that was never given                        */
    uint64_t *again; /* nagain lost items */
    uint64_t nagain;
    uint32_t *held; /* by worker: running items */
    uint32_t *lost; /* by worker: items lost in a row */
};

/* A worker that lost this many items in a row is excluded. */
enum { LOSSES = 3 };

static enum cleave_status list_start(void *state, const struct cleave_view *view,
                                     struct cleave_setup *setup, struct cleave_error *err)
{
    struct items_list *list = state;

    if (!CV_NEW(setup->arena, list->again, view->nworkers) ||
        !CV_NEW(setup->arena, list->held, view->nworkers) ||
        !CV_NEW(setup->arena, list->lost, view->nworkers))
        return cv_fail_memory(err, "the items of a list");
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (cv_is_reserved(&view->workers[w]))
            list->lost[w] = LOSSES;
    return CLEAVE_OK;
}

/* If all workers have lost their items, all are tried again. */
static void readmit(struct items_list *list, uint32_t nworkers)
{
    for (uint32_t w = 0; w < nworkers; w++)
        if (list->lost[w] < LOSSES)
            return;
    for (uint32_t w = 0; w < nworkers; w++)
        list->lost[w] = 0;
}

/* Lost items come first: at most one item per worker waits there. */
static void serve(struct items_list *list, const struct cleave_view *view,
                  struct cleave_orders *orders)
{
    readmit(list, view->nworkers);
    for (uint32_t w = 0; w < view->nworkers; w++) {
        if (list->held[w] > 0 || list->lost[w] >= LOSSES)
            continue;
        if (list->nagain == 0 && list->next == view->nitems)
            return;
        list->held[w] = 1;
        cleave_order_item(orders, w,
                          list->nagain > 0 ? list->again[--list->nagain] : list->next++);
    }
}

static void list_decide(void *state, const struct cleave_view *view,
                        const struct cleave_event *event, struct cleave_orders *orders)
{
    struct items_list *list = state;

    if (event->kind == CLEAVE_DONE) {
        list->held[event->worker] = 0;
        list->lost[event->worker] = 0;
    } else if (event->kind == CLEAVE_LOST) {
        list->held[event->worker] = 0;
        list->lost[event->worker]++;
        list->again[list->nagain++] = event->item;
    } else if (event->kind == CLEAVE_CAME) {
        list->lost[event->worker] = 0;
    }
    if (!event->more)
        serve(list, view, orders);
}

const struct cleave_policy cleave_policy_items_list = {
    .name = "items-list",
    .summary = "in the order of the list, to the next free worker",
    .reference = "the rule of xargs -P and of most job runners; Graham 1966",
    .task = CLEAVE_TASK_ITEMS,
    .gets_losses = true,
    .takes_joiners = true,
    .state_size = sizeof(struct items_list),
    .start = list_start,
    .decide = list_decide,
};
