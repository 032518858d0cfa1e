/* protocol.c -- payloads of frames as bytes. SPDX-License-Identifier: MIT */
#include "run/wire/protocol.h"

#include <math.h>
#include <string.h>
#include <cleave/version.h>
#include "base/fail.h"
#include "base/text.h"

/* Bytes of a file that are compared, and least bytes of an element of a list. */
enum { ENDS = 64 * 1024, LEAST_TEXT = 8, LEAST_FILE = 5 * 8, LEAST_ITEM_FILE = 7 * 8 };

void cv_pack_list(struct cv_packer *packer, const char *const *texts)
{
    size_t count = 0;

    while (texts != NULL && texts[count] != NULL)
        count++;
    cv_pack_number(packer, count);
    for (size_t i = 0; i < count; i++)
        cv_pack_text(packer, texts[i]);
}

const char **cv_unpack_list(struct cv_unpacker *unpacker, struct cv_arena *arena)
{
    const size_t count = cv_unpack_count(unpacker, LEAST_TEXT);
    const char **texts = cv_array(arena, count + 1, sizeof *texts);

    if (texts == NULL) {
        unpacker->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < count; i++)
        texts[i] = cv_unpack_text(unpacker, arena);
    return texts;
}

static void pack_range(struct cv_packer *packer, struct cv_range range)
{
    cv_pack_number(packer, range.begin);
    cv_pack_number(packer, range.end);
}

static struct cv_range unpack_range(struct cv_unpacker *unpacker)
{
    struct cv_range range;

    range.begin = cv_unpack_number(unpacker);
    range.end = cv_unpack_number(unpacker);
    if (range.end < range.begin || range.end > INT64_MAX)
        unpacker->failed = true;
    return range;
}

static void pack_hash(struct cv_packer *packer, struct cv_content_hash hash)
{
    cv_pack_number(packer, hash.high);
    cv_pack_number(packer, hash.low);
}

static struct cv_content_hash unpack_hash(struct cv_unpacker *unpacker)
{
    struct cv_content_hash hash;

    hash.high = cv_unpack_number(unpacker);
    hash.low = cv_unpack_number(unpacker);
    return hash;
}

static enum cv_closing unpack_closing(struct cv_unpacker *unpacker)
{
    const uint64_t closing = cv_unpack_number(unpacker);

    if (closing < CV_CLOSINGS)
        return (enum cv_closing)closing;
    unpacker->failed = true;
    return CV_CLOSING_NONE;
}

/* --- hello -------------------------------------------------------------------------------- */

void cv_pack_hello(struct cv_packer *packer, const struct cv_hello *hello)
{
    cv_pack_text(packer, hello->version);
    cv_pack_text(packer, hello->host);
    cv_pack_number(packer, hello->cores);
}

bool cv_unpack_hello(const void *bytes, size_t length, struct cv_arena *arena,
                     struct cv_hello *out)
{
    struct cv_unpacker unpacker = { bytes, length, false };

    out->version = cv_unpack_text(&unpacker, arena);
    out->host = cv_unpack_text(&unpacker, arena);
    out->cores = cv_unpack_number(&unpacker);
    return cv_unpack_good(&unpacker);
}

enum cleave_status cv_hello_check(const struct cv_hello *hello, const char *other,
                                  struct cleave_error *err)
{
    char version[64];

    if (strcmp(hello->version, CLEAVE_VERSION) != 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s is cleave %s and this is cleave " CLEAVE_VERSION
                       ": install the same version on both machines, or use hosts.push",
                       other,
                       cv_shown(hello->version, strlen(hello->version), version,
                                sizeof version));
    if (hello->cores < 1 || hello->cores > CV_CORES_MOST)
        return cv_fail(err, CLEAVE_EINPUT, "expected %s to have 1 to %d cores, got %llu",
                       other, (int)CV_CORES_MOST, (unsigned long long)hello->cores);
    return CLEAVE_OK;
}

/* --- the job ------------------------------------------------------------------------------ */

