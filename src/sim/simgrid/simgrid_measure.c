/* simgrid_measure.c -- what a topology costs, measured in simulation.
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "sim/simgrid/simgrid_child.h"

static enum cleave_status check(const struct cleave_simgrid *where,
                                struct cleave_error *err)
{
    return where->topology != NULL
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EINPUT, "expected a topology to measure, got none");
}

enum cleave_status cleave_simgrid_measure(const struct cleave_simgrid *where,
                                          enum cleave_port port,
                                          struct cleave_platform **out,
                                          struct cleave_error *err)
{
    struct cv_simgrid_opening opening = { .where = where };
    struct cv_simgrid_child *child = NULL;
    enum cleave_status status;

    CV_TRY(check(where, err));
    opening.told.task = CV_WIRE_MEASURE_STAR;
    opening.told.nodes = where->workers == NULL ? where->nworkers : 0;
    CV_TRY(cv_simgrid_start(&opening, &child, err));
    status = cv_simgrid_hear_star(child, where, port, out, err);
    cv_simgrid_stop(child);
    return status;
}

enum cleave_status cleave_simgrid_measure_pairs(const struct cleave_simgrid *where,
                                                uint32_t nodes,
                                                struct cleave_pair_costs *out,
                                                struct cleave_error *err)
{
    struct cv_simgrid_opening opening = { .where = where };
    struct cv_simgrid_child *child = NULL;
    enum cleave_status status;

    CV_TRY(check(where, err));
    opening.told.task = CV_WIRE_MEASURE_PAIRS;
    opening.told.nodes = nodes;
    CV_TRY(cv_simgrid_start(&opening, &child, err));
    status = cv_simgrid_hear_pairs(child, out, err);
    cv_simgrid_stop(child);
    return status;
}
