/* bridge_inner.h -- what the parts of the bridge share. SPDX-License-Identifier: MIT
 *
 * A ring holds a few buffers ("slabs") on their way in one direction. Going out, a slab
 * is filled from the socket and sent while the next ones are filled. Coming in, all slabs
 * wait as receives for what comes; they complete in the order they were posted, are
 * written to the socket and posted again. */
#ifndef CV_BRIDGE_INNER_H
#define CV_BRIDGE_INNER_H
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "engine/mpi_bridge.h"

enum {
    CV_BRIDGE_SLABS = 4,
    CV_BRIDGE_TAG_LINK = 1, /* bytes of a link; a message without any ends it */
    CV_BRIDGE_TAG_PEER = 2, /* a whole frame between workers */
};

struct cv_slab {
    unsigned char *bytes; /* owned by the bridge                                      */
    size_t length, done;  /* done: of a slab that comes in, written to the socket     */
    bool complete;        /* MPI is finished with it                                  */
    int rank;             /* out: where it goes                                       */
};

struct cv_ring {
    struct cv_slab slabs[CV_BRIDGE_SLABS];
    MPI_Request *requests; /* borrowed: one per slab                                  */
    unsigned first, count; /* in use, from the oldest on                              */
    bool ended;            /* nothing more is put in                                  */
    bool marked;           /* out: the message that ends it has been sent             */
};

/* The socket of this end and the ways to and from another rank; or from and to the
 * peers. */
struct cv_bridge_line {
    int fd;       /* owned end of a socket pair; -1: none                             */
    int rank;     /* MPI_ANY_SOURCE for the peers                                     */
    bool peers;   /* whole frames, each with a destination of its own                 */
    bool deaf;    /* nobody reads what comes in: it is dropped                        */
    bool blocked; /* the socket has no room for what came in                          */
    size_t room;  /* bytes of a slab                                                  */
    struct cv_ring out, in;
    size_t partial; /* peers: bytes of an incomplete frame, in the free slab          */
};

/* What a rank tells of the machine that it is on. */
struct cv_machine {
    char name[MPI_MAX_PROCESSOR_NAME];
    char boot[64]; /* differs between machines, whatever they are called              */
};

struct cv_bridge {
    struct cv_mpi_bridge open; /* what the caller sees: first                         */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started, failed; /* under the lock until started                             */
    bool closing;         /* under the lock                                           */
    int exit_status;      /* once closing                                             */
    struct cleave_error err;

    MPI_Comm comm;
    struct cv_bridge_line *lines; /* owned                                            */
    uint32_t nlines;
    struct pollfd *polls;  /* owned: per line                                         */
    MPI_Request *requests; /* owned: per line, out then in                            */
    MPI_Status *statuses;  /* owned, as `done`: room for all requests                 */
    int *done;
    int nrequests;
    unsigned char *memory;    /* owned: all slabs                                     */
    uint64_t *sent, received; /* frames to each peer; from all                        */
    int *links;               /* owned                                                */
    struct cv_machine *machines; /* owned: where the ranks are                        */
    const char **hosts;          /* owned; the names are those of the machines        */
    bool *near; /* owned                                                              */
};

static inline MPI_Request *cv_ring_request(struct cv_ring *ring, unsigned index)
{
    return &ring->requests[index % CV_BRIDGE_SLABS];
}

static inline struct cv_slab *cv_ring_slab(struct cv_ring *ring, unsigned index)
{
    return &ring->slabs[index % CV_BRIDGE_SLABS];
}

/* --- bridge_start.c --- */

/* Start MPI for the thread that calls, and see to what it has opened. */
enum cleave_status cv_bridge_start(struct cleave_error *err);

/* --- bridge_line.c --- */

/* Post all receives of a line. */
enum cleave_status cv_bridge_line_listen(struct cv_bridge *bridge,
                                         struct cv_bridge_line *line,
                                         struct cleave_error *err);
/* What the socket should be waited for now. */
short cv_bridge_line_events(const struct cv_bridge_line *line);
/* Write what has come to the socket, and post the receives again. True: something moved. */
bool cv_bridge_line_deliver(struct cv_bridge *bridge, struct cv_bridge_line *line);
/* Forget what has been sent; send the end when there is nothing before it. */
bool cv_bridge_line_settle(struct cv_bridge *bridge, struct cv_bridge_line *line);
/* Read from the socket and send. */
bool cv_bridge_line_fetch(struct cv_bridge *bridge, struct cv_bridge_line *line);
/* Withdraw the receives that nothing will come for. */
void cv_bridge_line_withdraw(struct cv_bridge_line *line);
/* Whether both ways have ended and all has been handed over. */
bool cv_bridge_line_over(const struct cv_bridge_line *line);
/* The other rank is not to be had: nothing is sent or expected any more. */
void cv_bridge_line_break(struct cv_bridge *bridge, struct cv_bridge_line *line);

/* --- bridge_loop.c --- */

/* Move everything until all lines are over and all ranks agree. */
enum cleave_status cv_bridge_move(struct cv_bridge *bridge, struct cleave_error *err);

#endif
