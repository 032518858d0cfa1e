/* task.h -- plan, simulate and compare: three flows that every task goes through.
 * SPDX-License-Identifier: MIT
 *
 * A task (load, reduce, streams, items) is a file that defines a struct cv_task_kind, whose verbs
 * are in the table of cli/verbs.c. Its functions open a job, compute, and show results. The flows
 * read the options that tasks share, print text, JSON, CSV and pages, and write traces. */
#ifndef CV_TASK_H
#define CV_TASK_H
#include <cleave/policy.h>
#include <cleave/reduce.h>
#include <cleave/run.h>
#include "cli/common/job_options.h"
#include "cli/common/output.h"
#include "cli/common/verb.h"
#include "io/json_out.h"
#include "model/platform/platform_internal.h"
#include "report/terminal/table.h"

/* Values of the options of all tasks; each verb sets what its option groups name. */
struct cv_task_options {
    const char *platform, *policy, *policies; /* NULL: none, the default, all      */
    struct cv_strings params;
    double error;
    const char *noise;            /* NULL: normal:error if there is an error       */
    uint64_t seed, runs, threads; /* runs 0: not given                             */
    const char *engine;           /* NULL: native, or simgrid for a topology       */
    struct cv_topology_options where;
    const char *trace, *sweep, *page;
    int json, csv, force, explain, all_workers;
    uint64_t width;      /* 0: as wide as the terminal                             */
    double result_ratio; /* loads and streams                                      */
    const char *costs;   /* reduce: all costs; items: a job log                    */

    /* loads and items */
    struct cv_strings via; /* leaders of workers */
    struct cv_amount load; /* the load, or ...                                     */
    double lifespan_s;     /* ... as much as ends in this time                     */
    double packaging_s;
    int in_turn;               /* no send overtakes results                        */
    int before_round;          /* results come right before the next chunk         */
    double answers_s;          /* answers of workers take so long                  */
    const char *stalls;        /* NULL: no worker stalls */
    const char *cost_law;      /* NULL: records cost the same                      */
    const char *rates;         /* of workers; NULL: none                           */
    struct cv_strings hangs;   /* WORKER@TIME                                      */
    double host_timeout_s;     /* 0: not given                                     */
    int copies;                /* chunks may be run twice                          */
    const char *reads;         /* NULL: chunks cannot be opened                    */
    double hold;               /* 0: not a stream                                  */
    const char *then_reduce;   /* costs of a reduction that follows; NULL: none    */
    double deadline_s, budget; /* plan: one of them; below 0: not given            */
    const char *send_order, *return_order;
    uint64_t rounds;   /* 0: not given                                             */
    const char *sizes; /* sizes of items; NULL: `costs` has them */
    uint64_t weight;   /* column of the sizes; 0: not given                        */
    int gantt, all_chunks, all_items;
    const char *jobs, *goal; /* several loads: their file; NULL: makespan */

    /* reductions */
    uint64_t nodes;                 /* 0: not given                                */
    const char *transfer, *compute; /* laws                                        */
    uint64_t cluster;               /* nodes per cluster; 0: no clusters           */
    double remote;                  /* factor between clusters                     */
    const char *model;              /* fresh or fixed                              */
    const char *ready;              /* a file or a law; NULL: all at the start     */
    const char *ready_model;        /* NULL: absent                                */
    const char *root;               /* NULL: any                                   */
    uint64_t max_transfers, max_reducers; /* 0: not given                          */
    int ordered, length_only, tree;

    /* streams */
    uint64_t streams;
    const char *period; /* "auto" or a time                                        */
    const char *margin; /* a number, then WORKER=NUMBER; NULL: 0                   */
    double theta;
    int cip;             /* the shortest round for all workers                     */
    const char *demand;  /* NULL: equal; "any"; or a list                          */
    const char *weights; /* own or ring                                            */
    double effort;       /* in seconds, about                                      */
    double declared;     /* factor on the declared speeds                          */
    double horizon_s, rest_s;
    const char *window; /* NULL: all of the horizon                                */
};

extern const struct cv_task_options cv_task_presets;

/* --- sweeps ----------------------------------------------------------------------------- */

