/* comm_state.h -- state of a communicator between reductions, and of the process.
 * SPDX-License-Identifier: MIT
 *
 * Reductions of a communicator are executed one after the other, in the order of the
 * calls, including nonblocking ones. A rank takes part in one at a time, and while a
 * reduction is incomplete some rank waits in it: messages of two reductions cannot be
 * confused, and tags need no number. */
#ifndef CV_COMM_STATE_H
#define CV_COMM_STATE_H
#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include "mpi/memory/shared_memory.h"
#include "mpi/memory/vector.h"
#include "mpi/reduce/chooser.h"
#include "mpi/reduce/mpi_names.h"
#include "mpi/reduce/tree_algorithm.h"

struct cv_comm_state;
struct cv_reduction;
struct cv_replanning;

enum cv_tag {
    CV_TAG_HEADER = 1,
    CV_TAG_DATA,
    CV_TAG_TREE,
    CV_TAG_RESULT,
    CV_TAG_PING,
    CV_TAG_REPLAN,
    CV_TAG_SLICE,
    CV_TAG_SHARED
};

/* Costs of transfers and combinations, the same on all ranks. */
struct cv_link_costs {
    bool known;
    double latency_s, byte_s; /* a transfer of b bytes: latency + b byte_s        */
    double combine_byte_s;
    double *rank_s;         /* owned: for each rank, a message with its fastest partner;
                               NULL: not measured                                 */
    bool looked;            /* the next two are known                             */
    bool crowded;           /* some ranks share a processor                       */
    bool together;          /* all ranks are on one machine, by its name          */
    unsigned calls;         /* by greedy                                          */
    MPI_Request agreeing;   /* on the cost of the operator                        */
    double mine[2], all[2]; /* seconds, bytes                                     */
};

/* Find out, once, whether ranks share machines and processors, by one call:
 * collective. */
int cv_link_costs_look(struct cv_link_costs *costs, MPI_Comm comm);
/* Measure, once, by some messages between neighbours: collective. */
int cv_link_costs_measure(struct cv_link_costs *costs, MPI_Comm comm);
/* Seconds of a transfer, above 0, and of a combination of a vector: given by settings, or
 * measured. */
void cv_link_costs_hop(const struct cv_comm_state *state, double bytes, double *out_d,
                       double *out_c);
/* Record the cost of the operator in a reduction; ranks agree on it in calls 1, 2, 4, 8,
 * ... */
int cv_link_costs_note(struct cv_link_costs *costs, MPI_Comm comm, double seconds,
                       double bytes);
/* Use the agreed cost: `agreeing` is complete. */
void cv_link_costs_settle(struct cv_link_costs *costs);

/* Vectors of all ranks in shared memory (shared_sum.c). */
struct cv_shared_vectors {
    void *memory;      /* owned */
    size_t bytes;      /* all memory */
    size_t room;       /* one vector */
    uint32_t number;   /* the last reduction */
    uint64_t takes[2]; /* results to be taken, by even and odd reductions up to now */
    bool refused;      /* not all ranks can use it */
};

void cv_shared_vectors_free(struct cv_shared_vectors *vectors);

/* Ranks by machines (mpi_call.c). */
struct cv_cluster {
    int machines;
    bool useful;      /* several machines, one of them with several ranks            */
    bool in_a_row;    /* the ranks of each machine are neighbours                    */
    MPI_Comm machine; /* owned: ranks of this machine                                */
    MPI_Comm leaders; /* owned: the first rank of each machine; MPI_COMM_NULL on others */
    struct cv_comm_state *inside, *across; /* owned: of `machine`, of `leaders`      */
    int *leader; /* owned: for each rank, its leader's rank in `leaders` */
    struct cv_scratch held;
};

struct cv_comm_state {
    MPI_Comm users; /* borrowed: the program's                        */
    MPI_Comm comm;  /* owned: a copy that returns errors; MPI_COMM_NULL until needed */
    int rank, size;
    unsigned ahead; /* pairs that met before their last segment was combined */
    unsigned seen;  /* calls of auto before `comm` existed */
    /* the communicator of a machine or of leaders: not divided by machines */
    bool nested;
    bool request;      /* `placed` is known */
    bool placed;       /* may have `comm`; else the MPI library does all reductions */
    int broken;        /* error after which nothing is reliable */
    MPI_Op checked_op; /* last pair that MPI_Reduce accepts */
    MPI_Datatype checked_type;
    struct cv_reduction *first, *last; /* queue, linked by `next` */
    struct cv_chooser chooser;
    struct cv_atomic_words atomics;
    struct cv_shared_vectors vectors;
    struct cv_mpi_settings settings;
    struct cv_scratch whole, recv_buffers; /* a vector; segments that arrive */
    struct cv_scratch parted;              /* a result before it is scattered */
    struct cv_tree_plan plan;
    struct cv_link_costs costs;
    struct cv_cluster *cluster;       /* owned; NULL: not known yet */
    struct cv_replanning *replanning; /* owned: of tree-replan; NULL: not used yet */
    struct cv_comm_state *next;       /* created after this one */
};

/* Local. cv_mpi_process_meet finds an existing one. */
int cv_comm_state_new(MPI_Comm comm, const struct cv_mpi_settings *settings,
                      struct cv_comm_state **out);
/* Create `comm`, if there is none: collective. Fails on all ranks, without calling an
 * error handler, if the MPI library has no communicator left. */
int cv_comm_state_open(struct cv_comm_state *state);
/* Free `comm`: collective. */
void cv_comm_state_close(struct cv_comm_state *state);
/* Create the atomic words, if there are none: collective. */
int cv_comm_state_make_words(struct cv_comm_state *state);
void cv_comm_state_free(struct cv_comm_state *state);
void cv_replanning_free(struct cv_replanning *replanning);

/* --- state of the process --- */

extern struct cv_mpi_process {
    atomic_uint
        closed; /* states that were freed: others are valid while it is the same */
    /* Reductions that are not complete, on all communicators. Differs between ranks: it
     * may only be used to skip the search for reductions of one communicator. */
    atomic_int pending;
    struct cv_mpi_settings defaults;                   /* defaults of new states */
    void (*report)(const struct cv_comm_state *state); /* before it is freed; or NULL */
} cv_mpi_process;

/* Whether MPI_Init was called; a program may use sessions before, after and instead. */
bool cv_mpi_process_has_world(void);
/* The state of a communicator, or NULL. */
struct cv_comm_state *cv_mpi_process_find(MPI_Comm comm);
/* Find or create it: local. It is freed with the communicator, or when MPI is
 * finalized. */
int cv_mpi_process_meet(MPI_Comm comm, struct cv_comm_state **out);
/* Whether a state may have `comm`, the same on all ranks: collective at the first call.
 * MPI libraries have a limited number (MPICH 2048), and the program may need most of
 * them. */
int cv_mpi_process_place(struct cv_comm_state *state, bool *out);

/* Whether MPI_Reduce accepts `op` with `type`. */
bool cv_mpi_process_allows(MPI_Op op, MPI_Datatype type);

/* An error of a separate class, with the text of the last error. (MPICH 4.0 confuses the
 * texts of codes that are added to its classes.) */
int cv_mpi_process_error(const char *text);
/* Call the error handler of the communicator, unless `code` is MPI_SUCCESS; returns
 * `code`. */
int cv_mpi_process_raise(MPI_Comm comm, int code);

#endif
