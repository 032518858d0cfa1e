/* reduce_options.h -- options that the verbs about a reduction share.
 * SPDX-License-Identifier: MIT */
#ifndef CV_REDUCE_OPTIONS_H
#define CV_REDUCE_OPTIONS_H
#include <cleave/reduce.h>
#include "cli/common/job_options.h"
#include "cli/common/options.h"
#include "cli/common/verb.h"

/* The values of plan reduce, simulate reduce and compare reduce; each uses what its
 * option groups name. */
struct cv_reduce_options {
    uint64_t nodes;                       /* 0: not given                             */
    const char *transfer, *compute;       /* laws                                     */
    const char *costs;                    /* a file, instead of these three           */
    uint64_t cluster;                     /* nodes per cluster; 0: none               */
    double remote;                        /* factor between clusters                  */
    const char *model;                    /* fresh or fixed                           */
    const char *ready;                    /* a file or a law; NULL: all at the start  */
    const char *ready_model;              /* NULL: absent                             */
    const char *root;                     /* NULL: any                                */
    const char *policy;                   /* NULL: what the verb presets              */
    const char *policies;                 /* compare: NULL for all                    */
    uint64_t max_transfers, max_reducers; /* 0: not given                       */
    int ordered;
    struct cv_strings params;
    uint64_t seed;
    uint64_t runs; /* 0: not given                             */
    uint64_t threads;
    const char *engine; /* NULL: native, or simgrid for a topology  */
    struct cv_topology_options where;
    const char *trace;
    const char *sweep;
    int json, csv, explain, length_only, tree;
    uint64_t width; /* 0: as wide as the terminal               */
};

enum { CV_REDUCE_RUNS = 1000 }; /* unless --runs says otherwise */

extern const struct cv_reduce_options cv_reduce_presets;
extern const struct cv_option cv_reduce_job_options[];    /* nodes, laws, costs       */
extern const struct cv_option cv_reduce_policy_options[]; /* policy, limits, param    */
extern const struct cv_option cv_reduce_trial_options[];  /* runs, seed, engine ...   */
extern const struct cv_option cv_reduce_seed_option[];    /* seed alone               */

/* A reduction made from options: its costs and, with --trace, its trace are owned. */
struct cv_reduce_job {
    struct cleave_costs *costs; /* NULL: laws */
    double *ready_s;            /* NULL: none, or a law */
    struct cleave_reduction job;
};

/* Check and read everything. `swept`, which may be NULL, is the one of "nodes",
 * "transfer" and "compute" that need not be given. Returns an exit status; what is wrong
 * has been told. cv_reduce_job_close is safe after a failure. */
int cv_reduce_job_open(const struct cv_reduce_options *options, const char *swept,
                       struct cv_arena *arena, struct cv_reduce_job *out);
void cv_reduce_job_close(struct cv_reduce_job *reduce);

/* How many nodes there are, from either source. */
uint32_t cv_reduce_nodes(const struct cv_reduce_job *reduce);
/* Whether the costs do not vary: a file, or laws without spread. */
bool cv_reduce_exact(const struct cleave_reduction *job);

/* What no tree can beat when all costs are at their means, whatever the policy. Returns
 * an exit status. */
int cv_reduce_bound(const struct cleave_reduction *job, double *out);

/* Write the job's trace to the file that --trace named. Returns an exit status. */
int cv_reduce_save_trace(const char *path, const struct cv_reduce_job *reduce,
                         const char *policy);

/* What users call the model of a job. */
const char *cv_ready_model_name(enum cleave_ready_model model);

#endif
