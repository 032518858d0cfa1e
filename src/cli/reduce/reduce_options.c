/* reduce_options.c -- options that the verbs about a reduction share.
 * SPDX-License-Identifier: MIT */
#include "cli/reduce/reduce_options.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/trace.h>
#include "cli/common/option_rows.h"
#include "cli/common/output.h"
#include "cli/common/settings.h"
#include "cli/common/trace_output.h"
#include "cli/reduce/ready_options.h"
#include "model/reduce/reduce_costs.h"

#define FIELD(name) offsetof(struct cv_reduce_options, name)
#define WHERE(name) FIELD(where.name)

const struct cv_reduce_options cv_reduce_presets = {
    .remote = 1,
    .model = "fresh",
    .seed = 1,
    .tree = 1,
};

/* clang-format off */
const struct cv_option cv_reduce_job_options[] = {
    { .name = "--nodes", .letter = 'N', .kind = CV_OPTION_COUNT, .argument = "N",
      .offset = FIELD(nodes), .min = 1, .max = 1e18,
      .help = "How many nodes there are, each with a partial: 64 or 1e6." },
    { .name = "--transfer", .letter = 'd', .kind = CV_OPTION_TEXT, .argument = "TIME",
      .offset = FIELD(transfer),
      .help = "What sending a partial takes: a time such as 0.5 or 500ms, or a law: "
              "gamma:MEAN,CV, exp:MEAN, lognormal:MEAN,CV, uniform:LOW,HIGH, "
              "bernoulli:LOW,HIGH,P (HIGH with probability P) or const:TIME. CV is the "
              "standard deviation divided by the mean." },
    { .name = "--compute", .letter = 'c', .kind = CV_OPTION_TEXT, .argument = "TIME",
      .offset = FIELD(compute),
      .help = "What combining two partials takes: a time or a law." },
    { .name = "--costs", .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(costs),
      .help = "One exact instance instead of these three, in JSON or YAML: "
              "{\"transfer\": [[...], ...], \"compute\": [...]}, where row i, column j "
              "is the time from node i to node j. - reads standard input." },
    { .name = "--cluster-size", .kind = CV_OPTION_COUNT, .argument = "N",
      .offset = FIELD(cluster), .min = 1, .max = 4294967295.0,
      .help = "Nodes stand in clusters of N, numbered in a row; see --remote." },
    { .name = "--remote", .kind = CV_OPTION_NUMBER, .argument = "FACTOR",
      .offset = FIELD(remote), .min = 1e-9, .max = 1e9,
      .help = "Between clusters a transfer takes FACTOR times as long. Default 1." },
    { .name = "--ready", .kind = CV_OPTION_TEXT, .argument = "FILE|LAW",
      .offset = FIELD(ready),
      .file = CV_FILE_READ,
      .help = "Partials become ready at different times: a file with one time per node, "
              "separated by white space or commas (a list in JSON will do; - reads "
              "standard input), or a law as for --transfer, drawn anew in every run. "
              "Default: all are there from the beginning." },
    { .name = "--ready-model", .kind = CV_OPTION_TEXT, .argument = "MODEL",
      .offset = FIELD(ready_model),
      .help = "What a node may do before its own partial is ready. absent: nothing. "
              "early: receive, but not combine. merge: nothing, and later one thing at a "
              "time, without overlap. Default absent." },
    { .name = NULL },
};

const struct cv_option cv_reduce_policy_options[] = {
    { .name = "--policy", .kind = CV_OPTION_TEXT, .argument = "NAME",
      .offset = FIELD(policy),
      .help = "Who sends to whom: one of 'cleave policies'. Default greedy for a plan, or "
              "ready with --ready; tree-adapt for a simulation." },
    { .name = "--max-transfers", .kind = CV_OPTION_COUNT, .argument = "K",
      .offset = FIELD(max_transfers), .min = 1, .max = 4294967295.0,
      .help = "At most K transfers at the same time; the same as --param "
              "max_transfers=K." },
    { .name = "--max-reducers", .kind = CV_OPTION_COUNT, .argument = "K",
      .offset = FIELD(max_reducers), .min = 1, .max = 4294967295.0,
      .help = "At most K nodes receive anything; the same as --param max_reducers=K." },
    { .name = "--ordered", .value = 1, .offset = FIELD(ordered),
      .help = "Number the nodes of the tree so that only neighbours are combined, for an "
              "operation that does not commute; the same as --param ordered=1." },
    { .name = "--root", .kind = CV_OPTION_TEXT, .argument = "NODE",
      .offset = FIELD(root),
      .help = "The node that has the result in the end, for policy ready; the same as "
              "--param root=NODE." },
    CV_ROW_PARAM(FIELD),
    { .name = NULL },
};

