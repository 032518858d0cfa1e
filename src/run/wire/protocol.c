/* protocol.c -- payloads of frames as bytes. SPDX-License-Identifier: MIT
 *
 * One function for each payload packs and unpacks it. */
#include "run/wire/protocol.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cleave/version.h>
#include "base/fail.h"
#include "base/text.h"

/* Least bytes of an element of a list. */
enum { LEAST_TEXT = 8, LEAST_FILE = 5 * 8, LEAST_ITEM_FILE = 7 * 8, LEAST_BLOCK = 4 * 8 };

char *cv_stored_output_name(const char *store, uint64_t number)
{
    char *name;

    return asprintf(&name, "%s-%016" PRIx64, store, number) < 0 ? NULL : name;
}

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

struct coder {
    struct cv_packer *packer; /* NULL: unpack */
    struct cv_unpacker from;
    struct cv_arena *arena; /* for texts and arrays that are unpacked */
};

/* A function that packs *value, or unpacks it. */
#define VALUE(name, type, pack, unpack)                \
    static void name(struct coder *coder, type *value) \
    {                                                  \
        if (coder->packer != NULL)                     \
            pack;                                      \
        else                                           \
            *value = unpack;                           \
    }

VALUE(code_number, uint64_t, cv_pack_number(coder->packer, *value),
      cv_unpack_number(&coder->from))
VALUE(code_signed, int64_t, cv_pack_number(coder->packer, (uint64_t)*value),
      (int64_t)cv_unpack_number(&coder->from))
VALUE(code_flag, bool, cv_pack_number(coder->packer, *value),
      cv_unpack_number(&coder->from) != 0)
VALUE(code_real, double, cv_pack_real(coder->packer, *value),
      cv_unpack_real(&coder->from))
VALUE(code_text, const char *, cv_pack_text(coder->packer, *value != NULL ? *value : ""),
      cv_unpack_text(&coder->from, coder->arena))
VALUE(code_list, const char *const *, cv_pack_list(coder->packer, *value),
      cv_unpack_list(&coder->from, coder->arena))

/* The values were unpacked, and can be checked. */
static bool has_values(const struct coder *coder)
{
    return coder->packer == NULL && !coder->from.failed;
}

static void code_range(struct coder *coder, struct cv_range *range)
{
    code_number(coder, &range->begin);
    code_number(coder, &range->end);
    if (has_values(coder))
        coder->from.failed = range->end < range->begin || range->end > INT64_MAX;
}

static void code_hash(struct coder *coder, struct cv_content_hash *hash)
{
    code_number(coder, &hash->high);
    code_number(coder, &hash->low);
}

static void code_closing(struct coder *coder, enum cv_closing *closing)
{
    uint64_t number = coder->packer != NULL ? *closing : CV_CLOSING_NONE;

    code_number(coder, &number);
    if (coder->packer != NULL)
        return;
    coder->from.failed = coder->from.failed || number >= CV_CLOSINGS;
    *closing = coder->from.failed ? CV_CLOSING_NONE : (enum cv_closing)number;
}

/* The number of elements, each of `size` bytes and at least `min` bytes when packed. Returns them,
 * or memory for those that are to be unpacked. */
static void *code_count(struct coder *coder, void *elements, uint64_t *count, size_t min,
                        size_t size)
{
    if (coder->packer != NULL) {
        cv_pack_number(coder->packer, *count);
        return elements;
    }
    *count = cv_unpack_count(&coder->from, min);
    elements = cv_array(coder->arena, (size_t)*count, size);
    if (elements == NULL) {
        coder->from.failed = true;
        *count = 0;
    }
    return elements;
}

static void code_hello(struct coder *coder, struct cv_hello *hello)
{
    code_text(coder, &hello->version);
    code_text(coder, &hello->host);
    code_number(coder, &hello->cores);
}

/* Most jobs have none but 0. */
static void code_statuses(struct coder *coder, struct cleave_statuses *ok)
{
    bool others =
        ok->bits[0] > 1 || ok->bits[1] > 0 || ok->bits[2] > 0 || ok->bits[3] > 0;

    code_flag(coder, &others);
    for (size_t i = 0; i < sizeof ok->bits / sizeof *ok->bits && others; i++)
        code_number(coder, &ok->bits[i]);
}

