/* reduction.h -- one reduction on one rank, as something that is advanced step by step.
 * SPDX-License-Identifier: MIT
 *
 * A scheme is a policy at work. Its `advance` does all that can be done without waiting
 * and names the request to wait for; it is called again when that one is complete. A call
 * that blocks waits in MPI_Wait, one that does not asks MPI_Test: all waiting is the MPI
 * library's own, which knows best how to wait and notices when a rank dies. */
#ifndef CV_REDUCTION_H
#define CV_REDUCTION_H
#include <stdbool.h>
#include <stdint.h>
#include <mpi.h>
#include "mpi/reduce/mpi_names.h"
#include "mpi/plan/replan_plan.h"
#include "mpi/reduce/comm_state.h"
#include "mpi/memory/vector.h"

struct cv_mpi_call {
    const void *send;
    void *recv;
    int count;
    MPI_Datatype type;
    MPI_Op op;
    int root;
    enum cv_mpi_reach reach;
    MPI_Comm comm;
    const int *parts; /* to parts: elements of each rank's; NULL: `block` of them */
    int block;
};

enum { CV_DEPTH = 4 }; /* segments under way in one direction */

/* What goes before the data, or asks for it. */
struct cv_header {
    int kind;   /* of enum cv_header_kind                      */
    int lo, hi; /* the ranks whose values the sender has so far */
};

enum cv_header_kind { CV_HEADER_DATA, CV_HEADER_TAKE };

/* How a partial that arrives is combined with the one that is held. */
enum cv_way {
    CV_WAY_INTO_HELD,  /* held = arrived . held, segment by segment           */
    CV_WAY_INTO_WHOLE, /* arrives at its place: whole = held . arrived        */
    CV_WAY_AND_BACK,   /* arrived = held . arrived, copied to where held is   */
};

/* Segments to or from one rank, in order. */
struct cv_segment_stream {
    int peer;
    int posted, done;
    bool waiting; /* for segment `done` */
    enum cv_way way;
    MPI_Request ring[CV_DEPTH];
};

/* State of the schemes. */
struct cv_in_pairs {
    int step;
    uint64_t first_ticket;
    bool last; /* the pair that makes the result */
    /* The pair after this one, met while the last segment is still to be combined. */
    bool ahead, next_last;
    int next_step, next_peer;
};

struct cv_among_neighbours {
    int step;
    int lo, hi;      /* the ranks whose values are in the partial      */
    bool waits[2];   /* at its left and right boundary                 */
    bool expects[2]; /* a partial that is promised from there          */
    int promised;    /* the rank that gets the partial, or -1          */
    int side;        /* from which the partial under way arrives       */
    bool extended;   /* lo and hi are those that it makes              */
};

struct cv_in_tree {
    int step;
    long posted, done, items; /* segments that arrive, of all children     */
    int sent, gone;           /* segments sent on, and sent for good       */
    int parent;               /* -1: none                                  */
    bool collects;            /* the result comes from rank 0 in the end   */
    bool own_place;           /* combine into what is there                */
    const char *sum;          /* the current segment's partial             */
    MPI_Request in[CV_DEPTH], out[CV_DEPTH];
};

struct cv_in_replan {
    int step;
    int expected, done;      /* partials it is told to expect, and has combined        */
    int to;                  /* whom it is told to send to; negative: see the scheme   */
    int said;                /* how many it has said it has combined; -1: nothing yet  */
    MPI_Request *data;       /* the segment under way; NULL: none                      */
    double since_s, last_s;  /* at the root: when it came, when the last one had     */
    struct cv_slice_job job; /* there: what transfers and combinations take           */
    bool by_slices;
};

struct cv_reduction;

struct cv_reduction_algorithm {
    int (*begin)(struct cv_reduction *r);
    /* *out: what to wait for; NULL when the reduction has ended on this rank. It may also
     * name some that will do as well, by `any`. */
    int (*advance)(struct cv_reduction *r, MPI_Request **out);
};

