/* map_messages.h -- messages under way, with calls for those that have arrived.
 * SPDX-License-Identifier: MIT */
#ifndef CV_MAP_MESSAGES_H
#define CV_MAP_MESSAGES_H
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cleave/error.h>

enum {
    CV_MAIL_ORDER = 1, /* tags: from rank 0, ... */
    CV_MAIL_EVENT = 2, /* ... to rank 0          */
    CV_MAIL_DATA = 16, /* and for named bytes    */
};

/* Bytes of any length go in pieces of so many, one after the other; each end knows the
 * length beforehand. Their tag comes from a name that is used once. */
struct cv_map_requests_item {
    /* Called when all of it has been sent, or received; `from` is who sent it. */
    void (*done)(void *context, struct cv_map_requests_item *item, int from);
    void *context;
    unsigned char *bytes; /* borrowed                                                 */
    size_t size, moved;
    int rank, tag;
    bool in;
};

struct cv_map_requests {
    MPI_Comm comm;
    struct cv_map_requests_item *
        *items;            /* borrowed: under way                               */
    MPI_Request *requests; /* owned, all as long as `items`                     */
    MPI_Status *statuses;
    int *ready;
    size_t count, room;
    int code; /* of the MPI call that failed first                                    */
};

void cv_map_requests_init(struct cv_map_requests *requests, MPI_Comm comm);
void cv_map_requests_done(struct cv_map_requests *requests);
/* The tag for bytes with a name. */
int cv_map_requests_tag(uint64_t id);
/* Begin to send or receive; the item is the mail's until it is done. */
enum cleave_status cv_map_requests_begin(struct cv_map_requests *requests,
                                         struct cv_map_requests_item *item,
                                         struct cleave_error *err);
/* Make calls for what is done; *out_any: there was something. Fails when MPI does. */
enum cleave_status cv_map_requests_look(struct cv_map_requests *requests, bool *out_any,
                                        struct cleave_error *err);

#endif
