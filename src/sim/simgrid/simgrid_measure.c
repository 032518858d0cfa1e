/* simgrid_measure.c -- what a topology costs, measured in simulation.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "model/platform/platform_internal.h"
#include "sim/simgrid/simgrid_child.h"

static enum cleave_status check(const struct cleave_simgrid *where,
                                struct cleave_error *err)
{
    return where->topology != NULL
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EINPUT, "expected a topology to measure, got none");
}

/* Workers first, then their names. */
static enum cleave_status make_platform(const char *bytes, uint32_t n, size_t length,
                                        enum cleave_port port,
                                        struct cleave_platform **out,
                                        struct cleave_error *err)
{
    const struct cleave_worker *workers = (const void *)bytes;
    struct cv_group *groups = calloc(n, sizeof *groups);
    size_t at = n * sizeof *workers;
    enum cleave_status status;

    if (groups == NULL)
        return cv_fail_memory(err, "the workers of a topology");
    for (uint32_t i = 0; i < n && at < length; i++) {
        groups[i].name = bytes + at;
        groups[i].count = 1;
        at += strlen(bytes + at) + 1;
    }
    status = cv_platform_build(port, workers, groups, n, out, NULL, err);
    free(groups);
    return status;
}

enum cleave_status cleave_simgrid_measure(const struct cleave_simgrid *where,
                                          enum cleave_port port,
                                          struct cleave_platform **out,
                                          struct cleave_error *err)
{
    struct cv_simgrid_opening opening = { .where = where };
    struct cv_simgrid_child *child = NULL;
    struct cv_wire_answer answer;
    enum cleave_status status;
    char *bytes = NULL;

    CV_TRY(check(where, err));
    opening.told.task = CV_WIRE_MEASURE_STAR;
    opening.told.nodes = where->workers == NULL ? where->nworkers : 0;
    CV_TRY(cv_simgrid_start(&opening, &child, err));
    status = cv_simgrid_hear(child, &answer, err);
    if (status == CLEAVE_OK) {
        bytes = calloc(1, answer.bytes + 1);
        status = bytes == NULL ? cv_fail_memory(err, "the workers of a topology")
                               : cv_simgrid_hear_more(child, bytes, answer.bytes, err);
    }
    if (status == CLEAVE_OK)
        status = make_platform(bytes, answer.count, answer.bytes, port, out, err);
    free(bytes);
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
    struct cv_wire_answer answer;
    enum cleave_status status;

    CV_TRY(check(where, err));
    opening.told.task = CV_WIRE_MEASURE_PAIRS;
    opening.told.nodes = nodes;
    CV_TRY(cv_simgrid_start(&opening, &child, err));
    status = cv_simgrid_hear(child, &answer, err);
    if (status == CLEAVE_OK)
        *out = (struct cleave_pair_costs){ answer.count, answer.seconds[0],
                                           answer.seconds[1], answer.seconds[2] };
    cv_simgrid_stop(child);
    return status;
}
