/* static_plan.c -- hand out a plan fixed in advance. SPDX-License-Identifier: MIT
 *
 * On a port for one message at a time, the next chunk is ordered when the one before has
 * arrived. On a multi-port master each worker has its own line of chunks. */
#include "policy/common/setup.h"

#include <math.h>

#include "policy/common/orders.h"

enum { NO_CHUNK = UINT32_MAX };

/* Chunks that are too large for the memory of their worker are sent in equal parts. */
static enum cleave_status cut_to_memory(struct cv_plan *plan,
                                        const struct cleave_view *view,
                                        struct cleave_setup *setup,
                                        struct cleave_error *err)
{
    struct cv_plan cut;
    double chunks = 0;
    size_t at = 0;

    for (size_t k = 0; k < plan->nchunks; k++)
        chunks += ceil(plan->units[k] / view->memory[plan->worker[k]] * (1 - 1e-12));
    chunks += (double)plan->nchunks; /* those without a limit count none above */
    if (chunks > CV_MAX_CHUNKS)
        return cv_fail(err, CLEAVE_EINPUT,
                       "workers have so little memory that there would be %g chunks",
                       chunks);
    if (!cv_plan_init(&cut, setup->arena, (size_t)chunks))
        return cv_fail_memory(err, "the parts of chunks");
    for (size_t k = 0; k < plan->nchunks; k++) {
        const double max = view->memory[plan->worker[k]];
        const size_t parts = (size_t)fmax(1, ceil(plan->units[k] / max * (1 - 1e-12)));

        for (size_t i = 0; i < parts; i++, at++) {
            cut.worker[at] = plan->worker[k];
            cut.units[at] = plan->units[k] / (double)parts;
        }
    }
    cut.nchunks = at;
    *plan = cut;
    return CLEAVE_OK;
}

enum cleave_status cv_static_index(struct cv_static *fixed,
                                   const struct cleave_view *view,
                                   struct cleave_setup *setup, struct cleave_error *err)
{
    const struct cv_plan *plan = &fixed->plan;
    uint32_t *next_same, *first;

    fixed->next = 0;
    if (view->memory != NULL)
        CV_TRY(cut_to_memory(&fixed->plan, view, setup, err));
    if (view->port != CLEAVE_PORT_MULTI)
        return CLEAVE_OK;
    if (plan->nchunks >= NO_CHUNK)
        return cv_fail(err, CLEAVE_EINPUT, "a plan of %zu chunks is too long",
                       plan->nchunks);
    next_same = cv_array(setup->arena, plan->nchunks, sizeof *next_same);
    first = cv_array(setup->arena, view->nworkers, sizeof *first);
    if (next_same == NULL || first == NULL)
        return cv_fail_memory(err, "the lines of a plan");
    for (uint32_t w = 0; w < view->nworkers; w++)
        first[w] = NO_CHUNK;
    for (size_t k = plan->nchunks; k-- > 0;) {
        next_same[k] = first[plan->worker[k]];
        first[plan->worker[k]] = (uint32_t)k;
    }
    fixed->next_same = next_same;
    fixed->first = first;
    return CLEAVE_OK;
}

static void decide_multi(const struct cv_static *fixed, const struct cleave_view *view,
                         const struct cleave_event *event, struct cleave_orders *orders)
{
    const struct cv_plan *plan = &fixed->plan;

    if (event->kind != CLEAVE_START)
        return;
    /* The engine keeps a line per link, so everything can be ordered at once. */
    for (uint32_t w = 0; w < view->nworkers; w++)
        for (uint32_t k = fixed->first[w]; k != NO_CHUNK; k = fixed->next_same[k])
            cleave_order_send(orders, w, plan->units[k]);
}

void cv_static_decide(void *state, const struct cleave_view *view,
                      const struct cleave_event *event, struct cleave_orders *orders)
{
    struct cv_static *fixed = state;

    if (fixed->first != NULL) {
        decide_multi(fixed, view, event, orders);
        return;
    }
    if (event->kind != CLEAVE_START && event->kind != CLEAVE_SENT)
        return;
    if (fixed->next < fixed->plan.nchunks) {
        cv_order_units(orders, CLEAVE_SEND, fixed->plan.worker[fixed->next],
                       fixed->plan.units[fixed->next]);
        fixed->next++;
    }
}
