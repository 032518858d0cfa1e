/* verb_platform.c -- cleave platform. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <cleave/platform.h>
#include <cleave/version.h>
#include "base/text.h"
#include "cli/common/option_rows.h"
#include "cli/common/output.h"
#include "cli/common/output_file.h"
#include "cli/common/verb.h"
#include "io/platform_file.h"
#include "model/platform/generate.h"

struct platform_options {
    uint64_t workers, seed;
    double heterogeneity, speed, compute_latency, bandwidth, latency;
    const char *population; /* NULL: drawn around means */
    double drop, until_s;
    const char *port, *output;
    int force;
};

#define FIELD(name) offsetof(struct platform_options, name)

static const struct platform_options presets = {
    .workers = 10,
    .seed = 1,
    .heterogeneity = 1,
    .speed = 1,
    .compute_latency = 1,
    .bandwidth = 20,
    .latency = 1,
    .until_s = 3600,
    .port = "one",
};

/* clang-format off */
static const struct cv_option platform_options[] = {
    { .name = "--workers", .letter = 'w', .kind = CV_OPTION_COUNT, .argument = "N",
      .offset = FIELD(workers), .min = 1, .max = CLEAVE_MAX_WORKERS,
      .help = "How many workers. Default 10." },
    { .name = "--heterogeneity", .kind = CV_OPTION_NUMBER, .argument = "H",
      .offset = FIELD(heterogeneity), .min = 1, .max = 1e6,
      .help = "By what factor any two workers may differ, in each of their numbers. "
              "Default 1: all alike." },
    { .name = "--speed", .kind = CV_OPTION_RATE, .argument = "RATE",
      .offset = FIELD(speed),
      .help = "Mean speed of the workers, in units per second. Default 1." },
    { .name = "--compute-latency", .kind = CV_OPTION_SECONDS, .argument = "TIME",
      .offset = FIELD(compute_latency),
      .help = "Mean start-up time of a computation. Default 1 s." },
    { .name = "--bandwidth", .kind = CV_OPTION_RATE, .argument = "RATE",
      .offset = FIELD(bandwidth),
      .help = "Mean bandwidth of the links, in units per second. Default 20." },
    { .name = "--latency", .kind = CV_OPTION_SECONDS, .argument = "TIME",
      .offset = FIELD(latency), .help = "Mean start-up time of a message. Default 1 s." },
    { .name = "--port", .kind = CV_OPTION_TEXT, .argument = "RULE", .offset = FIELD(port),
      .help = "How the master sends: one message at a time (one), one each way "
              "(duplex), or one per worker (multi). Default one." },
    CV_ROW_SEED(FIELD),
    { .name = NULL },
};

static const struct cv_option published_options[] = {
    { .name = "--population", .kind = CV_OPTION_TEXT, .argument = "NAME",
      .offset = FIELD(population),
      .help = "Workers of a paper instead of random ones: table1 has the ten kinds of "
              "Millot and Parrot's Table 1 in turn (speeds 1 to 1000 units/s)." },
    { .name = "--drop", .kind = CV_OPTION_NUMBER, .argument = "D", .offset = FIELD(drop),
      .min = 0, .max = 0.999,
      .help = "With --population: ten profiles, in which workers are slower by this part "
              "for half of every 100, 200, .. 1000 s. Default 0: none." },
    { .name = "--until", .kind = CV_OPTION_SECONDS, .argument = "TIME",
      .offset = FIELD(until_s),
      .help = "With --drop: how far the profiles reach. Default 1 h." },
    { .name = NULL },
};

static const struct cv_option output_options[] = {
    { .name = "--output", .letter = 'o', .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(output),
      .file = CV_FILE_KEPT,
      .help = "Write to this file instead of stdout. A file that exists is kept." },
    { .name = "--force", .value = 1, .offset = FIELD(force),
      .help = "Replace the file if it exists." },
    { .name = NULL },
};
/* clang-format on */

static const struct cv_option_group groups[] = {
    { "Platform", platform_options },
    { "Published workers", published_options },
    { "Output", output_options },
    { NULL, NULL },
};

static const char *port_name(const void *context, size_t index)
{
    (void)context;
    return cleave_port_name((enum cleave_port)index);
}

static int read_port(const char *text, enum cleave_port *out)
{
    char hint[128], shown[CV_ECHO_ROOM];

    for (int port = CLEAVE_PORT_ONE; port <= CLEAVE_PORT_MULTI; port++) {
        if (strcmp(text, cleave_port_name((enum cleave_port)port)) == 0) {
            *out = (enum cleave_port)port;
            return CV_EXIT_DONE;
        }
    }
    cv_echo(text, shown);
    cv_suggest(shown, CLEAVE_PORT_MULTI + 1, port_name, NULL, hint, sizeof hint);
    return cv_print_error(CV_EXIT_USAGE, "--port: unknown rule '%s'%s", shown, hint);
}

