/* blocks.c -- where a compressed file can be decoded from. SPDX-License-Identifier: MIT */
#include "run/decode/blocks.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/decode/decoder.h"
#include "run/decode/gzip_ahead.h"
#include "run/kit/usable_cores.h"

enum { BLOCKS_MOST = 1 << 20 }; /* or so: 24 bytes each are kept */

enum cleave_status cv_blocks_find(struct cv_blocks *blocks, const struct cv_codec *codec,
                                  int fd, uint64_t size, bool *whole,
                                  struct cleave_error *err)
{
    static const struct {
        const struct cv_codec *codec;
        bool (*find)(struct cv_blocks *blocks, const struct cv_block_walk *walk);
    } forms[] = {
        { &cv_codec_bgzf, cv_blocks_of_bgzf },
        { &cv_codec_zstd, cv_blocks_of_zstd },
        { &cv_codec_lz4, cv_blocks_of_lz4 },
        { &cv_codec_xz, cv_blocks_of_xz },
    };
    const struct cv_block_walk walk = { fd, size, size / BLOCKS_MOST };

    (void)err;
    *whole = false;
    blocks->grain = walk.grain;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].codec == codec)
            *whole = forms[i].find(blocks, &walk);
    if (!*whole)
        cv_blocks_done(blocks);
    return CLEAVE_OK;
}

/* --- by decoding ---------------------------------------------------------------------------- */

struct place {
    int fd;
    uint64_t at;
};

static ssize_t read_on(void *context, void *to, size_t most)
{
    struct place *place = context;
    const ssize_t got = pread(place->fd, to, most, (off_t)place->at);

    place->at += got > 0 ? (uint64_t)got : 0;
    return got;
}

/* Nothing else is done yet: all cores are for it. */
static enum cleave_status open_decoder(const struct cv_codec *codec,
                                       const struct cv_decoder_input *input, int fd,
                                       struct cv_decoder **out, struct cleave_error *err)
{
    const unsigned cores = cv_usable_cores();
    void *state = NULL;
    struct stat now;

    if (codec == &cv_codec_gzip && fstat(fd, &now) == 0 &&
        cv_gzip_ahead_pays((uint64_t)now.st_size, cores))
        state = cv_gzip_ahead_open(&(struct cv_gzip_ahead_options){
            .fd = fd, .size = (uint64_t)now.st_size, .cores = cores });
    return state != NULL
               ? cv_decoder_open_with(&cv_codec_gzip_ahead, state, input, out, err)
               : cv_decoder_open(codec, input, out, err);
}

enum cleave_status cv_blocks_scan(struct cv_blocks *blocks, const struct cv_codec *codec,
                                  int fd, const char *name, struct cleave_error *err)
{
    struct place place = { fd, 0 };
    const struct cv_decoder_input input = { .read = read_on,
                                            .context = &place,
                                            .name = name };
    struct cv_decoder *decoder;
    enum cleave_status status;
    uint64_t member = UINT64_MAX;
    const void *bytes;
    size_t length;

    CV_TRY(open_decoder(codec, &input, fd, &decoder, err));
    do {
        status = cv_decoder_next(decoder, &bytes, &length, err);
        if (status == CLEAVE_OK && length > 0 && cv_decoder_member(decoder) != member) {
            member = cv_decoder_member(decoder);
            if (!cv_blocks_add(blocks,
                               (struct cv_block){ member, blocks->out_end, member }))
                status = cv_fail_memory(err, "an index of the input");
        }
        blocks->out_end += status == CLEAVE_OK ? length : 0;
    } while (status == CLEAVE_OK && length > 0);
    cv_decoder_free(decoder);
    return status;
}
