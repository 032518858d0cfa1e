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

void cv_map_requests_init(struct cv_map_requests *mail, MPI_Comm comm)
{
    *mail = (struct cv_map_requests){ .comm = comm };
}

void cv_map_requests_done(struct cv_map_requests *mail)
{
    free(mail->items);
    free(mail->requests);
    free(mail->statuses);
    free(mail->ready);
    *mail = (struct cv_map_requests){ 0 };
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

static bool grow_array(struct cv_map_requests *mail)
{
    size_t room = mail->room, same;
    void *items = cv_grow(mail->items, &room, mail->count + 1, sizeof *mail->items);
    void *grown;

    if (items == NULL)
        return false;
    mail->items = items;
    grown = cv_grow(mail->requests, (same = mail->room, &same), mail->count + 1,
                    sizeof *mail->requests);
    if (grown == NULL)
        return false;
    mail->requests = grown;
    grown = cv_grow(mail->statuses, (same = mail->room, &same), mail->count + 1,
                    sizeof *mail->statuses);
    if (grown == NULL)
        return false;
    mail->statuses = grown;
    grown = cv_grow(mail->ready, (same = mail->room, &same), mail->count + 1,
                    sizeof *mail->ready);
    if (grown == NULL)
        return false;
    mail->ready = grown;
    mail->room = room;
    return true;
}

static int next_piece(const struct cv_map_requests *mail,
                      struct cv_map_requests_item *item, MPI_Request *request)
{
    const size_t rest = item->size - item->moved;
    const int n = (int)(rest < PIECE ? rest : PIECE);

    return item->in ? MPI_Irecv(item->bytes + item->moved, n, MPI_BYTE, item->rank,
                                item->tag, mail->comm, request)
                    : MPI_Isend(item->bytes + item->moved, n, MPI_BYTE, item->rank,
                                item->tag, mail->comm, request);
}

enum cleave_status cv_map_requests_begin(struct cv_map_requests *mail,
                                         struct cv_map_requests_item *item,
                                         struct cleave_error *err)
{
    int code;

    item->moved = 0;
    if (mail->count == mail->room && !grow_array(mail))
        return cv_fail_memory(err, "messages");
    code = next_piece(mail, item, &mail->requests[mail->count]);
    if (code != MPI_SUCCESS)
        return fail_mpi(item->in ? "receive" : "send", code, err);
    mail->items[mail->count++] = item;
    return CLEAVE_OK;
}

/* Close the gaps that items left which are done. */
static void close_gaps(struct cv_map_requests *mail)
{
    size_t kept = 0;

    for (size_t i = 0; i < mail->count; i++) {
        if (mail->items[i] == NULL)
            continue;
        mail->items[kept] = mail->items[i];
        mail->requests[kept++] = mail->requests[i];
    }
    mail->count = kept;
}

enum cleave_status cv_map_requests_look(struct cv_map_requests *mail, bool *out_any,
                                        struct cleave_error *err)
{
    int n = 0;
    int code;

    *out_any = false;
    if (mail->count == 0)
        return CLEAVE_OK;
    code =
        MPI_Testsome((int)mail->count, mail->requests, &n, mail->ready, mail->statuses);
    if (code != MPI_SUCCESS)
        return fail_mpi("move messages", code, err);
    if (n == MPI_UNDEFINED || n == 0)
        return CLEAVE_OK;
    *out_any = true;
    for (int i = 0; i < n; i++) {
        /* Calls may begin other items: those come behind, so the numbers hold. */
        const size_t at = (size_t)mail->ready[i];
        struct cv_map_requests_item *item = mail->items[at];
        const size_t rest = item->size - item->moved;
        const int from = mail->statuses[i].MPI_SOURCE;

        item->moved += rest < PIECE ? rest : PIECE;
        if (item->moved < item->size) {
            code = next_piece(mail, item, &mail->requests[at]);
            if (code != MPI_SUCCESS)
                return fail_mpi("move messages", code, err);
            continue;
        }
        mail->items[at] = NULL;
        item->done(item->context, item, from);
    }
    close_gaps(mail);
    return CLEAVE_OK;
}