void cv_pack_job(struct cv_packer *packer, const struct cv_remote_job *job)
{
    cv_pack_list(packer, job->command);
    cv_pack_list(packer, job->names);
    cv_pack_list(packer, job->environment);
    cv_pack_text(packer, job->directory);
    cv_pack_number(packer, job->persistent);
    cv_pack_number(packer, job->hashes);
    cv_pack_number(packer, job->items);
    cv_pack_number(packer, job->cleanup);
    cv_pack_number(packer, job->lines);
    cv_pack_number(packer, job->early);
    cv_pack_real(packer, job->timeout_s);
    cv_pack_real(packer, job->silence_s);
    cv_pack_number(packer, job->memory);
    cv_pack_number(packer, job->nfiles);
    for (uint64_t i = 0; i < job->nfiles; i++) {
        cv_pack_text(packer, job->files[i].path);
        cv_pack_number(packer, job->files[i].size);
        cv_pack_number(packer, (uint64_t)job->files[i].mtime_ns);
        pack_hash(packer, job->files[i].ends);
    }
}

bool cv_unpack_job(const void *bytes, size_t length, struct cv_arena *arena,
                   struct cv_remote_job *out)
{
    struct cv_unpacker unpacker = { bytes, length, false };

    out->command = cv_unpack_list(&unpacker, arena);
    out->names = cv_unpack_list(&unpacker, arena);
    out->environment = cv_unpack_list(&unpacker, arena);
    out->directory = cv_unpack_text(&unpacker, arena);
    out->persistent = cv_unpack_number(&unpacker) != 0;
    out->hashes = cv_unpack_number(&unpacker) != 0;
    out->items = cv_unpack_number(&unpacker) != 0;
    out->cleanup = cv_unpack_number(&unpacker) != 0;
    out->lines = cv_unpack_number(&unpacker) != 0;
    out->early = cv_unpack_number(&unpacker) != 0;
    out->timeout_s = cv_unpack_real(&unpacker);
    out->silence_s = cv_unpack_real(&unpacker);
    out->memory = cv_unpack_number(&unpacker);
    out->nfiles = cv_unpack_count(&unpacker, LEAST_FILE);
    out->files = cv_array(arena, (size_t)out->nfiles, sizeof *out->files);
    if (out->files == NULL)
        return false;
    for (uint64_t i = 0; i < out->nfiles; i++) {
        out->files[i].path = cv_unpack_text(&unpacker, arena);
        out->files[i].size = cv_unpack_number(&unpacker);
        out->files[i].mtime_ns = (int64_t)cv_unpack_number(&unpacker);
        out->files[i].ends = unpack_hash(&unpacker);
    }
    return cv_unpack_good(&unpacker) &&
           !((out->items || out->lines) && out->persistent) && out->command[0] != NULL &&
           out->names[0] != NULL && out->timeout_s >= 0 && out->silence_s > 0;
}

/* --- pieces ------------------------------------------------------------------------------- */

void cv_pack_piece(struct cv_packer *packer, const struct cv_remote_piece *piece)
{
    cv_pack_number(packer, piece->shared);
    cv_pack_number(packer, piece->mates);
    cv_pack_number(packer, piece->file);
    cv_pack_number(packer, piece->mate_file);
    pack_range(packer, piece->header);
    pack_range(packer, piece->body);
    pack_range(packer, piece->mate);
    cv_pack_number(packer, piece->closing);
}

bool cv_unpack_piece(const void *bytes, size_t length, struct cv_remote_piece *out)
{
    struct cv_unpacker unpacker = { bytes, length, false };

    out->shared = cv_unpack_number(&unpacker) != 0;
    out->mates = cv_unpack_number(&unpacker) != 0;
    out->file = cv_unpack_number(&unpacker);
    out->mate_file = cv_unpack_number(&unpacker);
    out->header = unpack_range(&unpacker);
    out->body = unpack_range(&unpacker);
    out->mate = unpack_range(&unpacker);
    out->closing = unpack_closing(&unpacker);
    return cv_unpack_good(&unpacker);
}

