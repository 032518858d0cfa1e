/* load_options.c -- options that the verbs about a load share.
 * SPDX-License-Identifier: MIT */
#include "cli/load/load_options.h"

#include <stdio.h>
#include <string.h>
#include <cleave/trace.h>
#include "base/quantity.h"
#include "cli/common/option_rows.h"
#include "cli/common/output.h"
#include "cli/common/settings.h"
#include "cli/common/trace_output.h"
#include "io/platform_leaders.h"
#include "run/hosts/leader_spec.h"

#define FIELD(name) offsetof(struct cv_load_options, name)
#define WHERE(name) FIELD(where.name)

const struct cv_load_options cv_load_presets = {
    .seed = 1,
    .runs = 1000,
    .gantt = 1,
    .deadline_s = -1,
    .budget = -1,
};

/* clang-format off */
#define REST_OF_JOB                                                                     \
    { .name = "--via", .kind = CV_OPTION_REPEAT, .argument = "NAME[:NAMES]",            \
      .offset = FIELD(via),                                                             \
      .help = "A worker of the platform file leads others, as 'via: NAME' in the file "  \
              "says it: 'gate:node[01-16]' those, 'gate' all others. May be given "      \
              "several times." },                                                       \
    { .name = "--load", .letter = 'l', .kind = CV_OPTION_AMOUNT, .argument = "AMOUNT",  \
      .offset = FIELD(load),                                                            \
      .help = "How much work there is: 2000, 10k or 3 GB, in the units of the platform's "\
              "speeds and bandwidths." },                                               \
    { .name = "--lifespan", .kind = CV_OPTION_SECONDS, .argument = "TIME",              \
      .offset = FIELD(lifespan_s),                                                      \
      .help = "Instead of a load: do as much as ends within this time, results back "   \
              "included." },                                                            \
    { .name = "--result-ratio", .kind = CV_OPTION_NUMBER, .argument = "D",              \
      .offset = FIELD(result_ratio), .min = 0, .max = 1e9,                           \
      .help = "Units of result that come back to the master per unit of load, over the "\
              "same links. Default 0: results are too small to matter." },              \
    { .name = "--packaging", .kind = CV_OPTION_SECONDS, .argument = "TIME",             \
      .offset = FIELD(packaging_s),                                                     \
      .help = "What a worker takes to unpack a unit of load or to pack a unit of result, "\
              "on top of computing. Default 0." },                                      \
    { .name = "--in-turn", .kind = CV_OPTION_FLAG, .offset = FIELD(in_turn), .value = 1,\
      .help = "On a master with port: one let no send overtake results that wait: "     \
              "messages go in the order asked for, as in the papers." },                \
    { .name = "--before-round", .kind = CV_OPTION_FLAG, .offset = FIELD(before_round),  \
      .value = 1,                                                                       \
      .help = "On a master with port: one fetch what a worker has computed right before "\
              "its next chunk is sent, as was published for plans of several rounds, "  \
              "and the last results when all is sent." },                               \
    { .name = "--reads", .kind = CV_OPTION_TEXT, .argument = "KIND",                    \
      .offset = FIELD(reads),                                                           \
      .help = "Workers run commands that are fed as they read, so that a chunk may stay "\
              "open until it is known how much it should have. Those that read as they "\
              "work: stream writes meanwhile, count at its end. Those that read all "   \
              "first: slurp; late starts up after that; mix does 0.3 of its work as it "\
              "reads. By default chunks cannot be opened." },                           \
    { .name = "--hold", .kind = CV_OPTION_UNITS, .argument = "AMOUNT",                  \
      .offset = FIELD(hold),                                                            \
      .help = "With --reads: the load is a stream of which so much may wait or be at "  \
              "work at a time. Policies are not told where it ends." },                 \
    { .name = "--then-reduce", .kind = CV_OPTION_TEXT, .argument = "COSTS",             \
      .offset = FIELD(then_reduce),                                                     \
      .help = "Every worker makes one partial result, and these are reduced: sizes and "\
              "tree are planned as one, and shown beside what planning them apart takes. "\
              "transfer=TIME,compute=TIME is what sending and combining partials takes; "\
              "with ,at=master they all come to the master and are combined there, else "\
              "they go from worker to worker. model=absent|early|merge says what a "     \
              "worker may do before its own is ready, as in 'plan reduce'. Simulations "\
              "by a --policy, and comparisons, let it plan the load alone and reduce "  \
              "along the shortest tree for when partials are ready." },                 \
    { .name = "--error", .kind = CV_OPTION_NUMBER, .argument = "E",                     \
      .offset = FIELD(error),                                                           \
      .min = 0, .max = 10,                                                           \
      .help = "How far the declared costs may be off, as a standard deviation relative "\
              "to them: 0.2 for 20%. Policies may plan for it. Default 0." },           \
    CV_ROW_SEED(FIELD)

const struct cv_option cv_job_options[] = {
    { .name = "--platform", .letter = 'p', .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(platform), .required = true,
      .help = "Machines and links, in YAML or JSON; - reads standard input." },
    REST_OF_JOB,
    { .name = NULL },
};

