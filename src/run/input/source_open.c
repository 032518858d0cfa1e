/* source_open.c -- opening of sources, and checks of files before the first piece is taken.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/fetch/fetch.h"
#include "run/input/magic.h"
#include "run/input/source_kind.h"
#include "run/split/format_guess.h"
#include "run/split/split_kind.h"

/* --- opening ---------------------------------------------------------------------------- */

static enum cleave_status open_mate(struct cv_source *source,
                                    const struct cv_source_options *options,
                                    struct cleave_error *err)
{
    const char *path = options->pairs;
    struct cv_source_file *first = source->files;
    bool is_stream;

    if (source->stream != NULL || source->nfiles != 1)
        return cv_fail_at(err, CV_FILE(path),
                          "expected pairs of one regular file and another, got %s",
                          source->stream != NULL ? "a stream" : "several files");
    if (source->header)
        return cv_fail_at(err, CV_FILE(path), "expected pairs or a header, got both");
    if (source->splitter->group != NULL)
        return cv_fail_at(err, CV_FILE(path),
                          "expected pairs or records that stay together, got both");
    source->mate = calloc(1, sizeof *source->mate);
    if (source->mate == NULL)
        return cv_fail_memory(err, "an input");
    CV_TRY(cv_source_file_init(source->mate, path, &is_stream, err));
    if (is_stream)
        return cv_fail_at(err, CV_FILE(path),
                          "expected a regular file for pairs, got a stream");
    CV_TRY(cv_source_file_unpack(source->mate, options, false, &is_stream, err));
    CV_TRY(cv_source_file_use(first, source->splitter, err));
    CV_TRY(cv_source_file_use(source->mate, source->splitter, err));
    source->current = 0;
    CV_TRY(cv_cut_pairs_init(&source->pairs, &first->cut, &source->mate->cut, err));
    /* If the first file is empty, no cut would notice records of the second one. */
    return first->size > 0 ? CLEAVE_OK
                           : cv_cut_pairs_at(&source->pairs, 0, &source->pair_cut, err);
}

static enum cleave_status check_fetch(const struct cv_source_options *options,
                                      size_t ninputs, struct cleave_error *err)
{
    CV_TRY(cv_fetch_check(options->fetch, err));
    if (options->size == NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "input.fetch: expected input.size BYTES, or input.size with a "
                       "command that writes it, as 'curl -sI URL'");
    if (options->pairs != NULL || options->codec != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "input.fetch: expected neither input.pairs nor input.decode: "
                       "fetched input is not decoded and has no mates");
    if (ninputs > 1 && cv_fetch_is_number(options->size))
        return cv_fail(err, CLEAVE_EINPUT,
                       "input.size: expected a command that writes the size of each of "
                       "several inputs, as 'curl -sI {}', got '%s'",
                       options->size);
    return CLEAVE_OK;
}

static enum cleave_status open_files(struct cv_source *source, const char *const *names,
                                     size_t nnames,
                                     const struct cv_source_options *options,
                                     struct cleave_error *err)
{
    if (options->fetch != NULL)
        CV_TRY(check_fetch(options, nnames, err));
    source->files = calloc(nnames, sizeof *source->files);
    if (source->files == NULL)
        return cv_fail_memory(err, "a list of inputs");
    for (size_t i = 0; i < nnames; i++) {
        struct cv_source_file *file = &source->files[i];
        bool is_stream = false;

        source->nfiles = i + 1;
        if (options->fetch != NULL)
            CV_TRY(cv_source_file_fetch(file, names[i], options, err));
        else
            CV_TRY(cv_source_file_init(file, names[i], &is_stream, err));
        file->ignores_index = options->no_index;
        if (!is_stream && options->fetch == NULL)
            CV_TRY(cv_source_file_unpack(file, options,
                                         nnames == 1 && options->pairs == NULL &&
                                             !options->twice,
                                         &is_stream, err));
        if (is_stream && nnames > 1)
            return cv_fail_at(
                err, CV_FILE(names[i]),
                "expected regular files or one stream, got %zu inputs, and this one is "
                "not a regular file: 'cat A B | cleave ...' makes one stream of them",
                nnames);
        if (is_stream)
            return cv_source_open_stream(source, options, err);
        file->base = source->total;
        source->total += file->size;
    }
    source->current = nnames;
    return cv_range_set_put(&source->pending, 0, source->total, err);
}

/* The first file with bytes decides; others must not disagree. */
static enum cleave_status choose_format(struct cv_source *source,
                                        struct cleave_error *err)
{
    const struct cv_source_file *first = NULL;

