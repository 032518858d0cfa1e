/* reduction.h -- a reduction on one rank, and functions for algorithms.
 * SPDX-License-Identifier: MIT
 *
 * `advance` of an algorithm does everything that is possible without waiting and returns
 * the request to wait for; it is called again when that request is complete. A blocking
 * call waits in MPI_Wait, a nonblocking one calls MPI_Test: so the MPI library chooses
 * how to wait, and notices when a rank dies. */
#ifndef CV_REDUCTION_H
#define CV_REDUCTION_H
#include <stdbool.h>
#include <stdint.h>
#include <mpi.h>
#include "mpi/reduce/mpi_names.h"
#include "mpi/plan/replan_plan.h"
#include "mpi/reduce/comm_state.h"
#include "mpi/memory/vector.h"

/* A call of the public interface. */
struct cv_mpi_call {
    const void *send;
    void *recv;
    int count;
    MPI_Datatype type;
    MPI_Op op;
    int root;
    enum cv_mpi_reach reach;
    MPI_Comm comm;
    const int *parts; /* to parts: elements of each rank; NULL: `block` each */
    int block;
};

enum { CV_DEPTH = 4 }; /* segments in flight in one direction */

enum cv_header_kind { CV_HEADER_DATA, CV_HEADER_TAKE };

/* Precedes data, or asks for it. */
struct cv_header {
    int kind;   /* enum cv_header_kind                     */
    int lo, hi; /* ranks whose values the sender has so far */
};

/* How an arriving partial is combined with the own one. */
enum cv_way {
    CV_WAY_INTO_HELD,  /* held = arrived . held, segment by segment     */
    CV_WAY_INTO_WHOLE, /* arrives in `whole`: whole = held . arrived    */
    CV_WAY_AND_BACK,   /* arrived = held . arrived, copied back to held */
};

/* Segments to or from one rank, in order. */
struct cv_segment_stream {
    int peer;
    int posted, done;
    bool waiting; /* for segment `done` */
    enum cv_way way;
    MPI_Request ring[CV_DEPTH];
};

/* State of tree-dyn. */
struct cv_in_pairs {
    int step;
    uint64_t first_ticket;
    bool last; /* the pair that makes the result */
    /* The next pair, met while the last segment is still to be combined. */
    bool ahead, next_last;
    int next_step, next_peer;
};

/* State of ordered-tree-dyn. */
struct cv_among_neighbours {
    int step;
    int lo, hi;      /* ranks whose values are in the partial        */
    bool waits[2];   /* at its left and right boundary               */
    bool expects[2]; /* a partial that is promised from there        */
    int promised;    /* the rank that gets the partial, or -1        */
    int side;        /* from which a partial is arriving             */
    bool extended;   /* lo and hi include the arriving partial       */
};

/* State of greedy, binomial and fibonacci. */
struct cv_in_tree {
    int step;
    long posted, done, items; /* segments of all children                  */
    int sent, gone;           /* segments: send started, send complete     */
    int parent;               /* -1: none                                  */
    bool collects;            /* rank 0 sends the result in the end        */
    bool own_place;           /* combine into `recv`                       */
    const char *sum;          /* partial of the current segment            */
    MPI_Request in[CV_DEPTH], out[CV_DEPTH];
};

/* State of tree-replan. */
struct cv_in_replan {
    int step;
    int expected, done;      /* partials to expect; combined                         */
    int to;                  /* the receiver; negative: see replan_algorithm.c       */
    int said;                /* last report of `done` to the root; -1: none          */
    MPI_Request *data;       /* the segment in flight; NULL: none                    */
    double since_s, last_s;  /* root: its arrival, the last arrival                  */
    struct cv_slice_job job; /* root: costs of transfers and combinations            */
    bool by_slices;
};

struct cv_reduction;

struct cv_reduction_algorithm {
    int (*begin)(struct cv_reduction *r);
    /* out: the request to wait for; NULL: complete on this rank. `any` may name
     * alternatives. */
    int (*advance)(struct cv_reduction *r, MPI_Request **out);
};

