/* sweep.c -- a quantity that takes many values. SPDX-License-Identifier: MIT */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/quantity.h"
#include "cli/task/task.h"
#include "model/platform/platform_internal.h"

/* A quantity, and the kind of its values. */
struct values {
    const char *name; /* "": a cost of a worker, or a factor on it */
    enum cleave_task task;
    enum cv_quantity quantity;
    double min, max;
    const char *range;
};

#define LOAD CLEAVE_TASK_LOAD
#define REDUCE CLEAVE_TASK_REDUCE
#define TIME CV_SECONDS, 0, 1e100, "a time of 0 or more"
#define ABOVE_0 1e-100, 1e100
static const struct values times = { "", LOAD, TIME };
static const struct values rates = { "", LOAD, CV_RATE, ABOVE_0, "a rate above 0" };
static const struct values factors = {
    "", LOAD, CV_NUMBER, 1e-9, 1e9, "a factor above 0"
};
static const struct values factors_or_0 = { "", LOAD, CV_NUMBER,
                                            0,  1e9,  "a factor of 0 or more" };

/* clang-format off */
static const struct values swept[] = {
    [CV_SWEEP_NONE] = { "", REDUCE, CV_NUMBER, 0, 0, "" },
    [CV_SWEEP_CV] = { "cv", REDUCE, CV_NUMBER, 0, 100, "a number from 0 to 100" },
    [CV_SWEEP_TRANSFER] = { "transfer", REDUCE, TIME },
    [CV_SWEEP_COMPUTE] = { "compute", REDUCE, TIME },
    [CV_SWEEP_NODES] = { "nodes", REDUCE, CV_NUMBER, 1, 4294967294.0, "a number of nodes" },
    [CV_SWEEP_COST] = { "", LOAD, CV_NUMBER, 0, 0, "" },
    [CV_SWEEP_FACTOR] = { "", LOAD, CV_NUMBER, 0, 0, "" },
    [CV_SWEEP_WORKERS] = { "workers", LOAD, CV_NUMBER, 1, CLEAVE_MAX_WORKERS,
                           "a number of workers" },
    [CV_SWEEP_LOAD] = { "load", LOAD, CV_UNITS, ABOVE_0, "an amount above 0" },
    [CV_SWEEP_RESULT_RATIO] = { "result-ratio", LOAD, CV_NUMBER, 0, 1e9,
                                "a number of 0 or more" },
    [CV_SWEEP_ERROR] = { "error", LOAD, CV_NUMBER, 0, 10, "a number from 0 to 10" },
    [CV_SWEEP_BUDGET] = { "budget", LOAD, CV_NUMBER, ABOVE_0, "an amount above 0" },
};
/* clang-format on */

enum { SWEPT = sizeof swept / sizeof *swept, FIELDS = 4, PER_DECADE = 4 };

static const struct values *values_of(const struct cv_sweep *sweep)
{
    if (sweep->what == CV_SWEEP_COST)
        return sweep->field->quantity == CV_RATE ? &rates : &times;
    if (sweep->what == CV_SWEEP_FACTOR)
        return sweep->field->positive ? &factors : &factors_or_0;
    return &swept[sweep->what];
}

enum { MOST_VALUES = 1000 }; /* most in a sweep */
enum { NAME_ROOM = 64 };

