/* source_unpack.c -- inputs that are decoded as they come. SPDX-License-Identifier: MIT
 *
 * One thread decodes, and what it has made takes the place of the input: from then on it is a
 * stream like any other. */
#include "run/input/source_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/decode/decoder.h"
#include "run/decode/decoded_file.h"
#include "run/decode/decode_ahead.h"
#include "run/input/magic.h"
#include "run/split/format_guess.h"
#include "run/split/split_kind.h"

enum { LARGE = 4 << 20 }; /* to decode less takes no time to speak of */

static enum cleave_status unpack(struct cv_stream *stream, const struct cv_codec *codec,
                                 const char *bytes, struct cleave_error *err)
{
    CV_TRY(cv_decode_thread_start(
        &(struct cv_decode_thread_options){ .codec = codec,
                                            .name = stream->name,
                                            .fd = stream->fd,
                                            .first = bytes,
                                            .nfirst = (size_t)stream->received },
        &stream->decoding, err));
    stream->packed_fd = stream->fd;
    stream->fd = cv_decode_thread_fd(stream->decoding);
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
    const size_t seen =
        (size_t)(stretch_end < stream->received ? stretch_end : stream->received);
    bool undecided;

    if (stream->codec != NULL)
        return look_for(stream, bytes, err);
    if (stream->received == 0 && !stream->ended)
        return CLEAVE_OK; /* a decoder was asked before it had anything */
    magic = cv_magic_find(bytes, length, &undecided);
    if (magic != NULL && stream->decoding == NULL && cv_magic_codec(magic) != NULL) {
        stream->around = magic;
        return unpack(stream, cv_magic_codec(magic), bytes, err);
    }
    if (magic != NULL && cv_magic_is(magic, stream->eats)) {
        stream->looked = true;
        return CLEAVE_OK;
    }
    if (magic != NULL && stream->around != NULL)
        return cv_magic_refuse_inside(magic, stream->around, stream->name, path, err);
    if (magic != NULL)
        return cv_magic_refuse(magic, stream->name, path, err);
    stream->looked = !undecided || stream->ended;
    if (stream->looked)
        stream->like = cv_format_guess_find(bytes, seen);
    return CLEAVE_OK;
}

void cv_stream_unpacked(struct cv_stream *stream)
{
    stream->damaged = cv_decode_thread_end(stream->decoding, &stream->stunted,
                                           &stream->damage) != CLEAVE_OK;
}

const struct cv_format_guess *cv_source_like(const struct cv_source *source)
{
    if (source->splitter->kind != &cv_split_lines)
        return NULL;
    return source->stream != NULL ? source->stream->like : source->like;
}

/* --- regular files ------------------------------------------------------------------------ */

/* Who compressed it can do something about it, and waiting for one decoder looks like a run that
 * is slow for no reason. Blocks within frames of lz4 are cut all the same. */
bool cv_source_lone(const struct cv_source *source, struct cleave_error *note)
{
    if (source->lone == &cv_codec_xz)
        (void)
            cv_fail(note, CLEAVE_EINPUT,
                    "%s: one block of xz, which one core decodes: 'xz -T0' writes blocks "
                    "that are decoded side by side",
                    source->stream->name);
    else if (source->lone == &cv_codec_zstd)
        (void)cv_fail(
            note, CLEAVE_EINPUT,
            "%s: one frame of zstd, which one core decodes: 'pzstd' writes frames "
            "that are decoded side by side",
            source->stream->name);
    else
        return false;
    return true;
}

/* An empty block stands at the end of BGZF. Who writes it and is stopped between two blocks leaves a
 * file that can be decoded to its end, and of which nobody sees what it lacks. */
static bool lacks_end(const struct cv_codec *codec, int fd, uint64_t size)
{
    static const uint8_t end[28] =
        "\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03";
    uint8_t bytes[sizeof end];

    return codec == &cv_codec_bgzf && size >= sizeof end &&
           pread(fd, bytes, sizeof bytes, (off_t)(size - sizeof end)) ==
               (ssize_t)sizeof bytes &&
           memcmp(bytes, end, sizeof end) != 0;
}

