/* tree_algorithm.h -- plans of fixed trees. SPDX-License-Identifier: MIT
 *
 * All ranks compute the same tree; a plan keeps the part of one rank. If the operator
 * commutes, the root of the reduction is the root of the tree, and ranks follow it
 * cyclically. If not, ranks are laid out so that every combination appends the
 * neighbouring block; then rank 0 is the root of the tree, and sends the result to the
 * root of the reduction. */
#ifndef CV_TREE_ALGORITHM_H
#define CV_TREE_ALGORITHM_H
#include <stdbool.h>
#include <stdint.h>
#include "mpi/reduce/mpi_names.h"

struct cv_tree_request {
    enum cv_mpi_policy policy; /* greedy, binomial or fibonacci            */
    int rank, size, root;
    bool commutes;
    double bytes;         /* the vector                               */
    double segment_bytes; /* 0: automatic                             */
    double latency_s, byte_s, combine_byte_s; /* for greedy                */
    bool crowded; /* for greedy: ranks share processors       */
};

struct cv_tree_plan {
    struct cv_tree_request request; /* that it was made for; size 0: none */
    int parent;                     /* rank, -1 at the root of the tree */
    int nchildren;
    int *children; /* ranks, in the order in which they are combined */
    double segment_bytes;
    uint32_t *tree; /* owned: a tree and its layout */
    uint32_t room;  /* nodes                        */
};

/* Does nothing if the request has not changed. False: out of memory. */
bool cv_tree_plan_make(struct cv_tree_plan *plan, const struct cv_tree_request *request);
void cv_tree_plan_free(struct cv_tree_plan *plan);

/* The greedy tree in which no node has more than `max` senders; node 0 is the root.
 * `time` and `senders` are scratch, 2 n each. Returns its length. */
double cv_tree_narrow(uint32_t n, uint32_t max, double d, double c, uint32_t *parent,
                      double *time, uint32_t *senders);

#endif