    for (size_t i = 0; i < source->nfiles; i++) {
        struct cv_source_file *file = &source->files[i];
        bool decided = file->size == 0;
        const char *bytes;
        size_t length;

        if (file->size == 0)
            continue;
        CV_TRY(cv_source_use(source, i, err));
        for (size_t look = CV_GUESS_LOOK; !decided; look *= 4) {
            CV_TRY(cv_cut_file_read(&file->cut, 0, look, look, &bytes, &length, err));
            decided = first != NULL;
            if (first == NULL)
                CV_TRY(cv_source_choose(source, file, bytes, length, length >= file->size,
                                        &decided, err));
            else
                CV_TRY(cv_format_agree(&source->choice, first->name, file->name, bytes,
                                       length, err));
        }
        first = first == NULL ? file : first;
        cv_source_unuse(source);
    }
    return CLEAVE_OK;
}

enum cleave_status cv_source_open(const char *const *paths, size_t npaths,
                                  const struct cv_source_options *options,
                                  struct cv_source **out, struct cleave_error *err)
{
    const char *const standard = options->fetch != NULL ? options->fetch : "-";
    struct cv_source *source = calloc(1, sizeof *source);
    enum cleave_status status;

    if (source == NULL)
        return cv_fail_memory(err, "an input");
    source->kind = &cv_source_files;
    source->splitter = options->splitter;
    source->header = options->header || cv_splitter_frames(options->splitter);
    source->no_header = options->no_header;
    source->waits = options->waits;
    source->max_record = options->max_record;
    source->raw =
        options->raw || (options->splitter->record_bytes > 0 && options->codec == NULL);
    source->choose = source->raw ? NULL : options->choose;
    cv_range_set_init(&source->pending);
    status = open_files(source, npaths > 0 ? paths : &standard, npaths > 0 ? npaths : 1,
                        options, err);
    if (source->choose != NULL && source->stream == NULL)
        CV_THEN(status, choose_format(source, err));
    if (status == CLEAVE_OK && options->pairs != NULL)
        status = open_mate(source, options, err);
    if (status == CLEAVE_OK)
        *out = source;
    else
        cv_source_free(source);
    return status;
}

/* --- text ---------------------------------------------------------------------------------- */

/* A file that is one line is for one worker. Most have a newline in their first bytes. */
static enum cleave_status look_for_line(struct cv_source *source,
                                        struct cv_source_file *file,
                                        struct cleave_error *err)
{
    const char *bytes;
    size_t length;

    if (source->like != NULL || file->size < CV_GUESS_LINE)
        return CLEAVE_OK;
    CV_TRY(cv_cut_file_read(&file->cut, 0, CV_GUESS_LOOK, CV_GUESS_LOOK, &bytes, &length,
                            err));
    if (memchr(bytes, '\n', length) != NULL)
        return CLEAVE_OK;
    CV_TRY(cv_cut_file_read(&file->cut, 0, CV_GUESS_LINE, CV_GUESS_LINE, &bytes, &length,
                            err));
    source->like = cv_format_guess_endless(bytes, length);
    return CLEAVE_OK;
}

static enum cleave_status check_text(struct cv_source *source,
                                     struct cv_source_file *file,
                                     struct cleave_error *err)
{
    const struct cv_split_kind *kind = source->splitter->kind;
    const bool first = file == source->files && file->fetched == NULL;
    const char *path = file->borrowed ? NULL : file->name;
    const struct cv_magic *magic;
    const char *bytes;
    size_t length;
    bool undecided;

    if (source->raw || file->size == 0)
        return CLEAVE_OK;
    CV_TRY(cv_cut_file_read(&file->cut, 0, CV_MAGIC_LOOK,
                            first ? CV_GUESS_LOOK : CV_MAGIC_LOOK, &bytes, &length, err));
    if (first)
        source->like = cv_format_guess_find(bytes, length);
    magic =
        cv_magic_find(bytes, length < CV_MAGIC_LOOK ? length : CV_MAGIC_LOOK, &undecided);
    if (kind->frames && kind->eats != NULL &&
        (magic == NULL || !cv_magic_is(magic, kind->eats)))
        return cv_magic_refuse_as(magic, file->name, path, kind->eats, kind->name, err);
    if (magic == NULL && first)
        return look_for_line(source, file, err);
    if (magic == NULL || cv_magic_is(magic, kind->eats))
        return CLEAVE_OK;
    if (file->fetched != NULL && cv_magic_codec(magic) != NULL)
        return cv_magic_refuse_fetched(magic, file->name, err);
    return cv_magic_refuse(magic, file->around, file->name, path, err);
}

/* --- headers ------------------------------------------------------------------------------ */

/* The header of a file, without byte order mark and end of line. */
struct header {
    char *bytes; /* owned */
    size_t length;
};

