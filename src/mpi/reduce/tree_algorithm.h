/* tree_algorithm.h -- fixed trees: who sends to whom, in how many segments.
 * SPDX-License-Identifier: MIT
 *
 * Of the whole tree, which all ranks work out alike, a plan keeps what concerns one rank.
 * If the operator commutes the root of the reduction is the root of the tree and ranks
 * follow it in a circle. If not, ranks are laid out so that every combination appends the
 * neighbouring block; then rank 0 is the root of the tree, and the result moves on from
 * there. */
#ifndef CV_TREE_ALGORITHM_H
#define CV_TREE_ALGORITHM_H
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include "mpi/reduce/mpi_names.h"

/* What transfers and combinations take on a communicator: the same on all its ranks. */
struct cv_link_costs {
    bool known;
    double latency_s, byte_s; /* a transfer of b bytes: latency + b byte_s */
    double combine_byte_s;
    double *rank_s;         /* owned: what a message takes with the quickest of its
                               partners, for each rank; NULL: not measured  */
    bool looked;            /* where ranks are; then these are known     */
    bool crowded;           /* somewhere, ranks share a processor        */
    bool together;          /* all are on one machine, by its name       */
    unsigned calls;         /* of "greedy" so far                        */
    MPI_Request agreeing;   /* on what the operator took                 */
    double mine[2], all[2]; /* seconds, bytes                            */
};

/* Look, once, where ranks are, by one call: collective. */
int cv_link_costs_look(struct cv_link_costs *costs, MPI_Comm comm);
/* Measure, once, by some messages between neighbours: collective. */
int cv_link_costs_measure(struct cv_link_costs *costs, MPI_Comm comm);
/* What a vector takes from one rank to another, and to be combined: as was told or, if
 * not, measured. The former is more than 0. */
struct cv_comm_state;
void cv_link_costs_hop(const struct cv_comm_state *state, double bytes, double *out_d,
                       double *out_c);
/* Note what the operator took in a reduction, and agree on it now and then. */
int cv_link_costs_note(struct cv_link_costs *costs, MPI_Comm comm, double seconds,
                       double bytes);
/* Take over what has been agreed on: `agreeing` is complete. */
void cv_link_costs_settle(struct cv_link_costs *costs);

struct cv_tree_request {
    enum cv_mpi_policy policy; /* greedy, binomial or fibonacci            */
    int rank, size, root;
    bool commutes;
    double bytes;         /* of the vector                            */
    double segment_bytes; /* 0: as seems best                         */
    double latency_s, byte_s, combine_byte_s; /* for greedy                */
    bool crowded; /* for greedy: ranks share processors       */
};

struct cv_tree_plan {
    struct cv_tree_request wish; /* what it was made for; size 0: nothing */
    int parent;                  /* rank, -1 at the root of the tree */
    int nchildren;
    int *children; /* ranks, in the order in which they are combined */
    double segment_bytes;
    uint32_t *tree; /* room for a tree and its layout, owned */
    uint32_t room;  /* nodes there is room for               */
};

/* Does nothing if that is what it was made for last. False when memory is short. */
bool cv_tree_plan_make(struct cv_tree_plan *plan, const struct cv_tree_request *wish);
void cv_tree_plan_free(struct cv_tree_plan *plan);

/* The greedy tree in which no node has more than `most` senders. parent[0 .. n-1], node 0
 * is the root; `time` and `senders` are scratch. Returns its length. */
double cv_tree_narrow(uint32_t n, uint32_t max, double d, double c, uint32_t *parent,
                      double *time, uint32_t *senders);

#endif