static void code_job(struct coder *coder, struct cv_remote_job *job)
{
    code_list(coder, &job->command);
    code_list(coder, &job->names);
    code_list(coder, &job->environment);
    code_text(coder, &job->directory);
    code_text(coder, &job->store);
    code_flag(coder, &job->persistent);
    code_number(coder, &job->window);
    code_flag(coder, &job->hashes);
    code_flag(coder, &job->items);
    code_flag(coder, &job->cleanup);
    code_flag(coder, &job->lines);
    code_flag(coder, &job->early);
    code_statuses(coder, &job->ok);
    code_real(coder, &job->timeout_s);
    code_real(coder, &job->silence_s);
    code_number(coder, &job->memory);
    job->files =
        code_count(coder, job->files, &job->nfiles, LEAST_FILE, sizeof *job->files);
    for (uint64_t i = 0; i < job->nfiles; i++) {
        code_text(coder, &job->files[i].path);
        code_number(coder, &job->files[i].size);
        code_signed(coder, &job->files[i].mtime_ns);
        code_hash(coder, &job->files[i].ends);
    }
    if (has_values(coder))
        coder->from.failed =
            ((job->items || job->lines) && (job->persistent || job->store[0] != '\0')) ||
            (job->window > 0 && !job->persistent) || job->window > CV_SEATS_MOST ||
            job->command[0] == NULL || job->names[0] == NULL ||
            !(job->timeout_s >= 0 && job->silence_s > 0);
}

static void code_piece(struct coder *coder, struct cv_remote_piece *piece)
{
    code_flag(coder, &piece->shared);
    code_flag(coder, &piece->mates);
    code_number(coder, &piece->file);
    code_number(coder, &piece->mate_file);
    code_range(coder, &piece->header);
    code_range(coder, &piece->body);
    code_range(coder, &piece->mate);
    code_closing(coder, &piece->closing);
}

static bool is_duration(double seconds)
{
    return seconds >= 0 && isfinite(seconds);
}

static void code_end(struct coder *coder, struct cv_remote_end *end)
{
    const uint64_t known = CV_END_TIMED_OUT | CV_END_STOPPED | CV_END_FAILED |
                           CV_END_UNSEEN | CV_END_SPOILED | CV_END_LATER;

    code_number(coder, &end->flags);
    code_signed(coder, &end->exit_code);
    code_signed(coder, &end->signal);
    code_real(coder, &end->compute_s);
    code_number(coder, &end->come);
    code_number(coder, &end->come_sum);
    code_number(coder, &end->given);
    code_number(coder, &end->output);
    code_number(coder, &end->output_sum);
    code_real(coder, &end->user_s);
    code_real(coder, &end->system_s);
    code_real(coder, &end->after_s);
    code_real(coder, &end->retry_s);
    code_hash(coder, &end->hash);
    code_number(coder, &end->file);
    code_hash(coder, &end->output_hash);
    code_text(coder, &end->fault);
    if (has_values(coder))
        coder->from.failed = (end->flags & ~known) != 0 || end->exit_code < -1 ||
                             end->exit_code > 255 || end->signal < 0 ||
                             end->signal > 127 || !is_duration(end->compute_s) ||
                             !is_duration(end->user_s) || !is_duration(end->system_s) ||
                             !is_duration(end->after_s) || !is_duration(end->retry_s);
}

static void code_seen(struct coder *coder, struct cv_remote_seen *seen)
{
    code_number(coder, &seen->read);
    code_number(coder, &seen->output);
    code_real(coder, &seen->cpu_s);
    if (has_values(coder))
        coder->from.failed = !is_duration(seen->cpu_s);
}

int64_t cv_stat_mtime_ns(const struct stat *facts)
{
    return (int64_t)facts->st_mtim.tv_sec * 1000000000 + facts->st_mtim.tv_nsec;
}

enum cleave_status cv_remote_ends(int fd, uint64_t size, const char *name,
                                  struct cv_content_hash *out, struct cleave_error *err)
{
    enum { ENDS = 64 * 1024 };
    const uint64_t first = size < ENDS ? size : ENDS;
    const uint64_t last = size - first < ENDS ? size - first : ENDS;
    struct cv_content_hasher *hasher;
    enum cleave_status status;

    CV_TRY(cv_content_hasher_new(&hasher, err));
    status = cv_content_hasher_add(hasher, name, fd, 0, first, err);
    CV_THEN(status, cv_content_hasher_add(hasher, name, fd, size - last, size, err));
    *out = cv_content_hasher_finish(hasher);
    cv_content_hasher_free(hasher);
    return status;
}

/* Sizes add up to at most INT64_MAX. */
static void code_back(struct coder *coder, struct cv_item_message_back *back)
{
    uint64_t bytes = 0;

    back->files = code_count(coder, back->files, &back->nfiles, LEAST_ITEM_FILE,
                             sizeof *back->files);
    for (uint64_t i = 0; i < back->nfiles; i++) {
        struct cv_item_message_file *file = &back->files[i];

        code_text(coder, &file->name);
        code_number(coder, &file->size);
        code_number(coder, &file->mode);
        code_signed(coder, &file->mtime_ns);
        code_flag(coder, &file->travels);
        code_hash(coder, &file->ends);
        if (has_values(coder))
            coder->from.failed = file->size > INT64_MAX ||
                                 bytes + file->size > INT64_MAX || file->mode > 0777;
        bytes += file->size;
    }
}

