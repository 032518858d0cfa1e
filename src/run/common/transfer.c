/* transfer.c -- data for other machines: packed values, compressed frames, files of items.
 * SPDX-License-Identifier: MIT */
#include "run/common/transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/fail.h"
#include "base/new_file.h"
#include "base/text.h"
#include "base/write_all.h"
#include "run/common/poller.h"

enum { NUMBER = 8 };

void cv_pack_done(struct cv_packer *packer)
{
    free(packer->bytes);
    *packer = (struct cv_packer){ NULL, 0, 0, false };
}

static unsigned char *reserve(struct cv_packer *packer, size_t length)
{
    packer->failed = packer->failed || length > SIZE_MAX - packer->length ||
                     !CV_ROOM(packer->bytes, &packer->room, packer->length + length);
    if (packer->failed)
        return NULL;
    packer->length += length;
    return packer->bytes + packer->length - length;
}

void cv_pack_number(struct cv_packer *packer, uint64_t value)
{
    unsigned char *out = reserve(packer, NUMBER);

    if (out != NULL)
        cv_put_little_endian(out, value, NUMBER);
}

void cv_pack_real(struct cv_packer *packer, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    cv_pack_number(packer, bits);
}

void cv_pack_raw(struct cv_packer *packer, const void *bytes, size_t length)
{
    unsigned char *out = length > 0 ? reserve(packer, length) : NULL;

    if (out != NULL)
        memcpy(out, bytes, length);
}

void cv_pack_text(struct cv_packer *packer, const char *text)
{
    const size_t length = strlen(text);

    cv_pack_number(packer, length);
    cv_pack_raw(packer, text, length);
}

uint64_t cv_unpack_number(struct cv_unpacker *unpacker)
{
    if (unpacker->failed || unpacker->left < NUMBER) {
        unpacker->failed = true;
        return 0;
    }
    unpacker->bytes += NUMBER;
    unpacker->left -= NUMBER;
    return cv_little_endian(unpacker->bytes - NUMBER, NUMBER);
}

double cv_unpack_real(struct cv_unpacker *unpacker)
{
    const uint64_t bits = cv_unpack_number(unpacker);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

const char *cv_unpack_text(struct cv_unpacker *unpacker, struct cv_arena *arena)
{
    const uint64_t length = cv_unpack_number(unpacker);
    char *text = NULL;

    if (!unpacker->failed && length <= unpacker->left &&
        memchr(unpacker->bytes, '\0', (size_t)length) == NULL)
        text = cv_array(arena, (size_t)length + 1, 1);
    if (text == NULL) {
        unpacker->failed = true;
        return "";
    }
    memcpy(text, unpacker->bytes, (size_t)length);
    unpacker->bytes += length;
    unpacker->left -= (size_t)length;
    return text;
}

size_t cv_unpack_count(struct cv_unpacker *unpacker, size_t min)
{
    const uint64_t count = cv_unpack_number(unpacker);

    if (unpacker->failed || count > unpacker->left / min) {
        unpacker->failed = true;
        return 0;
    }
    return (size_t)count;
}

bool cv_unpack_good(const struct cv_unpacker *unpacker)
{
    return !unpacker->failed && unpacker->left == 0;
}

/* --- compression of a link ----------------------------------------------------------- */

enum {
    LEVEL = 1,
    LEAST = 512, /* bytes; smaller frames are not compressed */
    AGAIN = 64,  /* frames between two measurements */
};

/* Weight of a new measurement. */
static const double NEW = 0.3;

void cv_link_compressor_init(struct cv_link_compressor *compressor)
{
    *compressor = (struct cv_link_compressor){ .saves_Bps = -1 };
}

void cv_link_compressor_done(struct cv_link_compressor *compressor)
{
    ZSTD_freeCCtx(compressor->out);
    ZSTD_freeDCtx(compressor->in);
    cv_link_compressor_init(compressor);
}

size_t cv_link_compressor_put(struct cv_link_compressor *compressor, double link_Bps,
                              const void *bytes, size_t length, void *out)
{
    double began_s, time_s, rate_Bps;
    size_t became;

    if (length < LEAST || !(link_Bps > 0))
        return 0;
    if (compressor->saves_Bps >= 0 && compressor->saves_Bps <= link_Bps &&
        ++compressor->skipped < AGAIN)
        return 0;
    compressor->skipped = 0;
    if (compressor->out == NULL)
        compressor->out = ZSTD_createCCtx();
    if (compressor->out == NULL)
        return 0;
    began_s = cv_clock_s();
    became = ZSTD_compressCCtx(compressor->out, out, length, bytes, length, LEVEL);
    if (ZSTD_isError(became)) /* the result would be longer */
        became = length;
    time_s = cv_clock_s() - began_s;
    rate_Bps = ((double)length - (double)became) / (time_s > 1e-7 ? time_s : 1e-7);
    compressor->saves_Bps = compressor->saves_Bps < 0
                                ? rate_Bps
                                : (1 - NEW) * compressor->saves_Bps + NEW * rate_Bps;
    return became < length && compressor->saves_Bps > link_Bps ? became : 0;
}

bool cv_link_compressor_get(struct cv_link_compressor *compressor, const void *bytes,
                            size_t length, void *out, size_t max, size_t *out_length)
{
    size_t got;

    if (compressor->in == NULL)
        compressor->in = ZSTD_createDCtx();
    if (compressor->in == NULL)
        return false;
    got = ZSTD_decompressDCtx(compressor->in, out, max, bytes, length);
    if (ZSTD_isError(got))
        return false;
    *out_length = got;
    return true;
}

/* --- files of items ------------------------------------------------------------------ */

static enum cleave_status refuse(const char *name, const char *why,
                                 struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EINPUT, "cannot send '%s': %s", CV_SHOWN(name, 160), why);
}

