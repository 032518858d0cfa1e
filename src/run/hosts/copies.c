/* copies.c -- copies of cleave for the processors of hosts. SPDX-License-Identifier:
 * MIT */
#include "run/hosts/copies.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cleave/version.h>
#include "base/helper_program.h"
#include "base/fail.h"

/* Bytes of an ELF header: class, byte order and machine. */
enum { HEAD = 20, CLASS = 4, ORDER = 5, MACHINE = 18, BITS_64 = 2, LITTLE = 1, BIG = 2 };

static const struct {
    const char *name;
    unsigned char order;
    unsigned machine;
} processors[CV_PROCESSORS] = {
    { "x86_64", LITTLE, 62 },  { "aarch64", LITTLE, 183 }, { "riscv64", LITTLE, 243 },
    { "ppc64le", LITTLE, 21 }, { "s390x", BIG, 22 },       { "loongarch64", LITTLE, 258 },
};

const char *cv_processor_name(size_t processor)
{
    return processors[processor].name;
}

/* CV_PROCESSORS: another one. */
static size_t processor_here(void)
{
    struct utsname name;
    size_t i = 0;

    if (uname(&name) != 0)
        return CV_PROCESSORS;
    while (i < CV_PROCESSORS && strcmp(processors[i].name, name.machine) != 0)
        i++;
    return i;
}

/* The processor that the program is for. EINPUT: unknown, or not a program. */
static enum cleave_status processor_of(const char *file, size_t *out,
                                       struct cleave_error *err)
{
    unsigned char head[HEAD] = { 0 };
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd >= 0 ? read(fd, head, sizeof head) : -1;
    const int reason = errno;

    if (fd >= 0)
        close(fd);
    if (length < 0)
        return cv_fail(err, CLEAVE_EINPUT, "cannot read %s: %s", file, strerror(reason));
    for (size_t i = 0; i < CV_PROCESSORS; i++) {
        const bool big = processors[i].order == BIG;
        const unsigned machine = big ? head[MACHINE] * 256U + head[MACHINE + 1]
                                     : head[MACHINE + 1] * 256U + head[MACHINE];

        if (length == HEAD && memcmp(head, "\177ELF", 4) == 0 && head[CLASS] == BITS_64 &&
            head[ORDER] == processors[i].order && machine == processors[i].machine) {
            *out = i;
            return CLEAVE_OK;
        }
    }
    return cv_fail(
        err, CLEAVE_EINPUT,
        "expected a program for Linux on x86_64, aarch64, riscv64, ppc64le, s390x "
        "or loongarch64, or a folder of such, got %s%s",
        file,
        head[0] == 0x1f && head[1] == 0x8b ? ", which is compressed: unpack it first"
                                           : "");
}

/* The file is the copy for its processor, which has to be `expected` unless that is
 * CV_PROCESSORS. */
static enum cleave_status take(const char *file, size_t expected, struct cv_arena *arena,
                               struct cv_copies *out, struct cleave_error *err)
{
    struct cv_copy *copy;
    size_t is = 0;

    CV_TRY(processor_of(file, &is, err));
    copy = &out->of[is];
    if (expected != CV_PROCESSORS && is != expected)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected %s to be a program for %s, it is for %s", file,
                       processors[expected].name, processors[is].name);
    if (copy->file != NULL)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "expected one program for each processor, got %s and %s, both for %s",
            copy->file, file, processors[is].name);
    copy->file = cv_arena_text(arena, file);
    return copy->file != NULL ? CLEAVE_OK : cv_fail_memory(err, "the copies of cleave");
}

/* FOLDER/NAME, if it exists and no copy for that processor was found. */
static enum cleave_status look(const char *folder, const char *name, size_t processor,
                               struct cv_arena *arena, struct cv_copies *out,
                               struct cleave_error *err)
{
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);

    if (out->of[processor].file != NULL || length < 0 || (size_t)length >= sizeof path ||
        access(path, F_OK) != 0)
        return CLEAVE_OK;
    return take(path, processor, arena, out, err);
}

