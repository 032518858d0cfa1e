/* reduce.h -- plan and simulate a reduction. SPDX-License-Identifier: MIT
 *
 * n nodes hold one partial each. Sending a partial takes `transfer`, combining two takes
 * `compute`; a node receives one partial at a time, combines one at a time, may do both
 * at once, and sends its own once, after all its combinations. */
#ifndef CLEAVE_REDUCE_H
#define CLEAVE_REDUCE_H
#include <cleave/policy.h>
#include <cleave/run.h>

CLEAVE_BEGIN_C

struct cleave_trace;

enum cleave_compute_model {
    CLEAVE_COMPUTE_FRESH, /* every combination draws its own cost       */
    CLEAVE_COMPUTE_FIXED, /* a node combines at the same cost every time */
};

/* Costs of one exact instance: node i to node j takes transfer[i * nodes + j]. */
struct cleave_costs;
enum cleave_status cleave_costs_load(const char *path, struct cleave_costs **out,
                                     struct cleave_error *err);
enum cleave_status cleave_costs_new(uint32_t nodes, const double *transfer,
                                    const double *compute, struct cleave_costs **out,
                                    struct cleave_error *err);
void cleave_costs_free(struct cleave_costs *costs);
uint32_t cleave_costs_nodes(const struct cleave_costs *costs);

struct cleave_reduction {
    uint32_t nodes;                 /* 0 with costs                                     */
    const char *transfer, *compute; /* laws: "1.5", "gamma:MEAN,CV", "exp:MEAN", ...    */
    const struct cleave_costs
        *costs; /* instead of laws; borrowed                        */
    enum cleave_compute_model model;
    uint32_t cluster; /* with laws: nodes per cluster, in a row; 0: none  */
    double remote;    /* factor on transfers between clusters, positive   */
    /* When partials become ready: a law, or known times, one per node; borrowed. Both
     * NULL: all partials are ready at the start. SimGrid ignores these members. */
    const char *ready;
    const double *ready_s;
    enum cleave_ready_model ready_model;
    const char *policy; /* NULL: "greedy" for a plan, "tree-adapt" else     */
    const struct cleave_policy *own_policy; /* borrowed: instead of a name; NULL: none */
    const struct cleave_setting *settings;
    size_t nsettings;
    uint64_t seed;
    struct cleave_trace *trace; /* optional: what happens (in run 0) is appended    */
    const struct cleave_simgrid *simgrid; /* borrowed; not NULL: SimGrid simulates; on
                                             a topology, transfers are its own       */
};

/* A tree as it was executed: node i sent its partial to parent[i] (-1: the root) at
 * start_s[i] (NAN for the root), carrying the inputs first[i] .. last[i] if the policy
 * keeps order. All arrays are owned by the struct. */
struct cleave_tree {
    const char *policy;
    bool keeps_order;
    uint32_t nodes, root;
    double length_s, lower_bound_s, upper_bound_s;
    double optimum_s; /* of equal costs with the same means; NAN when not known */
    const int64_t *parent;
    const double *start_s;
    const uint32_t *first, *last; /* NULL unless keeps_order */
};

/* One run with the means of the laws, or with the given costs, exact. */
enum cleave_status cleave_plan_reduce(const struct cleave_reduction *job,
                                      struct cleave_tree **out, struct cleave_error *err);
void cleave_tree_free(struct cleave_tree *tree);

/* Many runs with costs drawn from the laws; trial->noise is not used. */
enum cleave_status cleave_simulate_reduce(const struct cleave_reduction *job,
                                          const struct cleave_trial *trial,
                                          struct cleave_stats *out,
                                          struct cleave_error *err);

CLEAVE_END_C
#endif
