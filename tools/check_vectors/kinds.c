/* kinds.c -- which format and kind of case is run by which code.
 * SPDX-License-Identifier: MIT */
#include "kinds.h"

#include <string.h>

#define several_streams                                                       \
    "Setting up clusters of computing units to process several data streams " \
    "efficiently"

const struct case_format case_formats[] = {
    { "dls-vectors-1", load_dynamic_kinds },
    { "dls-vectors-1", load_kinds },
    { "1", reduce_dynamic_kinds },
    { "1", reduce_kinds },
    { "1", ready_kinds },
    { "1", joint_kinds },
    { "cleave-trees-1", leaders_kinds },
    { "cleave-loads-1", loads_kinds },
    { "Link-Heterogeneity vs. Node-Heterogeneity in Clusters (Beaumont, Rosenberg)",
      returns_kinds },
    { "none: several rounds with results, this folder", rounds_kinds },
    { several_streams, streams_kinds },
    { several_streams, streams_select_kinds },
    { several_streams, streams_sim_kinds },
    { NULL, NULL },
};

case_run *find_kind(const char *format, const char *alg, bool *out_known)
{
    *out_known = false;
    for (const struct case_format *f = case_formats; f->format != NULL; f++) {
        if (strcmp(f->format, format) != 0)
            continue;
        *out_known = true;
        for (const struct case_kind *kind = f->kinds; kind->alg != NULL; kind++)
            if (strcmp(kind->alg, alg) == 0)
                return kind->run;
    }
    return NULL;
}
