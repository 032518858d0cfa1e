/* verb_platform.c -- cleave platform. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <cleave/platform.h>
#include <cleave/version.h>
#include "cli/common/job_options.h"
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

#define CV_VALUES struct platform_options

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
    CV_OPTION('w', "--workers", COUNT, "N", workers,
        "How many workers. Default 10.", .min = 1, .max = CLEAVE_MAX_WORKERS),
    CV_OPTION(0, "--heterogeneity", NUMBER, "H", heterogeneity,
        "Largest factor between any two workers, in each of their numbers. Default 1: all "
        "equal.", .min = 1, .max = 1e6),
    CV_OPTION(0, "--speed", RATE, "RATE", speed,
        "Mean speed of the workers, in units per second. Default 1."),
    CV_OPTION(0, "--compute-latency", SECONDS, "TIME", compute_latency,
        "Mean start-up time of a computation. Default 1 s."),
    CV_OPTION(0, "--bandwidth", RATE, "RATE", bandwidth,
        "Mean bandwidth of the links, in units per second. Default 20."),
    CV_OPTION(0, "--latency", SECONDS, "TIME", latency,
        "Mean start-up time of a message. Default 1 s."),
    CV_OPTION(0, "--port", TEXT, "RULE", port,
        "How the master sends: one message at a time (one), one each way (duplex), or "
        "one per worker (multi). Default one."),
    CV_ROW_SEED,
};

static const struct cv_option published_options[] = {
    CV_OPTION(0, "--population", TEXT, "NAME", population,
        "Workers of a paper instead of random ones: table1 has the ten kinds of Millot "
        "and Parrot's Table 1 in turn (speeds 1 to 1000 units/s)."),
    CV_OPTION(0, "--drop", NUMBER, "D", drop,
        "With --population: ten profiles, in which workers are slower by this part for "
        "half of every 100, 200, .. 1000 s. Default 0: none.", .min = 0, .max = 0.999),
    CV_OPTION(0, "--until", SECONDS, "TIME", until_s,
        "With --drop: how far the profiles reach. Default 1 h."),
};

static const struct cv_option output_options[] = {
    CV_OPTION('o', "--output", TEXT, "FILE", output,
        "Write to this file instead of stdout. A file that exists is kept.",
        .file = CV_FILE_KEPT),
    CV_FLAG(0, "--force", 1, force, "Replace the file if it exists."),
};
/* clang-format on */

static const struct cv_option_rule rules[] = {
    { 0, "--drop", CV_NEEDS, "--population",
      "--drop: --population table1 is required with it" },
    { 0, "--population", CV_EXCLUDES,
      "--heterogeneity --speed --compute-latency --bandwidth --latency --seed",
      "--population: its numbers are given; leave out means, --heterogeneity and "
      "--seed" },
    { .options = NULL },
};

static const char *port_name(const void *context, size_t index)
{
    (void)context;
    return cleave_port_name((enum cleave_port)index);
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
    char comment[512];
    size_t port;
    int status;

    CV_DO(cv_name_find("--port: unknown rule", values->port, CLEAVE_PORT_MULTI + 1,
                       port_name, NULL, &port));
    wanted.port = (enum cleave_port)port;
    if (values->population != NULL && strcmp(values->population, "table1") != 0)
        return cv_refuse("--population: expected table1, got '%s'",
                         CV_ECHO(values->population));
    CV_CALL(values->population != NULL
                ? cv_literature_platform(wanted.workers, wanted.port, values->drop,
                                         values->until_s, &platform, &err)
                : cv_generate_platform(&wanted, &platform, &err));
    describe(values, comment, sizeof comment);
    status =
        cv_platform_save(platform, NULL, comment, values->output, values->force != 0);
    cleave_platform_free(platform);
    return status;
}

const struct cv_verb cv_verb_platform = {
    .name = "platform",
    .summary = "generate a platform file",
    .description = "Writes a platform file of workers whose numbers are drawn around the "
                   "means given, to try policies on or to edit by hand.",
    .groups = CV_GROUPS(CV_GROUP("Platform", platform_options),
                        CV_GROUP("Published workers", published_options),
                        CV_GROUP("Output", output_options)),
    .rules = rules,
    .examples = "cleave platform --workers 20 --heterogeneity 4 --seed 7\n"
                "cleave platform --population table1 --workers 1000 --drop 0.5\n"
                "cleave platform --workers 8 --speed 5MB/s --bandwidth 100MB/s --latency "
                "5ms -o lab.yaml",
    .presets = &presets,
    .values_size = sizeof(struct platform_options),
    .run = run,
};
