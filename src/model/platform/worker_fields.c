/* worker_fields.c -- what a worker costs, as a table. SPDX-License-Identifier: MIT */
#include "model/platform/worker_fields.h"

#include <string.h>

#define AT(member) offsetof(struct cleave_worker, member)

/* clang-format off */
const struct cv_worker_field cv_worker_fields[CV_WORKER_FIELDS] = {
    /* name, quantity, offset, required, positive, like, listed */
    { "speed",            CV_RATE,    AT(speed_ups),            true,  true,  NULL,        3 },
    { "compute_latency",  CV_SECONDS, AT(compute_latency_s),    false, false, NULL,        4 },
    { "bandwidth",        CV_RATE,    AT(bandwidth_ups),        true,  true,  NULL,        2 },
    { "latency",          CV_SECONDS, AT(latency_s),            false, false, NULL,        1 },
    { "return_bandwidth", CV_RATE,    AT(return_bandwidth_ups), false, true,  "bandwidth", 0 },
    { "return_latency",   CV_SECONDS, AT(return_latency_s),     false, false, "latency",   0 },
};
/* clang-format on */

_Static_assert(sizeof(struct cleave_worker) == CV_WORKER_FIELDS * sizeof(double),
               "every cost of a worker has a row");

const struct cv_worker_field *cv_worker_field_like(const struct cv_worker_field *field)
{
    for (size_t i = 0; field->like != NULL && i < CV_WORKER_FIELDS; i++)
        if (strcmp(cv_worker_fields[i].name, field->like) == 0)
            return &cv_worker_fields[i];
    return NULL;
}

const struct cv_worker_field *cv_worker_field_listed(unsigned place)
{
    for (size_t i = 0; place > 0 && i < CV_WORKER_FIELDS; i++)
        if (cv_worker_fields[i].listed == place)
            return &cv_worker_fields[i];
    return NULL;
}
