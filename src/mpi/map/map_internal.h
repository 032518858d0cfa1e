/* map_internal.h -- what rank 0 and the others of a shared job have in common.
 * SPDX-License-Identifier: MIT
 *
 * Rank 0 sends orders, the others answer with events; both are notes. A note is followed by
 * bytes with a tag of their own where it says so. Messages of one rank arrive in the order
 * they were sent, and whoever gets an order to receive posts the receive at once: so all
 * that was sent is received, whenever a job is stopped.
 *
 *     CHUNK    compute [begin, end); `bytes` of input follow. `keep`: the partial stays,
 *              called `id`
 *     GIVE     send the partial `id` to rank `peer` and forget it
 *     AWAIT    the partial `id`, of `bytes` bytes, comes from rank `peer` and stays; orders
 *              about it wait until it is there
 *     FOLD     combine `left` and `right` to `id`; if `peer` is not 0, the one called
 *              `moves`, of `bytes` bytes, comes from there
 *     STOP     it is over, well or with an error
 *
 *     COMPUTED the chunk `id` is done, in `seconds`; if it is not kept, `bytes` follow
 *     FOLDED   `id` has been made, in `seconds`, and has `bytes`
 *     FAILED   a callback did: the error
 *     LEFT     the answer to STOP: nothing more comes from here */
#ifndef CV_MAP_INTERNAL_H
#define CV_MAP_INTERNAL_H
#include <cleave/mpi_map.h>
#include "mpi/map/map_messages.h"
#include "mpi/map/map_tasks.h"

enum cv_map_kind {
    CV_MAP_CHUNK,
    CV_MAP_GIVE,
    CV_MAP_AWAIT,
    CV_MAP_FOLD,
    CV_MAP_STOP,
    CV_MAP_COMPUTED,
    CV_MAP_FOLDED,
    CV_MAP_FAILED,
    CV_MAP_LEFT,
};

struct cv_map_message {
    uint32_t kind, peer, keep, status;
    uint64_t id, begin, end, bytes, left, right, moves;
    double seconds;
    char text[sizeof((struct cleave_error *)0)->text]; /* only sent with an error     */
};

/* Send a copy of a note. */
enum cleave_status cv_map_tell(struct cv_map_requests *requests, int rank,
                               const struct cv_map_message *note,
                               struct cleave_error *err);
/* A note that says what went wrong, and back. */
void cv_map_note_error(struct cv_map_message *note, const struct cleave_error *error);
enum cleave_status cv_map_error_of(const struct cv_map_message *note,
                                   struct cleave_error *err);

/* See what MPI and the tasks have done; nap when it is nothing. `silent` items of mail
 * are only there to listen. *last_s is when something happened last; no nap goes past
 * until_s. */
enum cleave_status cv_map_progress(struct cv_map_requests *requests,
                                   struct cv_map_tasks *tasks, size_t silent,
                                   double *last_s, double until_s,
                                   struct cleave_error *err);

/* Callbacks, with an error that is always set. */
enum cleave_status cv_map_compute(const struct cleave_mpi_map *map, uint64_t begin,
                                  uint64_t end, const struct cleave_mpi_buffer *input,
                                  struct cleave_mpi_buffer *out,
                                  struct cleave_error *err);
enum cleave_status cv_map_combine(const struct cleave_mpi_map *map,
                                  const struct cleave_mpi_buffer *left,
                                  const struct cleave_mpi_buffer *right,
                                  struct cleave_mpi_buffer *out,
                                  struct cleave_error *err);
enum cleave_status cv_map_pack(const struct cleave_mpi_map *map, uint64_t begin,
                               uint64_t end, struct cleave_mpi_buffer *out,
                               struct cleave_error *err);
enum cleave_status cv_map_collect(const struct cleave_mpi_map *map, uint64_t begin,
                                  uint64_t end, const struct cleave_mpi_buffer *partial,
                                  struct cleave_error *err);
void cv_map_buffer_done(struct cleave_mpi_buffer *buffer);

/* The parts of the call: other ranks, rank 0, and rank 0 without others. */
enum cleave_status cv_map_work(const struct cleave_mpi_map *map, MPI_Comm comm,
                               struct cv_map_tasks *tasks, struct cleave_error *err);
enum cleave_status cv_map_lead(const struct cleave_mpi_map *map, MPI_Comm comm,
                               struct cv_map_tasks *tasks, struct cleave_mpi_result *out,
                               struct cleave_error *err);
enum cleave_status cv_map_alone(const struct cleave_mpi_map *map,
                                struct cleave_mpi_result *out, struct cleave_error *err);

#endif
