/* worker_fields.h -- what a worker costs, as a table. SPDX-License-Identifier: MIT
 *
 * Whoever goes over all costs of a worker goes over this table: the reader and the writer
 * of platform files, the checks, the test whether workers are alike, and sweeps. A new
 * cost is a member of struct cleave_worker and a row here. */
#ifndef CV_WORKER_FIELDS_H
#define CV_WORKER_FIELDS_H
#include <stdbool.h>
#include <stddef.h>
#include <cleave/platform.h>
#include "base/quantity.h"

struct cv_worker_field {
    const char *name; /* as platform files spell it                                    */
    const char *like; /* of the way back: the field of the way out that it follows when
                         it is left out or when that one is swept; NULL: 0 if left out */
    size_t offset;    /* of a double in struct cleave_worker                           */
    enum cv_quantity quantity;
    unsigned listed; /* its place, from 1, in the list of what can be swept; 0: not    */
    bool required;   /* a platform file has to say it                                  */
    bool positive;   /* above 0; others are 0 or more                                  */
};

/* In the order in which files list them. Traces list costs in this order without names, so
 * a new one comes last. */
enum { CV_WORKER_FIELDS = 6 };
extern const struct cv_worker_field cv_worker_fields[CV_WORKER_FIELDS];

static inline double *cv_worker_cost(struct cleave_worker *worker,
                                     const struct cv_worker_field *field)
{
    return (double *)(void *)((char *)worker + field->offset);
}

static inline double cv_worker_cost_of(const struct cleave_worker *worker,
                                       const struct cv_worker_field *field)
{
    return *(const double *)(const void *)((const char *)worker + field->offset);
}

/* The field that this one is like; NULL: none. */
const struct cv_worker_field *cv_worker_field_like(const struct cv_worker_field *field);
/* The field at a place of the list of what can be swept; NULL: there is none. */
const struct cv_worker_field *cv_worker_field_listed(unsigned place);

#endif
