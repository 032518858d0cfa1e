/* items_options.c -- options that the verbs about items share.
 * SPDX-License-Identifier: MIT */
#include "cli/items/items_options.h"

#include <string.h>
#include "cli/common/output.h"
#include "cli/common/job_options.h"
#include "report/terminal/table.h"

#define FIELD(name) offsetof(struct cv_items_options, load.name)
#define OWN(name) offsetof(struct cv_items_options, name)

const struct cv_items_options cv_items_presets = {
    .load = { .seed = 1, .runs = 1000, .gantt = 1 },
};

/* clang-format off */
const struct cv_option cv_items_job_options[] = {
    { .name = "--sizes", .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = OWN(sizes),
      .help = "The items, one per line: a size such as 2000 or 64k, in the units of the "
              "platform's speeds; or a name, a tab and a size; or, as du writes it, a size, "
              "a tab and a name. - reads standard input." },
    { .name = "--weight", .kind = CV_OPTION_COUNT, .argument = "COLUMN",
      .offset = OWN(weight), .min = 1, .max = 64,
      .help = "Which column of that file has the sizes, from 1. Columns are separated by "
              "tabs." },
    { .name = "--costs", .kind = CV_OPTION_TEXT, .argument = "JOBLOG",
      .offset = OWN(costs),
      .help = "Instead of --sizes: the run times in a job log, as 'cleave run --joblog' "
              "and GNU parallel write it. Where its host is a worker of the platform, its "
              "start is taken off and its speed makes units of the rest; else a second "
              "is a unit." },
    { .name = "--platform", .letter = 'p', .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(platform), .required = true,
      .help = "Machines and links, in YAML or JSON; - reads standard input." },
    { .name = "--error", .kind = CV_OPTION_NUMBER, .argument = "E",
      .offset = FIELD(error), .min = 0, .max = 10,
      .help = "How far sizes and costs may be off, as a standard deviation relative to "
              "them: 0.2 for 20%. Default 0." },
    CV_ROW_SEED(FIELD),
    { .name = NULL },
};

const struct cv_option cv_items_policy_options[] = {
    { .name = "--policy", .kind = CV_OPTION_TEXT, .argument = "NAME",
      .offset = FIELD(policy),
      .help = "Who gets which item, and when: items, the default, or items-list." },
    CV_ROW_PARAM(FIELD),
    { .name = NULL },
};

const struct cv_option cv_items_trial_options[] = {
    CV_ROW_RUNS(FIELD, " with noise"),
    { .name = "--noise", .kind = CV_OPTION_TEXT, .argument = "KIND",
      .offset = FIELD(noise),
      .help = "Each item takes its declared time multiplied by a random factor of mean 1, "
              "which is its own whoever does it: gamma:CV with that coefficient of "
              "variation, normal:E with that standard deviation and never below 0.1, or "
              "none. Default normal:E with the E of --error, and none without." },
    CV_ROW_THREADS(FIELD),
    { .name = "--engine", .kind = CV_OPTION_TEXT, .argument = "NAME",
      .offset = FIELD(engine),
      .help = "What simulates: one of 'cleave engines'. Default native." },
    { .name = NULL },
};
/* clang-format on */

static int read_items(const struct cv_items_options *options, struct cv_arena *arena,
                      struct cv_items_job *out)
{
    struct cleave_error err;
    enum cleave_status status;

    if (options->sizes != NULL)
        status = cv_sizes_read(options->sizes, options->weight, arena, &out->items, &err);
    else
        status = cv_sizes_read_log(options->costs, out->load.platform, arena, &out->items,
                                   &err);
    return status == CLEAVE_OK ? CV_EXIT_DONE : cv_print_status(&err);
}

int cv_items_job_open(const struct cv_items_options *options, struct cv_arena *arena,
                      struct cv_items_job *out)
{
    struct cv_load_options load = options->load;
    int status;

    memset(out, 0, sizeof *out);
    if ((options->sizes != NULL) == (options->costs != NULL))
        return cv_refuse(
            options->sizes != NULL
                ? "expected --sizes or --costs, got both"
                : "expected --sizes FILE, with a size on each line, or --costs JOBLOG");
    if (options->weight > 0 && options->sizes == NULL)
        return cv_refuse("--weight: --sizes FILE is required with it");
    if (options->sizes != NULL && strcmp(options->sizes, "-") == 0 &&
        strcmp(load.platform, "-") == 0)
        return cv_refuse("expected - for the sizes or for the platform, got both");
    load.load.units = 1; /* what there is, the items say */
    status = cv_load_job_open(&load, arena, &out->load);
    if (status == CV_EXIT_DONE)
        status = read_items(options, arena, out);
    out->load.job.load = 0;
    out->load.job.sizes = out->items.sizes;
    out->load.job.nitems = out->items.count;
    return status;
}

void cv_items_job_close(struct cv_items_job *items)
{
    cv_load_job_close(&items->load);
}

double cv_items_units(const struct cv_items_job *items)
{
    double units = 0;

    for (uint64_t i = 0; i < items->items.count; i++)
        units += items->items.sizes[i];
    return units;
}

void cv_items_words(const struct cv_items_job *items, struct cv_text *out)
{
    const double units = cv_items_units(items);
    char number[CV_NUMBER_ROOM], counted[CV_COUNTED_ROOM];

    cv_text_add(out, "%s", cv_counted(items->items.count, "item", counted));
    cv_text_add(out, " of %s unit%s", cv_show_units(units, number),
                units == 1 ? "" : "s in all");
    cv_text_add(out, " on %s",
                cv_counted(cleave_platform_nworkers(items->load.platform), "worker",
                           counted));
}
