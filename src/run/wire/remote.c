/* remote.c -- what the frames between a master and its workers carry, as bytes.
 * SPDX-License-Identifier: MIT */
#include "run/wire/remote.h"

#include <math.h>
#include <string.h>

#include <cleave/version.h>

#include "base/fail.h"
#include "base/text.h"

enum { ENDS = 64 * 1024, LEAST_TEXT = 8, LEAST_FILE = 5 * 8 };

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
                       ": install the same version on both machines, or let --push bring "
                       "it",
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
    uint64_t closing;

    out->shared = cv_unpack_number(&unpacker) != 0;
    out->mates = cv_unpack_number(&unpacker) != 0;
    out->file = cv_unpack_number(&unpacker);
    out->mate_file = cv_unpack_number(&unpacker);
    out->header = unpack_range(&unpacker);
    out->body = unpack_range(&unpacker);
    out->mate = unpack_range(&unpacker);
    closing = cv_unpack_number(&unpacker);
    out->closing = closing < CV_CLOSINGS ? (enum cv_closing)closing : CV_CLOSING_NONE;
    return cv_unpack_good(&unpacker) && closing < CV_CLOSINGS;
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

static bool can_be(double seconds)
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
           out->signal < 128 && can_be(out->compute_s) && can_be(out->user_s) &&
           can_be(out->system_s) && can_be(out->after_s);
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
    return cv_unpack_good(&unpacker) && can_be(out->cpu_s);
}

/* --- files -------------------------------------------------------------------------------- */

enum cleave_status cv_remote_ends(int fd, uint64_t size, const char *name,
                                  struct cv_content_hash *out, struct cleave_error *err)
{
    const uint64_t first = size < ENDS ? size : ENDS;
    const uint64_t last = size - first < ENDS ? size - first : ENDS;
    struct cv_content_hasher *hasher;
    enum cleave_status status;

    status = cv_content_hasher_new(&hasher, err);
    if (status != CLEAVE_OK)
        return status;
    status = cv_content_hasher_add(hasher, name, fd, 0, first, err);
    if (status == CLEAVE_OK)
        status = cv_content_hasher_add(hasher, name, fd, size - last, size, err);
    *out = cv_content_hasher_finish(hasher);
    cv_content_hasher_free(hasher);
    return status;
}
