/* run_mpi_words.h -- whether all ranks were started with the same words.
 * SPDX-License-Identifier: MIT */
#ifndef CV_RUN_MPI_WORDS_H
#define CV_RUN_MPI_WORDS_H
#include <stdbool.h>
#include <stddef.h>
#include "engine/mpi_bridge.h"

void cv_mpi_words_make(struct cv_mpi_words *out, char *const *words, size_t count);
/* Whether `other` has other words than `first`; out says which: "word 4 behind 'run' is
 * 'wc' and not 'cat'". */
bool cv_mpi_words_differ(const struct cv_mpi_words *first,
                         const struct cv_mpi_words *other, char *out, size_t size);

#endif
