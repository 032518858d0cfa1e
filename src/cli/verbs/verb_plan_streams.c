/* verb_plan_streams.c -- cleave plan streams. SPDX-License-Identifier: MIT */
#include "cli/common/output.h"
#include "cli/stream/stream_cip_show.h"
#include "cli/stream/stream_show.h"
#include "cli/stream/stream_options.h"

#define FIELD(name) offsetof(struct cv_stream_options, name)

/* clang-format off */
static const struct cv_option period_options[] = {
    { .name = "--cip", .value = 1, .offset = FIELD(cip),
      .help = "Instead of a choice: the shortest round in which one master can serve all "
              "workers so that nobody waits for a port and nobody is idle, with the part "
              "sent first, the first load and the delay of each." },
    { .name = NULL },
};

static const struct cv_option output_options[] = {
    { .name = "--all-workers", .value = 1, .offset = FIELD(all_workers),
      .help = "List all streams and workers; by default the first twenty, and five of "
              "those left out." },
    { .name = "--json", .value = 1, .offset = FIELD(json),
      .help = "Write JSON: period, throughput, bound, clusters, and delay, throughput, "
              "cluster or reason of every worker." },
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Streams", cv_stream_job_options },
    { "Choice", cv_stream_choice_options },
    { "Period", period_options },
    { "Output", output_options },
    { NULL, NULL },
};

static int run(const struct cv_call *call)
{
    const struct cv_stream_options *values = call->values;
    const struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    struct cv_stream_case streams;
    int status = cv_stream_case_open(values, call->arena, &streams);

    if (status == CV_EXIT_DONE && values->cip) {
        status = cv_stream_cip_show(&streams, values, call->arena);
    } else if (status == CV_EXIT_DONE && values->json) {
        status = cv_stream_plan_json(&streams);
    } else if (status == CV_EXIT_DONE) {
        cv_stream_plan_text(&streams, values->all_workers != 0, &screen, &text);
        status = cv_print_take(&text);
    }
    cv_stream_case_close(&streams);
    return status;
}

const struct cv_verb cv_verb_plan_streams = {
    .name = "plan streams",
    .summary = "which machines serve which data stream, and in which order",
    .description =
        "Data streams have no known end. Each has a master, which gives its workers a "
        "chunk per round, in two parts, so that one is computed while the other travels; "
        "rounds last about the same time, the period. Chooses the workers of each "
        "stream, and the order in which they are served, so that all streams together "
        "get the most: no worker waits for a port of its master, and a worker that would "
        "give too little for the time it takes is left out, with the reason. What no "
        "choice can beat is printed beside it.",
    .groups = groups,
    .examples =
        "cleave plan streams --platform examples/streams.yaml --streams 2\n"
        "cleave plan streams -p examples/streams.yaml -M 3 --period 2 --demand 3,1,1\n"
        "cleave plan streams -p examples/streams.yaml -M 2 -t 2 --weights ring --json\n"
        "cleave plan streams -p examples/streams.yaml --cip --margin 0.1",
    .presets = &cv_stream_presets,
    .values_size = sizeof(struct cv_stream_options),
    .run = run,
};