enum cv_swept {
    CV_SWEEP_NONE,
    CV_SWEEP_CV, /* coefficient of variation of both laws of a reduction */
    CV_SWEEP_TRANSFER,
    CV_SWEEP_COMPUTE,
    CV_SWEEP_NODES,
    CV_SWEEP_COST,   /* from here for loads: a cost of every worker */
    CV_SWEEP_FACTOR, /* on such a cost                              */
    CV_SWEEP_WORKERS,
    CV_SWEEP_LOAD,
    CV_SWEEP_RESULT_RATIO,
    CV_SWEEP_ERROR,
    CV_SWEEP_BUDGET,
};

/* A quantity that takes many values:
 *     cv=0.01:10:log       four values per factor of ten
 *     cv=0.01:10:log:7     seven values
 *     nodes=16:256:16      a step */
struct cv_sweep {
    enum cv_swept what;
    const struct cv_worker_field *field; /* the field of COST and FACTOR */
    const char *name;                    /* "cv"; static or in the arena */
    const double *values;                /* in the arena, increasing  */
    size_t count;
    bool by_factors; /* neighbours differ by a factor, not by a step */
};

/* `text` NULL is a sweep without a quantity, with one value. Returns an exit status. */
int cv_sweep_read(const char *text, enum cleave_task task, struct cv_arena *arena,
                  struct cv_sweep *out);
/* Add the names of all quantities, each followed by `after`, with spaces between. */
void cv_sweep_names(enum cleave_task task, const char *after, struct cv_text *out);
/* The unit of its values: "s", "units/s", "units" or "". */
const char *cv_sweep_unit(const struct cv_sweep *sweep);
/* The platform for value `index`, owned by the caller; NULL if the sweep leaves the platform
 * unchanged. Returns an exit status. */
int cv_sweep_platform(const struct cv_sweep *sweep, size_t index,
                      const struct cleave_platform *declared, struct cv_arena *arena,
                      struct cleave_platform **out);
/* Put value `index` into the job, whose laws may be replaced by texts in the arena. Returns
 * an exit status. */
int cv_sweep_apply(const struct cv_sweep *sweep, size_t index, struct cv_arena *arena,
                   struct cleave_reduction *job);

/* --- tasks ------------------------------------------------------------------------------ */

struct cv_compare_cell {
    const struct cleave_policy *policy;
    struct cleave_stats stats; /* a single run has only its mean */
    double cost;               /* cost of the plan for a budget */
    const char *reason;        /* why it does not apply, or NULL */
};

/* Results of several policies, for every value of a sweep. */
struct cv_comparison {
    struct cv_sweep sweep;
    const struct cleave_policy **policies;
    size_t npolicies;
    struct cv_compare_cell *cells; /* npolicies for each value of the sweep            */
    struct cleave_bound *bounds;   /* per value: holds for all policies                */
    /* runs for each policy and value; 1 if costs are exact */
    uint64_t runs;
    bool noisy; /* costs vary: runs are drawn, even if only one     */
    bool lives; /* as much as ends within a lifespan: more is better */
};

enum { CV_NOISE_ROOM = 48 };

struct cv_task_kind;
struct cv_task_part;

/* One call of plan, simulate or compare. */
struct cv_task_call {
    const struct cv_call *call;
    const struct cv_task_kind *kind;
    const struct cv_task_options *options;
    struct cv_arena *arena;
    void *job; /* state of the task, zeroed before it is opened */
    /* Set by `open`: the result to make and show instead of the result of the verb;
     * NULL. */
    const struct cv_task_part *instead;
    struct cleave_trace *trace; /* owned; NULL: no trace is kept                        */
    struct cleave_trial trial;  /* runs, threads, noise and progress of a simulation    */
    char noise[CV_NOISE_ROOM];  /* noise of the trial, as spelt: "normal:0.2" */
    struct cleave_stats stats;  /* the result of a simulation, if it has this form      */
    struct cv_comparison found; /* the result of a comparison                           */
    struct cleave_trace_facts
        facts; /* for the trace file: set by plan and simulate ...   */
    struct cv_trace_context
        traced; /* ... together with these; `trace` is set by the flow */
};

/* A result and the two ways to show it. `make` returns an exit status; NULL: it is made. */
struct cv_task_part {
    int (*make)(struct cv_task_call *task);
    void (*json)(struct cv_task_call *task, struct cv_json *json);
    void (*text)(struct cv_task_call *task, struct cv_screen *screen,
                 struct cv_text *out);
};

