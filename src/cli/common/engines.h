/* engines.h -- what can make a schedule happen, here or missing.
 * SPDX-License-Identifier: MIT */
#ifndef CV_ENGINES_H
#define CV_ENGINES_H
#include <stdbool.h>
#include <stddef.h>
#include <cleave/error.h>

struct cv_engine_fact {
    const char *name, *summary;
    /* Whether it can be used; NULL: always. On failure err says what to do about it. */
    enum cleave_status (*find)(char *path, size_t size, struct cleave_error *err);
};

size_t cv_engine_count(void);
const struct cv_engine_fact *cv_engine_at(size_t index);
bool cv_engine_is_here(const struct cv_engine_fact *engine);

/* CV_EXIT_DONE if the engine can be used; NULL is the usual one. Otherwise complains and
 * returns the status: CV_EXIT_ENGINE for one that is missing, CV_EXIT_USAGE for an unknown
 * name. */
int cv_engine_check(const char *name);

#endif