const struct cv_option cv_simulated_job_options[] = {
    { .name = "--platform", .letter = 'p', .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(platform),
      .help = "Machines and links, in YAML or JSON; - reads standard input. On a topology "
              "it is what policies are told, with workers named as hosts are; by default "
              "what 'cleave calibrate --topology' measures." },
    REST_OF_JOB,
    { .name = NULL },
};

const struct cv_option cv_price_options[] = {
    { .name = "--deadline", .kind = CV_OPTION_SECONDS, .argument = "TIME",
      .offset = FIELD(deadline_s),
      .help = "Look for the cheapest plan that ends by then: which workers to pay for, by "
              "the 'cost' per second of the platform file, and what each of them gets. A "
              "worker costs from the begin of the first message to it to its last end." },
    { .name = "--budget", .kind = CV_OPTION_NUMBER, .argument = "AMOUNT",
      .offset = FIELD(budget), .min = 0, .max = 1e100,
      .help = "Look for the fastest plan that costs so much at most." },
    { .name = NULL },
};

const struct cv_option cv_policy_options[] = {
    { .name = "--policy", .kind = CV_OPTION_TEXT, .argument = "NAME",
      .offset = FIELD(policy),
      .help = "How to split: one of 'cleave policies'. Default auto, which picks one and "
              "says why." },
    { .name = "--rounds", .kind = CV_OPTION_COUNT, .argument = "M",
      .offset = FIELD(rounds),
      .min = 1, .max = 1e9,
      .help = "The same as --param rounds=M; a policy without that parameter refuses "
              "it." },
    { .name = "--send-order", .kind = CV_OPTION_TEXT, .argument = "2,0,1",
      .offset = FIELD(send_order),
      .help = "For policy orders: workers in the order of sending, by number from 0." },
    { .name = "--return-order", .kind = CV_OPTION_TEXT, .argument = "1,0,2",
      .offset = FIELD(return_order),
      .help = "For policy orders: the same workers in the order of returning results." },
    CV_ROW_PARAM(FIELD),
    { .name = NULL },
};

const struct cv_option cv_trial_options[] = {
    CV_ROW_RUNS(FIELD, " with noise"),
    { .name = "--noise", .kind = CV_OPTION_TEXT, .argument = "KIND",
      .offset = FIELD(noise),
      .help = "Each transfer and each computation takes its declared time multiplied by "
              "a random factor of mean 1: gamma:CV with that coefficient of variation, "
              "normal:E with that standard deviation and never below 0.1, or none. "
              "Default normal:E with the E of --error, and none without." },
    CV_ROW_THREADS(FIELD),
    CV_ROW_ENGINE(FIELD),
    CV_TOPOLOGY_ROWS(WHERE),
    { .name = NULL },
};
/* clang-format on */

static int read_settings(const struct cv_load_options *options, struct cv_arena *arena,
                         struct cleave_job *job)
{
    struct cv_settings settings;
    int status = cv_settings_open(&settings, &options->params, 3, arena);

    if (status == CV_EXIT_DONE)
        status = cv_settings_count(&settings, "rounds", options->rounds, arena);
    if (status == CV_EXIT_DONE)
        status = cv_settings_text(&settings, "send-order", options->send_order, arena);
    if (status == CV_EXIT_DONE)
        status =
            cv_settings_text(&settings, "return-order", options->return_order, arena);
    job->settings = settings.items;
    job->nsettings = settings.count;
    return status;
}

static int read_platform(const struct cv_load_options *options, struct cv_arena *arena,
                         struct cv_load_job *out)
{
    const char *path = options->platform;
    struct cv_platform_view how = { .as = NULL };
    struct cv_via via;
    struct cleave_error err;

