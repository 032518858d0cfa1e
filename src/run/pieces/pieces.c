/* pieces.c -- write an input as files. SPDX-License-Identifier: MIT */
#include "run/pieces/pieces.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arena.h"
#include "base/fail.h"
#include "base/file_target.h"
#include "base/text.h"
#include "run/pieces/piece_file.h"

/* --- names with a number in them --------------------------------------------------- */

enum { DIGITS = 3, DIGITS_UNKNOWN = 6 };

enum cleave_status cv_pieces_check(const char *pattern, struct cleave_error *err)
{
    const char *place = strstr(pattern, "{}");
    char shown[100];

    cv_shown(pattern, strlen(pattern), shown, sizeof shown);
    if (place == NULL || strstr(place + 2, "{}") != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--output: expected a name with one {}, where the number goes, as "
                       "in part-{}, got '%s'",
                       shown);
    if (cv_name_ends_in(pattern, ".zip"))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "--output: cannot write '%s': pieces are written as they are, or as "
            ".gz, .bgz, .zst, .xz, .bz2, .lz4",
            shown);
    return CLEAVE_OK;
}

static unsigned piece_digits(uint64_t count)
{
    unsigned digits = 1;

    if (count == UINT64_MAX)
        return DIGITS_UNKNOWN;
    for (; count >= 10; count /= 10)
        digits++;
    return digits > DIGITS ? digits : DIGITS;
}

static char *piece_name(const char *pattern, uint64_t number, unsigned digits)
{
    const char *place = strstr(pattern, "{}");
    char *name = NULL;

    if (asprintf(&name, "%.*s%0*llu%s", (int)(place - pattern), pattern, (int)digits,
                 (unsigned long long)number, place + 2) < 0)
        return NULL;
    return name;
}

/* --- write an input as files ------------------------------------------------------- */

/* --- the files to write ------------------------------------------------------------------- */

/* Bytes of an input file, with what stands before and behind them. */
struct piece_part {
    size_t file; /* index of the input */
    struct cv_range header, body;
    struct cv_part closing; /* its bytes are borrowed from the source */
};

/* A file to be written: parts [first, first + count). */
struct planned_file {
    size_t first, count;
    uint64_t begin, end, bytes;
};

struct piece_list {
    struct piece_part *parts; /* owned */
    size_t nparts, parts_capacity;
    struct planned_file *files; /* owned */
    size_t nfiles, files_capacity;
};

static void piece_list_done(struct piece_list *list)
{
    free(list->parts);
    free(list->files);
    *list = (struct piece_list){ 0 };
}

static enum cleave_status add_file(struct piece_list *list, uint64_t begin,
                                   struct cleave_error *err)
{
    if (!CV_ROOM(list->files, &list->files_capacity, list->nfiles + 1))
        return cv_fail_memory(err, "a list of pieces");
    list->files[list->nfiles++] =
        (struct planned_file){ .first = list->nparts, .begin = begin, .end = begin };
    return CLEAVE_OK;
}

/* Put a piece behind what the last file has. */
static enum cleave_status add_part(struct piece_list *list,
                                   const struct cv_pieces_options *options,
                                   const struct cv_piece *piece, struct cleave_error *err)
{
    struct planned_file *file = &list->files[list->nfiles - 1];
    struct piece_part part = { piece->file, piece->header, piece->body,
                               cv_piece_closing(piece) };
    uint64_t header;

    /* A file has its header once, whatever it is made of. */
    if (file->count > 0 && options->header) {
        CV_TRY(cv_source_header_end(options->source, piece->file, &header, err));
        part.header = (struct cv_range){ 0, 0 };
        if (part.body.begin < header && header <= part.body.end)
            part.body.begin = header;
    }
    if (!CV_ROOM(list->parts, &list->parts_capacity, list->nparts + 1))
        return cv_fail_memory(err, "a list of pieces");
    list->parts[list->nparts++] = part;
    file->count++;
    file->end = piece->end;
    file->bytes += part.header.end - part.header.begin + part.body.end - part.body.begin +
                   part.closing.end;
    return CLEAVE_OK;
}

