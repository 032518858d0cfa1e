/* mpi_bridge.h -- links between the ranks of an MPI job, as descriptors.
 * SPDX-License-Identifier: MIT
 *
 * The command `cleave` is not linked with any MPI library: the one whose mpirun started it
 * comes with libcleave-mpi, which is loaded when `--mpi` asks for it and has this one
 * symbol. A thread of its own moves frames (frame.h) between the descriptors given here and
 * the other ranks, with nonblocking sends and receives; nothing else of the process calls
 * MPI. What is behind a frame's head is not looked at. */
#ifndef CV_MPI_BRIDGE_H
#define CV_MPI_BRIDGE_H
#include <stdbool.h>
#include <stdint.h>
#include <cleave/error.h>

struct cv_mpi_bridge {
    uint32_t rank, size;
    /* Rank 0: links[r] is a stream socket to rank r (links[0] is -1). Others: links[0] is
     * the socket to rank 0, and links[r] for r > 0 is -1. */
    const int *links;
    /* Others than rank 0: frames for a peer are written to this socket, `peer` being the
     * rank they go to; what comes from peers is read from it, `peer` being the sender.
     * -1 on rank 0. */
    int peers;
    const char *const *hosts; /* per rank: name of its machine                         */
    const bool *near;         /* per rank: on the same machine as rank 0               */
};

struct cv_mpi_bridge_calls {
    uint32_t version; /* CV_MPI_BRIDGE_VERSION */
    const char *library; /* "Open MPI v4.1.4 ..." */
    enum cleave_status (*open)(struct cv_mpi_bridge **out, struct cleave_error *err);
    /* All ranks: when the sockets have been shut down by those who use them, wait until
     * everything written has arrived, end MPI. */
    enum cleave_status (*close)(struct cv_mpi_bridge *bridge, struct cleave_error *err);
};

enum { CV_MPI_BRIDGE_VERSION = 1 };
#define CV_MPI_BRIDGE_SYMBOL "cleave_mpi_bridge_calls" /* a struct of that type */

#endif