void cv_pack_end(struct cv_packer *packer, const struct cv_remote_end *end)
{
    cv_pack_number(packer, end->flags);
    cv_pack_number(packer, (uint64_t)end->exit_code);
    cv_pack_number(packer, (uint64_t)end->signal);
    cv_pack_real(packer, end->compute_s);
    cv_pack_number(packer, end->come);
    cv_pack_number(packer, end->come_sum);
    cv_pack_number(packer, end->given);
    cv_pack_number(packer, end->output);
    cv_pack_number(packer, end->output_sum);
    cv_pack_real(packer, end->user_s);
    cv_pack_real(packer, end->system_s);
    cv_pack_real(packer, end->after_s);
    pack_hash(packer, end->hash);
    cv_pack_text(packer, end->fault);
}

static bool is_duration(double seconds)
{
    return seconds >= 0 && isfinite(seconds);
}

bool cv_unpack_end(const void *bytes, size_t length, struct cv_arena *arena,
                   struct cv_remote_end *out)
{
    const uint64_t known = CV_END_TIMED_OUT | CV_END_STOPPED | CV_END_FAILED |
                           CV_END_UNSEEN | CV_END_SPOILED;
    struct cv_unpacker unpacker = { bytes, length, false };

    out->flags = cv_unpack_number(&unpacker);
    out->exit_code = (int64_t)cv_unpack_number(&unpacker);
    out->signal = (int64_t)cv_unpack_number(&unpacker);
    out->compute_s = cv_unpack_real(&unpacker);
    out->come = cv_unpack_number(&unpacker);
    out->come_sum = cv_unpack_number(&unpacker);
    out->given = cv_unpack_number(&unpacker);
    out->output = cv_unpack_number(&unpacker);
    out->output_sum = cv_unpack_number(&unpacker);
    out->user_s = cv_unpack_real(&unpacker);
    out->system_s = cv_unpack_real(&unpacker);
    out->after_s = cv_unpack_real(&unpacker);
    out->hash = unpack_hash(&unpacker);
    out->fault = cv_unpack_text(&unpacker, arena);
    return cv_unpack_good(&unpacker) && (out->flags & ~known) == 0 &&
           out->exit_code >= -1 && out->exit_code < 256 && out->signal >= 0 &&
           out->signal < 128 && is_duration(out->compute_s) && is_duration(out->user_s) &&
           is_duration(out->system_s) && is_duration(out->after_s);
}

void cv_pack_seen(struct cv_packer *packer, const struct cv_remote_seen *seen)
{
    cv_pack_number(packer, seen->read);
    cv_pack_number(packer, seen->output);
    cv_pack_real(packer, seen->cpu_s);
}

bool cv_unpack_seen(const void *bytes, size_t length, struct cv_remote_seen *out)
{
    struct cv_unpacker unpacker = { bytes, length, false };

    out->read = cv_unpack_number(&unpacker);
    out->output = cv_unpack_number(&unpacker);
    out->cpu_s = cv_unpack_real(&unpacker);
    return cv_unpack_good(&unpacker) && is_duration(out->cpu_s);
}

/* --- files -------------------------------------------------------------------------------- */

int64_t cv_stat_mtime_ns(const struct stat *facts)
{
    return (int64_t)facts->st_mtim.tv_sec * 1000000000 + facts->st_mtim.tv_nsec;
}

enum cleave_status cv_remote_ends(int fd, uint64_t size, const char *name,
                                  struct cv_content_hash *out, struct cleave_error *err)
{
    const uint64_t first = size < ENDS ? size : ENDS;
    const uint64_t last = size - first < ENDS ? size - first : ENDS;
    struct cv_content_hasher *hasher;
    enum cleave_status status;

    CV_TRY(cv_content_hasher_new(&hasher, err));
    status = cv_content_hasher_add(hasher, name, fd, 0, first, err);
    if (status == CLEAVE_OK)
        status = cv_content_hasher_add(hasher, name, fd, size - last, size, err);
    *out = cv_content_hasher_finish(hasher);
    cv_content_hasher_free(hasher);
    return status;
}

/* --- items -------------------------------------------------------------------------------- */

static void pack_file(struct cv_packer *packer, const struct cv_item_message_file *file)
{
    cv_pack_text(packer, file->name);
    cv_pack_number(packer, file->size);
    cv_pack_number(packer, file->mode);
    cv_pack_number(packer, (uint64_t)file->mtime_ns);
    cv_pack_number(packer, file->travels);
    pack_hash(packer, file->ends);
}

