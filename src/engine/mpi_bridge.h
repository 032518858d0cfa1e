/* mpi_bridge.h -- links between the ranks of an MPI job, as channels.
 * SPDX-License-Identifier: MIT
 *
 * The command `cleave` is not linked with any MPI library: the one whose mpirun started
 * it comes with libcleave-mpi, which is loaded when `--mpi` asks for it and has this one
 * symbol. A thread of its own moves messages between the channels given here and the
 * other ranks, with nonblocking sends and receives; nothing else of the process calls
 * MPI. What goes over a link is not looked at, and of a frame between workers no more
 * than its length and whom it is for. */
#ifndef CV_MPI_BRIDGE_H
#define CV_MPI_BRIDGE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>
#include "engine/channel.h"

/* Where a frame between workers says how long it is and whom it is for: numbers of 4
 * bytes, lowest byte first (run/wire/frame.c has all of it, and checks that both agree). */
enum {
    CV_BRIDGE_HEAD = 48,      /* bytes before the payload      */
    CV_BRIDGE_LENGTH_AT = 8,  /* of the payload, in bytes      */
    CV_BRIDGE_PEER_AT = 12,   /* rank that the frame is for    */
    CV_BRIDGE_MOST = 1 << 20, /* bytes of payload, at most     */
};

/* What a rank was started with, as all ranks get to know it. */
struct cv_mpi_words {
    uint64_t count, hash; /* of all words                                             */
    uint64_t length;      /* of the text                                              */
    char text[1000];      /* the first words, each ended by a zero byte; perhaps cut    */
};

/* Processors that a rank may use: a bit for each, as of cpu_set_t; all 0: not known. */
struct cv_mpi_cpus {
    unsigned char bits[128];
};

struct cv_mpi_bridge {
    uint32_t rank, size;
    /* Rank 0: links[r] goes to rank r (links[0] is NULL). Others: links[0] goes to rank 0,
     * and links[r] for r > 0 is NULL. They are the caller's to end. */
    struct cleave_channel *const *links;
    /* Others than rank 0: frames for a peer are written to this socket, `peer` being the
     * rank they go to, and arrive there as they are. Each end should always be read, or
     * everybody's frames may have to wait. -1 on rank 0. */
    int peers;
    const char *const *hosts; /* per rank: name of its machine                        */
    const bool *near;         /* per rank: on the same machine as rank 0              */
    const uint32_t *machine;  /* per rank: the first rank on the same machine         */
    const struct cv_mpi_cpus *const *cpus;   /* per rank                              */
    const struct cv_mpi_words *const *words; /* per rank                              */
};

struct cv_mpi_bridge_calls {
    uint32_t version; /* CV_MPI_BRIDGE_VERSION                                        */
    /* All ranks, once in the life of a process. */
    enum cleave_status (*open)(const struct cv_mpi_words *own, struct cv_mpi_bridge **out,
                               struct cleave_error *err);
    /* All ranks: when the links have been ended, and the socket of the peers closed, by
     * those who use them, wait until everything sent has arrived, end MPI, and forget the bridge. If a
     * rank is not there any more, the others cannot end together: rank 0 lets MPI end all
     * of them then, itself included, with the given exit status. Fails on others than
     * rank 0 if MPI has not been ended. */
    enum cleave_status (*close)(struct cv_mpi_bridge *bridge, int exit_status,
                                struct cleave_error *err);
};

enum { CV_MPI_BRIDGE_VERSION = 7 };
#define CV_MPI_BRIDGE_SYMBOL "cleave_mpi_bridge_calls" /* a struct of that type */

#endif
