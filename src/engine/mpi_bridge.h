/* mpi_bridge.h -- links between the ranks of an MPI job, as channels.
 * SPDX-License-Identifier: MIT
 *
 * The command `cleave` is not linked with an MPI library. libcleave-mpi, which belongs to
 * the MPI whose mpirun started cleave, is loaded on demand and has this one symbol. Its
 * thread moves messages between the channels and the other ranks with nonblocking sends
 * and receives; no other thread calls MPI. Messages of links are not interpreted; in a
 * frame between workers only length and receiver are read. */
#ifndef CV_MPI_BRIDGE_H
#define CV_MPI_BRIDGE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>
#include "engine/channel.h"

/* Offsets in a frame between workers: numbers of 4 bytes, lowest byte first
 * (run/wire/frame.c defines frames and checks that both agree). */
enum {
    CV_BRIDGE_HEAD = 48,      /* bytes before the payload      */
    CV_BRIDGE_LENGTH_AT = 8,  /* the payload's length in bytes */
    CV_BRIDGE_PEER_AT = 12,   /* the receiver's rank */
    CV_BRIDGE_MOST = 1 << 20, /* bytes of payload, at most     */
};

/* The command line of a rank, known to all ranks. */
struct cv_mpi_words {
    uint64_t count, hash; /* all arguments */
    uint64_t length;      /* bytes in `text` */
    char text[1000];      /* the first arguments, each ended by a zero byte; may be cut */
};

/* CPUs that a rank may use: a bit for each, as in cpu_set_t; all 0: not known. */
struct cv_mpi_cpus {
    unsigned char bits[128];
};

/* The description of a rank, known to all ranks. */
struct cv_mpi_rank {
    char host[256]; /* name of its machine */
    char boot[64];  /* differs between machines with the same name */
    struct cv_mpi_cpus cpus;
    struct cv_mpi_words words;
};

struct cv_mpi_bridge {
    uint32_t rank, size;
    /* Rank 0: links[r] goes to rank r (links[0] is NULL). Other ranks: links[0] goes to
     * rank 0, the rest is NULL. The caller ends them. */
    struct cleave_channel *const *links;
    /* Ranks above 0: frames for a peer are written to this socket, with the receiver's
     * rank, and arrive unchanged. Each end must be read continuously, or all frames may
     * wait. -1 on rank 0. */
    int peers;
    const struct cv_mpi_rank *ranks;
    const uint32_t *machine; /* per rank: the first rank on the same machine */
};

struct cv_mpi_bridge_calls {
    uint32_t version; /* CV_MPI_BRIDGE_VERSION                                        */
    /* All ranks, once in the life of a process. */
    enum cleave_status (*open)(const struct cv_mpi_words *own, struct cv_mpi_bridge **out,
                               struct cleave_error *err);
    /* All ranks, after the links were ended and the socket of the peers was closed: wait
     * until all messages have arrived, finalize MPI, free the bridge. If a rank is
     * missing, the remaining ranks cannot finalize: rank 0 aborts the MPI job, itself
     * included, with this exit status. Fails on ranks above 0 if MPI was not
     * finalized. */
    enum cleave_status (*close)(struct cv_mpi_bridge *bridge, int exit_status,
                                struct cleave_error *err);
};

enum { CV_MPI_BRIDGE_VERSION = 8 };
#define CV_MPI_BRIDGE_SYMBOL "cleave_mpi_bridge_calls" /* a struct of that type */

#endif
