/* lent.c -- outputs of a worker on the same machine, left where they are.
 * SPDX-License-Identifier: MIT */
#include "run/wire/lent.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/kit/process.h"

/* Where bytes are: of a descriptor of a process, which is this very file. */
struct place {
    uint64_t process, fd, begin, end, device, inode;
};

enum { PLACE_BYTES = 6 * 8 };

bool cv_lent_pack(struct cv_packer *packer, const struct cv_taken *parts, size_t nparts)
{
    struct stat facts;

    cv_pack_number(packer, nparts);
    for (size_t i = 0; i < nparts; i++) {
        if (fstat(parts[i].fd, &facts) != 0)
            return false;
        cv_pack_number(packer, (uint64_t)getpid());
        cv_pack_number(packer, (uint64_t)parts[i].fd);
        cv_pack_number(packer, parts[i].begin);
        cv_pack_number(packer, parts[i].end);
        cv_pack_number(packer, (uint64_t)facts.st_dev);
        cv_pack_number(packer, (uint64_t)facts.st_ino);
    }
    return !packer->failed;
}

static bool unpack_place(struct cv_unpacker *unpacker, struct place *out)
{
    out->process = cv_unpack_number(unpacker);
    out->fd = cv_unpack_number(unpacker);
    out->begin = cv_unpack_number(unpacker);
    out->end = cv_unpack_number(unpacker);
    out->device = cv_unpack_number(unpacker);
    out->inode = cv_unpack_number(unpacker);
    return !unpacker->failed && out->begin <= out->end;
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

enum cleave_status cv_lent_take(struct cv_unpacker *unpacker, struct cv_store *store,
                                const struct cv_loan *loan, enum cv_lent *out,
                                struct cleave_error *err)
{
    const size_t n = cv_unpack_count(unpacker, PLACE_BYTES);
    struct cv_taken parts[CV_STORE_PARTS];
    enum cleave_status status = CLEAVE_OK;
    bool reached = !unpacker->failed && n <= CV_STORE_PARTS;
    size_t opened = 0;

    *out = CV_LENT_UNREACHED;
    for (; reached && opened < n; opened += reached) {
        struct place place;
        int fd = -1;

        if (unpack_place(unpacker, &place))
            fd = reach(&place);
        reached = fd >= 0;
        if (reached)
            parts[opened] = (struct cv_taken){ fd, place.begin, place.end };
    }
    if (reached && cv_store_adopt(store, parts, n, loan)) {
        *out = CV_LENT_LEFT;
    } else if (reached) {
        status = cv_store_copy(store, parts, n, err);
        if (status == CLEAVE_OK)
            *out = CV_LENT_COPIED;
    }
    while (opened > 0)
        cv_close(&parts[--opened].fd);
    return status;
}
