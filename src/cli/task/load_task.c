/* load_task.c -- the task load: a divisible load on workers with declared costs.
 * SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "base/quantity.h"
#include "cli/task/load_task.h"
#include "sim/reduce/reduced_load.h"

/* clang-format off */
#define REST_OF_JOB \
    CV_OPTION(0, "--via", REPEAT, "NAME[:NAMES]", via, \
        "A worker of the platform file leads others, as 'via: NAME' in the file says " \
        "it: 'gate:node[01-16]' those, 'gate' all others. May be given several times."), \
    CV_OPTION('l', "--load", AMOUNT, "AMOUNT", load, \
        "How much work there is: 2000, 10k or 3 GB, in the units of the platform's " \
        "speeds and bandwidths."), \
    CV_OPTION(0, "--lifespan", SECONDS, "TIME", lifespan_s, \
        "Instead of a load: do as much as ends within this time, results back included."), \
    CV_OPTION(0, "--result-ratio", NUMBER, "D", result_ratio, \
        "Units of result that come back to the master per unit of load, over the same " \
        "links. Default 0: results are too small to matter.", .min = 0, .max = 1e9), \
    CV_OPTION(0, "--packaging", SECONDS, "TIME", packaging_s, \
        "Time of a worker to unpack a unit of load or to pack a unit of result, on " \
        "top of computing. Default 0."), \
    CV_FLAG(0, "--in-turn", 1, in_turn, \
        "On a master with port: one let no send overtake results that wait: messages " \
        "go in the order asked for, as in the papers."), \
    CV_FLAG(0, "--before-round", 1, before_round, \
        "On a master with port: one fetch the results of a worker right before its " \
        "next chunk is sent, as was published for plans of several rounds, and the " \
        "last results when all is sent."), \
    CV_OPTION(0, "--reads", TEXT, "KIND", reads, \
        "Workers run commands that are fed as they read, so that a chunk may stay open " \
        "until its fair share is known. Commands that read as they work: " \
        "stream writes during this time, count at its end. Commands that read all first: slurp; " \
        "late starts up after that; mix does 0.3 of its work as it reads. By default " \
        "chunks cannot be opened."), \
    CV_OPTION(0, "--hold", UNITS, "AMOUNT", hold, \
        "With --reads: the load is a stream of which at most N units may wait or run at " \
        "a time. Policies are not told where it ends."), \
    CV_OPTION(0, "--then-reduce", TEXT, "COSTS", then_reduce, \
        "Every worker makes one partial result, and these are reduced: sizes and tree " \
        "are planned as one, and shown next to two separate plans. " \
        "transfer=TIME,compute=TIME is what sending and combining partials takes; with " \
        ",at=master they all come to the master and are combined there, else they go " \
        "from worker to worker. model=absent|early|merge sets what a worker may do " \
        "before its own is ready, as in 'plan reduce'. Simulations by a --policy, and " \
        "comparisons, let it plan the load alone and reduce along the shortest tree " \
        "for when partials are ready."), \
    CV_OPTION(0, "--error", NUMBER, "E", error, \
        "How far the declared costs may be off, as a standard deviation relative to " \
        "them: 0.2 for 20%. Policies may plan for it. Default 0.", .min = 0, .max = 10), \
    CV_ROW_SEED

static const struct cv_option plan_job_options[] = {
    CV_ROW_PLATFORM("", .required = true),
    REST_OF_JOB,
};

static const struct cv_option job_options[] = {
    CV_ROW_PLATFORM(" On a topology it is the view of policies, with workers named as hosts "
                    "are; by default as 'cleave calibrate --topology' measures it."),
    REST_OF_JOB,
};

static const struct cv_option price_options[] = {
    CV_OPTION(0, "--deadline", SECONDS, "TIME", deadline_s,
        "Look for the cheapest plan that ends by then: which workers to pay for, by the "
        "'cost' per second of the platform file, and what each of them gets. A worker "
        "costs from the begin of the first message to it to its last end."),
    CV_OPTION(0, "--budget", NUMBER, "AMOUNT", budget,
        "Look for the fastest plan within this price.", .min = 0, .max = 1e100),
};

static const struct cv_option policy_options[] = {
    CV_OPTION(0, "--policy", TEXT, "NAME", policy,
        "Split with one of 'cleave policies'. Default auto, which picks one and prints the "
        "reason."),
    CV_OPTION(0, "--rounds", COUNT, "M", rounds,
        "The same as --param rounds=M; a policy without that parameter refuses it.",
        .min = 1, .max = 1e9),
    CV_OPTION(0, "--send-order", TEXT, "2,0,1", send_order,
        "For policy orders: workers in the order of sending, by number from 0."),
    CV_OPTION(0, "--return-order", TEXT, "1,0,2", return_order,
        "For policy orders: the same workers in the order of returning results."),
    CV_ROW_PARAM,
};

