/* item_message.c -- an item on its way to another machine and back. SPDX-License-Identifier: MIT */
#include "run/wire/item_message.h"

#include "run/wire/remote.h"

enum { LEAST_FILE = 7 * 8 };

static void pack_file(struct cv_packer *packer, const struct cv_item_message_file *file)
{
    cv_pack_text(packer, file->name);
    cv_pack_number(packer, file->size);
    cv_pack_number(packer, file->mode);
    cv_pack_number(packer, (uint64_t)file->mtime_ns);
    cv_pack_number(packer, file->travels);
    cv_pack_number(packer, file->ends.high);
    cv_pack_number(packer, file->ends.low);
}

/* Sizes add up to no more than can be. */
static struct cv_item_message_file *
unpack_files(struct cv_unpacker *unpacker, struct cv_arena *arena, uint64_t *out_count)
{
    const size_t count = cv_unpack_count(unpacker, LEAST_FILE);
    struct cv_item_message_file *files = cv_array(arena, count, sizeof *files);
    uint64_t bytes = 0;

    *out_count = count;
    if (files == NULL) {
        unpacker->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        files[i].name = cv_unpack_text(unpacker, arena);
        files[i].size = cv_unpack_number(unpacker);
        files[i].mode = cv_unpack_number(unpacker);
        files[i].mtime_ns = (int64_t)cv_unpack_number(unpacker);
        files[i].travels = cv_unpack_number(unpacker) != 0;
        files[i].ends.high = cv_unpack_number(unpacker);
        files[i].ends.low = cv_unpack_number(unpacker);
        if (files[i].size > INT64_MAX || bytes + files[i].size > INT64_MAX ||
            files[i].mode > 0777)
            unpacker->failed = true;
        else
            bytes += files[i].size;
    }
    return files;
}

void cv_pack_parcel(struct cv_packer *packer, const struct cv_item_message *message)
{
    cv_pack_number(packer, message->item);
    cv_pack_list(packer, message->words);
    cv_pack_list(packer, message->told);
    cv_pack_list(packer, message->returns);
    cv_pack_number(packer, message->errors);
    cv_pack_text(packer, message->fault);
    cv_pack_number(packer, message->nbase);
    cv_pack_number(packer, message->nfiles);
    for (uint64_t i = 0; i < message->nfiles; i++)
        pack_file(packer, &message->files[i]);
}

bool cv_unpack_parcel(const void *bytes, size_t length, struct cv_arena *arena,
                      struct cv_item_message *out)
{
    struct cv_unpacker unpacker = { bytes, length, false };

    out->item = cv_unpack_number(&unpacker);
    out->words = cv_unpack_list(&unpacker, arena);
    out->told = cv_unpack_list(&unpacker, arena);
    out->returns = cv_unpack_list(&unpacker, arena);
    out->errors = cv_unpack_number(&unpacker) != 0;
    out->fault = cv_unpack_text(&unpacker, arena);
    out->nbase = cv_unpack_number(&unpacker);
    out->files = unpack_files(&unpacker, arena, &out->nfiles);
    return cv_unpack_good(&unpacker) && out->words[0] != NULL &&
           out->nbase <= out->nfiles && out->item < INT64_MAX;
}

void cv_pack_back(struct cv_packer *packer, const struct cv_item_message_back *back)
{
    cv_pack_number(packer, back->nfiles);
    for (uint64_t i = 0; i < back->nfiles; i++)
        pack_file(packer, &back->files[i]);
}

bool cv_unpack_back(const void *bytes, size_t length, struct cv_arena *arena,
                    struct cv_item_message_back *out)
{
    struct cv_unpacker unpacker = { bytes, length, false };

    out->files = unpack_files(&unpacker, arena, &out->nfiles);
    return cv_unpack_good(&unpacker);
}
