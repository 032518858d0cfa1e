/* gather_loan.c -- outputs that lie with another process. SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fail.h"
#include "run/output/gather_parts.h"
#include "run/kit/process.h"

size_t cv_store_parts(struct cv_store *store, struct cv_taken out[CV_STORE_PARTS])
{
    size_t n = 0;

    cv_store_close(store);
    for (size_t i = 0; i < store->nextents; i++) {
        const struct cv_extent *extent = &store->extents[i];

        if (extent->begin < extent->end)
            out[n++] = (struct cv_taken){ extent->lane->fd, extent->begin, extent->end };
    }
    return n;
}

bool cv_store_adopt(struct cv_store *store, const struct cv_taken *parts, size_t nparts,
                    const struct cv_loan *loan)
{
    struct cv_gather *gather = store->gather;

    assert(loan->over != NULL && nparts <= CV_STORE_PARTS);
    if (store->nextents > 0 || gather->options.separate)
        return false;
    for (size_t i = 0; i < nparts; i++) {
        struct cv_lane *lane = cv_lane_borrow(gather, parts[i].fd);

        if (lane == NULL) {
            while (i > 0)
                cv_lane_leave(gather, store->extents[--i].lane);
            return false;
        }
        store->extents[i] = (struct cv_extent){ lane, parts[i].begin, parts[i].end };
    }
    store->nextents = nparts;
    store->loan = *loan;
    return true;
}

/* Through a pipe, so that they are copied once, and not through this process. */
static enum cleave_status copy(const struct cv_taken *part, struct cv_pipe *pipe,
                               struct cv_store *store, struct cleave_error *err)
{
    loff_t at = (loff_t)part->begin;
    enum cv_store_state state;

    while ((uint64_t)at < part->end) {
        const ssize_t n = splice(part->fd, &at, pipe->write, NULL,
                                 (size_t)(part->end - (uint64_t)at), SPLICE_F_NONBLOCK);

        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return cv_fail(err, CLEAVE_EENGINE, "cannot read the output of a worker: %s",
                           strerror(errno));
        if (n == 0)
            return cv_fail(err, CLEAVE_EENGINE, "the output of a worker was cut short");
        do
            CV_TRY(cv_store_pump(store, pipe->read, UINT64_MAX, &state, err));
        while (state == CV_STORE_BUSY);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_store_copy(struct cv_store *store, const struct cv_taken *parts,
                                 size_t nparts, struct cleave_error *err)
{
    struct cv_pipe pipe = { -1, -1 };
    enum cleave_status status = cv_pipe_open(&pipe, err);

    for (size_t i = 0; status == CLEAVE_OK && i < nparts; i++)
        status = copy(&parts[i], &pipe, store, err);
    cv_pipe_close(&pipe);
    return status;
}

enum cleave_status cv_store_bring_home(struct cv_store *store, struct cleave_error *err)
{
    struct cv_store *own, lent = *store;
    struct cv_taken parts[CV_STORE_PARTS];
    const size_t nparts = cv_store_parts(store, parts);
    enum cleave_status status;

    CV_TRY(cv_store_open(store->gather, &own, err));
    status = cv_store_copy(own, parts, nparts, err);
    if (status == CLEAVE_OK) {
        cv_store_close(own);
        memcpy(store->extents, own->extents, sizeof store->extents);
        store->nextents = own->nextents;
        store->loan.over = NULL;
        memcpy(own->extents, lent.extents, sizeof own->extents);
        own->nextents = lent.nextents;
        own->loan = lent.loan;
    }
    cv_store_drop(own);
    return status;
}