#define COST_LAW_HELP \
    "Records differ in cost: computing one takes its declared time multiplied by a factor " \
    "of mean 1 for itself, and a chunk the sum. gamma:CV and lognormal:CV have that " \
    "coefficient of variation, pareto:ALPHA has a long tail. gamma:0.5,100 is for records " \
    "of 100 units; by default a unit is a record."

static const struct cv_option trial_options[] = {
    CV_ROW_RUNS(" with noise"),
    CV_OPTION(0, "--noise", TEXT, "KIND", noise,
        "Each transfer and each computation takes its declared time multiplied by a "
        "random factor of mean 1: gamma:CV with that coefficient of variation, normal:E "
        "with that standard deviation and never below 0.1, or none. Default normal:E "
        "with the E of --error, and none without."),
    CV_ROW_CONDITIONS,
    CV_FLAG(0, "--copies", 1, copies,
        "A worker that has nothing to do may run the chunk of another as well, and the " \
        "first result counts. Policies that make copies: learn, with --reads."),
    CV_ROW_THREADS,
    CV_ROW_ENGINE,
    CV_TOPOLOGY_ROWS,
};

static const struct cv_option compared_policies[] = {
    CV_OPTION(0, "--policies", TEXT, "A,B,...", policies,
        "The policies to compare, separated by commas. Default: all; policies that do not "
        "apply are listed with the reason. A named policy must apply."),
    CV_OPTION(0, "--rounds", COUNT, "M", rounds,
        "The same as --param rounds=M: compares the policies that have this parameter.",
        .min = 1, .max = 1e9),
    CV_ROW_PARAM_OF_ALL,
};

static const struct cv_option sweep_options[] = {
    CV_OPTION(0, "--sweep", TEXT, "SWEEP", sweep,
        "Compare for many values of one thing: latency, bandwidth, speed or compute-latency "
        "of every worker, the same times a factor (latency-factor ..), workers (the first "
        "N), load, result-ratio, error, or budget (fastest plan within a price, time against "
        "money). latency=0:10:0.5 goes in steps, load=1:1000:log takes four values per "
        "factor of ten, load=1:1000:log:7 seven in all."),
};

static const struct cv_option plan_output[] = {
    CV_ROW_JSON("policy, makespan, bound, every chunk and the workers left out."),
    CV_FLAG(0, "--chunks", 1, all_chunks,
        "List every chunk instead of a summary of the rounds."),
    CV_ROW_ALL_WORKERS,
    CV_ROW_GANTT,
    CV_ROW_WIDTH("the chart"),
    CV_ROW_TRACE("Write every event and order"),
};

static const struct cv_option simulate_output[] = {
    CV_ROW_JSON("policy, runs, makespan, utilisation and bound."),
    CV_ROW_WIDTH("the chart"),
    CV_ROW_TRACE("Write every event and order of the first run"),
};

static const struct cv_option compare_output[] = {
    CV_ROW_JSON("load, bound, rows and not_applicable."),
    CV_ROW_PAGE,
};

static const struct cv_option_rule rules[] = {
    { 0, "--load", CV_EXCLUDES, "--lifespan", "expected --load or --lifespan, got both" },
    { 0, "--hold", CV_NEEDS, "--reads", "--hold: --reads KIND is required with it" },
    { 0, "--before-round", CV_EXCLUDES, "--in-turn",
      "--before-round: not with --in-turn: results come back in one way" },
    CV_RULES_CONDITIONS,
    { 0, "--via", CV_NEEDS, "--platform", "--via: --platform FILE is required with it" },
    { 0, "--deadline", CV_EXCLUDES, "--budget",
      "expected --deadline or --budget, got both" },
    { 0, "--then-reduce", CV_EXCLUDES,
      "--lifespan --result-ratio --packaging --reads --deadline --budget --send-order "
      "--return-order --topology --engine --trace --answers --stalls --hang --cost-law "
      "--copies",
      "--then-reduce does not go with %2" },
    CV_RULES_PLATFORM,
    CV_TOPOLOGY_RULES(" --workers"),
    CV_RULES_PAGE,
    { .options = NULL },
};
/* clang-format on */

static int read_settings(const struct cv_task_options *options, struct cv_arena *arena,
                         struct cleave_job *job)
{
    struct cv_settings settings;

