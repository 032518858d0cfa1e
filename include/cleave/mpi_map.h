/* mpi_map.h -- share a divisible job among the ranks of an MPI program.
 * SPDX-License-Identifier: MIT
 *
 * Rank 0 of a communicator hands out ranges of units to the other ranks, as much at a
 * time and in such an order as a policy of cleave decides. What a chunk comes to
 * ("partial") is either sent back to rank 0, or combined with others from rank to rank,
 * wherever two that may be combined are found, until one is left. While a rank computes,
 * the data of its next chunk is on its way.
 *
 * The callbacks of a rank run in a thread of their own, one at a time, and must not call
 * MPI; the thread that called cleave_mpi_map_reduce looks after the messages. With MPI
 * initialised for MPI_THREAD_SINGLE they run in the calling thread, and nothing overlaps.
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

/* Bytes that callbacks read or make. */
struct cleave_mpi_buffer {
    void *bytes; /* aligned for any type; NULL while size is 0 and was never more     */
    size_t size;
    size_t room; /* for the call below                                                */
};

/* Give the buffer `size` bytes: the first ones are kept, new ones are not set. NULL when
 * memory is short (the buffer is as it was then), or its bytes. */
void *cleave_mpi_buffer_resize(struct cleave_mpi_buffer *buffer, size_t size);

/* A callback that fails returns what is not CLEAVE_OK and may say why in err->text. The
 * call ends then on all ranks, with this error. */
struct cleave_mpi_map {
    /* --- every rank --- */

    /* Compute units [begin, end) and put what they come to into `out`, which is empty.
     * `input` is what `pack` made of them; its size is 0 if there is no `pack`. Not
     * called on rank 0, unless it is alone. */
    enum cleave_status (*compute)(void *context, uint64_t begin, uint64_t end,
                                  const struct cleave_mpi_buffer *input,
                                  struct cleave_mpi_buffer *out,
                                  struct cleave_error *err);
    /* Combine two partials, of which `left` is of earlier units unless `commutative`,
     * into `out`, which is empty. Has to be associative. All ranks or none; without it,
     * all partials go to `collect` on rank 0. */
    enum cleave_status (*combine)(void *context, const struct cleave_mpi_buffer *left,
                                  const struct cleave_mpi_buffer *right,
                                  struct cleave_mpi_buffer *out,
                                  struct cleave_error *err);
    void *context; /* for all callbacks of this rank                                  */

    /* --- rank 0; not looked at on others --- */

    uint64_t units; /* how many there are                                             */
    /* Put what the computation of units [begin, end) needs into `out`, which is empty.
     * NULL: the ranks have the input, or get at it, themselves. */
    enum cleave_status (*pack)(void *context, uint64_t begin, uint64_t end,
                               struct cleave_mpi_buffer *out, struct cleave_error *err);
    /* Without `combine`: what units [begin, end) came to; in the order of the units, or,
     * if `commutative`, as they come. */
    enum cleave_status (*collect)(void *context, uint64_t begin, uint64_t end,
                                  const struct cleave_mpi_buffer *partial,
                                  struct cleave_error *err);
    bool commutative;   /* partials may be combined in any order                        */
    const char *policy; /* how the load is shared; NULL: "learn"                      */
    const struct cleave_setting *settings; /* of the policy; nsettings of them        */
    size_t nsettings;
    /* What is known of ranks 1, 2, ... and their links, as workers 0, 1, ... in units of
     * this job, for policies that plan ahead. NULL: all alike. */
    const struct cleave_platform *platform;
    struct cleave_trace *trace; /* optional: what happens is appended                 */
};

/* How it went, on rank 0; zero on others. */
struct cleave_mpi_result {
    struct cleave_mpi_buffer value; /* with `combine`: what all units came to         */
    double seconds;
    uint64_t chunks, combinations;
    uint64_t master_bytes; /* packed input and partials that rank 0 sent or got       */
    uint64_t peer_bytes;   /* partials that went from rank to rank                    */
    uint64_t ahead;        /* partials that went to a rank while it combined others   */
};

/* Collective: all ranks of an intra-communicator call it. Fails in the same way on all. */
enum cleave_status cleave_mpi_map_reduce(const struct cleave_mpi_map *map, MPI_Comm comm,
                                         struct cleave_mpi_result *out,
                                         struct cleave_error *err);
/* Release the value. */
void cleave_mpi_result_done(struct cleave_mpi_result *result);

CLEAVE_END_C
#endif
