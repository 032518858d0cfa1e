/* stream_options.c -- options that the verbs about streams share.
 * SPDX-License-Identifier: MIT */
#include "cli/stream/stream_options.h"

#include <string.h>
#include "base/quantity.h"
#include "cli/common/output.h"

#define FIELD(name) offsetof(struct cv_stream_options, name)

/* Units of work that take about a second. */
static const double WORK_PER_SECOND = 2e8;

const struct cv_stream_options cv_stream_presets = {
    .streams = 1,
    .period = "auto",
    .theta = 0.5,
    .weights = "own",
    .effort = 2,
    .declared = 1,
};

/* clang-format off */
#define REST_OF_JOB                                                                     \
    { .name = "--streams", .letter = 'M', .kind = CV_OPTION_COUNT, .argument = "M",     \
      .offset = FIELD(streams), .min = 1, .max = 1e6,                                \
      .help = "How many streams there are, each with a master of its own. Default 1." },\
    { .name = "--period", .letter = 't', .kind = CV_OPTION_TEXT, .argument = "TIME|auto",\
      .offset = FIELD(period),                                                          \
      .help = "How long a round should last. Default auto: the shortest in which the "  \
              "masters get 95% of the throughput that rounds without end would give, "  \
              "rounded up to two digits." },                                            \
    { .name = "--margin", .kind = CV_OPTION_TEXT, .argument = "LAMBDA",                 \
      .offset = FIELD(margin),                                                          \
      .help = "Stretch the delays between workers by this part, because costs are not " \
              "sure: 0.1 for 10%. 0.1,far=0.3 is another one for worker far; so many "  \
              "workers may be named. Default 0." },                                     \
    { .name = "--theta", .kind = CV_OPTION_NUMBER, .argument = "T",                     \
      .offset = FIELD(theta), .min = 0.05, .max = 0.95,                              \
      .help = "The part of a round that is sent first; the rest follows while it is "   \
              "computed. Default 0.5." },                                               \
    { .name = "--result-ratio", .kind = CV_OPTION_NUMBER, .argument = "D",              \
      .offset = FIELD(result_ratio), .min = 0, .max = 1e9,                           \
      .help = "Units of result that come back to the master per unit. Default 0: results "\
              "are too small to matter." }

const struct cv_option cv_stream_job_options[] = {
    { .name = "--platform", .letter = 'p', .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(platform), .required = true,
      .help = "Machines and links, in YAML or JSON; - reads standard input. Each stream "
              "has a master with the port that the file says." },
    REST_OF_JOB,
    { .name = NULL },
};

const struct cv_option cv_simulated_stream_options[] = {
    { .name = "--platform", .letter = 'p', .kind = CV_OPTION_TEXT, .argument = "FILE",
      .offset = FIELD(platform),
      .help = "Machines and links, in YAML or JSON; - reads standard input. Each stream "
              "has a master with the port that the file says. On a topology it is what "
              "masters are told, with workers named as hosts are; by default what 'cleave "
              "calibrate --topology' measures." },
    REST_OF_JOB,
    { .name = NULL },
};

const struct cv_option cv_stream_choice_options[] = {
    { .name = "--demand", .kind = CV_OPTION_TEXT, .argument = "3,1,1",
      .offset = FIELD(demand),
      .help = "What the streams want, one number each: here the first should get three "
              "fifths of all. Followed as far as that costs no throughput in all. "
              "Default: all the same. 'any' leaves the shares as they come out, so that "
              "a stream may get nothing." },
    { .name = "--weights", .kind = CV_OPTION_TEXT, .argument = "own|ring",
      .offset = FIELD(weights),
      .help = "How the time that a worker takes of its master is reckoned: own, the "
              "default, by its own messages, with the best order of service; ring, as "
              "published, behind the worst worker there is, which wastes much." },
    { .name = "--effort", .kind = CV_OPTION_NUMBER, .argument = "N",
      .offset = FIELD(effort), .min = 0.001, .max = 1e6,
      .help = "How long to look for better clusters, in seconds of a machine of 2020. "
              "Work is counted, not timed: the same effort gives the same plan anywhere. "
              "Default 2." },
    { .name = NULL },
};
/* clang-format on */

static int read_period(const char *text, double *out_s)
{
    char shown[CV_ECHO_ROOM];

    *out_s = 0;
    if (strcmp(text, "auto") == 0)
        return CV_EXIT_DONE;
    if (cv_quantity_parse(text, CV_SECONDS, out_s) != NULL || !(*out_s > 0))
        return cv_refuse(
            "--period: expected a positive time such as 5 or 500ms, or auto, got '%s'",
            cv_echo(text, shown));
    return CV_EXIT_DONE;
}

