/* gather_loan.c -- outputs that lie with another process. SPDX-License-Identifier: MIT */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/gather_parts.h"

enum { COPY = 64 * 1024 }; /* read and written at a time */

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

static enum cleave_status append(struct cv_store *store, const struct cv_extent *extent,
                                 struct cleave_error *err)
{
    char bytes[COPY];

    for (uint64_t at = extent->begin; at < extent->end;) {
        const uint64_t left = extent->end - at;
        const ssize_t got =
            pread(extent->lane->fd, bytes, left < COPY ? (size_t)left : COPY, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cv_fail(err, CLEAVE_EENGINE, "cannot read the output of a worker: %s",
                           strerror(errno));
        if (got == 0)
            return cv_fail(err, CLEAVE_EENGINE, "the output of a worker was cut short");
        CV_TRY(cv_store_write(store, bytes, (size_t)got, err));
        at += (uint64_t)got;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_store_bring_home(struct cv_store *store, struct cleave_error *err)
{
    struct cv_store *own, lent = *store;
    enum cleave_status status = CLEAVE_OK;

    CV_TRY(cv_store_open(store->gather, &own, err));
    for (size_t i = 0; status == CLEAVE_OK && i < store->nextents; i++)
        status = append(own, &store->extents[i], err);
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
