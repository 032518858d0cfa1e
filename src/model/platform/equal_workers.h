/* equal_workers.h -- whether all workers are alike. SPDX-License-Identifier: MIT */
#ifndef CV_EQUAL_WORKERS_H
#define CV_EQUAL_WORKERS_H
#include <stdbool.h>
#include <stdint.h>
#include <cleave/platform.h>

/* Whether all costs are the same for all workers, those of the way back only if that is
 * asked for: where nothing comes back it makes no difference. If not, *out_other is the
 * first worker that differs from worker 0 and *out_what the cost it differs in (static).
 * Both may be NULL. */
bool cv_workers_equal(const struct cleave_worker *workers, uint32_t nworkers,
                      bool way_back, uint32_t *out_other, const char **out_what);

#endif
