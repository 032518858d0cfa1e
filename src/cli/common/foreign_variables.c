/* foreign_variables.c -- variables that others set for commands, and cleave does not.
 * SPDX-License-Identifier: MIT
 *
 * A shell takes them for empty, so that 'sort {} >out.$PARALLEL_SEQ' writes every output to one
 * file, and nothing is said. */
#include "cli/common/foreign_variables.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "cli/common/output.h"

#define OF_ARRAY "the number of a task is an item here: '... {} ...' ::: {1..100}"

static const struct {
    const char *name, *here;
} variables[] = {
    { "PARALLEL_SEQ", "the number of the command is $CLEAVE_CHUNK, or {#} of an item" },
    { "PARALLEL_JOBSLOT", "the place of the worker is $CLEAVE_SLOT, or {%} of an item" },
    { "SLURM_ARRAY_TASK_ID", OF_ARRAY },
    { "PBS_ARRAY_INDEX", OF_ARRAY },
    { "PBS_ARRAYID", OF_ARRAY },
    { "SGE_TASK_ID", OF_ARRAY },
    { "LSB_JOBINDEX", OF_ARRAY },
};

/* $NAME or ${NAME, and no longer name. A line that sets it itself has NAME= in it. */
static bool asks_for(const char *word, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = word; (at = strstr(at, name)) != NULL; at += length) {
        const char *sign = at > word && at[-1] == '{' ? at - 1 : at;
        const char end = at[length];

        if (sign > word && sign[-1] == '$' && end != '_' && !isalnum((unsigned char)end))
            return true;
    }
    return false;
}

static bool sets(const char *const *words, size_t count, const char *name)
{
    const size_t length = strlen(name);

    for (size_t i = 0; i < count; i++)
        for (const char *at = words[i]; (at = strstr(at, name)) != NULL; at += length)
            if (at[length] == '=')
                return true;
    return false;
}

int cv_foreign_variables_check(const char *const *words, size_t count)
{
    for (size_t v = 0; v < sizeof variables / sizeof *variables; v++)
        for (size_t i = 0; i < count; i++)
            if (asks_for(words[i], variables[v].name) &&
                getenv(variables[v].name) == NULL &&
                !sets(words, count, variables[v].name))
                return cv_print_error(CV_EXIT_USAGE,
                                      "nobody sets $%s here, so it would be empty: %s",
                                      variables[v].name, variables[v].here);
    return CV_EXIT_DONE;
}