const struct cv_option cv_reduce_trial_options[] = {
    CV_ROW_RUNS(FIELD, ", each with costs drawn anew"),
    CV_ROW_SEED(FIELD),
    { .name = "--compute-model", .kind = CV_OPTION_TEXT, .argument = "MODEL",
      .offset = FIELD(model),
      .help = "fresh: every combination draws its own time. fixed: a node takes the same "
              "time for all of its own, so that some nodes are slow. Default fresh." },
    CV_ROW_THREADS(FIELD),
    CV_ROW_ENGINE(FIELD),
    CV_TOPOLOGY_OPTION(WHERE),
    CV_TOPOLOGY_HOSTS(WHERE),
    { .name = "--partial", .kind = CV_OPTION_UNITS, .argument = "SIZE",
      .offset = WHERE(partial_bytes),
      .help = "On a topology: bytes in a partial. Default 1 MB." },
    { .name = NULL },
};

const struct cv_option cv_reduce_seed_option[] = {
    { .name = "--seed", .kind = CV_OPTION_COUNT, .argument = "N", .offset = FIELD(seed),
      .help = "For policies that draw random numbers. Default 1." },
    { .name = NULL },
};
/* clang-format on */

static int read_settings(const struct cv_reduce_options *options, struct cv_arena *arena,
                         struct cleave_reduction *job)
{
    struct cv_settings settings;
    int status = cv_settings_open(&settings, &options->params, 4, arena);

    if (status == CV_EXIT_DONE)
        status =
            cv_settings_count(&settings, "max_transfers", options->max_transfers, arena);
    if (status == CV_EXIT_DONE)
        status =
            cv_settings_count(&settings, "max_reducers", options->max_reducers, arena);
    if (status == CV_EXIT_DONE)
        status =
            cv_settings_count(&settings, "ordered", (uint64_t)options->ordered, arena);
    if (status == CV_EXIT_DONE)
        status = cv_settings_text(&settings, "root", options->root, arena);
    job->settings = settings.items;
    job->nsettings = settings.count;
    return status;
}

static int read_law(const char *option, const char *text)
{
    struct cleave_error err;
    struct cv_distribution distribution;

    if (text != NULL && cv_distribution_parse(text, &distribution, &err) != CLEAVE_OK)
        return cv_print_error(CV_EXIT_USAGE, "%s: %s", option, err.text);
    return CV_EXIT_DONE;
}

static bool is(const char *swept, const char *name)
{
    return swept != NULL && strcmp(swept, name) == 0;
}

/* On a topology, sending is the topology's affair; policies are told what it takes on
 * average when nothing else goes on. */
static int read_transfers(const struct cv_reduce_options *options, struct cv_arena *arena,
                          struct cleave_reduction *job)
{
    const char *other = options->transfer != NULL ? "--transfer"
                        : options->costs != NULL  ? "--costs"
                        : options->cluster != 0   ? "--cluster-size"
                                                  : NULL;
    struct cleave_pair_costs pairs;
    struct cleave_error err;
    char text[32];

    if (other != NULL)
        return cv_print_error(
            CV_EXIT_USAGE,
            "--topology: what sending takes follows from the topology and "
            "--partial; leave out %s",
            other);
    if (options->nodes >= UINT32_MAX)
        return cv_print_error(CV_EXIT_USAGE, "--nodes: expected at most as many as the "
                                             "topology has hosts");
    if (cleave_simgrid_measure_pairs(job->simgrid, (uint32_t)options->nodes, &pairs,
                                     &err) != CLEAVE_OK)
        return cv_print_status(&err);
    snprintf(text, sizeof text, "%.17g", pairs.mean_s);
    job->nodes = pairs.nodes;
    job->transfer = cv_arena_text(arena, text);
    return job->transfer != NULL
               ? CV_EXIT_DONE
               : cv_print_error(CV_EXIT_FAILED, "out of memory for the costs");
}

/* Number of nodes and two laws. */
static int read_laws(const struct cv_reduce_options *options, const char *swept,
                     struct cleave_reduction *job)
{
    int status;

    if (job->nodes == 0 && options->nodes == 0 && !is(swept, "nodes"))
        return cv_print_error(CV_EXIT_USAGE, "--nodes N is required, or --costs FILE");
    if (job->transfer == NULL && options->transfer == NULL && !is(swept, "transfer"))
        return cv_print_error(CV_EXIT_USAGE,
                              "--transfer TIME is required, or --costs FILE");
    if (options->compute == NULL && !is(swept, "compute"))
        return cv_print_error(CV_EXIT_USAGE,
                              "--compute TIME is required, or --costs FILE");
    if (options->nodes >= UINT32_MAX)
        return cv_print_error(
            CV_EXIT_USAGE,
            "--nodes: expected at most %lu nodes; only 'cleave plan reduce "
            "--length-only' takes more",
            (unsigned long)UINT32_MAX - 1);
    status = read_law("--transfer", options->transfer);
    if (status == CV_EXIT_DONE)
        status = read_law("--compute", options->compute);
    if (job->transfer == NULL) {
        if (job->nodes == 0)
            job->nodes = (uint32_t)options->nodes;
        job->transfer = options->transfer;
    }
    job->compute = options->compute;
    job->cluster = (uint32_t)options->cluster;
    job->remote = options->remote;
    return status;
}