/* How results of several policies are made and shown. */
struct cv_task_comparison {
    const char *time;     /* title of the column of one exact run: "time s" */
    const char *measure;  /* "makespan" */
    uint64_t spread_from; /* fewest runs whose spread is shown */
    /* Check the options before the job is opened. Returns an exit status. */
    int (*check)(const struct cv_task_options *options);
    /* Set the job to value `index` of the sweep. Returns an exit status. */
    int (*apply)(struct cv_task_call *task, size_t index);
    /* Measure one policy; sets the reason of a cell that does not apply. */
    enum cleave_status (*measure_cell)(struct cv_task_call *task, size_t index,
                                       struct cv_compare_cell *cell,
                                       struct cleave_error *err);
    /* All cells of value `index` are measured. */
    void (*end_value)(struct cv_task_call *task, size_t index);
    void (*json_head)(struct cv_task_call *task, struct cv_json *json);
    void (*json_bound)(struct cv_task_call *task, struct cv_json *json, size_t index);
    void (*json_cell)(struct cv_task_call *task, struct cv_json *json, size_t index,
                      const struct cv_compare_cell *cell);
    /* The first line without its end, and without a sweep the lines up to the table. */
    void (*headline)(struct cv_task_call *task, struct cv_text *out);
    void (*bounds)(struct cv_task_call *task, const struct cv_screen *screen,
                   struct cv_text *out);
    /* Title and facts of a page. */
    void (*page)(struct cv_task_call *task, struct cv_text *title, struct cv_text *facts);
};

struct cv_task_kind {
    enum cleave_task kind; /* of its policies */
    const char *example;   /* some of its policies: "umr,xmi" */
    size_t job_size;
    /* Make the job from the options. Returns an exit status; `close` follows in any case. */
    int (*open)(struct cv_task_call *task);
    void (*close)(struct cv_task_call *task);
    const struct cv_task_part *planned, *simulated;
    const struct cv_task_comparison *compared;
    struct cv_verb plan, simulate,
        compare; /* the last without a name: cannot be compared */
};

/* `run` of the three verbs. */
int cv_task_plan(const struct cv_call *call);
int cv_task_simulate(const struct cv_call *call);
int cv_task_compare(const struct cv_call *call);
/* The members that all verbs share; `rules` are the rules of the task. */
#define CV_TASK_VERB(flow)                       \
    .rules = rules, .presets = &cv_task_presets, \
    .values_size = sizeof(struct cv_task_options), .run = flow

/* --- for the flows and for tasks ---------------------------------------------------------- */

/* Carry out `flow` for the task whose verb is at `offset` of struct cv_task_kind. */
int cv_task_run(const struct cv_call *call, size_t offset,
                int (*flow)(struct cv_task_call *task));
/* The platform of the options, or of a topology; owned by the caller. Returns an exit
 * status. */
int cv_task_platform(struct cv_task_call *task, const struct cleave_simgrid *simgrid,
                     struct cleave_platform **out);
/* Read runs, threads and noise of `options` into the trial. Returns an exit status. */
int cv_task_trial(struct cv_task_call *task, const struct cv_task_options *options);

bool cv_compare_is_sweep(const struct cv_comparison *found);
double cv_compare_over_bound(const struct cv_comparison *found, size_t index,
                             const struct cv_compare_cell *cell);
double cv_compare_over_best(const struct cv_comparison *found, size_t index,
                            const struct cv_compare_cell *cell);

/* Begin and end of a headline. */
#define CV_BOLD(screen) ((screen)->colour ? "\033[1m" : "")
#define CV_PLAIN(screen) ((screen)->colour ? "\033[0m" : "")

/* How far `time_s` is over the bound: 0.01 for 1 %, 0 for differences by rounding. */
double cv_over(double time_s, double bound_s);
/* "policy    umr, picked by auto: WHY", wrapped. `picked` and `why` may be NULL. */
void cv_policy_line(const char *policy, const char *picked, const char *why, size_t width,
                    struct cv_text *out);
/* The table of times, and a line that shows how they are spread. */
void cv_times_text(const struct cleave_stats *stats, const struct cv_screen *screen,
                   struct cv_text *out);
