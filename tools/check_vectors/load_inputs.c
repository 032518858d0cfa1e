/* load_inputs.c -- inputs that cases of divisible loads share.
 * SPDX-License-Identifier: MIT */
#include "load_inputs.h"

static const char *const fields[4] = { "S", "alpha", "B", "beta" };

static void set_field(struct cleave_worker *worker, size_t field, double value)
{
    switch (field) {
    case 0:
        worker->speed_ups = value;
        break;
    case 1:
        worker->compute_latency_s = value;
        break;
    case 2:
        worker->bandwidth_ups = worker->return_bandwidth_ups = value;
        break;
    default:
        worker->latency_s = worker->return_latency_s = value;
        break;
    }
}

struct case_platform case_platform(struct vector_case *c)
{
    struct case_platform platform = { NULL, 0 };
    const bool equal = case_has(c, "N");
    struct cleave_worker *workers = NULL;
    size_t count = equal ? case_count(c, "N") : 0;

    for (size_t field = 0; field < 4; field++) {
        size_t entries = 0;
        double *list = equal ? NULL : case_numbers(c, fields[field], &entries);
        const double number = equal ? case_number(c, fields[field]) : 0;

        if (field == 0 && !equal)
            count = entries;
        if (workers == NULL)
            workers = cv_array(c->arena, count, sizeof *workers);
        if (workers == NULL || count == 0 || (!equal && entries != count)) {
            case_fail(c, "input %s: expected one number per worker", fields[field]);
            return platform;
        }
        for (size_t i = 0; i < count; i++)
            set_field(&workers[i], field, equal ? number : list[i]);
    }
    for (size_t i = 0; i < count; i++)
        if (!(workers[i].speed_ups > 0 && workers[i].bandwidth_ups > 0 &&
              workers[i].latency_s >= 0 && workers[i].compute_latency_s >= 0)) {
            case_fail(c, "input: expected positive rates, got a worker %zu without", i);
            return platform;
        }
    platform.workers = workers;
    platform.nworkers = (uint32_t)count;
    return platform;
}