/* Where the file that begins at `begin` is to end, at the earliest. */
static uint64_t target(const struct cv_pieces_options *options, uint64_t total,
                       uint64_t number, uint64_t begin)
{
    if (options->count > 0)
        return (uint64_t)((unsigned __int128)total * number / options->count);
    return options->size > 0 && options->size < total - begin ? begin + options->size
           : options->size > 0                                ? total
                                                              : begin + 1;
}

static enum cleave_status piece_list_find(const struct cv_pieces_options *options,
                                          struct piece_list *out,
                                          struct cleave_error *err)
{
    const uint64_t total = cv_source_extent(options->source);
    uint64_t at = 0;

    *out = (struct piece_list){ 0 };
    while (at < total || out->nfiles < options->count) {
        uint64_t end;

        CV_TRY(add_file(out, at, err));
        end = target(options, total, out->nfiles, at);
        while (at < end) {
            enum cv_take state;
            struct cv_piece piece;

            CV_TRY(cv_source_take(options->source, end - at, &state, &piece, err));
            if (state != CV_TAKE_PIECE)
                return cv_fail(err, CLEAVE_EACCOUNT, "the input ended too soon");
            CV_TRY(add_part(out, options, &piece, err));
            CV_TRY(cv_source_finish(options->source, &piece, err));
            at = piece.end;
        }
    }
    return CLEAVE_OK;
}

/* --- regular files: several threads --------------------------------------------------------- */

/* What threads share; `lock` is for all that changes. */
struct workers {
    const struct cv_pieces_options *options;
    const struct piece_list *list;
    unsigned digits;
    pthread_mutex_t lock;
    size_t next;
    bool failed;
    struct cleave_error err; /* the first one */
};

static enum cleave_status add_parts(const struct piece_part *part,
                                    const struct cv_part *input,
                                    struct cv_piece_writer *writer,
                                    struct cleave_error *err)
{
    struct cv_part header = *input, body = *input;

    header.begin = part->header.begin;
    header.end = part->header.end;
    body.begin = part->body.begin;
    body.end = part->body.end;
    CV_TRY(cv_piece_writer_add(writer, &header, err));
    CV_TRY(cv_piece_writer_add(writer, &body, err));
    return cv_piece_writer_add(writer, &part->closing, err);
}

/* Copy a part of an input, which must not change meanwhile. */
static enum cleave_status copy_part(struct workers *workers,
                                    const struct piece_part *part,
                                    struct cv_piece_writer *writer,
                                    struct cleave_error *err)
{
    struct cv_source *source = workers->options->source;
    struct cv_part input;
    enum cleave_status status;

    pthread_mutex_lock(&workers->lock);
    status = cv_source_lend(source, part->file, &input, err);
    pthread_mutex_unlock(&workers->lock);
    CV_TRY(status);
    status = add_parts(part, &input, writer, err);
    pthread_mutex_lock(&workers->lock);
    if (status == CLEAVE_OK)
        status = cv_source_check(source, &(struct cv_piece){ .file = part->file }, err);
    cv_source_give_back(source, part->file);
    pthread_mutex_unlock(&workers->lock);
    return status;
}

static enum cleave_status write_file(struct workers *workers, size_t index,
                                     struct cleave_error *err)
{
    const struct planned_file *file = &workers->list->files[index];
    const struct cv_pieces_options *options = workers->options;
    char *name = piece_name(options->pattern, index + 1, workers->digits);
    struct cv_piece_writer *writer = NULL;
    enum cleave_status status;

    if (name == NULL)
        return cv_fail_memory(err, "a name");
    status = cv_piece_writer_open(options->source, name, options->force, &writer, err);
    for (size_t i = 0; i < file->count && status == CLEAVE_OK; i++)
        status = copy_part(workers, &workers->list->parts[file->first + i], writer, err);
    if (status == CLEAVE_OK)
        status = cv_piece_writer_place(writer, err);
    else
        cv_piece_writer_drop(writer);
    free(name);
    return status;
}