static void code_item(struct coder *coder, struct cv_item_message *message)
{
    struct cv_item_message_back files = { message->files, message->nfiles };

    code_number(coder, &message->item);
    code_list(coder, &message->words);
    code_list(coder, &message->told);
    code_list(coder, &message->returns);
    code_flag(coder, &message->errors);
    code_text(coder, &message->fault);
    code_number(coder, &message->nbase);
    code_back(coder, &files);
    message->files = files.files;
    message->nfiles = files.nfiles;
    if (has_values(coder))
        coder->from.failed = message->words[0] == NULL ||
                             message->nbase > message->nfiles ||
                             message->item >= INT64_MAX;
}

/* --- bodies that the worker decodes or fetches -------------------------------------------- */

/* `length` bytes, at most 8, as a number. */
static void code_bytes(struct coder *coder, uint8_t *bytes, unsigned length)
{
    uint64_t number = 0;

    for (unsigned i = length; coder->packer != NULL && i-- > 0;)
        number = number << 8 | bytes[i];
    code_number(coder, &number);
    for (unsigned i = 0; coder->packer == NULL && i < length; i++, number >>= 8)
        bytes[i] = (uint8_t)number;
}

static void code_packed(struct coder *coder, struct cv_remote_packed *packed)
{
    enum { FIRST = 8 }; /* bytes of a head in the first number */
    uint64_t count = packed->nblocks;

    code_text(coder, &packed->form);
    code_range(coder, &packed->body);
    code_range(coder, &packed->in);
    code_number(coder, &packed->file);
    code_number(coder, &packed->header);
    code_closing(coder, &packed->closing);
    code_number(coder, &packed->out_end);
    packed->blocks =
        code_count(coder, packed->blocks, &count, LEAST_BLOCK, sizeof *packed->blocks);
    packed->nblocks = (size_t)count;
    for (size_t i = 0; i < packed->nblocks; i++) {
        code_number(coder, &packed->blocks[i].in);
        code_number(coder, &packed->blocks[i].out);
        code_bytes(coder, packed->blocks[i].head, FIRST);
        code_bytes(coder, packed->blocks[i].head + FIRST, CV_PACKED_HEAD - FIRST);
    }
    if (has_values(coder))
        coder->from.failed = packed->closing == CV_CLOSING_TEXT ||
                             packed->body.begin >= packed->body.end ||
                             packed->body.end > packed->out_end ||
                             packed->in.begin >= packed->in.end ||
                             packed->out_end > INT64_MAX;
}

static void code_drawn(struct coder *coder, struct cv_remote_drawn *drawn)
{
    code_text(coder, &drawn->line);
    code_text(coder, &drawn->name);
    code_number(coder, &drawn->size);
    code_range(coder, &drawn->body);
    code_closing(coder, &drawn->closing);
    if (has_values(coder))
        coder->from.failed = drawn->closing == CV_CLOSING_TEXT ||
                             drawn->body.end > drawn->size || drawn->size > INT64_MAX;
}

#define X(name, type)                                                               \
    void cv_pack_##name(struct cv_packer *packer, const struct type *in)            \
    {                                                                               \
        struct type copy = *in;                                                     \
                                                                                    \
        code_##name(&(struct coder){ .packer = packer }, &copy);                    \
    }                                                                               \
    bool cv_unpack_##name(const void *bytes, size_t length, struct cv_arena *arena, \
                          struct type *out)                                         \
    {                                                                               \
        struct coder coder = { .from = { bytes, length, false }, .arena = arena };  \
                                                                                    \
        *out = (struct type){ 0 };                                                  \
        code_##name(&coder, out);                                                   \
        return cv_unpack_good(&coder.from);                                         \
    }
CV_PAYLOAD_MAP(X)
#undef X

enum cleave_status cv_hello_read(const struct cv_frame_head *head, const void *payload,
                                 const char *sender, struct cv_arena *arena,
                                 struct cv_hello *out, struct cleave_error *err)
{
    char version[64];

    if (!cv_unpack_hello(payload, head->length, arena, out))
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected the hello of a %s, got something else", sender);
    if (strcmp(out->version, CLEAVE_VERSION) != 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "the %s is cleave %s and this is cleave " CLEAVE_VERSION
                       ": install the same version on both machines, or use hosts.push",
                       sender,
                       cv_shown(out->version, strlen(out->version), version,
                                sizeof version));
    if (out->cores < 1 || out->cores > CV_CORES_MOST)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected the %s to have 1 to %d cores, got %llu", sender,
                       (int)CV_CORES_MOST, (unsigned long long)out->cores);
    return CLEAVE_OK;
}