/* The command that makes the same file again. */
static void describe(const struct platform_options *values, char *buffer, size_t size)
{
    if (values->population != NULL) {
        snprintf(buffer, size,
                 "Made by cleave %s:\n"
                 "cleave platform --population %s --workers %llu --drop %.10g --until "
                 "%.10g --port %s",
                 cleave_version(), values->population,
                 (unsigned long long)values->workers, values->drop, values->until_s,
                 values->port);
        return;
    }
    snprintf(buffer, size,
             "Made by cleave %s:\n"
             "cleave platform --workers %llu --heterogeneity %.10g --speed %.10g \\\n"
             "    --compute-latency %.10g --bandwidth %.10g --latency %.10g --port %s "
             "--seed %llu",
             cleave_version(), (unsigned long long)values->workers, values->heterogeneity,
             values->speed, values->compute_latency, values->bandwidth, values->latency,
             values->port, (unsigned long long)values->seed);
}

/* Who draws no numbers has no means. */
static int check_published(const struct platform_options *values)
{
    char shown[CV_ECHO_ROOM];

    if (values->population == NULL)
        return values->drop > 0
                   ? cv_print_error(CV_EXIT_USAGE,
                                    "--drop: --population table1 is required "
                                    "with it")
                   : CV_EXIT_DONE;
    if (strcmp(values->population, "table1") != 0)
        return cv_print_error(CV_EXIT_USAGE, "--population: expected table1, got '%s'",
                              cv_echo(values->population, shown));
    if (values->heterogeneity != presets.heterogeneity ||
        values->speed != presets.speed ||
        values->compute_latency != presets.compute_latency ||
        values->bandwidth != presets.bandwidth || values->latency != presets.latency ||
        values->seed != presets.seed)
        return cv_print_error(CV_EXIT_USAGE,
                              "--population: its numbers are given; leave out means, "
                              "--heterogeneity and --seed");
    return CV_EXIT_DONE;
}

static int write_platform(const struct cleave_platform *platform,
                          const struct platform_options *values)
{
    struct cleave_error err;
    char comment[512];
    struct cv_output_file out;
    bool failed;
    const int status =
        cv_output_open(&out, "--output", values->output != NULL ? values->output : "-",
                       values->force ? 0 : CV_NEW_FILE_ONLY);

    if (status != CV_EXIT_DONE)
        return status;
    describe(values, comment, sizeof comment);
    failed = cv_platform_write(platform, NULL, comment, out.file, &err) != CLEAVE_OK;
    if (failed && out.file != stdout) /* which is told when stdout is closed */
        cv_print_error(CV_EXIT_FAILED, "--output: %s", err.text);
    return cv_output_close(&out, failed);
}

static int run(const struct cv_call *call)
{
    const struct platform_options *values = call->values;
    struct cv_generate wanted = {
        .workers = (uint32_t)values->workers,
        .heterogeneity = values->heterogeneity,
        .seed = values->seed,
        .speed = values->speed,
        .compute_latency = values->compute_latency,
        .bandwidth = values->bandwidth,
        .latency = values->latency,
    };
    struct cleave_platform *platform;
    struct cleave_error err;
    int status = read_port(values->port, &wanted.port);

    if (status == CV_EXIT_DONE)
        status = check_published(values);
    if (status != CV_EXIT_DONE)
        return status;
    if ((values->population != NULL
             ? cv_literature_platform(wanted.workers, wanted.port, values->drop,
                                      values->until_s, &platform, &err)
             : cv_generate_platform(&wanted, &platform, &err)) != CLEAVE_OK)
        return cv_print_status(&err);
    status = write_platform(platform, values);
    cleave_platform_free(platform);
    return status;
}

const struct cv_verb cv_verb_platform = {
    .name = "platform",
    .summary = "generate a platform file",
    .description = "Writes a platform file of workers whose numbers are drawn around the "
                   "means given, to try policies on or to edit by hand.",
    .groups = groups,
    .examples = "cleave platform --workers 20 --heterogeneity 4 --seed 7\n"
                "cleave platform --population table1 --workers 1000 --drop 0.5\n"
                "cleave platform --workers 8 --speed 5MB/s --bandwidth 100MB/s "
                "--latency 5ms -o lab.yaml",
    .presets = &presets,
    .values_size = sizeof(struct platform_options),
    .run = run,
};