/* The number in text[0 .. length - 1]; false when there is none. */
static bool read_number(const char *text, size_t length, double *out)
{
    char copy[64];

    if (length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return cv_quantity_parse(copy, CV_NUMBER, out) == NULL;
}

static int read_demands(const char *text, uint32_t n, struct cv_arena *arena,
                        const double **out)
{
    double *demands = cv_array(arena, n, sizeof *demands);
    const char *at = text;
    char shown[CV_ECHO_ROOM];
    uint32_t given = 0;

    if (demands == NULL)
        return cv_no_memory("the demands");
    for (;;) {
        const size_t length = strcspn(at, ",");
        double demand;

        if (!read_number(at, length, &demand) || !(demand > 0))
            return cv_refuse(
                "--demand: expected positive numbers such as 3,1,1, or any, got '%s'",
                cv_echo(text, shown));
        if (given < n)
            demands[given] = demand;
        given++;
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    if (given != n)
        return cv_refuse("--demand: expected one number per stream, %u in all, got %u", n,
                         given);
    *out = demands;
    return CV_EXIT_DONE;
}

static uint32_t find_worker(const struct cleave_platform *platform, const char *name,
                            size_t length)
{
    const uint32_t n = cleave_platform_nworkers(platform);

    for (uint32_t w = 0; w < n; w++) {
        const char *known = cleave_platform_worker_name(platform, w);

        if (strncmp(known, name, length) == 0 && known[length] == '\0')
            return w;
    }
    return UINT32_MAX;
}

/* LAMBDA[,WORKER=LAMBDA]... */
static int read_margins(const char *text, const struct cleave_platform *platform,
                        struct cv_arena *arena, struct cleave_stream_task *task)
{
    const uint32_t n = cleave_platform_nworkers(platform);
    double *margins = cv_array(arena, n, sizeof *margins);
    char shown[CV_ECHO_ROOM];

    if (margins == NULL)
        return cv_no_memory("the margins");
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        const char *equals = memchr(at, '=', length);
        const size_t from = equals != NULL ? (size_t)(equals - at) + 1 : 0;
        double margin;

        if (!read_number(at + from, length - from, &margin) ||
            !(margin >= 0 && margin <= 1000) || (equals == NULL) != (at == text))
            return cv_refuse("--margin: expected a number from 0 to 1000, and others for "
                             "some workers, such as 0.1,far=0.3, got '%s'",
                             cv_echo(text, shown));
        if (equals != NULL) {
            const uint32_t w = find_worker(platform, at, from - 1);

            if (w == UINT32_MAX)
                return cv_refuse("--margin: no worker is called '%.*s'", (int)(from - 1),
                                 at);
            margins[w] = margin;
        } else {
            task->margin = margin;
            for (uint32_t w = 0; w < n; w++)
                margins[w] = margin;
        }
        at += length;
        if (*at == '\0')
            break;
    }
    task->margins = margins;
    return CV_EXIT_DONE;
}

static int read_choice(const struct cv_stream_options *options, struct cv_arena *arena,
                       struct cleave_stream_task *task)
{
    char shown[CV_ECHO_ROOM];

    if (strcmp(options->weights, "ring") == 0)
        task->weights = CLEAVE_WEIGHTS_RING;
    else if (strcmp(options->weights, "own") != 0)
        return cv_refuse("--weights: expected own or ring, got '%s'",
                         cv_echo(options->weights, shown));
    if (options->demand == NULL)
        return CV_EXIT_DONE;
    if (strcmp(options->demand, "any") == 0) {
        task->shares = CLEAVE_SHARES_ANY;
        return CV_EXIT_DONE;
    }
    return read_demands(options->demand, task->nstreams, arena, &task->demands);
}

int cv_stream_window(const char *text, double *out_from_s, double *out_to_s)
{
    const size_t comma = strcspn(text, ",");
    char shown[CV_ECHO_ROOM];

    if (text[comma] == '\0' || !read_number(text, comma, out_from_s) ||
        !read_number(text + comma + 1, strlen(text + comma + 1), out_to_s) ||
        !(*out_from_s >= 0) || !(*out_to_s > *out_from_s))
        return cv_refuse("--window: expected two times in seconds, the second the later "
                         "one, such as 100,400, got '%s'",
                         cv_echo(text, shown));
    return CV_EXIT_DONE;
}

static int read_platform(const struct cv_stream_options *options,
                         struct cv_stream_case *out)
{
    const char *path = options->platform;
    struct cleave_error err;

    if (path == NULL)
        return cv_topology_platform(&options->where, out->simgrid, &out->platform);
    if (options->where.port != NULL)
        return cv_refuse("--port: the platform file says that");
    if (strcmp(path, "-") == 0)
        path = "/dev/stdin";
    if (cleave_platform_load(path, &out->platform, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    return CV_EXIT_DONE;
}

int cv_stream_case_open(const struct cv_stream_options *options, struct cv_arena *arena,
                        struct cv_stream_case *out)
{
    struct cleave_stream_task *task = &out->task;
    struct cleave_error err;
    int status;

    memset(out, 0, sizeof *out);
    if (options->platform == NULL && options->where.file == NULL)
        return cv_refuse("--platform FILE is required");
    task->nstreams = (uint32_t)options->streams;
    task->theta = options->theta;
    task->result_ratio = options->result_ratio;
    task->declared_factor = options->declared;
    task->work = (uint64_t)(options->effort * WORK_PER_SECOND);
    status = read_period(options->period, &task->period_s);
    if (status == CV_EXIT_DONE)
        status = read_choice(options, arena, task);
    if (status != CV_EXIT_DONE)
        return status;
    status = cv_topology_open(options->engine, &options->where, arena, &out->simgrid);
    if (status == CV_EXIT_DONE)
        status = read_platform(options, out);
    if (status != CV_EXIT_DONE)
        return status;
    task->platform = out->platform;
    if (options->margin != NULL)
        status = read_margins(options->margin, out->platform, arena, task);
    if (status != CV_EXIT_DONE || options->cip)
        return status;
    if (cleave_plan_streams(task, &out->plan, &err) != CLEAVE_OK)
        return cv_print_status(&err);
    return CV_EXIT_DONE;
}

void cv_stream_case_close(struct cv_stream_case *streams)
{
    cleave_stream_plan_free(streams->plan);
    cleave_platform_free(streams->platform);
    memset(streams, 0, sizeof *streams);
}