static void *work(void *context)
{
    struct workers *workers = context;

    pthread_mutex_lock(&workers->lock);
    while (!workers->failed && workers->next < workers->list->nfiles) {
        const size_t index = workers->next++;
        struct cleave_error err = { .status = CLEAVE_OK };
        enum cleave_status status;

        pthread_mutex_unlock(&workers->lock);
        status = write_file(workers, index, &err);
        pthread_mutex_lock(&workers->lock);
        if (status != CLEAVE_OK && !workers->failed) {
            workers->failed = true;
            workers->err = err;
        }
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

static enum cleave_status write_files(const struct cv_pieces_options *options,
                                      const struct piece_list *list,
                                      struct cleave_error *err)
{
    struct workers workers = { .options = options,
                               .list = list,
                               .digits = piece_digits(list->nfiles),
                               .lock = PTHREAD_MUTEX_INITIALIZER };
    const unsigned max = options->threads > 1 ? options->threads - 1 : 0;
    pthread_t *threads = calloc(max + 1, sizeof *threads);
    unsigned count = 0;

    if (threads == NULL)
        return cv_fail_memory(err, "threads");
    while (count < max && count + 1 < list->nfiles &&
           pthread_create(&threads[count], NULL, work, &workers) == 0)
        count++;
    work(&workers);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    pthread_mutex_destroy(&workers.lock);
    if (workers.failed && err != NULL)
        *err = workers.err;
    return workers.failed ? workers.err.status : CLEAVE_OK;
}

/* Before they are written: whether each of them can be. After: tell of each. */
static enum cleave_status go_through(const struct cv_pieces_options *options,
                                     const struct piece_list *list, bool after,
                                     struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;

    for (size_t i = 0; i < list->nfiles && status == CLEAVE_OK; i++) {
        const struct planned_file *file = &list->files[i];
        char *name = piece_name(options->pattern, i + 1, piece_digits(list->nfiles));
        const struct cv_piece_file told = { name, file->begin, file->end, file->bytes };

        if (name == NULL)
            status = cv_fail_memory(err, "a name");
        else if (!after)
            status = cv_piece_check(options->source, name, options->force, err);
        else if (options->written != NULL)
            options->written(options->context, &told);
        free(name);
    }
    return status;
}

static enum cleave_status write_from_files(const struct cv_pieces_options *options,
                                           struct cleave_error *err)
{
    struct piece_list list;
    enum cleave_status status = piece_list_find(options, &list, err);

    if (status == CLEAVE_OK)
        status = go_through(options, &list, false, err);
    if (status == CLEAVE_OK)
        status = write_files(options, &list, err);
    if (status == CLEAVE_OK)
        status = go_through(options, &list, true, err);
    piece_list_done(&list);
    return status;
}

/* --- a stream: as it comes ------------------------------------------------------------------ */

/* The file that is being written. */
struct current {
    struct cv_piece_writer *writer;
    char *name;
    uint64_t number, begin, end, bytes;
    uint64_t total; /* of the input, if so many files are asked for */
};

/* Where the file of that number is to end, at least. */
static uint64_t end_of(const struct cv_pieces_options *options,
                       const struct current *current, uint64_t number)
{
    const uint64_t total = current->total, count = options->count;

    return count == 0 ? current->begin + options->size
                      : total / count * number + total % count * number / count;
}

static enum cleave_status open_current(const struct cv_pieces_options *options,
                                       struct current *current, struct cleave_error *err)
{
    if (current->writer != NULL)
        return CLEAVE_OK;
    current->begin = current->end;
    current->bytes = 0;
    current->name =
        piece_name(options->pattern, ++current->number,
                   piece_digits(options->count > 0 ? options->count : UINT64_MAX));
    if (current->name == NULL)
        return cv_fail_memory(err, "a name");
    return cv_piece_writer_open(options->source, current->name, options->force,
                                &current->writer, err);
}

static enum cleave_status place_current(const struct cv_pieces_options *options,
                                        struct current *current, struct cleave_error *err)
{
    struct cv_piece_writer *writer = current->writer;
    enum cleave_status status;

    if (writer == NULL)
        return CLEAVE_OK;
    current->writer = NULL;
    status = cv_piece_writer_place(writer, err);
    if (status == CLEAVE_OK && options->written != NULL)
        options->written(options->context,
                         &(struct cv_piece_file){ current->name, current->begin,
                                                  current->end, current->bytes });
    free(current->name);
    current->name = NULL;
    return status;
}

static enum cleave_status add_piece(const struct cv_pieces_options *options,
                                    struct current *current, const struct cv_piece *piece,
                                    struct cleave_error *err)
{
    const struct cv_part parts[] = { cv_piece_header(piece), cv_piece_body(piece),
                                     cv_piece_closing(piece) };

    CV_TRY(open_current(options, current, err));
    for (size_t i = current->bytes > 0 && options->header; i < 3; i++) {
        CV_TRY(cv_piece_writer_add(current->writer, &parts[i], err));
        current->bytes += parts[i].end - parts[i].begin;
    }
    current->end = piece->end;
    CV_TRY(cv_source_finish(options->source, piece, err));
    return current->end >= end_of(options, current, current->number)
               ? place_current(options, current, err)
               : CLEAVE_OK;
}

static enum cleave_status wait_for(struct cv_source *source, struct cleave_error *err)
{
    struct pollfd wait = { .fd = cv_source_poll_fd(source), .events = POLLIN };

    while (wait.fd >= 0 && poll(&wait, 1, -1) < 0)
        if (errno != EINTR)
            return cv_fail(err, CLEAVE_EENGINE, "cannot wait: %s", strerror(errno));
    return cv_source_pump(source, err);
}

/* As many files as were asked for, if records were too long for them. */
static enum cleave_status fill_up(const struct cv_pieces_options *options,
                                  struct current *current, struct cleave_error *err)
{
    while (current->number < options->count) {
        CV_TRY(open_current(options, current, err));
        CV_TRY(place_current(options, current, err));
    }
    return CLEAVE_OK;
}

static enum cleave_status write_stream(const struct cv_pieces_options *options,
                                       struct current *current, struct cleave_error *err)
{
    for (;;) {
        uint64_t end;
        enum cv_take state;
        struct cv_piece piece;

        if (current->writer == NULL)
            current->begin = current->end;
        end = end_of(options, current, current->number + (current->writer == NULL));
        CV_TRY(cv_source_take(options->source,
                              end > current->end ? end - current->end : 1, &state, &piece,
                              err));
        if (state == CV_TAKE_END) {
            CV_TRY(place_current(options, current, err));
            return fill_up(options, current, err);
        }
        CV_TRY(state == CV_TAKE_PIECE ? add_piece(options, current, &piece, err)
                                      : wait_for(options->source, err));
    }
}

static enum cleave_status write_from_stream(const struct cv_pieces_options *options,
                                            struct cleave_error *err)
{
    struct current current = { .number = 0 };
    enum cleave_status status;

    if (!cv_source_foretold(options->source, &current.total) && options->count > 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "-n: expected a file whose length is known, got a stream, or one "
                       "that is compressed and does not say how much it holds (--size or "
                       "--records)");
    status = write_stream(options, &current, err);
    cv_piece_writer_drop(current.writer);
    free(current.name);
    return status;
}

enum cleave_status cv_pieces_write(const struct cv_pieces_options *options,
                                   struct cleave_error *err)
{
    struct cleave_error note;
    bool torn;

    CV_TRY(cv_pieces_check(options->pattern, err));
    CV_TRY(cv_source_hold(options->source) > 0 ? write_from_stream(options, err)
                                               : write_from_files(options, err));
    CV_TRY(cv_source_ends_in_record(options->source, &torn, &note, err));
    if (torn && err != NULL)
        *err = note;
    return torn ? CLEAVE_EINPUT : CLEAVE_OK;
}