    CV_DO(cv_settings_open(&settings, &options->params, 3, arena));
    CV_DO(cv_settings_number(&settings, "rounds", (double)options->rounds));
    CV_DO(cv_settings_text(&settings, "send-order", options->send_order));
    CV_DO(cv_settings_text(&settings, "return-order", options->return_order));
    job->settings = settings.items;
    job->nsettings = settings.count;
    return CV_EXIT_DONE;
}

/* Warn if the load was typed in bytes and no worker computes as many bytes a second as any
 * machine does: the platform probably counts in megabytes. */
static void check_units(const struct cv_task_options *options,
                        const struct cleave_platform *platform)
{
    static const double slowest_Bps = 1000;
    const struct cleave_worker *workers = cleave_platform_workers(platform);
    double fastest = 0;
    char number[CV_NUMBER_SIZE];

    for (uint32_t i = 0; i < cleave_platform_nworkers(platform); i++)
        fastest = fmax(fastest, workers[i].speed_ups);
    if (options->load.in_bytes && options->platform != NULL && fastest < slowest_Bps)
        cv_print_note("--load is in bytes, and no worker of %s computes more than %s a "
                      "second; speeds without a unit are units a second. If a unit is a "
                      "megabyte, write 'speed: %sMB/s' there, or give the load in units",
                      CV_ECHO(options->platform), cv_number_short(fastest, number),
                      number);
}

int cv_load_open(struct cv_task_call *task, const struct cv_task_options *options,
                 struct cv_load_job *out)
{
    if (!(options->load.units > 0) && !(options->lifespan_s > 0))
        return cv_refuse(
            "expected --load AMOUNT, or --lifespan TIME to do as much as ends by then");
    CV_DO(read_settings(options, task->arena, &out->job));
    CV_DO(cv_topology_open(options->engine, &options->where, task->arena,
                           &out->job.simgrid));
    CV_DO(cv_task_platform(task, out->job.simgrid, &out->platform));
    check_units(options, out->platform);
    out->job.platform = out->platform;
    out->job.trace = task->trace;
    out->job.load = out->units = options->load.units;
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
    return cv_conditions_read(task, options, out);
}

void cv_load_close(struct cv_task_call *task)
{
    struct cv_load_job *load = task->job;

    cleave_schedule_free(load->schedule);
    cleave_rental_free(load->price.rental);
    cleave_platform_free(load->swept_platform);
    cleave_platform_free(load->platform);
}

/* A sweep of loads needs no --load: the first value is the load to begin with. */
static int open_job(struct cv_task_call *task)
{
    struct cv_task_options options = *task->options;
    const struct cv_sweep *sweep = &task->found.sweep;
    struct cv_load_job *load = task->job;

    if (sweep->what == CV_SWEEP_LOAD) {
        if (options.lifespan_s > 0)
            return cv_refuse("--sweep: with --lifespan there is no load");
        options.load.units = sweep->values[0];
    }
    CV_DO(cv_load_open(task, &options, load));
    return options.then_reduce == NULL ? CV_EXIT_DONE
                                       : cv_then_reduce_open(task, &options);
}

static int sum_up(struct cv_task_call *task, struct cv_load_job *load)
{
    load->sums = cv_need(task->arena, cleave_platform_nworkers(load->job.platform),
                         sizeof *load->sums, "the plan");
    for (size_t k = 0; k < load->schedule->nchunks; k++)
        cv_sum_add(&load->sums[load->schedule->chunks[k].worker],
                   &load->schedule->chunks[k]);
    return CV_EXIT_DONE;
}

int cv_load_planned(struct cv_task_call *task)
{
    struct cv_load_job *load = task->job;
    const struct cleave_schedule *schedule = load->schedule;

    task->facts = (struct cleave_trace_facts){ .engine = "native",
                                               .picked = schedule->picked,
                                               .why = schedule->why,
                                               .lifespan_s = schedule->lifespan_s,
                                               .bound = schedule->bound,
                                               .left_out = schedule->left_out,
                                               .nleft_out = schedule->nleft_out };
    task->traced = (struct cv_trace_context){ .platform = load->job.platform,
                                              .policy = schedule->policy,
                                              .load = schedule->load };
    return sum_up(task, load);
}

/* Use bounds for all workers, not only for the paid ones. */
static void judge_price(const struct cv_price *price, struct cleave_schedule *schedule)
{
    const struct cleave_rental *rental = price->rental;

    schedule->bound = rental->bound;
    schedule->bounds = &rental->bound;
    schedule->nbounds = 1;
    schedule->proved = NULL;
    schedule->optimal = price->terms.deadline_s > 0
                            ? schedule->cost <= rental->least_cost * (1 + 1e-9)
                            : schedule->makespan_s <= rental->bound.value_s * (1 + 1e-9);
}