/* The line with the number of rows that were not shown. */
void cv_add_hidden(uint64_t hidden, const char *noun, struct cv_text *out);
/* Add an empty line and the table, which is released. */
void cv_add_table(struct cv_table *table, const struct cv_screen *screen,
                  struct cv_text *out);

/* Members of an object of JSON that is open; `key` NULL: an element of a list. */
void cv_field_stats(struct cv_json *json, const struct cleave_stats *stats);
void cv_field_times(struct cv_json *json, const char *key,
                    const struct cleave_stats *stats);
void cv_field_bound(struct cv_json *json, const char *key,
                    const struct cleave_bound *bound);
/* An element of a list: a name under `key`, and the reason. */
void cv_field_reason(struct cv_json *json, const char *key, const char *name,
                     const char *reason);

/* --- rows of options -------------------------------------------------------------------- */

/* clang-format off */
#define CV_VALUES struct cv_task_options

#define CV_ROW_PLATFORM(...) \
    CV_OPTION('p', "--platform", TEXT, "FILE", platform, \
        "Machines and links, in YAML or JSON; - reads standard input." __VA_ARGS__)
#define CV_ROW_PARAM \
    CV_OPTION(0, "--param", REPEAT, "KEY=VALUE", params, \
        "Set a parameter of the policy, as 'cleave policies NAME' lists them. May be " \
        "given several times.")
#define CV_ROW_PARAM_OF_ALL \
    CV_OPTION(0, "--param", REPEAT, "KEY=VALUE", params, \
        "Set a parameter of all policies; those without it do not apply. May be given " \
        "several times.")
#define CV_ROW_RUNS(of_what) \
    CV_OPTION('n', "--runs", COUNT, "N", runs, \
        "How many runs" of_what ". Default 1000.", .min = 1, .max = 1e8)
#define CV_ROW_THREADS \
    CV_OPTION('j', "--threads", COUNT, "N", threads, \
        "Threads to use; results do not depend on it. Default 0: one per core.", \
        .min = 0, .max = 4096)
#define CV_ROW_ENGINE \
    CV_OPTION(0, "--engine", TEXT, "NAME", engine, \
        "Simulate with one of 'cleave engines'. Default native, or simgrid with " \
        "--topology.")
#define CV_ROW_JSON(what) CV_FLAG(0, "--json", 1, json, "Write JSON: " what)
#define CV_ROW_ALL_WORKERS \
    CV_FLAG(0, "--all-workers", 1, all_workers, \
        "List every worker, however many there are.")
#define CV_ROW_GANTT \
    CV_FLAG(0, "--gantt", 1, gantt, \
        "Draw a chart of the schedule; this is the default."), \
    CV_FLAG(0, "--no-gantt", 0, gantt, "Draw no chart.")
#define CV_ROW_WIDTH(of_what) \
    CV_OPTION(0, "--width", COUNT, "COLUMNS", width, \
        "Width of " of_what ". Default: the width of the terminal.", .min = 40, .max = 1000)
#define CV_ROW_TRACE(what) \
    CV_OPTION(0, "--trace", TEXT, "FILE", trace, \
        what " to this file, as JSON lines. A file of that name is replaced. " \
        CV_TRACE_FORMATS_HELP, .file = CV_FILE_WRITTEN)
#define CV_ROW_PAGE \
    CV_FLAG(0, "--csv", 1, csv, "Write comma-separated values, with a heading."), \
    CV_OPTION('o', "--output", TEXT, "FILE", page, \
        "Write a page with plots and tables to this file instead; - is standard output.", \
        .file = CV_FILE_KEPT), \
    CV_FLAG('f', "--force", 1, force, "Replace that file if it exists.")
#define CV_RULES_PAGE \
    { 0, "--json", CV_EXCLUDES, "--csv", "--json and --csv cannot both be written" }, \
    { 0, "--output", CV_EXCLUDES, "--json --csv", \
      "--output writes a page: leave out --json and --csv" }
#define CV_RULES_PLATFORM \
    { 0, "--platform --topology", CV_ONE_OF, "", "--platform FILE is required" }, \
    { 0, "--port", CV_EXCLUDES, "--platform", "--port: the platform file says that" }
/* clang-format on */

#endif