/* Bytes of the end of a line, or of the zero byte, at the end of a record. */
static size_t count_ending(const struct cv_splitter *splitter, const char *bytes,
                           size_t length)
{
    const bool zero = splitter->kind->ends_in_byte && splitter->byte == '\0';

    if (length == 0 || bytes[length - 1] != (zero ? '\0' : '\n'))
        return 0;
    return !zero && length > 1 && bytes[length - 2] == '\r' ? 2 : 1;
}

static enum cleave_status read_header(struct cv_source *source, size_t index,
                                      struct header *out, struct cleave_error *err)
{
    struct cv_source_file *file = &source->files[index];
    const char *bytes;
    size_t length;
    uint64_t end;

    CV_TRY(cv_source_use(source, index, err));
    CV_TRY(cv_cut_file_header(&file->cut, &end, err));
    CV_TRY(
        cv_cut_file_read(&file->cut, 0, (size_t)end, (size_t)end, &bytes, &length, err));
    length = (size_t)end;
    if (length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        bytes += 3;
        length -= 3;
    }
    length -= count_ending(source->splitter, bytes, length);
    *out = (struct header){ malloc(length + 1), length };
    if (out->bytes == NULL)
        return cv_fail_memory(err, "a header");
    memcpy(out->bytes, bytes, length);
    return CLEAVE_OK;
}

static enum cleave_status compare_headers(const struct cv_source *source, size_t first,
                                          const struct header *one, size_t second,
                                          const struct header *two,
                                          struct cleave_error *err)
{
    const size_t length = one->length, other = two->length;
    const char *a = one->bytes, *b = two->bytes;
    char shown[2][100];
    size_t line = 0;

    if (other == length && memcmp(a, b, length) == 0)
        return CLEAVE_OK;
    for (size_t i = 0; i < length && i < other && a[i] == b[i]; i++)
        line = a[i] == '\n' ? i + 1 : line; /* the first line that differs */
    cv_shown(a + line, length - line, shown[0], sizeof shown[0]);
    cv_shown(b + line, other - line, shown[1], sizeof shown[1]);
    return cv_fail_at(err, CV_FILE(source->files[second].name),
                      "expected the header '%s' of %s, got '%s'%s", shown[0],
                      CV_SHOWN(source->files[first].name, 100), shown[1],
                      source->chose_header ? ": input.no_header if they are records"
                                           : "");
}

/* Outputs are concatenated, so all files must have the same header. */
static enum cleave_status check_headers(struct cv_source *source,
                                        struct cleave_error *err)
{
    struct header first = { NULL, 0 };
    size_t of = 0;
    enum cleave_status status = CLEAVE_OK;

    for (size_t i = 0; i < source->nfiles && status == CLEAVE_OK; i++) {
        struct header other = { NULL, 0 };

        if (source->files[i].size == 0)
            continue;
        status = read_header(source, i, first.bytes == NULL ? &first : &other, err);
        if (other.bytes == NULL)
            of = i;
        else
            CV_THEN(status, compare_headers(source, of, &first, i, &other, err));
        free(other.bytes);
    }
    free(first.bytes);
    return status;
}

/* --- the header as a piece ------------------------------------------------------------------ */

static enum cleave_status keep_head(struct cv_source *source, size_t first,
                                    struct cleave_error *err)
{
    struct cv_source_file *file = &source->files[first];
    const size_t end = (size_t)source->alone;
    const char *bytes = file->header;
    size_t length;

    if (bytes == NULL)
        CV_TRY(cv_cut_file_read(&file->cut, 0, end, end, &bytes, &length, err));
    source->head = malloc(end);
    if (source->head == NULL)
        return cv_fail_memory(err, "a header");
    memcpy(source->head, bytes, end);
    return CLEAVE_OK;
}

enum cleave_status cv_source_head_alone(struct cv_source *source, const char **bytes,
                                        uint64_t *out, struct cleave_error *err)
{
    size_t first = 0;

    *out = 0;
    if (cv_splitter_frames(source->splitter) && !source->splitter->kind->bare)
        return CLEAVE_OK; /* a document has an end as well */
    while (first + 1 < source->nfiles && source->files[first].size == 0)
        first++;
    if (source->stream == NULL)
        CV_TRY(cv_source_use(source, first, err));
    CV_TRY(cv_source_find_header(source, first, &source->alone, err));
    *out = source->alone;
    if (source->alone > 0 && !cv_splitter_frames(source->splitter))
        CV_TRY(keep_head(source, first, err));
    *bytes = source->head;
    return CLEAVE_OK;
}

/* --- ends --------------------------------------------------------------------------------- */