/* With --deadline or --budget: look for workers first, then plan for these. */
static int plan(struct cv_task_call *task)
{
    struct cv_load_job *load = task->job;

    if (task->options->deadline_s >= 0 || task->options->budget >= 0) {
        CV_DO(cv_price_open(task->options, load, &load->price));
        load->job.platform = load->price.rental->platform;
        load->job.policy = load->price.rental->policy;
        load->job.settings = load->price.rental->settings;
        load->job.nsettings = load->price.rental->nsettings;
    }
    CV_CALL(cleave_plan_load(&load->job, &load->schedule, &err));
    if (load->price.rental != NULL)
        judge_price(&load->price, load->schedule);
    return cv_load_planned(task);
}

/* The policy as it is named, or by default. */
static const char *policy_of(const struct cv_task_call *task)
{
    const struct cv_load_job *load = task->job;

    if (task->options->policy != NULL)
        return task->options->policy;
    return load->items.count > 0 ? "items" : load->several.count > 0 ? "plan" : "auto";
}

static int simulate(struct cv_task_call *task)
{
    const struct cv_task_options *options = task->options;
    struct cv_load_job *load = task->job;

    CV_CALL(cleave_simulate_load(&load->job, &task->trial, &task->stats, &err));
    task->facts = (struct cleave_trace_facts){
        .engine = cv_engine_used(options->engine, &options->where),
        .noise = task->noise,
        .lifespan_s = options->lifespan_s,
        .bound = task->stats.bound,
    };
    task->traced = (struct cv_trace_context){ .platform = load->platform,
                                              .policy = policy_of(task),
                                              .load = task->stats.load };
    return task->trace != NULL && load->items.count == 0
               ? cv_trace_plan_facts(task->trace, &load->job)
               : CV_EXIT_DONE;
}

static void simulation_json(struct cv_task_call *task, struct cv_json *json)
{
    const struct cv_task_options *options = task->options;
    const struct cleave_stats *stats = &task->stats;
    const struct cv_load_job *load = task->job;
    const bool lives = options->lifespan_s > 0, items = load->items.count > 0;

    cv_field_text(json, "policy", policy_of(task));
    if (items)
        cv_field_count(json, "items", load->items.count);
    else
        cv_field_text(json, "picked", stats->picked);
    if (load->several.count > 0)
        cv_fields(json, "goal %s, loads %llu", cv_goal_name(load->job.goal),
                  (unsigned long long)load->several.count);
    cv_field_number(json, lives ? "work" : "load", stats->load);
    cv_fields(
        json,
        "lifespan ?%g, result_ratio ?%g, runs %llu, seed %llu, noise %s, engine %s, "
        "conditions ?%s, topology ?%s",
        options->lifespan_s, options->result_ratio, (unsigned long long)stats->runs,
        (unsigned long long)options->seed, task->noise,
        cv_engine_used(options->engine, &options->where), load->conditions,
        options->where.file);
    cv_field_times(json, load->several.count > 0 ? "value" : "makespan", stats);
    cv_field_number(json, "utilisation", stats->utilisation);
    if (!items)
        cv_field_number(json, "chunks", stats->chunks);
    cv_field_bound(json, "bound", &stats->bound);
    cv_field_number(json, "over_bound",
                    lives ? cv_over(stats->bound.value_s, stats->load)
                          : cv_over(stats->mean_s, stats->bound.value_s));
}

static void simulation_text(struct cv_task_call *task, struct cv_screen *screen,
                            struct cv_text *out)
{
    const struct cv_task_options *options = task->options;
    const struct cv_load_job *load = task->job;
    const struct cleave_stats *stats = &task->stats;
    const bool lives = options->lifespan_s > 0, items = load->items.count > 0;

    cv_screen_narrow(screen, options->width);
    cv_text_add(out, "%s%s of ", CV_BOLD(screen), CV_COUNTED(stats->runs, "run"));
    cv_load_words(load, stats->load, out);
    cv_text_add(out, ", noise %s%s\n", task->noise, CV_PLAIN(screen));
    cv_policy_line(policy_of(task), stats->picked, NULL, screen->width, out);
    cv_engine_line(options->engine, &options->where, out);
    if (lives)
        cv_text_add(out, "work      %s units as planned\n", CV_SHOW_UNITS(stats->load));
    cv_text_add(out, "%-9s %s%s on average", cv_goal_name(load->job.goal),
                CV_SHOW_NUMBER(stats->mean_s), cv_goal_unit(load->job.goal));
    if (!lives)
        cv_text_add(out, ", %.2f%% over the bound",
                    100 * cv_over(stats->mean_s, stats->bound.value_s));
    cv_text_add(out, "\nbound     %s%s (%s) for %s as declared\n",
                CV_SHOW_NUMBER(stats->bound.value_s),
                lives ? " units" : cv_goal_unit(load->job.goal), stats->bound.name,
                items ? "sizes and costs" : "the costs");
    cv_text_add(out, "workers   %u, utilisation %.1f%%\n",
                cleave_platform_nworkers(load->platform), 100 * stats->utilisation);
    if (!items)
        cv_text_add(out, "chunks    %s%s\n", CV_SHOW_UNITS(stats->chunks),
                    stats->chunks == floor(stats->chunks) ? "" : " on average");
    cv_times_text(stats, screen, out);
}