/* How a cost, or a factor on it, is named here: compute_latency is compute-latency. */
static void name_cost(const struct cv_worker_field *field, enum cv_swept what,
                      char out[NAME_ROOM])
{
    snprintf(out, NAME_ROOM, "%s%s", field->name,
             what == CV_SWEEP_FACTOR ? "-factor" : "");
    for (char *c = out; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
}

/* Costs of workers and their number are swept for several loads, too. */
static bool is_swept(size_t what, enum cleave_task task)
{
    return swept[what].task == task ||
           (task == CLEAVE_TASK_LOADS &&
            (what == CV_SWEEP_COST || what == CV_SWEEP_FACTOR ||
             what == CV_SWEEP_WORKERS));
}

void cv_sweep_names(enum cleave_task task, const char *after, struct cv_text *out)
{
    const struct cv_worker_field *field;

    for (size_t i = 1; i < SWEPT; i++) {
        if (!is_swept(i, task))
            continue;
        if (i != CV_SWEEP_COST && i != CV_SWEEP_FACTOR)
            cv_text_add(out, "%s%s%s", out->length > 0 ? " " : "", swept[i].name, after);
        else
            for (unsigned k = 1; (field = cv_worker_field_listed(k)) != NULL; k++) {
                char name[NAME_ROOM];

                name_cost(field, (enum cv_swept)i, name);
                cv_text_add(out, "%s%s%s", out->length > 0 ? " " : "", name, after);
            }
    }
}

/* The ends and how to get from one to the other. */
struct steps {
    double from, to;
    double step;   /* 0: by equal factors */
    size_t points; /* number of values */
};

/* "latency, bandwidth, speed or compute-latency". */
static void list_costs(char *out, size_t size)
{
    size_t length = 0;

    out[0] = '\0';
    for (unsigned k = 1; cv_worker_field_listed(k) != NULL && length < size; k++) {
        char name[NAME_ROOM];

        name_cost(cv_worker_field_listed(k), CV_SWEEP_COST, name);
        length += (size_t)snprintf(out + length, size - length, "%s%s",
                                   k == 1                                  ? ""
                                   : cv_worker_field_listed(k + 1) == NULL ? " or "
                                                                           : ", ",
                                   name);
    }
}

static int expected_form(const char *text, enum cleave_task task)
{
    char costs[256];

    if (task == CLEAVE_TASK_REDUCE)
        return cv_refuse(
            "--sweep: expected cv, transfer, compute or nodes with FROM:TO:STEP or "
            "FROM:TO:log[:POINTS], such as cv=0.01:10:log, got '%s'",
            CV_ECHO(text));
    list_costs(costs, sizeof costs);
    return cv_refuse("--sweep: expected %s, one of them followed by -factor, %s with "
                     "FROM:TO:STEP or FROM:TO:log[:POINTS], such as latency=0:10:0.5, "
                     "got '%s'",
                     costs,
                     task == CLEAVE_TASK_LOADS
                         ? "or workers"
                         : "workers, load, result-ratio, error or budget",
                     CV_ECHO(text));
}

static int read_end(const char *text, const struct values *values, double *out)
{
    double value;

    if (cv_quantity_parse(text, values->quantity, &value) != NULL ||
        !(value >= values->min && value <= values->max))
        return cv_refuse("--sweep: expected %s, got '%s'", values->range, CV_ECHO(text));
    *out = value;
    return CV_EXIT_DONE;
}

static int read_points(const char *text, struct steps *steps)
{
    char *end;
    unsigned long points;

    if (!(steps->from > 0))
        return cv_refuse("--sweep: log needs to begin above 0");
    steps->points = (size_t)ceil(PER_DECADE * log10(steps->to / steps->from) - 1e-9) + 1;
    if (steps->points < 2)
        steps->points = 2;
    if (text == NULL)
        return CV_EXIT_DONE;
    points = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || points < 2 ||
        points > MOST_VALUES)
        return cv_refuse("--sweep: expected from 2 to %d points, got '%s'", MOST_VALUES,
                         CV_ECHO(text));
    steps->points = points;
    return CV_EXIT_DONE;
}

/* FROM:TO:STEP or FROM:TO:log[:POINTS], split at the colons. */
static int read_steps(char *const *fields, size_t count, const struct values *values,
                      struct steps *out)
{
    CV_DO(read_end(fields[0], values, &out->from));
    CV_DO(read_end(fields[1], values, &out->to));
    if (!(out->to > out->from))
        return cv_refuse("--sweep: expected an end above the begin, got '%s'",
                         CV_ECHO(fields[1]));
    if (strcmp(fields[2], "log") == 0)
        return read_points(count > 3 ? fields[3] : NULL, out);
    if (count > 3 || cv_quantity_parse(fields[2], values->quantity, &out->step) != NULL ||
        !(out->step > 0))
        return cv_refuse("--sweep: expected log or a step above 0, got '%s'",
                         CV_ECHO(fields[2]));
    if ((out->to - out->from) / out->step >= MOST_VALUES)
        return cv_refuse("--sweep: expected at most %d values", MOST_VALUES);
    return CV_EXIT_DONE;
}

