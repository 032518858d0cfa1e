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

static size_t block_at(const struct cv_arriving_input *arriving, uint64_t where,
                       bool decoded)
{
    size_t n;

    CV_BISECT(n, arriving->count, i,
              (decoded ? arriving->blocks[i].out : arriving->blocks[i].in) <= where);
    return n > 0 ? n - 1 : 0;
}

/* A decoder of [begin, end). */
static enum cleave_status open_range(const struct cv_arriving_input *arriving,
                                     uint64_t begin, uint64_t end,
                                     struct cv_decoded_file **out,
                                     struct cleave_error *err)
{
    const size_t first = block_at(arriving, begin, true);
    const size_t last = end > begin ? block_at(arriving, end - 1, true) : first;
    uint8_t(*heads)[CV_PACKED_HEAD] = calloc(last - first + 1, sizeof *heads);
    struct cv_blocks blocks = { .grain = 1 }; /* not all of them may be noted */
    enum cleave_status status;
    bool good = heads != NULL;

    for (size_t i = first; good && i <= last; i++) {
        const struct cv_packed_block *block = &arriving->blocks[i];
        const uint64_t in = arriving->at + (block->in - arriving->in);

        good = cv_blocks_add(&blocks, (struct cv_block){ in, block->out, UINT64_MAX });
        memcpy(heads[i - first], block->head, sizeof *heads);
    }
    blocks.out_end =
        last + 1 < arriving->count ? arriving->blocks[last + 1].out : arriving->out_end;
    status = good ? cv_decoded_file_new(arriving->codec, "the piece", &blocks, out, err)
                  : cv_fail_memory(err, "a decoder");
    cv_blocks_done(&blocks);
    if (status != CLEAVE_OK) {
        free(heads);
        return status;
    }
    cv_decoded_file_use(*out, arriving->fd);
    cv_decoded_file_behead(*out, heads);
    return CLEAVE_OK;
}

static enum cleave_status read_well(struct cv_lazy_reader *well, uint64_t offset,
                                    void *out, size_t max, size_t *got,
                                    struct cleave_error *err)
{
    struct cv_arriving_input *arriving = (struct cv_arriving_input *)well;

    if (arriving->read == NULL || arriving->read_end != arriving->out_end) {
        cv_decoded_file_free(arriving->read);
        arriving->read = NULL;
        CV_TRY(open_range(arriving, arriving->blocks[0].out, arriving->out_end,
                          &arriving->read, err));
        arriving->read_end = arriving->out_end;
    }
    well = cv_decoded_file_well(arriving->read);
    return well->read(well, offset, out, max, got, err);
}

static enum cleave_status start_flow(struct cv_lazy_reader *well, uint64_t begin,
                                     uint64_t end,
                                     const struct cv_writer_thread_into *into,
                                     struct cv_writer_thread **out,
                                     struct cleave_error *err)
{
    struct cv_decoded_file *decoded;

    CV_TRY(open_range((const struct cv_arriving_input *)well, begin, end, &decoded, err));
    return cv_decoded_file_flow_alone(decoded, begin, end, into, out, err);
}

enum cleave_status cv_arriving_input_new(const struct cv_codec *codec,
                                         struct cv_arriving_input **out,
                                         struct cleave_error *err)
{
    struct cv_arriving_input *arriving = calloc(1, sizeof *arriving);

    if (arriving == NULL)
        return cv_fail_memory(err, "a piece");
    arriving->well = (struct cv_lazy_reader){ .read = read_well,
                                              .threaded = start_flow,
                                              .give = cv_decoded_file_give,
                                              .stop = cv_decoded_file_stop_alone,
                                              .bounded = true,
                                              .direct = true };
    arriving->codec = codec;
    arriving->fd = -1;
    *out = arriving;
    return CLEAVE_OK;
}

void cv_arriving_input_free(struct cv_arriving_input *arriving)
{
    if (arriving == NULL)
        return;
    cv_decoded_file_free(arriving->read);
    free(arriving->blocks);
    free(arriving);
}

enum cleave_status cv_arriving_input_add(struct cv_arriving_input *arriving,
                                         const struct cv_packed_block *blocks,
                                         size_t count, uint64_t out_end, bool *good,
                                         struct cleave_error *err)
{
    struct cv_packed_block *larger = arriving->blocks;
    uint64_t in = arriving->count > 0 ? arriving->blocks[arriving->count - 1].in : 0;
    uint64_t out = arriving->count > 0 ? arriving->blocks[arriving->count - 1].out : 0;

    *good = false;
    for (size_t i = 0; i < count; i++) {
        if (arriving->count + i > 0 && (blocks[i].in <= in || blocks[i].out <= out))
            return CLEAVE_OK;
        in = blocks[i].in;
        out = blocks[i].out;
    }
    if (arriving->count + count == 0 || out_end <= out)
        return CLEAVE_OK;
    if (arriving->count + count > arriving->room)
        larger = cv_grow(arriving->blocks, &arriving->room, arriving->count + count,
                         sizeof *larger);
    if (larger == NULL)
        return cv_fail_memory(err, "a piece");
    arriving->blocks = larger;
    if (count > 0)
        memcpy(larger + arriving->count, blocks, count * sizeof *larger);
    arriving->count += count;
    arriving->out_end = out_end;
    *good = true;
    return CLEAVE_OK;
}

void cv_arriving_input_place(struct cv_arriving_input *arriving, int fd, uint64_t in,
                             uint64_t at)
{
    arriving->fd = fd;
    arriving->in = in;
    arriving->at = at;
}

uint64_t cv_arriving_input_whole(const struct cv_arriving_input *arriving, uint64_t in)
{
    return arriving->blocks[block_at(arriving, in, false)].out;
}

uint64_t cv_arriving_input_needs(const struct cv_arriving_input *arriving, uint64_t out)
{
    return arriving->blocks[block_at(arriving, out, true)].in;
}

struct cv_lazy_reader *cv_arriving_input_well(struct cv_arriving_input *arriving)
{
    return &arriving->well;
}