const struct cv_task_part cv_load_simulated = { simulate, simulation_json,
                                                simulation_text };

static bool sweeps(const struct cv_task_options *options, const char *what)
{
    const size_t length = strlen(what);

    return options->sweep != NULL && strncmp(options->sweep, what, length) == 0 &&
           options->sweep[length] == '=';
}

static int check_comparison(const struct cv_task_options *options)
{
    if (options->where.file != NULL && options->sweep != NULL &&
        !sweeps(options, "load") && !sweeps(options, "result-ratio"))
        return cv_refuse("--sweep: on a topology only load and result-ratio can vary");
    if ((options->noise != NULL || options->error > 0 || options->lifespan_s > 0 ||
         options->answers_s > 0 || options->stalls != NULL || options->hangs.count > 0 ||
         options->cost_law != NULL || options->copies) &&
        sweeps(options, "budget"))
        return cv_refuse("--sweep: a budget is for exact plans of a load; leave out "
                         "--noise, --error, --lifespan and what happens in runs");
    if (options->noise != NULL && sweeps(options, "error"))
        return cv_refuse("--sweep: error and --noise cannot both set how costs vary");
    if (options->then_reduce != NULL &&
        (sweeps(options, "budget") || sweeps(options, "result-ratio")))
        return cv_refuse(
            "--then-reduce does not go with a --sweep of budget or result-ratio");
    return CV_EXIT_DONE;
}

static int apply(struct cv_task_call *task, size_t index)
{
    const struct cv_sweep *sweep = &task->found.sweep;
    struct cv_task_options options = *task->options;
    struct cv_load_job *load = task->job;

    load->swept = load->job;
    if (sweep->what == CV_SWEEP_LOAD)
        load->swept.load = sweep->values[index];
    else if (sweep->what == CV_SWEEP_RESULT_RATIO)
        load->swept.result_ratio = sweep->values[index];
    else if (sweep->what == CV_SWEEP_ERROR)
        load->swept.error = options.error = sweep->values[index];
    CV_DO(cv_sweep_platform(sweep, index, load->platform, task->arena,
                            &load->swept_platform));
    if (load->swept_platform != NULL)
        load->swept.platform = load->swept_platform;
    CV_DO(cv_task_trial(task, &options));
    if (task->trial.noise.kind != CLEAVE_NOISE_NONE ||
        cv_conditions_vary(&task->trial.conditions)) {
        task->found.runs = task->trial.runs;
        task->found.noisy = true;
    }
    return CV_EXIT_DONE;
}

/* Why a policy that was not named is left out: an order of returns needs results, and a policy
 * that plans for a reduction needs one to follow. NULL: it is not. */
static const char *out_of_place(const struct cleave_policy *policy,
                                const struct cv_task_options *options,
                                double result_ratio)
{
    if (options->policies != NULL)
        return NULL;
    if (policy->minds_folds && options->then_reduce == NULL)
        return "it expects a reduction to follow: see --then-reduce";
    return result_ratio > 0 || !(policy->one_round && policy->orders_returns)
               ? NULL
               : "it orders the return of results: see --result-ratio";
}

/* One exact run, in the form of statistics. */
static enum cleave_status plan_once(const struct cleave_job *job,
                                    struct cleave_stats *out, struct cleave_error *err)
{
    struct cleave_schedule *schedule;

    CV_TRY(cleave_plan_load(job, &schedule, err));
    *out = (struct cleave_stats){ .runs = 1,
                                  .mean_s = schedule->value,
                                  .load = schedule->load,
                                  .utilisation = schedule->utilisation,
                                  .chunks = (double)schedule->nchunks,
                                  .bound = schedule->bound };
    /* Names of policies are static; the copy of the schedule is freed with it. */
    for (size_t i = 0; schedule->picked != NULL && i < cleave_policy_count(); i++) {
        if (strcmp(cleave_policy_at(i)->name, schedule->picked) == 0)
            out->picked = cleave_policy_at(i)->name;
    }
    cleave_schedule_free(schedule);
    return CLEAVE_OK;
}

