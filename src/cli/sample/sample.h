/* sample.h -- data for the examples of the documents. SPDX-License-Identifier: MIT
 *
 * Each file is a function of its name, the seed and the number of records, so that one of
 * them can be made without the others. */
#ifndef CV_SAMPLE_H
#define CV_SAMPLE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct cv_sample_terms {
    uint64_t seed, records;
};

size_t cv_sample_count(void);
const char *cv_sample_name(size_t index);
const char *cv_sample_what(size_t index);
/* Is it a command, to be started? */
bool cv_sample_program(size_t index);
/* Write it; false: there was no memory. Whether all was taken, ferror() tells. */
bool cv_sample_write(size_t index, const struct cv_sample_terms *terms, FILE *out);

#endif