static int read_costs(const struct cv_reduce_options *options, struct cv_reduce_job *out)
{
    const char *other = options->nodes != 0         ? "--nodes"
                        : options->transfer != NULL ? "--transfer"
                        : options->compute != NULL  ? "--compute"
                        : options->cluster != 0     ? "--cluster-size"
                                                    : NULL;
    struct cleave_error err;

    if (other != NULL)
        return cv_print_error(CV_EXIT_USAGE,
                              "--costs: the file has all costs; leave out %s", other);
    if (cleave_costs_load(options->costs, &out->costs, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    out->job.costs = out->costs;
    return CV_EXIT_DONE;
}

static int read_model(const char *text, enum cleave_compute_model *out)
{
    char shown[CV_ECHO_ROOM];

    if (strcmp(text, "fresh") != 0 && strcmp(text, "fixed") != 0)
        return cv_print_error(CV_EXIT_USAGE,
                              "--compute-model: expected fresh or fixed, got '%s'",
                              cv_echo(text, shown));
    *out = strcmp(text, "fresh") == 0 ? CLEAVE_COMPUTE_FRESH : CLEAVE_COMPUTE_FIXED;
    return CV_EXIT_DONE;
}

int cv_reduce_job_open(const struct cv_reduce_options *options, const char *swept,
                       struct cv_arena *arena, struct cv_reduce_job *out)
{
    struct cleave_error err;
    int status;

    memset(out, 0, sizeof *out);
    status = read_settings(options, arena, &out->job);
    if (status == CV_EXIT_DONE)
        status = read_model(options->model, &out->job.model);
    if (status == CV_EXIT_DONE)
        status =
            cv_topology_open(options->engine, &options->where, arena, &out->job.simgrid);
    if (status == CV_EXIT_DONE && options->where.file != NULL)
        status = read_transfers(options, arena, &out->job);
    if (status == CV_EXIT_DONE && options->costs != NULL)
        status = read_costs(options, out);
    if (status == CV_EXIT_DONE)
        status = cv_ready_read(options, out);
    if (status == CV_EXIT_DONE && options->costs == NULL)
        status = read_laws(options, swept, &out->job);
    if (status != CV_EXIT_DONE)
        return status;
    if (options->trace != NULL && cleave_trace_new(&out->job.trace, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    out->job.policy = options->policy;
    out->job.seed = options->seed;
    return CV_EXIT_DONE;
}

void cv_reduce_job_close(struct cv_reduce_job *reduce)
{
    cleave_trace_free(reduce->job.trace);
    cleave_costs_free(reduce->costs);
    free(reduce->ready_s);
    memset(reduce, 0, sizeof *reduce);
}

uint32_t cv_reduce_nodes(const struct cv_reduce_job *reduce)
{
    return reduce->costs != NULL ? cleave_costs_nodes(reduce->costs) : reduce->job.nodes;
}

bool cv_reduce_exact(const struct cleave_reduction *job)
{
    struct cv_distribution transfer, compute;

    if (cv_ready_is_random(job))
        return false;
    return job->costs != NULL ||
           (cv_distribution_parse(job->transfer, &transfer, NULL) == CLEAVE_OK &&
            cv_distribution_parse(job->compute, &compute, NULL) == CLEAVE_OK &&
            cv_distribution_cv(&transfer) == 0 && cv_distribution_cv(&compute) == 0);
}

int cv_reduce_bound(const struct cleave_reduction *job, double *out)
{
    struct cleave_reduction plain = *job;
    struct cleave_pair_costs pairs;
    struct cleave_tree *tree;
    struct cleave_error err;
    char min[32];

    if (cv_ready_is_random(job)) {
        *out = cv_ready_mean_bound(job);
        return CV_EXIT_DONE;
    }
    plain.policy = "greedy";
    plain.settings = NULL;
    plain.nsettings = 0;
    plain.trace = NULL;
    plain.simgrid = NULL;
    if (job->simgrid != NULL && job->simgrid->topology != NULL) {
        /* Nothing is faster than the fastest pair when it is alone. */
        if (cleave_simgrid_measure_pairs(job->simgrid, job->nodes, &pairs, &err) !=
            CLEAVE_OK)
            return cv_print_status(&err);
        snprintf(min, sizeof min, "%.17g", isnan(pairs.least_s) ? 0 : pairs.least_s);
        plain.transfer = min;
    }
    if (cleave_plan_reduce(&plain, &tree, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    *out = tree->lower_bound_s;
    cleave_tree_free(tree);
    return CV_EXIT_DONE;
}

int cv_reduce_save_trace(const char *path, const struct cv_reduce_job *reduce,
                         const char *policy)
{
    return cv_trace_write(path,
                          &(struct cv_trace_context){ .trace = reduce->job.trace,
                                                      .nodes = cv_reduce_nodes(reduce),
                                                      .policy = policy });
}
