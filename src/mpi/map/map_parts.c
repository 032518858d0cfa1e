/* map_parts.c -- buffers, callbacks and notes of a shared job. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "mpi/bridge/bridge_idle.h"
#include "mpi/map/map_internal.h"

/* While bytes are moving, MPI should be called often. */
static const long MOVING_NAP_NS = 50000;

/* --- buffers ------------------------------------------------------------------------------ */

__attribute__((visibility("default"))) void *
cleave_mpi_buffer_resize(struct cleave_mpi_buffer *buffer, size_t size)
{
    if (buffer->bytes == NULL || size > buffer->room) {
        const size_t half = buffer->room / 2;
        /* Who asks for a little more again and again should not have to pay for it. */
        size_t room = size > buffer->room + half || half > SIZE_MAX - buffer->room
                          ? size
                          : buffer->room + half;
        void *bytes;

        room = room > 0 ? room : 1;
        bytes = realloc(buffer->bytes, room);
        if (bytes == NULL)
            return NULL;
        buffer->bytes = bytes;
        buffer->room = room;
    }
    buffer->size = size;
    return buffer->bytes;
}

void cv_map_buffer_done(struct cleave_mpi_buffer *buffer)
{
    free(buffer->bytes);
    *buffer = (struct cleave_mpi_buffer){ 0 };
}

/* --- callbacks ---------------------------------------------------------------------------- */

/* A callback need not say more than that it failed. */
static enum cleave_status finish(enum cleave_status status, const char *name,
                                 struct cleave_error *err)
{
    if (status == CLEAVE_OK)
        return status;
    if (err->text[0] == '\0')
        return cv_fail(err, status, "the callback '%s' failed: %s", name,
                       cleave_status_text(status));
    err->status = status;
    return status;
}

enum cleave_status cv_map_compute(const struct cleave_mpi_map *map, uint64_t begin,
                                  uint64_t end, const struct cleave_mpi_buffer *input,
                                  struct cleave_mpi_buffer *out, struct cleave_error *err)
{
    err->text[0] = '\0';
    return finish(map->compute(map->context, begin, end, input, out, err), "compute",
                  err);
}

enum cleave_status cv_map_combine(const struct cleave_mpi_map *map,
                                  const struct cleave_mpi_buffer *left,
                                  const struct cleave_mpi_buffer *right,
                                  struct cleave_mpi_buffer *out, struct cleave_error *err)
{
    err->text[0] = '\0';
    return finish(map->combine(map->context, left, right, out, err), "combine", err);
}

enum cleave_status cv_map_pack(const struct cleave_mpi_map *map, uint64_t begin,
                               uint64_t end, struct cleave_mpi_buffer *out,
                               struct cleave_error *err)
{
    err->text[0] = '\0';
    return finish(map->pack(map->context, begin, end, out, err), "pack", err);
}

enum cleave_status cv_map_collect(const struct cleave_mpi_map *map, uint64_t begin,
                                  uint64_t end, const struct cleave_mpi_buffer *partial,
                                  struct cleave_error *err)
{
    err->text[0] = '\0';
    return finish(map->collect(map->context, begin, end, partial, err), "collect", err);
}

/* --- notes -------------------------------------------------------------------------------- */

struct letter {
    struct cv_map_requests_item item;
    struct cv_map_message note;
};

static void letter_sent(void *context, struct cv_map_requests_item *item, int from)
{
    (void)item;
    (void)from;
    free(context);
}

enum cleave_status cv_map_tell(struct cv_map_requests *requests, int rank,
                               const struct cv_map_message *note,
                               struct cleave_error *err)
{
    struct letter *letter = malloc(sizeof *letter);
    enum cleave_status status;

    if (letter == NULL)
        return cv_fail_memory(err, "messages");
    letter->note = *note;
    letter->item = (struct cv_map_requests_item){
        .done = letter_sent,
        .context = letter,
        .bytes = (unsigned char *)&letter->note,
        .size = note->status != CLEAVE_OK ? sizeof *note
                                          : offsetof(struct cv_map_message, text),
        .rank = rank,
        .tag = rank == 0 ? CV_MAIL_EVENT : CV_MAIL_ORDER,
    };
    status = cv_map_requests_begin(requests, &letter->item, err);
    if (status != CLEAVE_OK)
        free(letter);
    return status;
}

void cv_map_note_error(struct cv_map_message *note, const struct cleave_error *error)
{
    note->status = (uint32_t)error->status;
    snprintf(note->text, sizeof note->text, "%s", error->text);
}

enum cleave_status cv_map_error_of(const struct cv_map_message *note,
                                   struct cleave_error *err)
{
    if (note->status == CLEAVE_OK)
        return CLEAVE_OK;
    return cv_fail(err, (enum cleave_status)note->status, "%.*s",
                   (int)sizeof note->text - 1, note->text);
}

enum cleave_status cv_map_progress(struct cv_map_requests *requests,
                                   struct cv_map_tasks *tasks, size_t silent,
                                   double *last_s, double until_s,
                                   struct cleave_error *err)
{
    struct timespec idle;
    double now_s, left_s;
    bool any;

    CV_TRY(cv_map_requests_look(requests, &any, err));
    any |= cv_map_tasks_fetch(tasks) > 0;
    now_s = cv_idle_wait_clock_s();
    if (any) {
        *last_s = now_s;
        return CLEAVE_OK;
    }
    idle = cv_idle_wait_for(now_s - *last_s);
    if (requests->count > silent && idle.tv_nsec > MOVING_NAP_NS)
        idle.tv_nsec = MOVING_NAP_NS;
    left_s = until_s - now_s;
    if (left_s < 1e-9 * (double)idle.tv_nsec)
        idle.tv_nsec = left_s > 0 ? (long)(1e9 * left_s) : 0;
    cv_map_tasks_nap(tasks, &idle);
    return CLEAVE_OK;
}