    if (path == NULL && options->via.count > 0)
        return cv_print_error(CV_EXIT_USAGE,
                              "--via: --platform FILE is required with it");
    if (path == NULL)
        return cv_topology_platform(&options->where, out->job.simgrid, &out->platform);
    if (options->where.port != NULL)
        return cv_print_error(CV_EXIT_USAGE, "--port: the platform file says that");
    if (strcmp(path, "-") == 0)
        path = "/dev/stdin";
    if (cv_via_read_names(options->via.items, options->via.count, arena, &via, &err) !=
        CLEAVE_OK)
        return cv_print_status(&err);
    how.rules = via.rules;
    how.nrules = via.count;
    if (cv_platform_load_as(path, &how, &out->platform, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    return CV_EXIT_DONE;
}

/* No machine computes so few bytes a second. */
static const double SLOWEST_BPS = 1000;

/* Who types 2GB on a platform that counts in megabytes would get a plan for years, without a
 * word. */
static void doubt_units(const struct cv_load_options *options,
                        const struct cleave_platform *platform)
{
    const struct cleave_worker *workers = cleave_platform_workers(platform);
    double fastest = 0;
    char number[CV_NUMBER_SIZE], shown[CV_ECHO_ROOM];

    for (uint32_t i = 0; i < cleave_platform_nworkers(platform); i++)
        if (workers[i].speed_ups > fastest)
            fastest = workers[i].speed_ups;
    if (!options->load.in_bytes || options->platform == NULL || fastest >= SLOWEST_BPS)
        return;
    cv_print_error(
        CV_EXIT_DONE,
        "--load is in bytes, and no worker of %s computes more than %s of them a "
        "second: what has no unit there is units a second. If a unit is a "
        "megabyte, say so there, as in 'speed: %sMB/s', or give the load in "
        "units",
        cv_echo(options->platform, shown), cv_number_short(fastest, number), number);
}

int cv_load_job_open(const struct cv_load_options *options, struct cv_arena *arena,
                     struct cv_load_job *out)
{
    struct cleave_error err;
    int status;

    memset(out, 0, sizeof *out);
    if (options->platform == NULL && options->where.file == NULL)
        return cv_print_error(CV_EXIT_USAGE, "--platform FILE is required");
    if ((options->load.units > 0) == (options->lifespan_s > 0))
        return cv_print_error(CV_EXIT_USAGE,
                              options->load.units > 0
                                  ? "expected --load or --lifespan, got both"
                                  : "expected --load AMOUNT, or --lifespan "
                                    "TIME to do as much as ends by then");
    if (options->hold > 0 && options->reads == NULL)
        return cv_print_error(CV_EXIT_USAGE, "--hold: --reads KIND is required with it");
    if (options->in_turn && options->before_round)
        return cv_print_error(CV_EXIT_USAGE,
                              "--before-round: not with --in-turn: results "
                              "come back in one way");
    status = read_settings(options, arena, &out->job);
    if (status != CV_EXIT_DONE)
        return status;
    status = cv_topology_open(options->engine, &options->where, arena, &out->job.simgrid);
    if (status == CV_EXIT_DONE)
        status = read_platform(options, arena, out);
    if (status != CV_EXIT_DONE)
        return status;
    if (options->trace != NULL && cleave_trace_new(&out->job.trace, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    doubt_units(options, out->platform);
    out->job.platform = out->platform;
    out->job.load = options->load.units;
    out->job.reads = options->reads;
    out->job.hold = options->hold;
    out->job.lifespan_s = options->lifespan_s;
    out->job.result_ratio = options->result_ratio;
    out->job.packaging_s = options->packaging_s;
    out->job.in_turn = options->in_turn != 0;
    out->job.before_round = options->before_round != 0;
    out->job.policy = options->policy;
    out->job.error = options->error;
    out->job.seed = options->seed;
    return CV_EXIT_DONE;
}

void cv_load_job_close(struct cv_load_job *load)
{
    cleave_trace_free(load->job.trace);
    cleave_platform_free(load->platform);
    memset(load, 0, sizeof *load);
}

int cv_save_trace(const char *path, const struct cv_load_job *load, const char *policy,
                  double units)
{
    return cv_trace_write(path, &(struct cv_trace_context){ .trace = load->job.trace,
                                                            .platform = load->platform,
                                                            .policy = policy,
                                                            .load = units });
}

int cv_save_plan(const char *path, const struct cv_load_job *load,
                 const struct cleave_schedule *schedule)
{
    int status;

    if (load->job.trace == NULL)
        return CV_EXIT_DONE;
    status = cv_trace_add_facts(load->job.trace, &(struct cleave_trace_facts){
                                                     .engine = "native",
                                                     .picked = schedule->picked,
                                                     .why = schedule->why,
                                                     .lifespan_s = schedule->lifespan_s,
                                                     .bound = schedule->bound,
                                                     .left_out = schedule->left_out,
                                                     .nleft_out = schedule->nleft_out });
    return status == CV_EXIT_DONE
               ? cv_save_trace(path, load, schedule->policy, schedule->load)
               : status;
}

int cv_load_trial(const struct cv_load_options *options, struct cleave_trial *out,
                  char out_noise[CV_NOISE_ROOM])
{
    struct cleave_error err;
    char shown[CV_ECHO_ROOM];

    *out = (struct cleave_trial){ .runs = options->runs,
                                  .threads = (unsigned)options->threads };
    if (options->noise != NULL) {
        if (cleave_noise_parse(options->noise, &out->noise, &err) != CLEAVE_OK)
            return cv_print_error(CV_EXIT_USAGE, "--noise: %s", err.text);
        snprintf(out_noise, CV_NOISE_ROOM, "%.40s", cv_echo(options->noise, shown));
        return CV_EXIT_DONE;
    }
    if (options->error > 0) {
        out->noise = (struct cleave_noise){ CLEAVE_NOISE_NORMAL, options->error };
        snprintf(out_noise, CV_NOISE_ROOM, "normal:%g", options->error);
        return CV_EXIT_DONE;
    }
    out->noise = (struct cleave_noise){ CLEAVE_NOISE_NONE, 0 };
    snprintf(out_noise, CV_NOISE_ROOM, "none");
    return CV_EXIT_DONE;
}
