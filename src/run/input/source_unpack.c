/* source_unpack.c -- inputs that are decoded as they come. SPDX-License-Identifier: MIT
 *
 * One thread decodes, and its pipe takes the place of the input: from then on it is a
 * stream like any other. */
#include "run/input/source_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/decode/codec.h"
#include "run/decode/unpacking.h"
#include "run/input/magic.h"

static enum cleave_status unpack(struct cv_stream *stream, const struct cv_codec *codec,
                                 const char *bytes, struct cleave_error *err)
{
    CV_TRY(
        cv_unpacking_start(&(struct cv_unpacking_options){ .codec = codec,
                                                           .name = stream->name,
                                                           .fd = stream->fd,
                                                           .first = bytes,
                                                           .nfirst =
                                                               (size_t)stream->received },
                           &stream->unpacking, err));
    stream->packed_fd = stream->fd;
    stream->fd = cv_unpacking_fd(stream->unpacking);
    stream->polls = true;
    stream->ended = false;
    stream->received = 0; /* what is decoded is written over it */
    return CLEAVE_OK;
}

/* What has to be of one form. */
static enum cleave_status look_for(struct cv_stream *stream, const char *bytes,
                                   struct cleave_error *err)
{
    const struct cv_place place = { stream->name, 0, 0, NULL };
    const struct cv_codec *codec = stream->codec;

    if (stream->received < CV_CODEC_HEAD && !stream->ended)
        return CLEAVE_OK;
    if (stream->received > 0 &&
        !codec->begins((const uint8_t *)bytes, (size_t)stream->received))
        return cv_fail_at(err, &place, "expected %s (--decode %s), got other bytes",
                          codec->name, codec->name);
    stream->codec = NULL;
    if (stream->received > 0)
        return unpack(stream, codec, bytes, err);
    stream->looked = true;
    return CLEAVE_OK;
}

enum cleave_status cv_stream_look(struct cv_stream *stream, struct cleave_error *err)
{
    const size_t length =
        stream->received < CV_MAGIC_LOOK ? (size_t)stream->received : CV_MAGIC_LOOK;
    const char *path = stream->borrowed ? NULL : stream->name;
    const struct cv_magic *magic;
    uint64_t stretch_end;
    const char *bytes = cv_spool_at(&stream->spool, 0, &stretch_end);
    bool undecided;

    if (stream->codec != NULL)
        return look_for(stream, bytes, err);
    magic = cv_magic_find(bytes, length, &undecided);
    if (magic != NULL && stream->unpacking == NULL && cv_magic_codec(magic) != NULL) {
        stream->around = magic;
        return unpack(stream, cv_magic_codec(magic), bytes, err);
    }
    if (magic != NULL && stream->around != NULL)
        return cv_magic_refuse_inside(magic, stream->around, stream->name, path, err);
    if (magic != NULL)
        return cv_magic_refuse(magic, stream->name, path, err);
    stream->looked = !undecided || stream->ended;
    return CLEAVE_OK;
}

void cv_stream_unpacked(struct cv_stream *stream)
{
    stream->damaged = cv_unpacking_end(stream->unpacking, &stream->stunted,
                                       &stream->damage) != CLEAVE_OK;
}

enum cleave_status cv_source_packed(const char *path,
                                    const struct cv_source_options *options,
                                    const struct cv_codec **out, struct cleave_error *err)
{
    const struct cv_place place = { path, 0, 0, NULL };
    const bool standard = strcmp(path, "-") == 0;
    const struct cv_magic *magic;
    char bytes[CV_MAGIC_LOOK];
    bool undecided;
    ssize_t got;
    int fd;

    *out = NULL;
    if (options->raw || (options->splitter->record_bytes > 0 && options->codec == NULL))
        return CLEAVE_OK;
    fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    got = fd < 0 ? -1 : pread(fd, bytes, sizeof bytes, 0);
    if (fd >= 0 && !standard)
        close(fd);
    if (got < 0)
        return cv_fail_at(err, &place, "cannot read: %s", strerror(errno));
    if (options->codec != NULL) { /* whether it is will be seen */
        *out = got > 0 ? options->codec : NULL;
        return CLEAVE_OK;
    }
    magic = cv_magic_find(bytes, (size_t)got, &undecided);
    *out = magic != NULL ? cv_magic_codec(magic) : NULL;
    return CLEAVE_OK;
}