/* The fastest plan for a budget. */
static enum cleave_status plan_paid(const struct cleave_job *job, double budget,
                                    struct cv_compare_cell *cell,
                                    struct cleave_error *err)
{
    const struct cleave_rental_terms terms = { .budget = budget };
    struct cleave_job part = *job;
    struct cleave_rental *rental;
    enum cleave_status status;

    CV_TRY(cleave_rent(job, &terms, &rental, err));
    part.platform = rental->platform;
    part.policy = rental->policy;
    part.settings = rental->settings;
    part.nsettings = rental->nsettings;
    status = plan_once(&part, &cell->stats, err);
    cell->stats.bound = rental->bound;
    cell->cost = rental->cost;
    cleave_rental_free(rental);
    return status;
}

static enum cleave_status measure_cell(struct cv_task_call *task, size_t index,
                                       struct cv_compare_cell *cell,
                                       struct cleave_error *err)
{
    const struct cv_load_job *load = task->job;
    const bool exact = task->trial.noise.kind == CLEAVE_NOISE_NONE &&
                       !cv_conditions_vary(&task->trial.conditions);
    struct cleave_trial trial = task->trial;
    struct cleave_job job = load->swept;

    job.policy = cell->policy->name;
    cell->reason = out_of_place(cell->policy, task->options, job.result_ratio);
    if (cell->reason != NULL)
        return CLEAVE_OK;
    if (task->found.sweep.what == CV_SWEEP_BUDGET)
        return plan_paid(&job, task->found.sweep.values[index], cell, err);
    if (exact && !load->reduced && load->conditions == NULL)
        return plan_once(&job, &cell->stats, err);
    if (exact)
        trial.runs = 1;
    return load->reduced
               ? cv_reduced_load(&job, &load->joint.job, &trial, &cell->stats, err)
               : cleave_simulate_load(&job, &trial, &cell->stats, err);
}

/* The bound that holds for all policies: bounds of policies of one round say nothing about
 * others, whose bounds hold for them as well. */
static void end_value(struct cv_task_call *task, size_t index)
{
    const struct cv_comparison *found = &task->found;
    const struct cv_compare_cell *cells = found->cells + index * found->npolicies;
    struct cleave_bound *out = &found->bounds[index];
    struct cv_load_job *load = task->job;
    bool several = false;

    for (size_t i = 0; i < found->npolicies; i++)
        several = several || (cells[i].reason == NULL && !cells[i].policy->one_round);
    for (size_t i = 0; i < found->npolicies; i++) {
        const struct cleave_bound *bound = &cells[i].stats.bound;

        if (cells[i].reason == NULL && !(several && cells[i].policy->one_round) &&
            (out->name == NULL || (found->lives ? bound->value_s > out->value_s
                                                : bound->value_s < out->value_s)))
            *out = *bound;
    }
    cleave_platform_free(load->swept_platform);
    load->swept_platform = NULL;
}

/* The quantities that do not vary, and how runs were made. */
static void json_head(struct cv_task_call *task, struct cv_json *json)
{
    const struct cv_task_options *options = task->options;
    const struct cv_comparison *found = &task->found;
    const struct cv_load_job *load = task->job;

    if (load->reduced && !cv_compare_is_sweep(found)) {
        cv_then_reduce_json(json, &load->joint, options);
    } else {
        if (load->items.count > 0)
            cv_field_count(json, "items", load->items.count);
        if (load->several.count > 0)
            cv_fields(json, "goal %s, loads %llu", cv_goal_name(load->job.goal),
                      (unsigned long long)load->several.count);
        if (found->lives)
            cv_field_number(json, "lifespan", options->lifespan_s);
        else if (found->sweep.what != CV_SWEEP_LOAD)
            cv_field_number(json, "load", load->units);
        if (load->reduced)
            cv_field_then_reduce(json, &load->joint);
        if (options->result_ratio > 0 && found->sweep.what != CV_SWEEP_RESULT_RATIO)
            cv_field_number(json, "result_ratio", options->result_ratio);
    }
    cv_fields(json, "runs %llu, seed %llu", (unsigned long long)found->runs,
              (unsigned long long)options->seed);
    cv_fields(json, "noise ?%s, conditions ?%s",
              found->sweep.what != CV_SWEEP_ERROR ? task->noise : NULL, load->conditions);
}

