/* case_bounds.c -- what no schedule of a case can beat. SPDX-License-Identifier: MIT */
#include "sim/load/case_bounds.h"

#include <string.h>

#include "model/bounds/item_bounds.h"
#include "model/platform/profile.h"

/* Units per second of a link that takes no time to speak of. */
static const double FAST_LINK = 1e30;

_Static_assert((int)CV_MAX_ITEM_BOUNDS <= (int)CV_MAX_BOUNDS, "room for all bounds");

/* A command may start up while its input is on its way, and read what has come: then either
 * starts or links cost nothing. NULL when memory is short. */
static const struct cleave_worker *as_if_for_nothing(const struct cleave_worker *workers,
                                                     uint32_t n, bool starts,
                                                     struct cv_arena *arena)
{
    struct cleave_worker *out = cv_array(arena, n, sizeof *out);

    for (uint32_t w = 0; out != NULL && w < n; w++) {
        out[w] = workers[w];
        if (starts) {
            out[w].compute_latency_s = 0;
        } else {
            out[w].latency_s = out[w].return_latency_s = 0;
            out[w].bandwidth_ups = out[w].return_bandwidth_ups = FAST_LINK;
        }
    }
    return out;
}

static size_t bounds_for(const struct cv_load_case *load_case,
                         const struct cv_planned *planned,
                         const struct cleave_worker *workers, struct cv_arena *arena,
                         struct cleave_bound *out, size_t *out_tightest)
{
    const struct cleave_view *view = &planned->view;
    const struct cv_bound_query query = {
        .workers = workers,
        .profiles = view->profiles,
        .nworkers = view->nworkers,
        .port = view->port,
        .load = cv_load_case_units(load_case, planned),
        .lifespan_s = load_case->load.lifespan_s,
        .result_ratio = view->result_ratio,
        .one_round = view->result_ratio > 0 && planned->policy->one_round,
        .memory = load_case->load.opens ? NULL : view->memory,
    };

    return workers == NULL ? 0 : cv_load_bounds(&query, arena, out, out_tightest);
}

static size_t item_bounds(const struct cleave_view *view,
                          const struct cleave_worker *workers, struct cv_arena *arena,
                          struct cleave_bound *out, size_t *out_tightest)
{
    const struct cv_item_query query = { .workers = workers,
                                         .nworkers = view->nworkers,
                                         .port = view->port,
                                         .sizes = view->sizes,
                                         .nitems = view->nitems };

    return workers == NULL ? 0 : cv_item_bounds(&query, arena, out, out_tightest);
}

size_t cv_load_case_bounds(const struct cv_load_case *load_case,
                           const struct cv_planned *planned, struct cv_arena *arena,
                           struct cleave_bound *out, size_t *out_tightest)
{
    const uint32_t n = planned->view.nworkers;
    const struct cleave_worker *workers = planned->view.workers;
    struct cleave_bound links[CV_MAX_BOUNDS];
    size_t tightest = 0, nlinks, count;
    bool tighter;

    if (planned->view.nitems > 0)
        return item_bounds(&planned->view,
                           cv_platform_at_peak(workers, planned->view.profiles, n, arena),
                           arena, out, out_tightest);
    if (!load_case->load.opens)
        return bounds_for(load_case, planned, workers, arena, out, out_tightest);
    nlinks = bounds_for(load_case, planned, as_if_for_nothing(workers, n, true, arena),
                        arena, links, &tightest);
    count = bounds_for(load_case, planned, as_if_for_nothing(workers, n, false, arena),
                       arena, out, out_tightest);
    if (nlinks == 0 || count == 0)
        return 0;
    tighter = load_case->load.lifespan_s > 0
                  ? links[tightest].value_s < out[*out_tightest].value_s
                  : links[tightest].value_s > out[*out_tightest].value_s;
    if (!tighter)
        return count;
    memcpy(out, links, nlinks * sizeof *out);
    *out_tightest = tightest;
    return nlinks;
}
