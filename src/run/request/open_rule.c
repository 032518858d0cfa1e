/* open_rule.c -- whether chunks may stay open. SPDX-License-Identifier: MIT
 *
 * An open chunk is a command that was started, reads, and may be given what follows its piece. */
#include "run/request/open_rule.h"

#include <ctype.h>
#include <string.h>

/* Whether a worker's words show it a GPU, by the variables that CUDA, ROCm and oneAPI look at. */
static bool has_gpu(const char *words)
{
    static const char *const shown[] = { "_VISIBLE_DEVICES=", "ZE_AFFINITY_MASK=" };

    for (size_t i = 0; words != NULL && i < sizeof shown / sizeof *shown; i++) {
        const char *found = strstr(words, shown[i]);

        if (found != NULL)
            return isalnum((unsigned char)found[strlen(shown[i])]) != 0;
    }
    return false;
}

/* Whether some workers of this machine have a GPU and some have not, which may be hundreds of times slower.
 * Ranges of open chunks are given out before that is known, and each that turns out to be a slow
 * worker's costs the fast one a start. */
static bool has_gpus_and_cores(const struct cleave_execution *request, uint32_t nworkers)
{
    const char *const *words = request->workers.prefixes;

    for (uint32_t w = 1; words != NULL && w < nworkers; w++)
        if (has_gpu(words[w]) != has_gpu(words[0]))
            return true;
    return false;
}

/* Whoever leads others gives what it gets to commands that stay. */
static bool has_leaders(const struct cleave_execution *request)
{
    for (size_t i = 0; i < request->hosts.count; i++)
        if (request->hosts.list[i].leads)
            return true;
    return false;
}

bool cv_asked_may_open(const struct cleave_execution *request, uint32_t nworkers,
                       bool framed)
{
    /* A command may read its mates first, to their end, and of an open chunk there is none yet:
     * only who knows the command can tell, and hosts cannot be told. */
    if (request->input.pairs != NULL &&
        (request->policy.own == NULL || request->hosts.count > 0))
        return false;
    /* What is fetched has an end from the start. */
    if (request->input.fetch != NULL || has_gpus_and_cores(request, nworkers) ||
        has_leaders(request))
        return false;
    /* Commands are started for each. What frames a chunk cannot be put behind it before it is known
     * to be all. */
    return !request->persistent && !request->tell_records &&
           request->items.words == NULL && !framed;
}