static void json_bound(struct cv_task_call *task, struct cv_json *json, size_t index)
{
    const struct cv_load_job *load = task->job;

    cv_field_bound(json,
                   load->reduced && !cv_compare_is_sweep(&task->found) ? "load_bound"
                                                                       : "bound",
                   &task->found.bounds[index]);
}

static void json_cell(struct cv_task_call *task, struct cv_json *json, size_t index,
                      const struct cv_compare_cell *cell)
{
    const struct cv_comparison *found = &task->found;
    const struct cleave_stats *stats = &cell->stats;
    const bool items = task->kind->kind == CLEAVE_TASK_ITEMS;
    const char *value = task->kind->kind == CLEAVE_TASK_LOADS ? "value" : "makespan";

    if (!items)
        cv_field_text(json, "picked", stats->picked);
    if (found->lives)
        cv_field_number(json, "work", stats->load);
    if (found->noisy)
        cv_field_times(json, value, stats);
    else
        cv_field_number(json, value, stats->mean_s);
    cv_fields(json, "over_bound %g, over_best %g",
              cv_compare_over_bound(found, index, cell),
              cv_compare_over_best(found, index, cell));
    if (found->sweep.what == CV_SWEEP_BUDGET)
        cv_field_number(json, "cost", cell->cost);
    cv_field_number(json, "utilisation", stats->utilisation);
    if (!items)
        cv_field_number(json, "chunks", stats->chunks);
}

/* "2000 units on 9 workers", and the reduction that follows. */
static void add_words(struct cv_task_call *task, struct cv_text *out)
{
    const struct cv_load_job *load = task->job;
    const enum cv_swept what = task->found.sweep.what;

    if (what == CV_SWEEP_LOAD || what == CV_SWEEP_WORKERS)
        cv_text_add(out, "Policies for a load, by %s", task->found.sweep.name);
    else
        cv_load_words(load, load->units, out);
    if (load->reduced)
        cv_then_reduce_words(&load->joint, out);
}

static void headline(struct cv_task_call *task, struct cv_text *out)
{
    const struct cv_comparison *found = &task->found;

    if (cv_compare_is_sweep(found)) {
        const enum cleave_goal goal = ((struct cv_load_job *)task->job)->job.goal;

        cv_text_add(out, "%s%s%s for %zu values of %s",
                    found->noisy && !found->lives ? "mean " : "",
                    found->lives ? "units done" : cv_goal_name(goal),
                    found->lives || goal != CLEAVE_GOAL_MAKESPAN ? "" : " in s",
                    found->sweep.count, found->sweep.name);
        return;
    }
    add_words(task, out);
    if (task->kind->kind == CLEAVE_TASK_LOADS)
        cv_text_add(out, ", goal %s",
                    cv_goal_name(((struct cv_load_job *)task->job)->job.goal));
    if (found->noisy)
        cv_text_add(out, ", %s of each policy, noise %s", CV_COUNTED(found->runs, "run"),
                    task->noise);
}

static void add_bounds(struct cv_task_call *task, const struct cv_screen *screen,
                       struct cv_text *out)
{
    const struct cleave_bound *bound = &task->found.bounds[0];
    const struct cv_load_job *load = task->job;

    if (load->reduced)
        cv_then_reduce_plans(&load->joint, screen, out);
    cv_text_add(out, "%s     %s%s (%s)\n", load->reduced ? "\nload " : "bound",
                CV_SHOW_NUMBER(bound->value_s),
                task->found.lives ? " units" : cv_goal_unit(load->job.goal), bound->name);
}

static void add_page(struct cv_task_call *task, struct cv_text *title,
                     struct cv_text *facts)
{
    const struct cv_comparison *found = &task->found;

    add_words(task, title);
    if (found->noisy)
        cv_text_add(facts, "%s of each policy, noise %s, seed %llu",
                    CV_COUNTED(found->runs, "run"),
                    found->sweep.what == CV_SWEEP_ERROR ? "normal with that error"
                                                        : task->noise,
                    (unsigned long long)task->options->seed);
    else
        cv_text_add(facts, "one exact run of each policy, costs as declared");
}

#define COMPARED                                                              \
    .check = check_comparison, .apply = apply, .measure_cell = measure_cell,  \
    .end_value = end_value, .json_head = json_head, .json_bound = json_bound, \
    .json_cell = json_cell, .headline = headline, .bounds = add_bounds, .page = add_page
const struct cv_task_comparison cv_load_compared = { .time = "time s",
                                                     .measure = "makespan, s",
                                                     COMPARED };
const struct cv_task_comparison cv_loads_compared = { .time = "value",
                                                      .measure = "value of the goal",
                                                      COMPARED };

const char *cv_goal_name(enum cleave_goal goal)
{
    static const char *const names[] = { "makespan", "weighted", "stretch" };

    return names[goal];
}