/* Twelve digits: powers of ten and multiples of a step come out as people write them. */
static double tidy(double value)
{
    char text[CV_NUMBER_SIZE];
    double tidied = value;

    snprintf(text, sizeof text, "%.11e", value);
    return cv_quantity_parse(text, CV_NUMBER, &tidied) == NULL ? tidied : value;
}

static int make_values(const struct steps *steps, struct cv_arena *arena,
                       struct cv_sweep *out)
{
    const size_t max =
        steps->step > 0
            ? (size_t)floor((steps->to - steps->from) / steps->step + 1e-9) + 1
            : steps->points;
    double *values = cv_need(arena, max, sizeof *values, "the sweep");

    for (size_t i = 0; i < max; i++) {
        const double part =
            steps->points > 1 ? (double)i / (double)(steps->points - 1) : 0;
        double value = steps->step > 0
                           ? tidy(steps->from + (double)i * steps->step)
                           : tidy(steps->from * pow(steps->to / steps->from, part));

        if (out->what == CV_SWEEP_NODES || out->what == CV_SWEEP_WORKERS)
            value = floor(value + 0.5);
        if (out->count == 0 || value > values[out->count - 1])
            values[out->count++] = value;
    }
    out->values = values;
    return CV_EXIT_DONE;
}

/* Find the quantity with this name, if any; `name` is kept. */
static void find_swept(const char *name, enum cleave_task task, struct cv_sweep *out)
{
    static const enum cv_swept of_costs[] = { CV_SWEEP_COST, CV_SWEEP_FACTOR };
    const struct cv_worker_field *field;

    for (size_t i = 1; i < SWEPT; i++)
        if (is_swept(i, task) && name[0] != '\0' && strcmp(name, swept[i].name) == 0)
            *out = (struct cv_sweep){ (enum cv_swept)i, NULL, name, NULL, 0, false };
    for (unsigned k = 1;
         is_swept(CV_SWEEP_COST, task) && (field = cv_worker_field_listed(k)) != NULL;
         k++)
        for (size_t i = 0; i < 2; i++) {
            char known[NAME_ROOM];

            name_cost(field, of_costs[i], known);
            if (strcmp(name, known) == 0)
                *out = (struct cv_sweep){ of_costs[i], field, name, NULL, 0, false };
        }
}

int cv_sweep_read(const char *text, enum cleave_task task, struct cv_arena *arena,
                  struct cv_sweep *out)
{
    static const double nothing = 0;
    char *fields[FIELDS], *copy, *at;
    struct steps steps = { 0, 0, 0, 0 };
    size_t count = 0;
    int status;

    *out = (struct cv_sweep){ CV_SWEEP_NONE, NULL, "", &nothing, 1, false };
    if (text == NULL)
        return CV_EXIT_DONE;
    copy = cv_need_text(arena, text, "the sweep");
    at = strchr(copy, '=');
    if (at == NULL)
        return expected_form(text, task);
    *at++ = '\0';
    find_swept(copy, task, out);
    while (at != NULL && count < FIELDS)
        fields[count++] = strsep(&at, ":");
    if (out->what == CV_SWEEP_NONE || count < 3 || at != NULL)
        return expected_form(text, task);
    status = read_steps(fields, count, values_of(out), &steps);
    out->by_factors = steps.points > 0;
    return status == CV_EXIT_DONE ? make_values(&steps, arena, out) : status;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* A law with another spread. A law that is always 0 has no spread. */
static int replace_cv(const char *option, double cv, struct cv_arena *arena,
                      const char **law)
{
    const char *comma = strchr(*law, ',');
    char number[CV_NUMBER_SIZE];
    double zero = 1;

    if (cv_quantity_parse(*law, CV_SECONDS, &zero) == NULL && zero == 0)
        return CV_EXIT_DONE;
    if (!begins(*law, "gamma:") || comma == NULL)
        return cv_refuse("--sweep: cv needs laws gamma:MEAN,CV, but %s is '%s'", option,
                         CV_ECHO(*law));
    *law = cv_arena_print(arena, "%.*s,%s", (int)(comma - *law), *law,
                          cv_number_full(cv, number));
    return *law != NULL ? CV_EXIT_DONE : cv_no_memory("the sweep");
}

/* A law with another mean; the coefficient of variation stays. */
static int replace_mean(const char *option, double mean, struct cv_arena *arena,
                        const char **law)
{
    const char *colon = *law != NULL ? strchr(*law, ':') : NULL;
    const char *comma = *law != NULL ? strchr(*law, ',') : NULL;
    char number[CV_NUMBER_SIZE];

    cv_number_full(mean, number);
    if (colon != NULL && (begins(*law, "uniform:") || begins(*law, "bernoulli:")))
        return cv_refuse("--sweep: %s needs a law with a mean (const, exp, gamma or "
                         "lognormal), but it is '%s'",
                         option, CV_ECHO(*law));
    *law = colon == NULL ? cv_arena_text(arena, number)
                         : cv_arena_print(arena, "%.*s:%s%s", (int)(colon - *law), *law,
                                          number, comma != NULL ? comma : "");
    return *law != NULL ? CV_EXIT_DONE : cv_no_memory("the sweep");
}

int cv_sweep_apply(const struct cv_sweep *sweep, size_t index, struct cv_arena *arena,
                   struct cleave_reduction *job)
{
    const double value = sweep->values[index];

