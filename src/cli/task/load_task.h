/* load_task.h -- jobs made of a load or of items, and schedules as text and JSON.
 * SPDX-License-Identifier: MIT */
#ifndef CV_LOAD_TASK_H
#define CV_LOAD_TASK_H
#include "cli/task/task.h"
#include "io/loads_file.h"
#include "io/sizes_file.h"
#include "model/joint/joint.h"

/* Workers that are paid for, as --deadline or --budget asks. */
struct cv_price {
    struct cleave_rental_terms terms;
    const struct cleave_platform *whole; /* borrowed: all workers */
    struct cleave_rental *rental;        /* owned; NULL: all are paid for */
};

/* A load whose results are reduced (--then-reduce), planned as one: with its bound and the
 * times of plans that are made apart. */
struct cv_then_reduce {
    struct cv_joint_job job;
    struct cv_joint_plan plan;
    double bound_s;
    double apart_s, apart_all_s; /* best number of workers; all                    */
    uint32_t apart_used, apart_all_used;
    double *sent_s, *ready_s; /* per place of the plan                             */
};

/* Totals of a worker or a round. */
struct cv_worker_sum {
    uint64_t chunks;
    double units, largest, busy_s, send_s, first_s, last_s;
};

/* The job of the tasks load and items. Close is safe after a failure. */
struct cv_load_job {
    struct cleave_job job;
    struct cleave_platform *platform; /* owned */
    double units;                     /* size of the load, or of all items */
    struct cleave_schedule *schedule; /* owned: the plan; NULL: none was made */
    struct cv_price price;
    bool reduced; /* `joint` is used */
    struct cv_then_reduce joint;
    struct cleave_stats exact;    /* one exact run of a policy before a reduction */
    const char *conditions;       /* conditions of simulations, in words; NULL: none */
    struct cv_sizes items;        /* in the arena; none: a load */
    struct cv_loads_list several; /* in the arena; none: one load */
    double apart_s;               /* several: the sum of their bounds alone */
    struct cv_worker_sum *sums;   /* per worker of the plan, in the arena */
    double list_order_s;          /* items in the order of their list; NAN: planned so */
    struct cleave_job swept;      /* compare: the job for a value of the sweep ... */
    struct cleave_platform
        *swept_platform; /* ... and its platform, owned; NULL: unchanged */
};

/* Read platform and settings into a zeroed job. Returns an exit status. */
int cv_load_open(struct cv_task_call *task, const struct cv_task_options *options,
                 struct cv_load_job *out);
void cv_load_close(struct cv_task_call *task);
/* The schedule is made: sum up, and note facts for the trace. Returns an exit status. */
int cv_load_planned(struct cv_task_call *task);
/* Read the conditions of runs into the trial. Returns an exit status. */
int cv_conditions_read(struct cv_task_call *task, const struct cv_task_options *options,
                       struct cv_load_job *load);
/* Whether they differ from run to run. */
bool cv_conditions_vary(const struct cleave_conditions *conditions);

/* clang-format off */
#define CV_ROW_CONDITIONS \
    CV_OPTION(0, "--answers", SECONDS, "TIME", answers_s, \
        "Reports of workers reach the master after this delay: that a chunk is done, " \
        "read or recalled. Default 0."), \
    CV_OPTION(0, "--stalls", TEXT, "EVERY,LENGTH", stalls, \
        "Each worker pauses now and then: 60s,2s is for 2 s on average, after 60 s " \
        "on average, both exponential. Its links work on."), \
    CV_OPTION(0, "--hang", REPEAT, "WORKER@TIME", hangs, \
        "This worker, by name or by number from 0, stops for ever at this time. Its " \
        "chunks are lost after --host-timeout. May be given several times."), \
    CV_OPTION(0, "--host-timeout", SECONDS, "TIME", host_timeout_s, \
        "With --hang: the master notices after this time. Default 10 s.", .min = 1e-9), \
    CV_OPTION(0, "--cost-law", TEXT, "LAW", cost_law, COST_LAW_HELP)
#define CV_RULES_CONDITIONS \
    { 0, "--host-timeout", CV_NEEDS, "--hang", \
      "--host-timeout: --hang WORKER@TIME is required with it" }
/* clang-format on */

/* For loads and for items. */
extern const struct cv_task_part cv_load_simulated;
extern const struct cv_task_comparison cv_load_compared, cv_loads_compared;
/* "makespan", "weighted" or "stretch"; " s" or "". */
const char *cv_goal_name(enum cleave_goal goal);
const char *cv_goal_unit(enum cleave_goal goal);

/* "2000 units on 8 workers, 0.5 of result per unit", "3 items of 8 units in all on 2 workers",
 * or the words for a lifespan. */
void cv_load_words(const struct cv_load_job *load, double units, struct cv_text *out);
void cv_sum_add(struct cv_worker_sum *sum, const struct cleave_chunk *chunk);
/* The first lines of a plan. */
void cv_schedule_headline(const struct cv_load_job *load, const struct cv_screen *screen,
                          struct cv_text *out);
/* Headline, workers, rounds or chunks, workers left out, and the chart. */
void cv_schedule_text(struct cv_task_call *task, struct cv_screen *screen,
                      struct cv_text *out);
/* The table of workers; an element of the list of chunks. */
void cv_schedule_workers(const struct cv_load_job *load, bool all,
                         const struct cv_screen *screen, struct cv_text *out);
struct cv_bound_meaning {
    const char *bound, *says; /* bound NULL: of all others, the last row */
};
/* The table of bounds, with the meaning of each. */
void cv_bounds_explain(const struct cleave_schedule *schedule, const char *heads,
                       const struct cv_bound_meaning *meanings,
                       const struct cv_screen *screen, struct cv_text *out);
void cv_field_chunk(struct cv_json *json, const struct cleave_chunk *chunk,
                    const struct cv_load_job *load);
/* The options of loads and of items. */
void cv_schedule_json(struct cv_task_call *task, struct cv_json *json);
/* Look for workers as the options ask. Returns an exit status. */
int cv_price_open(const struct cv_task_options *options, const struct cv_load_job *load,
                  struct cv_price *out);
/* The chart of a schedule, if it is asked for. */
void cv_schedule_chart(struct cv_task_call *task, const struct cv_screen *screen,
                       struct cv_text *out);

/* --then-reduce: read it, check other options, and plan; sets the result that is shown
 * instead. Returns an exit status. */
int cv_then_reduce_open(struct cv_task_call *task, const struct cv_task_options *options);
/* ", then reduced at the master, ..."; a table of the plan and of plans made apart. */
void cv_then_reduce_words(const struct cv_then_reduce *joint, struct cv_text *out);
void cv_then_reduce_plans(const struct cv_then_reduce *joint,
                          const struct cv_screen *screen, struct cv_text *out);
/* The reduction; all members about the plan. */
void cv_field_then_reduce(struct cv_json *json, const struct cv_then_reduce *joint);
void cv_then_reduce_json(struct cv_json *json, const struct cv_then_reduce *joint,
                         const struct cv_task_options *options);

#endif
