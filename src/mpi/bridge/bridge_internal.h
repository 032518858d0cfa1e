/* bridge_internal.h -- types of the bridge to MPI. SPDX-License-Identifier: MIT
 *
 * A ring holds a few buffers of one direction. The user of a link fills a buffer, which
 * is sent while the next ones are filled. All buffers of the other direction are posted
 * as receives; they complete in order, are read by the user and posted again. Links are
 * used in place (bridge_end.c); frames between workers go through a socket. */
#ifndef CV_BRIDGE_INTERNAL_H
#define CV_BRIDGE_INTERNAL_H
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/arena.h"
#include "engine/mpi_bridge.h"

enum {
    CV_BRIDGE_BUFFERS = 4,
    CV_BRIDGE_TAG_LINK = 1, /* bytes of a link; an empty message ends it */
    CV_BRIDGE_TAG_PEER = 2, /* a frame between workers */
};

struct cv_bridge_buffer {
    unsigned char *bytes; /* owned by the bridge                                      */
    size_t length, done;  /* done: bytes of a received frame written to the socket    */
    bool complete;        /* MPI has completed its request                            */
};

struct cv_ring {
    struct cv_bridge_buffer buffers[CV_BRIDGE_BUFFERS];
    MPI_Request *requests; /* borrowed: one per buffer                                  */
    unsigned first, count; /* oldest in use, and number in use; `first` only rises    */
    bool ended;            /* no more buffers follow                                  */
    bool marked;           /* out: the empty message has been sent                    */
};

/* The user's end of a link. Numbers count buffers, as `first` of a ring. */
struct cv_bridge_end {
    struct cleave_channel channel; /* the user's view: first                          */
    bool open;
    int bell;                 /* borrowed: wakes the bridge                           */
    struct cv_ring *out, *in; /* borrowed: only `bytes` and `length` of buffers       */
    pthread_mutex_t lock;     /* for all members below, and for `length`              */
    unsigned filled, taken;   /* raised by the user                                   */
    unsigned freed, came;     /* raised by the bridge                                 */
    bool wanted;              /* the user waits for a free buffer                     */
    bool left, said;          /* the user reads no more; has ended the link           */
    bool ended, deaf;         /* no more bytes arrive; no more can be sent            */
};

/* Both directions to another rank, or to all peers. */
struct cv_bridge_line {
    int rank;    /* MPI_ANY_SOURCE for the peers                                      */
    size_t room; /* bytes of a buffer                                                 */
    struct cv_ring out, in;
    bool broken;

    /* A link. */
    struct cv_bridge_end end;
    unsigned came; /* buffers that the user has got                                   */

    /* The peers: frames, each with its destination. */
    bool peers;
    int fd;         /* owned end of a socket pair; -1: none                           */
    bool deaf;      /* the socket has no reader: frames are dropped                   */
    bool blocked;   /* the socket is full                                             */
    size_t partial; /* bytes of an incomplete frame, in the free buffer               */
};

struct cv_bridge {
    struct cv_mpi_bridge open; /* the caller's view: first                            */
    struct cv_mpi_words own;   /* arguments of this rank                              */
    struct cv_arena arena;     /* all arrays but `memory`                             */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool started, refused; /* under the lock: opening has ended; it has failed        */
    bool failed;           /* the thread's                                            */
    bool closing;          /* under the lock                                          */
    int exit_status;       /* if closing                                              */
    struct cleave_error err;

    MPI_Comm comm;
    struct cv_bridge_line *lines;
    uint32_t nlines;
    int bell;              /* owned: an event that wakes the bridge                   */
    MPI_Request *requests; /* per line, out then in                                   */
    MPI_Status *statuses;  /* as many as requests                                     */
    int *done;             /* as many as requests                                     */
    int nrequests;
    unsigned char *memory;    /* owned: all buffers                                   */
    uint64_t *sent, received; /* frames to each peer; from all                        */
    struct cleave_channel **links;
};

static inline MPI_Request *cv_ring_request(struct cv_ring *ring, unsigned index)
{
    return &ring->requests[index % CV_BRIDGE_BUFFERS];
}

static inline struct cv_bridge_buffer *cv_ring_buffer(struct cv_ring *ring,
                                                      unsigned index)
{
    return &ring->buffers[index % CV_BRIDGE_BUFFERS];
}

/* Post all receives of a line. */
enum cleave_status cv_bridge_line_listen(struct cv_bridge *bridge,
                                         struct cv_bridge_line *line,
                                         struct cleave_error *err);
/* Move bytes and frames until all lines have ended and all ranks agree. */
enum cleave_status cv_bridge_move(struct cv_bridge *bridge, struct cleave_error *err);

enum cleave_status cv_bridge_end_open(struct cv_bridge_end *end, struct cv_ring *out,
                                      struct cv_ring *in, size_t room, int bell,
                                      struct cleave_error *err);
void cv_bridge_end_close(struct cv_bridge_end *end);
/* The state of the user's side. */
struct cv_end_events {
    unsigned filled, taken;
    bool said;
};
struct cv_end_events cv_bridge_end_look(struct cv_bridge_end *end);
/* Set the state of the bridge's side; wakes the user if it has changed. */
void cv_bridge_end_tell(struct cv_bridge_end *end, unsigned freed, unsigned came,
                        bool ended, bool deaf);
/* Reset an event descriptor. */
void cv_bridge_clear_event(int fd);

#endif
