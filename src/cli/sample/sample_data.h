/* sample_data.h -- samples that are made of random numbers. SPDX-License-Identifier: MIT */
#ifndef CV_SAMPLE_DATA_H
#define CV_SAMPLE_DATA_H
#include <stdbool.h>
#include <stdio.h>
#include "cli/sample/sample.h"

struct cv_sample_pen;

struct cv_sample_data {
    const char *name, *what;
    unsigned stream; /* of random numbers: those of the same one are alike       */
    bool compressed; /* by zstd, in several frames                               */
    double share;    /* how many records, of those asked for                     */
    void (*head)(struct cv_sample_pen *pen); /* NULL: none                        */
    void (*record)(struct cv_sample_pen *pen, uint64_t number); /* from 1 on      */
    void (*tail)(struct cv_sample_pen *pen);
};

/* Ends with a NULL name. */
extern const struct cv_sample_data cv_sample_data[];

/* As cv_sample_write. */
bool cv_sample_data_write(const struct cv_sample_data *data,
                          const struct cv_sample_terms *terms, FILE *out);

#endif