bool cv_source_unended(const struct cv_source *source, struct cleave_error *note)
{
    const char *name = source->unended ? source->stream->name : NULL;
    size_t others = 0;
    char more[40] = "";

    for (size_t i = 0; i < source->nfiles; i++) {
        if (!source->files[i].unended)
            continue;
        others += name != NULL;
        name = name != NULL ? name : source->files[i].name;
    }
    if (name == NULL)
        return false;
    if (others > 0)
        snprintf(more, sizeof more, " (and of %zu other%s)", others,
                 others == 1 ? "" : "s");
    (void)cv_fail(note, CLEAVE_EINPUT,
                  "%s: the empty block at the end of BGZF is missing%s: who wrote it may "
                  "have been stopped before it was whole",
                  name, more);
    return true;
}

/* What the file is to be decoded by; NULL: it is not. */
static enum cleave_status find_codec(struct cv_source_file *file, int fd,
                                     const struct cv_source_options *options,
                                     const struct cv_codec **out,
                                     struct cleave_error *err)
{
    const struct cv_place place = { file->name, 0, 0, NULL };
    char bytes[CV_MAGIC_LOOK];
    const ssize_t got = pread(fd, bytes, sizeof bytes, 0);
    const struct cv_magic *magic;
    bool undecided;

    *out = NULL;
    if (got < 0)
        return cv_fail_at(err, &place, "cannot read: %s", strerror(errno));
    if (got > 0 && options->codec != NULL) {
        if (!options->codec->begins((const uint8_t *)bytes, (size_t)got))
            return cv_fail_at(err, &place, "expected %s (--decode %s), got other bytes",
                              options->codec->name, options->codec->name);
        *out = options->codec;
        return CLEAVE_OK;
    }
    magic = cv_magic_find(bytes, (size_t)got, &undecided);
    *out = magic != NULL ? cv_magic_codec(magic) : NULL;
    file->around = *out != NULL ? magic : NULL;
    return CLEAVE_OK;
}

bool cv_source_foretold(const struct cv_source *source, uint64_t *bytes)
{
    *bytes = source->foretold_bytes;
    return source->foretold;
}

static enum cleave_status unpack_file(struct cv_source_file *file, int fd,
                                      const struct cv_source_options *options, bool alone,
                                      bool *as_stream, struct cleave_error *err)
{
    /* A piece of a stream that gets a frame of its own is held until it is whole. */
    const bool sized = options->sized && !cv_splitter_frames(options->splitter);
    struct cv_blocks blocks = { .items = NULL };
    const struct cv_codec *codec;
    enum cleave_status status;
    bool whole;

    CV_TRY(find_codec(file, fd, options, &codec, err));
    if (codec == NULL)
        return CLEAVE_OK;
    whole = cv_blocks_find(&blocks, codec, fd, file->size);
    file->unended = whole && lacks_end(codec, fd, file->size);
    alone = alone && !(options->sized && file->size < LARGE);
    *as_stream = alone && (!whole || blocks.count < 2);
    if (whole && blocks.count == 1 && file->size >= LARGE)
        file->lone = codec;
    status = whole || (alone && !sized)
                 ? CLEAVE_OK
                 : cv_blocks_scan(&blocks, codec, fd, file->name, err);
    file->foretold = *as_stream && sized;
    file->foretold_bytes = blocks.out_end;
    if (status == CLEAVE_OK && !*as_stream)
        status = cv_decoded_file_new(codec, file->name, &blocks, &file->decoded, err);
    cv_blocks_done(&blocks);
    if (status == CLEAVE_OK && !*as_stream) {
        file->packed_size = file->size;
        file->size = cv_decoded_file_size(file->decoded);
    }
    return status;
}

enum cleave_status cv_source_file_unpack(struct cv_source_file *file,
                                         const struct cv_source_options *options,
                                         bool alone, bool *as_stream,
                                         struct cleave_error *err)
{
    const struct cv_place place = { file->name, 0, 0, NULL };
    enum cleave_status status;
    int fd;

    if (options->raw || (options->splitter->record_bytes > 0 && options->codec == NULL))
        return CLEAVE_OK;
    fd = file->borrowed ? STDIN_FILENO : open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cv_fail_at(err, &place, "cannot read: %s", strerror(errno));
    status = unpack_file(file, fd, options, alone, as_stream, err);
    if (!file->borrowed)
        close(fd);
    return status;
}
