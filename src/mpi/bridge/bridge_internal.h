/* bridge_internal.h -- what the parts of the bridge share. SPDX-License-Identifier: MIT
 *
 * A ring holds a few buffers ("slabs") on their way in one direction. Going out, a slab
 * is filled by the user and sent while the next ones are filled. Coming in, all slabs
 * wait as receives for what comes; they complete in the order they were posted, are
 * read by the user and posted again. Users of links do both where the slabs are
 * (bridge_end.c); between workers, whole frames go through a socket. */
#ifndef CV_BRIDGE_INTERNAL_H
#define CV_BRIDGE_INTERNAL_H
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

struct cv_bridge_buffer {
    unsigned char *bytes; /* owned by the bridge                                      */
    size_t length, done;  /* done: of a frame that comes in, written to the socket    */
    bool complete;        /* MPI is finished with it                                  */
    int rank;             /* out: where it goes                                       */
};

struct cv_ring {
    struct cv_bridge_buffer slabs[CV_BRIDGE_SLABS];
    MPI_Request *requests; /* borrowed: one per slab                                  */
    unsigned first, count; /* in use, from the oldest on; `first` only rises          */
    bool ended;            /* nothing more is put in                                  */
    bool marked;           /* out: the message that ends it has been sent             */
};

/* What the user of a link holds. The numbers are of slabs, as `first` of a ring. */
struct cv_bridge_end {
    struct cleave_channel channel; /* what the user sees: first                       */
    bool open;
    int bell;                 /* borrowed: wakes the bridge                           */
    struct cv_ring *out, *in; /* borrowed: of the slabs, `bytes` and `length` only    */
    pthread_mutex_t lock;     /* for all below, and for the lengths                   */
    unsigned filled, taken;   /* raised by the user                                   */
    unsigned freed, came;     /* raised by the bridge                                 */
    bool wanted;              /* the user waits for a slab to be free                 */
    bool left, said;          /* the user reads no more; has said that it is the end  */
    bool ended, deaf;         /* nothing more comes; nothing more goes                */
};

/* The ways to and from another rank; or from and to the peers. */
struct cv_bridge_line {
    int rank;    /* MPI_ANY_SOURCE for the peers                                      */
    size_t room; /* bytes of a slab                                                   */
    struct cv_ring out, in;
    bool broken;

    /* Of a link. */
    struct cv_bridge_end end;
    unsigned came; /* slabs that have been handed to the user                         */

    /* Of the peers: whole frames, each with a destination of its own. */
    bool peers;
    int fd;         /* owned end of a socket pair; -1: none                           */
    bool deaf;      /* nobody reads what comes in: it is dropped                      */
    bool blocked;   /* the socket has no room for what came in                        */
    size_t partial; /* bytes of an incomplete frame, in the free slab                 */
};

/* What a rank tells of itself: the machine that it is on, what it may use there, and its
 * words. */
struct cv_machine {
    char name[MPI_MAX_PROCESSOR_NAME];
    char boot[64]; /* differs between machines, whatever they are called              */
    struct cv_mpi_cpus cpus;
    struct cv_mpi_words words;
};

struct cv_bridge {
    struct cv_mpi_bridge open; /* what the caller sees: first                         */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started, refused; /* under the lock: it is open, or has come to nothing        */
    bool failed;           /* the thread's until that has ended                         */
    bool closing;          /* under the lock                                           */
    int exit_status;       /* once closing                                             */
    struct cleave_error err;

    MPI_Comm comm;
    struct cv_bridge_line *lines; /* owned                                            */
    uint32_t nlines;
    int bell;              /* owned: an event that wakes the bridge                   */
    MPI_Request *requests; /* owned: per line, out then in                            */
    MPI_Status *statuses;  /* owned, as `done`: room for all requests                 */
    int *done;
    int nrequests;
    unsigned char *memory;    /* owned: all slabs                                     */
    uint64_t *sent, received; /* frames to each peer; from all                        */
    struct cleave_channel **links; /* owned array                                     */
    struct cv_machine *machines;   /* owned: where the ranks are                        */
    const char **hosts;            /* owned; the names are those of the machines        */
    const struct cv_mpi_words **words; /* owned, as the hosts                         */
    struct cv_mpi_words own;           /* of this rank                                */
    const struct cv_mpi_cpus **cpus;   /* the same                                    */
    uint32_t *machine;                 /* owned                                       */
    bool *near; /* owned                                                              */
};

static inline MPI_Request *cv_ring_request(struct cv_ring *ring, unsigned index)
{
    return &ring->requests[index % CV_BRIDGE_SLABS];
}

static inline struct cv_bridge_buffer *cv_ring_slab(struct cv_ring *ring, unsigned index)
{
    return &ring->slabs[index % CV_BRIDGE_SLABS];
}

/* --- bridge.c --- */

/* --- bridge_loop.c --- */

/* Post all receives of a line. */
enum cleave_status cv_bridge_line_listen(struct cv_bridge *bridge,
                                         struct cv_bridge_line *line,
                                         struct cleave_error *err);

/* --- bridge_loop.c --- */

/* --- bridge_end.c --- */

enum cleave_status cv_bridge_end_open(struct cv_bridge_end *end, struct cv_ring *out,
                                      struct cv_ring *in, size_t room, int bell,
                                      struct cleave_error *err);
void cv_bridge_end_close(struct cv_bridge_end *end);
/* What the user has done. */
struct cv_end_events {
    unsigned filled, taken;
    bool said;
};
struct cv_end_events cv_bridge_end_look(struct cv_bridge_end *end);
/* What the bridge has done; wakes the user if that is news. */
void cv_bridge_end_tell(struct cv_bridge_end *end, unsigned freed, unsigned came,
                        bool ended, bool deaf);
/* Forget that an event has happened. */
void cv_bridge_clear_event(int fd);

/* --- bridge_loop.c --- */

/* Move everything until all lines are over and all ranks agree. */
enum cleave_status cv_bridge_move(struct cv_bridge *bridge, struct cleave_error *err);

#endif