struct cv_reduction {
    struct cv_comm_state *state; /* borrowed */
    struct cv_vector vector;
    const void *send; /* borrowed: the own values, also if in place         */
    void *recv;       /* borrowed: at the root only                         */
    bool in_place;    /* send == recv                                       */
    int root;
    enum cv_mpi_policy policy;
    bool keeps_order; /* combine in the order of ranks */
    const struct cv_reduction_algorithm *algorithm;
    const char *held;   /* the partial                              */
    bool writable;      /* `held` is not the user's                 */
    char *whole;        /* room for a vector: `recv` at the root    */
    char *recv_buffers; /* CV_DEPTH + 1 segments                    */
    struct cv_segment_stream in, out;
    struct cv_header header; /* received */
    MPI_Request request;
    MPI_Status status;
    MPI_Request *awaited; /* in this struct or in `state` */
    /* In `state`: alternatives to `awaited`. any[0] is reserved for it, and is it if
     * there is no other. */
    MPI_Request *any;
    int nany, which; /* number, 0: none; index of the complete one */
    bool begun, ended;
    bool blocks;      /* the call waits for the end */
    double combine_s; /* time in the operator */
    double combined_bytes;
    union {
        struct cv_in_pairs pairs;
        struct cv_among_neighbours among;
        struct cv_in_tree tree;
        struct cv_in_replan replan;
    } at;
    struct cv_reduction *next; /* in the queue of `state` */
};

extern const struct cv_reduction_algorithm cv_algorithm_tree_dyn, cv_algorithm_ordered,
    cv_algorithm_tree, cv_algorithm_tree_replan;

/* Fill and queue a reduction, with a policy other than auto. `r` must stay in place until
 * it has ended. */
int cv_reduction_begin(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                       struct cv_comm_state *state, struct cv_reduction *r);
/* Advance the queue until `r` has ended or, unless `block`, as far as possible. */
int cv_reduction_drive(struct cv_reduction *r, bool block);
/* Complete all reductions of a communicator. */
int cv_reduction_drain(struct cv_comm_state *state);

/* --- for algorithms (partial_transfer.c) --- */

/* inout = in . inout for `count` elements, timed. */
int cv_reduction_combine(struct cv_reduction *r, const void *in, void *inout, int count);
/* Allocate recv_buffers; allocate `whole`. */
int cv_reduction_recv_buffers(struct cv_reduction *r);
int cv_reduction_whole(struct cv_reduction *r);
/* The buffer of segment i, as an address for MPI. */
char *cv_reduction_recv_buffer(const struct cv_reduction *r, long i);

/* One partial from one rank to another, segment by segment. The receiver combines a
 * segment, which is still in the cache, while the next ones arrive. Partials arrive where
 * they can be combined without a copy:
 *
 *     held is        operator commutes, or the        the partial comes from the
 *                    partial comes from the left      right and order matters
 *     own memory     buffers, into held               buffers, result copied back
 *     the user's     whole, with held (from the       whole, with held
 *                    left: held is copied first) */
enum cv_side { CV_LEFT, CV_RIGHT };

/* Announce data to a rank, or ask it for its own. */
int cv_partial_transfer_tell(struct cv_reduction *r, int to, enum cv_header_kind kind,
                             int lo, int hi);
/* Receive the next header, from any rank. */
int cv_partial_transfer_listen(struct cv_reduction *r, MPI_Request **out);
/* Begin; then call _on until *out is NULL. */
void cv_partial_transfer_send(struct cv_reduction *r, int to);
int cv_partial_transfer_send_on(struct cv_reduction *r, MPI_Request **out);
int cv_partial_transfer_receive(struct cv_reduction *r, int from, enum cv_side side);
int cv_partial_transfer_receive_on(struct cv_reduction *r, MPI_Request **out);
/* Whether the last segment has arrived, and combining it takes no longer than a
 * transfer. */
bool cv_partial_transfer_may_overlap(const struct cv_reduction *r);
/* After _receive and _send: send each segment on when it is combined. */
int cv_partial_transfer_forward_on(struct cv_reduction *r, MPI_Request **out);

/* --- tree-dyn on one machine (shared_sum.c) --- */

/* Whether a call can use shared memory: collective at the first call and for longer
 * vectors. */
int cv_shared_sum_fits(const struct cv_mpi_call *call, enum cv_mpi_policy policy,
                       struct cv_comm_state *state, bool *out);
/* After cv_reduction_drain. */
int cv_shared_sum_run(const struct cv_mpi_call *call, struct cv_comm_state *state);

#endif
