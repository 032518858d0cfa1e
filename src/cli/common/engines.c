/* engines.c -- which engines there are, and whether they are here.
 * SPDX-License-Identifier: MIT */
#include "cli/common/engines.h"

#include <string.h>
#include <cleave/simgrid.h>
#include "base/text.h"
#include "cli/common/output.h"

static const struct cv_engine_fact engines[] = {
    { "native", "the built-in simulator: fast, seeded, the same on any number of threads",
      NULL },
    { "simgrid", "SimGrid, in a process of its own: topologies whose links are shared",
      cleave_simgrid_find },
};

enum { ENGINES = sizeof engines / sizeof *engines };

size_t cv_engine_count(void)
{
    return ENGINES;
}

const struct cv_engine_fact *cv_engine_at(size_t index)
{
    return index < ENGINES ? &engines[index] : NULL;
}

bool cv_engine_is_here(const struct cv_engine_fact *engine)
{
    return engine->find == NULL || engine->find(NULL, 0, NULL) == CLEAVE_OK;
}

static const char *engine_name(const void *context, size_t index)
{
    (void)context;
    return engines[index].name;
}

int cv_engine_check(const char *name)
{
    char hint[256], shown[CV_ECHO_ROOM];
    struct cleave_error err;

    if (name == NULL)
        return CV_EXIT_DONE;
    for (size_t i = 0; i < ENGINES; i++) {
        if (strcmp(engines[i].name, name) != 0)
            continue;
        if (engines[i].find == NULL || engines[i].find(NULL, 0, &err) == CLEAVE_OK)
            return CV_EXIT_DONE;
        return cv_print_status(&err);
    }
    cv_echo(name, shown);
    cv_suggest(shown, ENGINES, engine_name, NULL, hint, sizeof hint);
    return cv_print_error(CV_EXIT_USAGE, "--engine: unknown engine '%s'%s", shown, hint);
}
