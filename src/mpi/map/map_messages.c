/* map_messages.c -- messages under way, with calls for those that have arrived.
 * SPDX-License-Identifier: MIT */
#include "mpi/map/map_messages.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/fail.h"

/* MPI counts in int. */
static const size_t PIECE = (size_t)1 << 30;
/* Every MPI has tags up to 32767. */
enum { TAGS = 16384 };

void cv_map_requests_init(struct cv_map_requests *requests, MPI_Comm comm)
{
    *requests = (struct cv_map_requests){ .comm = comm };
}

void cv_map_requests_done(struct cv_map_requests *requests)
{
    free(requests->items);
    free(requests->requests);
    free(requests->statuses);
    free(requests->ready);
    *requests = (struct cv_map_requests){ 0 };
}

int cv_map_requests_tag(uint64_t id)
{
    return CV_MAIL_DATA + (int)(id % TAGS);
}

static enum cleave_status fail_mpi(const char *what, int code, struct cleave_error *err)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    MPI_Error_string(code, text, &length);
    return cv_fail(err, CLEAVE_EENGINE, "MPI could not %s: %.400s", what, text);
}

static bool grow_array(struct cv_map_requests *requests)
{
    size_t room = requests->room, same;
    void *items =
        cv_grow(requests->items, &room, requests->count + 1, sizeof *requests->items);
    void *grown;

    if (items == NULL)
        return false;
    requests->items = items;
    grown = cv_grow(requests->requests, (same = requests->room, &same),
                    requests->count + 1, sizeof *requests->requests);
    if (grown == NULL)
        return false;
    requests->requests = grown;
    grown = cv_grow(requests->statuses, (same = requests->room, &same),
                    requests->count + 1, sizeof *requests->statuses);
    if (grown == NULL)
        return false;
    requests->statuses = grown;
    grown = cv_grow(requests->ready, (same = requests->room, &same), requests->count + 1,
                    sizeof *requests->ready);
    if (grown == NULL)
        return false;
    requests->ready = grown;
    requests->room = room;
    return true;
}

static int next_piece(const struct cv_map_requests *requests,
                      struct cv_map_requests_item *item, MPI_Request *request)
{
    const size_t rest = item->size - item->moved;
    const int n = (int)(rest < PIECE ? rest : PIECE);

    return item->in ? MPI_Irecv(item->bytes + item->moved, n, MPI_BYTE, item->rank,
                                item->tag, requests->comm, request)
                    : MPI_Isend(item->bytes + item->moved, n, MPI_BYTE, item->rank,
                                item->tag, requests->comm, request);
}

enum cleave_status cv_map_requests_begin(struct cv_map_requests *requests,
                                         struct cv_map_requests_item *item,
                                         struct cleave_error *err)
{
    int code;

    item->moved = 0;
    if (requests->count == requests->room && !grow_array(requests))
        return cv_fail_memory(err, "messages");
    code = next_piece(requests, item, &requests->requests[requests->count]);
    if (code != MPI_SUCCESS)
        return fail_mpi(item->in ? "receive" : "send", code, err);
    requests->items[requests->count++] = item;
    return CLEAVE_OK;
}

/* Close the gaps that items left which are done. */
static void close_gaps(struct cv_map_requests *requests)
{
    size_t kept = 0;

    for (size_t i = 0; i < requests->count; i++) {
        if (requests->items[i] == NULL)
            continue;
        requests->items[kept] = requests->items[i];
        requests->requests[kept++] = requests->requests[i];
    }
    requests->count = kept;
}

enum cleave_status cv_map_requests_look(struct cv_map_requests *requests, bool *out_any,
                                        struct cleave_error *err)
{
    int n = 0;
    int code;

    *out_any = false;
    if (requests->count == 0)
        return CLEAVE_OK;
    code = MPI_Testsome((int)requests->count, requests->requests, &n, requests->ready,
                        requests->statuses);
    if (code != MPI_SUCCESS)
        return fail_mpi("move messages", code, err);
    if (n == MPI_UNDEFINED || n == 0)
        return CLEAVE_OK;
    *out_any = true;
    for (int i = 0; i < n; i++) {
        /* Calls may begin other items: those come behind, so the numbers hold. */
        const size_t at = (size_t)requests->ready[i];
        struct cv_map_requests_item *item = requests->items[at];
        const size_t rest = item->size - item->moved;
        const int from = requests->statuses[i].MPI_SOURCE;

        item->moved += rest < PIECE ? rest : PIECE;
        if (item->moved < item->size) {
            code = next_piece(requests, item, &requests->requests[at]);
            if (code != MPI_SUCCESS)
                return fail_mpi("move messages", code, err);
            continue;
        }
        requests->items[at] = NULL;
        item->done(item->context, item, from);
    }
    close_gaps(requests);
    return CLEAVE_OK;
}