/* Sizes add up to at most INT64_MAX. */
static struct cv_item_message_file *
unpack_files(struct cv_unpacker *unpacker, struct cv_arena *arena, uint64_t *out_count)
{
    const size_t count = cv_unpack_count(unpacker, LEAST_ITEM_FILE);
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
        files[i].ends = unpack_hash(unpacker);
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

/* --- bodies that the worker decodes or fetches -------------------------------------------- */

enum { BLOCK = 4 * 8, WORD = 8 };

static uint64_t word(const uint8_t *bytes, unsigned count)
{
    uint64_t value = 0;

    while (count > 0)
        value = value << 8 | bytes[--count];
    return value;
}

static void unword(uint64_t value, uint8_t *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i++, value >>= 8)
        bytes[i] = (uint8_t)value;
}

void cv_pack_packed(struct cv_packer *packer, const struct cv_remote_packed *packed)
{
    cv_pack_text(packer, packed->form);
    pack_range(packer, packed->body);
    pack_range(packer, packed->in);
    cv_pack_number(packer, packed->file);
    cv_pack_number(packer, packed->header);
    cv_pack_number(packer, packed->closing);
    cv_pack_number(packer, packed->out_end);
    cv_pack_number(packer, packed->nblocks);
    for (size_t i = 0; i < packed->nblocks; i++) {
        cv_pack_number(packer, packed->blocks[i].in);
        cv_pack_number(packer, packed->blocks[i].out);
        cv_pack_number(packer, word(packed->blocks[i].head, WORD));
        cv_pack_number(packer,
                       word(packed->blocks[i].head + WORD, CV_PACKED_HEAD - WORD));
    }
}

bool cv_unpack_packed(const void *bytes, size_t length, struct cv_arena *arena,
                      struct cv_remote_packed *out)
{
    struct cv_unpacker unpacker = { bytes, length, false };

    out->form = cv_unpack_text(&unpacker, arena);
    out->body = unpack_range(&unpacker);
    out->in = unpack_range(&unpacker);
    out->file = cv_unpack_number(&unpacker);
    out->header = cv_unpack_number(&unpacker);
    out->closing = unpack_closing(&unpacker);
    out->out_end = cv_unpack_number(&unpacker);
    out->nblocks = cv_unpack_count(&unpacker, BLOCK);
    out->blocks = cv_array(arena, out->nblocks, sizeof *out->blocks);
    if (out->blocks == NULL)
        return false;
    for (size_t i = 0; i < out->nblocks; i++) {
        out->blocks[i].in = cv_unpack_number(&unpacker);
        out->blocks[i].out = cv_unpack_number(&unpacker);
        unword(cv_unpack_number(&unpacker), out->blocks[i].head, WORD);
        unword(cv_unpack_number(&unpacker), out->blocks[i].head + WORD,
               CV_PACKED_HEAD - WORD);
    }
    return cv_unpack_good(&unpacker) && out->closing != CV_CLOSING_TEXT &&
           out->body.begin < out->body.end && out->body.end <= out->out_end &&
           out->in.begin < out->in.end && out->out_end <= INT64_MAX;
}

void cv_pack_drawn(struct cv_packer *packer, const struct cv_remote_drawn *drawn)
{
    cv_pack_text(packer, drawn->line);
    cv_pack_text(packer, drawn->name);
    cv_pack_number(packer, drawn->size);
    pack_range(packer, drawn->body);
    cv_pack_number(packer, drawn->closing);
}

bool cv_unpack_drawn(const void *bytes, size_t length, struct cv_arena *arena,
                     struct cv_remote_drawn *out)
{
    struct cv_unpacker unpacker = { bytes, length, false };

    out->line = cv_unpack_text(&unpacker, arena);
    out->name = cv_unpack_text(&unpacker, arena);
    out->size = cv_unpack_number(&unpacker);
    out->body = unpack_range(&unpacker);
    out->closing = unpack_closing(&unpacker);
    return cv_unpack_good(&unpacker) && out->closing != CV_CLOSING_TEXT &&
           out->body.end <= out->size && out->size <= INT64_MAX;
}
