/* best_planner.c -- the planner made for a kind of platform. SPDX-License-Identifier: MIT */
#include "policy/compound/best_planner.h"

#include "model/platform/platform_internal.h"
#include "policy/compound/registry.h"

const struct cleave_policy *cv_best_planner(const struct cleave_view *view,
                                            const char **out_why)
{
    const struct cleave_policy *planner = &cleave_policy_umr_plus;
    const char *why = "costs are exact and the workers unequal";

    if (view->port == CLEAVE_PORT_MULTI) {
        planner = &cleave_policy_links;
        why = "costs are exact and the links share no port";
    } else if (view->profiles != NULL) {
        why = "costs are exact and change with time";
    } else if (cv_workers_equal(view->workers, view->nworkers, view->result_ratio > 0,
                                NULL, NULL)) {
        planner = &cleave_policy_xmi_k;
        why = "costs are exact and the workers equal";
    }
    if (out_why != NULL)
        *out_why = why;
    return planner;
}
