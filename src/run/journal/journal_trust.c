/* journal_trust.c -- whose file a journal is, and whose those are that SQLite keeps beside it.
 * SPDX-License-Identifier: MIT */
#include "run/journal/journal_trust.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

enum { MAGIC = 4, FORMS = 3 };

/* What stands behind the name, and how such a file begins (fileformat2.html and walformat.html of
 * SQLite); one that was not whole when the machine stopped may begin with zeros. */
static const struct companion {
    const char *suffix;
    unsigned char magic[FORMS][MAGIC];
} companions[] = {
    { "-wal", { { 0x37, 0x7f, 0x06, 0x82 }, { 0x37, 0x7f, 0x06, 0x83 }, { 0 } } },
    /* Its version, in the order of bytes of the machine. */
    { "-shm", { { 0x18, 0xe2, 0x2d, 0x00 }, { 0x00, 0x2d, 0xe2, 0x18 }, { 0 } } },
    { "-journal", { { 0xd9, 0xd5, 0x05, 0xf9 }, { 0 }, { 0 } } },
};

static enum cleave_status trust_file(const char *path, const char *suffix,
                                     const struct stat *facts, struct cleave_error *err)
{
    const struct cv_place place = { path, 0, 0, NULL };

    if (!S_ISREG(facts->st_mode))
        return cv_fail_at(err, &place,
                          "expected a journal or a new file, got one%s%s that is no "
                          "regular file",
                          *suffix != '\0' ? " with " : "", suffix);
    if (facts->st_uid != geteuid())
        return cv_fail_at(err, &place,
                          "the journal%s%s belongs to user %lu, not to you: if you trust "
                          "what it holds, copy it to a file of your own",
                          *suffix != '\0' ? "'s file " : "", suffix,
                          (unsigned long)facts->st_uid);
    if (facts->st_size > 0 && (facts->st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return cv_fail_at(err, &place,
                          "others may write to the journal%s%s (mode %03o): if you trust "
                          "what it holds, take that away with chmod go-w",
                          *suffix != '\0' ? "'s file " : "", suffix,
                          (unsigned)(facts->st_mode & 0777));
    return CLEAVE_OK;
}

/* Whether SQLite can have made it; what cannot be read it will complain of itself. */
static bool is_companion(const char *path, const struct companion *companion)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    unsigned char head[MAGIC];
    const ssize_t got = fd >= 0 ? pread(fd, head, sizeof head, 0) : 0;
    static const unsigned char blank[MAGIC];
    /* Who opens -shm first cuts it to three bytes, and may be killed before it writes there. */
    bool known = got <= 0 || (got < MAGIC && memcmp(head, blank, (size_t)got) == 0);

    if (fd >= 0)
        close(fd);
    for (size_t i = 0; i < FORMS; i++)
        known = known ||
                (got == MAGIC && memcmp(head, companion->magic[i], sizeof head) == 0);
    return known;
}

static enum cleave_status trust_companion(const char *path, char *beside,
                                          const struct companion *companion,
                                          struct cleave_error *err)
{
    const struct cv_place place = { path, 0, 0, NULL };
    struct stat facts;

    if (lstat(beside, &facts) != 0)
        return CLEAVE_OK;
    CV_TRY(trust_file(path, companion->suffix, &facts, err));
    if (is_companion(beside, companion))
        return CLEAVE_OK;
    return cv_fail_at(err, &place,
                      "a file of this name and %s behind it is there, which is not the "
                      "journal's and would be lost: name another journal",
                      companion->suffix);
}

enum cleave_status cv_journal_trust(const char *path, const struct stat *facts,
                                    struct cleave_error *err)
{
    const size_t room = strlen(path) + sizeof "-journal";
    char *beside = malloc(room);
    enum cleave_status status = trust_file(path, "", facts, err);

    if (beside == NULL && status == CLEAVE_OK)
        status = cv_fail_memory(err, "a journal");
    for (size_t i = 0; status == CLEAVE_OK && i < sizeof companions / sizeof *companions;
         i++) {
        snprintf(beside, room, "%s%s", path, companions[i].suffix);
        status = trust_companion(path, beside, &companions[i], err);
    }
    free(beside);
    return status;
}
