/* static_plan.c -- hand out a plan fixed in advance; the policy chunks.
 * SPDX-License-Identifier: MIT
 *
 * On a port for one message at a time, the next chunk is ordered when the previous one
 * has arrived. On a multi-port master each worker has its own queue of chunks. */
#include <math.h>
#include <stdlib.h>
#include "policy/common/orders.h"
#include "policy/common/setup.h"

enum { NO_CHUNK = UINT32_MAX };

/* Send chunks that exceed the memory of their worker in equal parts. */
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
    chunks += (double)plan->nchunks; /* workers without a limit count 0 above */
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
    /* The engine has a queue per link: order everything at once. */
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

/* --- chunks: a given list ------------------------------------------------------------- */

/* A list such as 2:10,0:4,2:6 gives 10 parts of 20 of the load to worker 2, then 4 to
 * worker 0 and 6 to worker 2. A plan made elsewhere, by hand or for a price
 * (docs/theory/money.md), can so be planned, simulated and recorded. O(chunks). */

struct given_chunks {
    struct cv_static fixed;
    const char *list;
};

static enum cleave_status expected_list(const char *text, struct cleave_error *err)
{
    return cv_fail(
        err, CLEAVE_EINPUT,
        "policy 'chunks': parameter 'chunk-order': expected workers by number, "
        "each with its part of the load, such as 2:10,0:4,2:6, got '%s'",
        text);
}

/* One chunk of the list; *at moves to the next one. */
static enum cleave_status read_chunk(const char *list, const char **at, uint32_t nworkers,
                                     uint32_t *out_worker, double *out_part,
                                     struct cleave_error *err)
{
    char *end;
    const unsigned long worker = strtoul(*at, &end, 10);

    if (**at < '0' || **at > '9')
        return expected_list(list, err);
    if (worker >= nworkers)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "policy 'chunks': parameter 'chunk-order': expected workers from 0 "
            "to %lu, got %lu",
            (unsigned long)nworkers - 1, worker);
    *out_part = 1;
    if (*end == ':') {
        const char *number = end + 1;

        *out_part = strtod(number, &end);
        if (end == number || !(*out_part > 0) || isinf(*out_part))
            return expected_list(list, err);
    }
    if (*end != ',' && *end != '\0')
        return expected_list(list, err);
    *out_worker = (uint32_t)worker;
    *at = *end == ',' ? end + 1 : end;
    return *end == ',' && **at == '\0' ? expected_list(list, err) : CLEAVE_OK;
}

static enum cleave_status chunks_plan(void *state, const struct cleave_view *view,
                                      struct cleave_setup *setup,
                                      struct cleave_error *err)
{
    struct given_chunks *given = state;
    struct cv_plan *plan = &given->fixed.plan;
    bool *named = cv_array(setup->arena, view->nworkers, sizeof *named);
    const char *at = given->list;
    size_t count = 1;
    double sum = 0;

    if (at == NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "policy 'chunks' needs a chunk-order, such as 2:10,0:4,2:6: "
                       "workers by number, the first of the platform is 0, each with its "
                       "part of the load");
    for (const char *c = at; *c != '\0'; c++)
        count += *c == ',';
    if (named == NULL || !cv_plan_init(plan, setup->arena, count))
        return cv_fail_memory(err, "the chunks");
    for (size_t k = 0; k < count; k++) {
        CV_TRY(read_chunk(given->list, &at, view->nworkers, &plan->worker[k],
                          &plan->units[k], err));
        sum += plan->units[k];
    }
    for (size_t k = 0; k < count; k++)
        plan->units[k] *= view->units_total / sum;
    cv_plan_settle(plan, view->units_total);
    for (size_t k = 0; k < plan->nchunks; k++)
        named[plan->worker[k]] = true;
    for (uint32_t w = 0; w < view->nworkers; w++)
        if (!named[w])
            cv_note_left_out(setup, w, "the list of chunks does not name it");
    return cv_static_index(&given->fixed, view, setup, err);
}

static const struct cleave_param chunks_params[] = {
    { "chunk-order", CLEAVE_PARAM_TEXT, offsetof(struct given_chunks, list), 0, 0, 0,
      "workers in the order of sending, by number, and parts of the load: 2:10,0:4,2:6" },
    { 0 },
};

const struct cleave_policy cleave_policy_chunks = {
    .name = "chunks",
    .summary = "the chunks that are asked for, in that order",
    .reference = "cleave",
    .sends_first = true,
    .state_size = sizeof(struct given_chunks),
    .params = chunks_params,
    .plan = chunks_plan,
    .decide = cv_static_decide,
};
