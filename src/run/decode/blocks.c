/* blocks.c -- where a compressed file can be decoded from. SPDX-License-Identifier: MIT */
#include "run/decode/blocks.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"
#include "run/decode/decode_ahead.h"
#include "run/common/machine.h"

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

static ssize_t read_on(void *context, void *to, size_t max)
{
    struct place *place = context;
    const ssize_t got = pread(place->fd, to, max, (off_t)place->at);

    place->at += got > 0 ? (uint64_t)got : 0;
    return got;
}

enum cleave_status cv_blocks_scan(struct cv_blocks *blocks, const struct cv_codec *codec,
                                  int fd, const char *name, struct cleave_error *err)
{
    struct place place = { fd, 0 };
    const struct cv_decoder_input input = { .read = read_on,
                                            .context = &place,
                                            .name = name };
    struct cv_ahead_file file = { .fd = fd };
    struct cv_ahead *ahead;
    enum cleave_status status;
    uint64_t member = UINT64_MAX;
    const void *bytes;
    struct stat now;
    size_t length;

    if (fstat(fd, &now) == 0)
        file.size = (uint64_t)now.st_size;
    CV_TRY(cv_ahead_open_members(codec, &input, &file, cv_usable_cores(), &ahead, err));
    do {
        status = ahead->next(ahead, &bytes, &length, err);
        if (status == CLEAVE_OK && length > 0 && ahead->member(ahead) != member) {
            member = ahead->member(ahead);
            if (!cv_blocks_add(blocks,
                               (struct cv_block){ member, blocks->out_end, member }))
                status = cv_fail_memory(err, "an index of the input");
        }
        blocks->out_end += status == CLEAVE_OK ? length : 0;
    } while (status == CLEAVE_OK && length > 0);
    ahead->free(ahead);
    return status;
}
