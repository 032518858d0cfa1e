/* arriving_input.c -- compressed bytes that have come from elsewhere. SPDX-License-Identifier: MIT
 *
 * Each flow has a list of its blocks for itself: more may be added while it decodes. */
#include "run/decode/arriving_input.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bisect.h"
#include "base/fail.h"
#include "run/decode/decoded_file.h"

struct cv_arriving_input {
    struct cv_lazy_reader well;
    const struct cv_codec *codec;
    struct cv_packed_block *blocks; /* owned */
    size_t count, room;
    uint64_t out_end;
    int fd; /* borrowed */
    uint64_t in, at;
    struct cv_decoded_file *read; /* owned: for `read` of the well; NULL: not yet */
    uint64_t read_end;
};

static size_t block_at(const struct cv_arriving_input *coming, uint64_t where,
                       bool decoded)
{
    size_t n;

    CV_BISECT(n, coming->count, i,
              (decoded ? coming->blocks[i].out : coming->blocks[i].in) <= where);
    return n > 0 ? n - 1 : 0;
}

/* A decoder of [begin, end). */
static enum cleave_status open_range(const struct cv_arriving_input *coming,
                                     uint64_t begin, uint64_t end,
                                     struct cv_decoded_file **out,
                                     struct cleave_error *err)
{
    const size_t first = block_at(coming, begin, true);
    const size_t last = end > begin ? block_at(coming, end - 1, true) : first;
    uint8_t(*heads)[CV_PACKED_HEAD] = calloc(last - first + 1, sizeof *heads);
    struct cv_blocks blocks = { .grain = 1 }; /* not all of them may be noted */
    enum cleave_status status;
    bool good = heads != NULL;

    for (size_t i = first; good && i <= last; i++) {
        const struct cv_packed_block *block = &coming->blocks[i];
        const uint64_t in = coming->at + (block->in - coming->in);

        good = cv_blocks_add(&blocks, (struct cv_block){ in, block->out, UINT64_MAX });
        memcpy(heads[i - first], block->head, sizeof *heads);
    }
    blocks.out_end =
        last + 1 < coming->count ? coming->blocks[last + 1].out : coming->out_end;
    status = good ? cv_decoded_file_new(coming->codec, "the piece", &blocks, out, err)
                  : cv_fail_memory(err, "a decoder");
    cv_blocks_done(&blocks);
    if (status != CLEAVE_OK) {
        free(heads);
        return status;
    }
    cv_decoded_file_use(*out, coming->fd);
    cv_decoded_file_behead(*out, heads);
    return CLEAVE_OK;
}

static enum cleave_status read_well(struct cv_lazy_reader *well, uint64_t offset,
                                    void *out, size_t max, size_t *got,
                                    struct cleave_error *err)
{
    struct cv_arriving_input *coming = (struct cv_arriving_input *)well;

    if (coming->read == NULL || coming->read_end != coming->out_end) {
        cv_decoded_file_free(coming->read);
        coming->read = NULL;
        CV_TRY(open_range(coming, coming->blocks[0].out, coming->out_end, &coming->read,
                          err));
        coming->read_end = coming->out_end;
    }
    well = cv_decoded_file_well(coming->read);
    return well->read(well, offset, out, max, got, err);
}

static enum cleave_status start_flow(struct cv_lazy_reader *well, uint64_t begin,
                                     uint64_t end,
                                     const struct cv_writer_thread_into *into,
                                     struct cv_writer_thread **out,
                                     struct cleave_error *err)
{
    struct cv_decoded_file *unpacked;

    CV_TRY(
        open_range((const struct cv_arriving_input *)well, begin, end, &unpacked, err));
    return cv_decoded_file_flow_alone(unpacked, begin, end, into, out, err);
}

enum cleave_status cv_arriving_input_new(const struct cv_codec *codec,
                                         struct cv_arriving_input **out,
                                         struct cleave_error *err)
{
    struct cv_arriving_input *coming = calloc(1, sizeof *coming);

    if (coming == NULL)
        return cv_fail_memory(err, "a piece");
    coming->well = (struct cv_lazy_reader){ .read = read_well,
                                            .flow = start_flow,
                                            .give = cv_decoded_file_give,
                                            .stop = cv_decoded_file_stop_alone,
                                            .bounded = true,
                                            .direct = true };
    coming->codec = codec;
    coming->fd = -1;
    *out = coming;
    return CLEAVE_OK;
}

void cv_arriving_input_free(struct cv_arriving_input *coming)
{
    if (coming == NULL)
        return;
    cv_decoded_file_free(coming->read);
    free(coming->blocks);
    free(coming);
}

enum cleave_status cv_arriving_input_add(struct cv_arriving_input *coming,
                                         const struct cv_packed_block *blocks,
                                         size_t count, uint64_t out_end, bool *good,
                                         struct cleave_error *err)
{
    struct cv_packed_block *larger = coming->blocks;
    uint64_t in = coming->count > 0 ? coming->blocks[coming->count - 1].in : 0;
    uint64_t out = coming->count > 0 ? coming->blocks[coming->count - 1].out : 0;

    *good = false;
    for (size_t i = 0; i < count; i++) {
        if (coming->count + i > 0 && (blocks[i].in <= in || blocks[i].out <= out))
            return CLEAVE_OK;
        in = blocks[i].in;
        out = blocks[i].out;
    }
    if (coming->count + count == 0 || out_end <= out)
        return CLEAVE_OK;
    if (coming->count + count > coming->room)
        larger =
            cv_grow(coming->blocks, &coming->room, coming->count + count, sizeof *larger);
    if (larger == NULL)
        return cv_fail_memory(err, "a piece");
    coming->blocks = larger;
    if (count > 0)
        memcpy(larger + coming->count, blocks, count * sizeof *larger);
    coming->count += count;
    coming->out_end = out_end;
    *good = true;
    return CLEAVE_OK;
}

void cv_arriving_input_place(struct cv_arriving_input *coming, int fd, uint64_t in,
                             uint64_t at)
{
    coming->fd = fd;
    coming->in = in;
    coming->at = at;
}

uint64_t cv_arriving_input_whole(const struct cv_arriving_input *coming, uint64_t in)
{
    return coming->blocks[block_at(coming, in, false)].out;
}

uint64_t cv_arriving_input_needs(const struct cv_arriving_input *coming, uint64_t out)
{
    return coming->blocks[block_at(coming, out, true)].in;
}

struct cv_lazy_reader *cv_arriving_input_well(struct cv_arriving_input *coming)
{
    return &coming->well;
}
