/* registry.h -- the list of policies. SPDX-License-Identifier: MIT
 *
 * A new policy is a file in a directory of src/policy and a row here. */
#ifndef CV_REGISTRY_H
#define CV_REGISTRY_H
#include <cleave/policy.h>
#include "model/reduce/reduce_bounds.h"

/* In the order of the lists for users. */
#define CV_POLICY_MAP(X)  \
    X(auto)               \
    X(one_round)          \
    X(joint)              \
    X(fifo)               \
    X(lifo)               \
    X(orders)             \
    X(chunks)             \
    X(small_results)      \
    X(best_orders)        \
    X(rounds)             \
    X(rounds_tail)        \
    X(mi)                 \
    X(xmi)                \
    X(umr)                \
    X(rumr)               \
    X(self)               \
    X(guided)             \
    X(factoring)          \
    X(weighted_factoring) \
    X(xmi_k)              \
    X(umr_plus)           \
    X(links)              \
    X(leaders)            \
    X(rx)                 \
    X(learn)              \
    X(as4dr)              \
    X(greedy)             \
    X(binomial)           \
    X(fibonacci)          \
    X(tree_dyn)           \
    X(ordered_tree_dyn)   \
    X(tree_adapt)         \
    X(ordered_adapt)      \
    X(ready)              \
    X(tree_replan)        \
    X(items)              \
    X(items_list)         \
    X(plan)               \
    X(online)             \
    X(johnson)            \
    X(smith)              \
    X(one_by_one)         \
    X(equal)              \
    X(apart)

/* The policy of a job: `own`, made by the caller, or the one called `name`, or `preset`
 * if that is NULL. CLEAVE_EPOLICY: `own` is not usable. */
struct cv_policy_request {
    enum cleave_task task;
    const char *name, *preset;
    const struct cleave_policy *own;
};
enum cleave_status cv_policy_choose(const struct cv_policy_request *request,
                                    const struct cleave_policy **out,
                                    struct cleave_error *err);

#define X(name) extern const struct cleave_policy cleave_policy_##name;
CV_POLICY_MAP(X)
#undef X

/* The default for real loads: it needs no declared costs. */
const struct cleave_policy *cv_policy_of_runs(void);
const struct cleave_policy *cv_policy_of_items(void);
/* The first policy whose chunks have one size, its parameter `one_size`. */
const struct cleave_policy *cv_policy_of_one_size(void);

/* The proved properties of a reduction policy. */
enum cv_reduce_method cv_policy_proof(const char *name);

#endif