static enum cleave_status check_fixed(const struct cv_source_file *file, uint64_t record,
                                      struct cleave_error *err)
{
    if (file->size % record == 0)
        return CLEAVE_OK;
    return cv_fail_at(err, CV_FILE(file->name),
                      "expected records of %" PRIu64 " bytes, got %" PRIu64
                      " bytes, which end in a record cut short (fixed:1 cuts anywhere)",
                      record, file->size);
}

/* Check the last record, unless that takes reading the whole file. */
static enum cleave_status check_end(struct cv_source *source, struct cv_source_file *file,
                                    struct cleave_error *err)
{
    uint64_t end;

    if (file->size < 2 || source->splitter->kind->walk == NULL ||
        source->splitter->kind->needs_pass)
        return CLEAVE_OK;
    CV_TRY(cv_cut_record_at(&file->cut, file->size - 1, &end, err));
    return file->cut.torn != UINT64_MAX
               ? cv_source_fail_torn(file->name, file->cut.torn, err)
               : CLEAVE_OK;
}

/* Without an element of the name, the whole input would be one chunk. */
static enum cleave_status check_elements(struct cv_source *source, size_t index,
                                         struct cleave_error *err)
{
    const struct cv_splitter *splitter = source->splitter;
    struct cv_source_file *file = &source->files[index];
    uint64_t header;
    const char *bytes;
    size_t length;

    if (!cv_splitter_has_tail(splitter) || file->size == 0)
        return CLEAVE_OK;
    CV_TRY(cv_source_header_end(source, index, &header, err));
    CV_TRY(cv_cut_file_read(&file->cut, 0, splitter->prefix_length + 1, CV_CUT_NEAR,
                            &bytes, &length, err));
    if (header > 0 || (length > splitter->prefix_length && bytes[0] == '<' &&
                       memcmp(bytes + 1, splitter->prefix, splitter->prefix_length) == 0))
        return CLEAVE_OK;
    return cv_fail_at(err, CV_FILE(file->name),
                      "expected elements of the name '%s', got none", splitter->prefix);
}

enum cleave_status cv_source_validate(struct cv_source *source, struct cleave_error *err)
{
    const struct cv_splitter *splitter = source->splitter;

    if (source->max_record > 0 && splitter->record_bytes > source->max_record)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected records of at most %" PRIu64
                       " bytes (input.max_record), got %s",
                       source->max_record, cv_splitter_text(splitter));
    for (size_t i = 0; source->stream == NULL && i < source->nfiles; i++) {
        if (splitter->record_bytes > 0)
            CV_TRY(check_fixed(&source->files[i], splitter->record_bytes, err));
        CV_TRY(cv_source_use(source, i, err));
        CV_TRY(check_text(source, &source->files[i], err));
        CV_TRY(check_elements(source, i, err));
        CV_TRY(check_end(source, &source->files[i], err));
    }
    if (source->mate != NULL) {
        CV_TRY(check_text(source, source->mate, err));
        CV_TRY(check_end(source, source->mate, err));
    }
    return source->header && source->nfiles > 1 && !cv_splitter_frames(splitter)
               ? check_headers(source, err)
               : CLEAVE_OK;
}

/* --- indexes ---------------------------------------------------------------------------------- */

/* Refuse an index that would replace an input: its name may be a link. */
static enum cleave_status check_name(const struct cv_source *source, size_t index,
                                     struct cleave_error *err)
{
    char *name = cv_source_index_name(&source->files[index]);
    enum cleave_status status = CLEAVE_OK;

    if (name == NULL)
        return cv_fail_memory(err, "an index of the input");
    if (cv_source_has(source, name))
        status = cv_fail(err, CLEAVE_EINPUT, "cannot write '%s': it is an input",
                         CV_SHOWN(name, 200));
    free(name);
    return status;
}

enum cleave_status cv_source_index(struct cv_source *source, bool force, uint64_t *slots,
                                   struct cleave_error *err)
{
    *slots = 0;
    if (!cv_source_index_helps(source->splitter))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "pieces.index: expected records that are found from the start of a file, as "
            "with csv or input.records; records of %s are found anywhere",
            source->splitter->kind->name);
    if (source->stream != NULL || source->files[0].borrowed)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "pieces.index: expected files that can be read at any offset, got a stream");
    for (size_t i = 0; i < source->nfiles; i++)
        CV_TRY(check_name(source, i, err));
    for (size_t i = 0; i < source->nfiles; i++) {
        CV_TRY(cv_source_use(source, i, err));
        CV_TRY(cv_source_file_make_index(&source->files[i], force, slots, err));
    }
    return CLEAVE_OK;
}
