/* command_model.c -- how a simulated command takes its input.
 * SPDX-License-Identifier: MIT */
#include "engine/command_model.h"

#include <string.h>

#include "base/fail.h"

/* One that is late needs so long until it reads, like any process. */
static const double LATE_BEFORE_S = 0.001;

static const struct {
    const char *name;
    struct cv_command_model model;
} kinds[] = {
    { "stream", { .phi = 1, .emits = true } },
    { "count", { .phi = 1 } },
    { "slurp", { .phi = 0 } },
    { "late", { .phi = 0, .late = true } },
    { "mix", { .phi = 0.3 } },
};

enum cleave_status cv_command_find(const char *name, struct cv_command_model *out,
                                   struct cleave_error *err)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, name) == 0) {
            *out = kinds[i].model;
            out->name = kinds[i].name;
            return CLEAVE_OK;
        }
    return cv_fail(err, CLEAVE_EINPUT,
                   "expected commands that read as stream, count, slurp, late or mix do, "
                   "got '%s'",
                   name);
}

double cv_command_before_s(const struct cv_command_model *command, double latency_s)
{
    return command->late && latency_s > LATE_BEFORE_S ? LATE_BEFORE_S : latency_s;
}
