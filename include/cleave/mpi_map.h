/* mpi_map.h -- share a divisible job among the ranks of an MPI program.
 * SPDX-License-Identifier: MIT
 *
 * Rank 0 of a communicator distributes ranges of units to the other ranks; a policy of
 * cleave decides their sizes and order. The result of a chunk ("partial") is either sent
 * back to rank 0, or combined with others from rank to rank, in any place where two may
 * be combined, until one is left. While a rank computes, the data of its next chunk is in
 * transit.
 *
 * The callbacks of a rank run in a separate thread, one at a time, and must not call MPI;
 * the thread that called cleave_mpi_map_reduce handles the messages. With MPI initialised
 * for MPI_THREAD_SINGLE, callbacks run in the calling thread, and nothing overlaps.
 *
 * Link with libcleave-mpi of your MPI library. */
#ifndef CLEAVE_MPI_MAP_H
#define CLEAVE_MPI_MAP_H
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/run.h>

CLEAVE_BEGIN_C

/* Bytes that callbacks read or write. */
struct cleave_mpi_buffer {
    void *bytes; /* aligned for any type; NULL if size has always been 0 */
    size_t size;
    size_t room; /* capacity, for cleave_mpi_buffer_resize */
};

/* Set the size of the buffer to `size` bytes. Old bytes are kept, new bytes are not set.
 * Returns the bytes, or NULL if memory is short; the buffer is then unchanged. */
void *cleave_mpi_buffer_resize(struct cleave_mpi_buffer *buffer, size_t size);

/* A callback that fails returns a status other than CLEAVE_OK and may set err->text. The
 * call then fails on all ranks with this error. */
struct cleave_mpi_map {
    /* --- every rank --- */

    /* Compute units [begin, end) and put their partial into `out`, which is empty.
     * `input` has the bytes that `pack` made for them; its size is 0 without `pack`. Not
     * called on rank 0, unless it is alone. */
    enum cleave_status (*compute)(void *context, uint64_t begin, uint64_t end,
                                  const struct cleave_mpi_buffer *input,
                                  struct cleave_mpi_buffer *out,
                                  struct cleave_error *err);
    /* Combine two partials into `out`, which is empty. `left` has earlier units than
     * `right` unless `commutative` is set. Has to be associative. Set on all ranks or on
     * none; without it, all partials go to `collect` on rank 0. */
    enum cleave_status (*combine)(void *context, const struct cleave_mpi_buffer *left,
                                  const struct cleave_mpi_buffer *right,
                                  struct cleave_mpi_buffer *out,
                                  struct cleave_error *err);
    void *context; /* passed to all callbacks of this rank */

    /* --- rank 0; ignored on other ranks --- */

    uint64_t units; /* number of units of the job */
    /* Put the input of units [begin, end) into `out`, which is empty. NULL: the ranks
     * have the input, or read it themselves. */
    enum cleave_status (*pack)(void *context, uint64_t begin, uint64_t end,
                               struct cleave_mpi_buffer *out, struct cleave_error *err);
    /* Without `combine`: receive the partial of units [begin, end). Called in the order
     * of the units or, if `commutative`, of arrival. */
    enum cleave_status (*collect)(void *context, uint64_t begin, uint64_t end,
                                  const struct cleave_mpi_buffer *partial,
                                  struct cleave_error *err);
    bool commutative;   /* partials may be combined in any order                        */
    const char *policy; /* distributes the load; NULL: "learn" */
    const struct cleave_setting *settings; /* for the policy; nsettings of them */
    size_t nsettings;
    /* Costs of ranks 1, 2, ... and their links, as workers 0, 1, ... in units of this
     * job, for policies that plan ahead. NULL: all equal. */
    const struct cleave_platform *platform;
    struct cleave_trace *trace; /* optional: events and orders are appended */
};

/* Result and statistics, on rank 0; all zero on other ranks. */
struct cleave_mpi_result {
    struct cleave_mpi_buffer value; /* with `combine`: the result of all units */
    double seconds;
    uint64_t chunks, combinations;
    uint64_t master_bytes; /* packed input and partials that rank 0 sent or received */
    uint64_t peer_bytes;   /* bytes of partials sent between other ranks */
    /* partials that arrived at a rank while it was combining others */
    uint64_t ahead;
};

/* Collective: all ranks of an intra-communicator call it. Fails with the same error on
 * all ranks. */
enum cleave_status cleave_mpi_map_reduce(const struct cleave_mpi_map *map, MPI_Comm comm,
                                         struct cleave_mpi_result *out,
                                         struct cleave_error *err);
/* Release the value. */
void cleave_mpi_result_done(struct cleave_mpi_result *result);

CLEAVE_END_C
#endif
