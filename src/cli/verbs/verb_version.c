/* verb_version.c -- cleave version. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <cleave/version.h>
#include "cli/common/output.h"
#include "cli/common/verb.h"

struct version_options {
    int json;
};

/* clang-format off */
static const struct cv_option options[] = {
    { .name = "--json", .value = 1, .offset = offsetof(struct version_options, json),
      .help = "Write JSON." },
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = { { "Output", options }, { NULL, NULL } };

static int run(const struct cv_call *call)
{
    const struct version_options *values = call->values;

    if (values->json)
        printf("{\"version\": \"%s\"}\n", cleave_version());
    else
        printf("cleave %s\n", cleave_version());
    return CV_EXIT_DONE;
}

const struct cv_verb cv_verb_version = {
    .name = "version",
    .summary = "show the version",
    .description = "Shows the version of the program. 'cleave --version' does the same.",
    .groups = groups,
    .examples = "cleave version",
    .values_size = sizeof(struct version_options),
    .run = run,
};