struct cv_reduction {
    struct cv_comm_state *state; /* borrowed */
    struct cv_vector vector;
    const void *send; /* borrowed; where the own values are, also if in place */
    void *recv;       /* borrowed; at the root only                           */
    bool in_place;    /* they are the same                                    */
    int root;
    enum cv_mpi_policy policy;
    bool keeps_order; /* combine in the order of the ranks */
    const struct cv_reduction_algorithm *algorithm;
    const char *held; /* the partial                                   */
    bool writable;    /* it is not the user's                          */
    char *whole;      /* where a vector may be put: `recv` at the root */
    char *berths;     /* room for CV_DEPTH + 1 segments                */
    struct cv_segment_stream in, out;
    struct cv_header header; /* the one that arrives */
    MPI_Request request;
    MPI_Status status;
    MPI_Request *awaited; /* points into this struct or its team */
    /* Of the team: others that will do as well, behind a place for the awaited one, which
     * is the place itself if there is none; nany is 0 if there are no others. */
    MPI_Request *any;
    int nany, which; /* of these, the one that is complete */
    bool begun, ended;
    bool blocks;      /* the call waits for its end */
    double combine_s; /* spent in the operator */
    double combined_bytes;
    union {
        struct cv_in_pairs pairs;
        struct cv_among_neighbours among;
        struct cv_in_tree tree;
        struct cv_in_replan replan;
    } at;
    struct cv_reduction *next; /* of the same team */
};

extern const struct cv_reduction_algorithm cv_algorithm_tree_dyn, cv_algorithm_ordered,
    cv_algorithm_tree, cv_algorithm_tree_replan;

/* Make `r` ready for its turn, with a policy other than auto. Says what is wrong. It must stay
 * where it is until it has ended. */
int cv_reduction_begin(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                       struct cv_comm_state *state, struct cv_reduction *r);
/* Advance the team until `r` has ended or, unless `block`, as far as it goes. */
int cv_reduction_drive(struct cv_reduction *r, bool block);
/* Advance the team until all its reductions have ended. */
int cv_reduction_drain(struct cv_comm_state *state);

/* inout = in . inout for `count` elements, timed. */
int cv_reduction_combine(struct cv_reduction *r, const void *in, void *inout, int count);
/* Room for the segments that arrive; for a vector (`recv` at the root). */
int cv_reduction_recv_buffers(struct cv_reduction *r);
int cv_reduction_whole(struct cv_reduction *r);
/* Berth of segment i, as an address for MPI. */
char *cv_reduction_recv_buffer(const struct cv_reduction *r, long i);

enum cv_side { CV_LEFT, CV_RIGHT };

/* Tell `to` that data will follow, or that it is asked for its own. */
int cv_partial_transfer_tell(struct cv_reduction *r, int to, enum cv_header_kind kind,
                             int lo, int hi);
/* Begin to listen to the next header, from whomever. */
int cv_partial_transfer_listen(struct cv_reduction *r, MPI_Request **out);

/* Begin, then advance until *out is NULL. */
void cv_partial_transfer_send(struct cv_reduction *r, int to);
int cv_partial_transfer_send_on(struct cv_reduction *r, MPI_Request **out);
int cv_partial_transfer_receive(struct cv_reduction *r, int from, enum cv_side side);
int cv_partial_transfer_receive_on(struct cv_reduction *r, MPI_Request **out);
/* Whether the rule for overlap holds: the last segment has arrived and is to be combined next,
 * for no longer than a transfer takes, as far as costs are known. */
bool cv_partial_transfer_may_overlap(const struct cv_reduction *r);
/* After cv_partial_transfer_receive and cv_partial_transfer_send: each segment goes on as soon as it is combined. */
int cv_partial_transfer_forward_on(struct cv_reduction *r, MPI_Request **out);

/* Whether a call is one for this: collective, the first time and when vectors get longer. */
int cv_shared_sum_fits(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                       struct cv_comm_state *state, bool *out);
/* To the end, after what was begun before. */
int cv_shared_sum_run(const struct cv_mpi_call *call, struct cv_comm_state *state);

#endif