enum cleave_status cv_item_transfer_name(const char *name, const char **out,
                                         struct cleave_error *err)
{
    const char *dot = strstr(name, "/./");
    const char *there = dot != NULL ? dot + 3 : name;

    while (dot != NULL && *there == '/') /* never absolute */
        there++;
    if (*there == '\0' || there[strlen(there) - 1] == '/')
        return refuse(name, "it is no name of a file", err);
    for (const char *at = there; at != NULL; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
            return refuse(name, "'..' leads out of the folder there", err);
    }
    *out = there;
    return CLEAVE_OK;
}

static enum cleave_status put(struct cv_new_file *made,
                              const struct cv_item_transfer_file *file,
                              struct cleave_error *err)
{
    const struct timespec times[2] = { { .tv_nsec = UTIME_NOW },
                                       { .tv_sec = (time_t)(file->mtime_ns / 1000000000),
                                         .tv_nsec =
                                             (long)(file->mtime_ns % 1000000000) } };

    const int error = cv_copy_range(file->fd, file->begin, file->end, made->fd);

    if (error != 0)
        return cv_fail(err, CLEAVE_EENGINE, "%s", strerror(error));
    made->older.st_mode = file->mode & 0777;
    if (file->mtime_ns > 0 && futimens(made->fd, times) != 0)
        return cv_fail(err, CLEAVE_EENGINE, "%s", strerror(errno));
    CV_TRY(cv_new_file_place(made, err));
    return cv_new_file_close(made, err);
}

enum cleave_status cv_item_transfer_put(const char *path,
                                        const struct cv_item_transfer_file *file,
                                        struct cleave_error *err)
{
    struct cv_new_file made = { .fd = -1 };
    struct cleave_error why;
    struct stat older;
    enum cleave_status status;

    CV_TRY(cv_folders_make(path, err));
    if (file->overwrites && lstat(path, &older) == 0 && S_ISREG(older.st_mode))
        (void)chmod(path, (older.st_mode & 0777) | S_IWUSR);
    status = cv_new_file_open(path, 0, &made, &why);
    CV_THEN(status, put(&made, file, &why));
    if (status == CLEAVE_OK)
        return CLEAVE_OK;
    cv_new_file_drop(&made);
    return cv_fail(err, status, "cannot write '%.200s': %.200s", path, why.text);
}

void cv_item_transfer_remove(const char *path)
{
    char *copy = strdup(path), *slash;

    (void)unlink(path);
    while (copy != NULL && *path != '/' && (slash = strrchr(copy, '/')) != NULL) {
        *slash = '\0';
        if (*copy == '\0' || rmdir(copy) != 0)
            break;
    }
    free(copy);
}