/* A directory with names by processor, or the output of `make release`. */
static enum cleave_status take_folder(const char *folder, struct cv_arena *arena,
                                      struct cv_copies *out, struct cleave_error *err)
{
    size_t found = 0;

    for (size_t i = 0; i < CV_PROCESSORS; i++) {
        const char *processor = processors[i].name;
        char name[3][100];

        snprintf(name[0], sizeof name[0], "cleave-%s", processor);
        snprintf(name[1], sizeof name[1], "%s/cleave-portable", processor);
        snprintf(name[2], sizeof name[2], "cleave-%s-linux-%s/bin/cleave", CLEAVE_VERSION,
                 processor);
        for (size_t k = 0; k < sizeof name / sizeof *name; k++)
            CV_TRY(look(folder, name[k], i, arena, out, err));
        found += out->of[i].file != NULL;
    }
    return found > 0
               ? CLEAVE_OK
               : cv_fail(err, CLEAVE_EINPUT,
                         "expected a folder with cleave-x86_64 or the like, or one that "
                         "'make release' has made, got %s",
                         folder);
}

static enum cleave_status take_named(const char *name, struct cv_arena *arena,
                                     struct cv_copies *out, struct cleave_error *err)
{
    struct stat info;

    return stat(name, &info) == 0 && S_ISDIR(info.st_mode)
               ? take_folder(name, arena, out, err)
               : take(name, CV_PROCESSORS, arena, out, err);
}

/* Files next to this program, a static one first; else the program itself. */
static enum cleave_status look_beside(struct cv_arena *arena, struct cv_copies *out,
                                      struct cleave_error *err)
{
    char self[PATH_MAX], folder[PATH_MAX], name[100];
    const size_t here = processor_here();
    char *slash;

    if (!cv_own_program(self, sizeof self))
        return CLEAVE_OK;
    memcpy(folder, self, sizeof folder);
    slash = strrchr(folder, '/');
    *(slash != NULL ? slash : folder) = '\0';
    for (size_t i = 0; i < CV_PROCESSORS; i++) {
        snprintf(name, sizeof name, "cleave-%s", processors[i].name);
        CV_TRY(look(folder, name, i, arena, out, err));
    }
    if (here == CV_PROCESSORS)
        return CLEAVE_OK;
    snprintf(name, sizeof name, "%.80s-portable", slash != NULL ? slash + 1 : self);
    CV_TRY(look(folder, name, here, arena, out, err));
    return out->of[here].file == NULL ? take(self, here, arena, out, err) : CLEAVE_OK;
}

static enum cleave_status measure(struct cv_copy *copy, struct cleave_error *err)
{
    struct cv_content_hasher *hasher = NULL;
    const int fd = open(copy->file, O_RDONLY | O_CLOEXEC);
    enum cleave_status status;

    copy->size = fd >= 0 ? (long long)lseek(fd, 0, SEEK_END) : -1;
    if (copy->size < 0)
        status = cv_fail(err, CLEAVE_EINPUT, "cannot read %s: %s", copy->file,
                         strerror(errno));
    else
        status = cv_content_hasher_new(&hasher, err);
    if (status == CLEAVE_OK)
        status =
            cv_content_hasher_add(hasher, copy->file, fd, 0, (uint64_t)copy->size, err);
    if (status == CLEAVE_OK)
        cv_content_hash_text(cv_content_hasher_finish(hasher), copy->hash);
    cv_content_hasher_free(hasher);
    if (fd >= 0)
        close(fd);
    return status;
}

enum cleave_status cv_copies_find(const char *const *named, size_t count,
                                  struct cv_arena *arena, struct cv_copies *out,
                                  struct cleave_error *err)
{
    *out = (struct cv_copies){ .of = { { .file = NULL } } };
    for (size_t i = 0; i < count; i++)
        CV_TRY(take_named(named[i], arena, out, err));
    CV_TRY(look_beside(arena, out, err));
    for (size_t i = 0; i < CV_PROCESSORS; i++)
        if (out->of[i].file != NULL)
            CV_TRY(measure(&out->of[i], err));
    return CLEAVE_OK;
}
