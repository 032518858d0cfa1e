/* loads_file.h -- several loads from a jobs file. SPDX-License-Identifier: MIT
 *
 *     loads:
 *       - name: images
 *         units: 400
 *         weight: 2            # default 1
 *         release: 30s         # default 0
 *         compute: [1, 1, 2.5] # work of a unit, for all workers or each; default 1
 *         transfer: 0.2        # size of a unit on a link; default 1 */
#ifndef CV_LOADS_FILE_H
#define CV_LOADS_FILE_H
#include <cleave/platform.h>
#include "base/arena.h"

enum { CV_LOADS_MOST = 1000 };

struct cv_loads_list {
    struct cleave_load *items; /* in the arena */
    size_t count;
};

/* Loads for `nworkers` workers; names are unique. */
enum cleave_status cv_loads_parse(const char *name, const char *text, size_t length,
                                  uint32_t nworkers, struct cv_arena *arena,
                                  struct cv_loads_list *out, struct cleave_error *err);
/* "-" is standard input. */
enum cleave_status cv_loads_read(const char *path, uint32_t nworkers,
                                 struct cv_arena *arena, struct cv_loads_list *out,
                                 struct cleave_error *err);

#endif
