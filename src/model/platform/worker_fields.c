/* worker_fields.c -- what a worker costs, as a table. SPDX-License-Identifier: MIT */
#include "model/platform/worker_fields.h"

#include <string.h>

#define AT(member) offsetof(struct cleave_worker, member)

/* clang-format off */
const struct cv_worker_field cv_worker_fields[CV_WORKER_FIELDS] = {
    /* name, like, offset, quantity, listed, required, positive */
    { "speed",            NULL,        AT(speed_ups),            CV_RATE,    3, true,  true },
    { "compute_latency",  NULL,        AT(compute_latency_s),    CV_SECONDS, 4, false, false },
    { "bandwidth",        NULL,        AT(bandwidth_ups),        CV_RATE,    2, true,  true },
    { "latency",          NULL,        AT(latency_s),            CV_SECONDS, 1, false, false },
    { "return_bandwidth", "bandwidth", AT(return_bandwidth_ups), CV_RATE,    0, false, true },
    { "return_latency",   "latency",   AT(return_latency_s),     CV_SECONDS, 0, false, false },
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
