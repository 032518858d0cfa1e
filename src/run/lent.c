/* lent.c -- outputs of a worker on the same machine, taken from where they are.
 * SPDX-License-Identifier: MIT */
#include "run/lent.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/process.h"

/* Where bytes are: of a descriptor of a process, which is this very file. */
struct place {
    uint64_t process, fd, begin, end, device, inode;
};

bool cv_lent_pack(struct cv_packer *packer, const struct cv_taken *taken)
{
    struct stat facts;

    if (fstat(taken->fd, &facts) != 0)
        return false;
    cv_pack_number(packer, (uint64_t)getpid());
    cv_pack_number(packer, (uint64_t)taken->fd);
    cv_pack_number(packer, taken->begin);
    cv_pack_number(packer, taken->end);
    cv_pack_number(packer, (uint64_t)facts.st_dev);
    cv_pack_number(packer, (uint64_t)facts.st_ino);
    return !packer->failed;
}

/* The file, if it can be opened and is the one that was meant: processes of other
 * containers may have the same number. Else -1. */
static int reach(const struct place *place)
{
    char path[64];
    struct stat facts;
    int fd;

    snprintf(path, sizeof path, "/proc/%llu/fd/%llu", (unsigned long long)place->process,
             (unsigned long long)place->fd);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &facts) != 0 || (uint64_t)facts.st_dev != place->device ||
                    (uint64_t)facts.st_ino != place->inode || !S_ISREG(facts.st_mode) ||
                    (uint64_t)facts.st_size < place->end))
        cv_close(&fd);
    return fd;
}

/* Through a pipe, so that they are copied once, and not through this process. */
static enum cleave_status copy(const struct place *place, int fd, struct cv_pipe *pipe,
                               struct cv_store *store, struct cleave_error *err)
{
    loff_t at = (loff_t)place->begin;
    enum cv_store_state state;

    while ((uint64_t)at < place->end) {
        const ssize_t n = splice(fd, &at, pipe->write, NULL,
                                 (size_t)(place->end - (uint64_t)at), SPLICE_F_NONBLOCK);

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

enum cleave_status cv_lent_take(const void *payload, size_t length,
                                struct cv_store *store, bool *out_taken,
                                struct cleave_error *err)
{
    struct cv_unpacker unpacker = { payload, length, false };
    struct cv_pipe pipe = { -1, -1 };
    struct place place;
    enum cleave_status status;
    int fd;

    place.process = cv_unpack_number(&unpacker);
    place.fd = cv_unpack_number(&unpacker);
    place.begin = cv_unpack_number(&unpacker);
    place.end = cv_unpack_number(&unpacker);
    place.device = cv_unpack_number(&unpacker);
    place.inode = cv_unpack_number(&unpacker);
    *out_taken = false;
    if (!cv_unpack_good(&unpacker) || place.begin > place.end)
        return CLEAVE_OK;
    fd = reach(&place);
    if (fd < 0)
        return CLEAVE_OK;
    status = cv_pipe_open(&pipe, err);
    if (status == CLEAVE_OK)
        status = copy(&place, fd, &pipe, store, err);
    *out_taken = status == CLEAVE_OK;
    cv_pipe_close(&pipe);
    cv_close(&fd);
    return status;
}