const char *cv_goal_unit(enum cleave_goal goal)
{
    return goal == CLEAVE_GOAL_STRETCH ? "" : " s";
}

/* clang-format off */
const struct cv_task_kind cv_task_load = {
    .kind = CLEAVE_TASK_LOAD,
    .example = "umr,xmi",
    .job_size = sizeof(struct cv_load_job),
    .open = open_job,
    .close = cv_load_close,
    .planned = &(const struct cv_task_part){ plan, cv_schedule_json, cv_schedule_text },
    .simulated = &cv_load_simulated,
    .compared = &cv_load_compared,
    .plan = {
        .name = "plan load",
        .summary = "split a load over workers: what to send to whom, and when",
        .is_first = true,
        .description =
            "Computes the share of each worker and the order of sending, so that the last "
            "worker ends, or the last result is back (--result-ratio), as early as the "
            "policy can make it; or, with --lifespan, how much can be done by then. Shows "
            "the result next to a lower bound for every schedule, the work of each worker, "
            "and the reason if a worker is left out. Costs are the declared ones of the "
            "platform file; 'cleave simulate load' shows the effect of varying costs. With "
            "--deadline or --budget it selects the workers that are worth their price.",
        .groups = CV_GROUPS(CV_GROUP("Job", plan_job_options),
                            CV_GROUP("Price", price_options),
                            CV_GROUP("Policy", policy_options),
                            CV_GROUP("Output", plan_output)),
        .examples = "cleave plan load --platform examples/unequal.yaml --load 2000\n"
                    "cleave plan load -p examples/unequal.yaml -l 2000 --policy umr --rounds "
                    "3 --json\n"
                    "cleave plan load -p examples/unequal.yaml -l 2000 --then-reduce "
                    "transfer=2,compute=1\n"
                    "cleave plan load -p examples/priced.yaml -l 2000 --deadline 1min\n"
                    "cleave plan load -p examples/unequal.yaml --lifespan 2min "
                    "--result-ratio 0.5 --policy best-orders",
        CV_TASK_VERB(cv_task_plan),
    },
    .simulate = {
        .name = "simulate load",
        .summary = "run a policy many times with costs that vary",
        .is_first = true,
        .description = "Runs a policy many times on the platform while each transfer and "
                       "each computation takes more or less time than declared, and shows "
                       "how the makespan is spread. The same policy code decides as in a "
                       "plan. All policies meet the same random factors for the same seed, "
                       "and the result does not depend on the number of threads.",
        .groups = CV_GROUPS(CV_GROUP("Job", job_options),
                            CV_GROUP("Policy", policy_options),
                            CV_GROUP("Runs", trial_options),
                            CV_GROUP("Output", simulate_output)),
        .examples =
            "cleave simulate load --platform examples/unequal.yaml --load 2000 --error 0.2\n"
            "cleave simulate load -p examples/unequal.yaml -l 2000 --policy factoring "
            "--noise gamma:0.3\n"
            "cleave simulate load --topology examples/two-sites.xml --worker-hosts "
            "east-1,west-0,west-1 -l 1000 -n 1",
        CV_TASK_VERB(cv_task_simulate),
    },
    .compare = {
        .name = "compare load",
        .summary = "several policies on one platform, in one table",
        .is_first = true,
        .description =
            "Gives the same load, or with --lifespan the same time, to several policies and "
            "lists the best first, with how far each is from the bound that no schedule can "
            "beat and from the best of them. Policies about the order of results take part "
            "when there are any (--result-ratio). With --error or --noise each policy makes "
            "many runs and all meet the same random factors; without, one exact run each. "
            "With --sweep it does so for many values of one thing, and with --output it "
            "draws the result.",
        .groups = CV_GROUPS(CV_GROUP("Job", job_options),
                            CV_GROUP("Policies", compared_policies),
                            CV_GROUP("Sweep", sweep_options),
                            CV_GROUP("Runs", trial_options),
                            CV_GROUP("Output", compare_output)),
        .examples = "cleave compare load --platform examples/unequal.yaml --load 2000\n"
                    "cleave compare load -p examples/unequal.yaml -l 2000 --policies "
                    "umr,factoring --error 0.3\n"
                    "cleave compare load -p examples/unequal.yaml -l 2000 --sweep "
                    "latency=0:2:0.5 -o latency.html\n"
                    "cleave compare load -p examples/priced.yaml -l 2000 --policies "
                    "auto,umr-plus --sweep budget=6:24:3",
        CV_TASK_VERB(cv_task_compare),
    },
};
/* clang-format on */