    switch (sweep->what) {
    case CV_SWEEP_CV:
        CV_DO(replace_cv("--transfer", value, arena, &job->transfer));
        return replace_cv("--compute", value, arena, &job->compute);
    case CV_SWEEP_TRANSFER:
        return replace_mean("transfer", value, arena, &job->transfer);
    case CV_SWEEP_COMPUTE:
        return replace_mean("compute", value, arena, &job->compute);
    case CV_SWEEP_NODES:
        job->nodes = (uint32_t)value;
        return CV_EXIT_DONE;
    default:
        return CV_EXIT_DONE;
    }
}

const char *cv_sweep_unit(const struct cv_sweep *sweep)
{
    static const char *const units[] = {
        [CV_NUMBER] = "", [CV_SECONDS] = "s", [CV_UNITS] = "units", [CV_RATE] = "units/s"
    };

    return units[values_of(sweep)->quantity];
}

/* The way back changes with the way out. */
static void change_worker(const struct cv_sweep *sweep, double value,
                          struct cleave_worker *worker)
{
    for (size_t i = 0; sweep->field != NULL && i < CV_WORKER_FIELDS; i++) {
        const struct cv_worker_field *field = &cv_worker_fields[i];

        if (field != sweep->field && cv_worker_field_like(field) != sweep->field)
            continue;
        *cv_worker_cost(worker, field) = sweep->what == CV_SWEEP_FACTOR
                                             ? cv_worker_cost_of(worker, field) * value
                                             : value;
    }
}

int cv_sweep_platform(const struct cv_sweep *sweep, size_t index,
                      const struct cleave_platform *declared, struct cv_arena *arena,
                      struct cleave_platform **out)
{
    const double value = sweep->values[index];
    uint32_t n = cleave_platform_nworkers(declared);
    struct cleave_worker *workers;
    struct cv_group *groups;

    *out = NULL;
    if (sweep->what < CV_SWEEP_COST || sweep->what > CV_SWEEP_WORKERS)
        return CV_EXIT_DONE;
    if (sweep->what == CV_SWEEP_WORKERS && value > n)
        return cv_refuse("--sweep: the platform has %u workers, got %.0f", n, value);
    if (sweep->what == CV_SWEEP_WORKERS)
        n = (uint32_t)value;
    workers = cv_need(arena, n, sizeof *workers, "the sweep");
    groups = cv_need(arena, n, sizeof *groups, "the sweep");
    for (uint32_t i = 0; i < n; i++) {
        workers[i] = cleave_platform_workers(declared)[i];
        change_worker(sweep, value, &workers[i]);
        groups[i].name = cleave_platform_worker_name(declared, i);
        groups[i].count = 1;
        groups[i].steps = cleave_platform_profile(declared, i, &groups[i].nsteps);
        groups[i].memory = cleave_platform_memory(declared, i);
        if (isinf(groups[i].memory))
            groups[i].memory = 0;
        groups[i].cost = cleave_platform_cost(declared, i);
    }
    CV_CALL(cv_platform_build(cleave_platform_port(declared), workers, groups, n, out,
                              NULL, &err));
    return CV_EXIT_DONE;
}
