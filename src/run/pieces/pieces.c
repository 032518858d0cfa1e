/* pieces.c -- an input as files that begin and end at record boundaries.
 * SPDX-License-Identifier: MIT */
#include "run/pieces/pieces.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/text.h"
#include "run/pieces/pack_format.h"
#include "run/pieces/piece_file.h"

enum { MIN_DIGITS = 3, UNKNOWN_DIGITS = 6 /* if the number of files is not known */ };

enum cleave_status cv_pieces_check(const char *name, struct cleave_error *err)
{
    const char *place = strstr(name, "{}");
    struct cleave_error why;
    char shown[100];

    cv_shown(name, strlen(name), shown, sizeof shown);
    if (place == NULL || strstr(place + 2, "{}") != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "pieces.name: expected a name with one {}, where the number goes, "
                       "as in part-{}, got '%s'",
                       shown);
    if (cv_pack_format_check(name, &why) != CLEAVE_OK)
        return cv_fail(err, CLEAVE_EINPUT, "pieces.name: cannot write '%s': %s", shown,
                       why.text);
    return CLEAVE_OK;
}

/* The name of a file, owned by the caller; count 0: the number of files is not known. */
static enum cleave_status make_name(const char *pattern, uint64_t number, uint64_t count,
                                    char **out, struct cleave_error *err)
{
    const char *place = strstr(pattern, "{}");
    int digits = count == 0 ? UNKNOWN_DIGITS : 1;

    for (; count >= 10; count /= 10)
        digits++;
    if (asprintf(out, "%.*s%0*llu%s", (int)(place - pattern), pattern,
                 digits > MIN_DIGITS ? digits : MIN_DIGITS, (unsigned long long)number,
                 place + 2) >= 0)
        return CLEAVE_OK;
    *out = NULL;
    return cv_fail_memory(err, "a name");
}

/* The address where file `number`, which begins at `begin`, is to end at the earliest. */
static uint64_t end_of_file(const struct cv_pieces_options *options, uint64_t total,
                            uint64_t number, uint64_t begin)
{
    const uint64_t size = options->size > 0 ? options->size : 1;

    if (options->count > 0)
        return (uint64_t)((unsigned __int128)total * number / options->count);
    return size < total - begin ? begin + size : total;
}

/* --- the plan for regular files ------------------------------------------------------------- */

/* Ranges of an input file, and a text after them. */
struct piece_part {
    size_t file; /* index of the input */
    struct cv_range header, body;
    struct cv_part closing; /* bytes are borrowed from the source */
};

/* A file to be written: parts [first, first + count). */
struct planned_file {
    size_t first, count;
    uint64_t begin, end, bytes;
};

struct plan {
    struct piece_part *parts; /* owned */
    size_t nparts, parts_capacity;
    struct planned_file *files; /* owned */
    size_t nfiles, files_capacity;
};

static enum cleave_status add_file(struct plan *plan, uint64_t begin,
                                   struct cleave_error *err)
{
    if (!CV_ROOM(plan->files, &plan->files_capacity, plan->nfiles + 1))
        return cv_fail_memory(err, "a list of pieces");
    plan->files[plan->nfiles++] =
        (struct planned_file){ .first = plan->nparts, .begin = begin, .end = begin };
    return CLEAVE_OK;
}

/* Append a piece to the last file. */
static enum cleave_status add_part(struct plan *plan,
                                   const struct cv_pieces_options *options,
                                   const struct cv_piece *piece, struct cleave_error *err)
{
    struct planned_file *file = &plan->files[plan->nfiles - 1];
    struct piece_part part = { piece->file, piece->header, piece->body,
                               cv_piece_closing(piece) };
    uint64_t header;

    /* A file has one header, even if it has parts of several inputs. */
    if (file->count > 0 && options->header) {
        CV_TRY(cv_source_header_end(options->source, piece->file, &header, err));
        part.header = (struct cv_range){ 0, 0 };
        if (part.body.begin < header && header <= part.body.end)
            part.body.begin = header;
    }
    if (!CV_ROOM(plan->parts, &plan->parts_capacity, plan->nparts + 1))
        return cv_fail_memory(err, "a list of pieces");
    plan->parts[plan->nparts++] = part;
    file->count++;
    file->end = piece->end;
    file->bytes += part.header.end - part.header.begin + part.body.end - part.body.begin +
                   part.closing.end;
    return CLEAVE_OK;
}

static enum cleave_status make_plan(const struct cv_pieces_options *options,
                                    struct plan *plan, struct cleave_error *err)
{
    const uint64_t total = cv_source_extent(options->source);
    uint64_t at = 0;

    while (at < total || plan->nfiles < options->count) {
        uint64_t end;

        CV_TRY(add_file(plan, at, err));
        end = end_of_file(options, total, plan->nfiles, at);
        while (at < end) {
            enum cv_take state;
            struct cv_piece piece;

            CV_TRY(cv_source_take(options->source, end - at, &state, &piece, err));
            if (state != CV_TAKE_PIECE)
                return cv_fail(err, CLEAVE_EACCOUNT, "the input ended too soon");
            CV_TRY(add_part(plan, options, &piece, err));
            CV_TRY(cv_source_finish(options->source, &piece, err));
            at = piece.end;
        }
    }
    return CLEAVE_OK;
}

/* --- regular files, written by threads ------------------------------------------------------ */

struct workers {
    const struct cv_pieces_options *options;
    const struct plan *plan;
    pthread_mutex_t lock;    /* for the source and the members below */
    size_t next;             /* file                                 */
    struct cleave_error err; /* the first error */
};

static enum cleave_status add_range(struct cv_piece_writer *writer, struct cv_part input,
                                    struct cv_range range, struct cleave_error *err)
{
    input.begin = range.begin;
    input.end = range.end;
    return cv_piece_writer_add(writer, &input, err);
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
    status = add_range(writer, input, part->header, err);
    CV_THEN(status, add_range(writer, input, part->body, err));
    CV_THEN(status, cv_piece_writer_add(writer, &part->closing, err));
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
    const struct plan *plan = workers->plan;
    const struct planned_file *file = &plan->files[index];
    const struct cv_pieces_options *options = workers->options;
    struct cv_piece_writer *writer = NULL;
    enum cleave_status status;
    char *name;

    CV_TRY(make_name(options->name, index + 1, plan->nfiles, &name, err));
    status = cv_piece_writer_open(options->source, name, options->replace, &writer, err);
    for (size_t i = 0; i < file->count && status == CLEAVE_OK; i++)
        status = copy_part(workers, &plan->parts[file->first + i], writer, err);
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
    while (workers->err.status == CLEAVE_OK && workers->next < workers->plan->nfiles) {
        const size_t index = workers->next++;
        struct cleave_error err = { .status = CLEAVE_OK };

        pthread_mutex_unlock(&workers->lock);
        (void)write_file(workers, index, &err);
        pthread_mutex_lock(&workers->lock);
        if (workers->err.status == CLEAVE_OK)
            workers->err = err;
    }
    pthread_mutex_unlock(&workers->lock);
    return NULL;
}

static enum cleave_status write_files(const struct cv_pieces_options *options,
                                      const struct plan *plan, struct cleave_error *err)
{
    struct workers workers = { .options = options,
                               .plan = plan,
                               .lock = PTHREAD_MUTEX_INITIALIZER };
    const unsigned max = options->threads > 1 ? options->threads - 1 : 0;
    pthread_t *threads = calloc(max + 1, sizeof *threads);
    unsigned count = 0;

    if (threads == NULL)
        return cv_fail_memory(err, "threads");
    while (count < max && count + 1 < plan->nfiles &&
           pthread_create(&threads[count], NULL, work, &workers) == 0)
        count++;
    work(&workers);
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    pthread_mutex_destroy(&workers.lock);
    return cv_fail_again(err, &workers.err);
}

/* Before the files are written, check whether each can be; after it, report each. */
static enum cleave_status visit_files(const struct cv_pieces_options *options,
                                      const struct plan *plan, bool after,
                                      struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;

    for (size_t i = 0; i < plan->nfiles && status == CLEAVE_OK; i++) {
        const struct planned_file *file = &plan->files[i];
        char *name;

        CV_TRY(make_name(options->name, i + 1, plan->nfiles, &name, err));
        if (!after)
            status = cv_piece_check(options->source, name, options->replace, err);
        else if (options->written != NULL)
            options->written(options->context,
                             &(struct cv_piece_file){ name, file->begin, file->end,
                                                      file->bytes });
        free(name);
    }
    return status;
}

static enum cleave_status write_from_files(const struct cv_pieces_options *options,
                                           struct cleave_error *err)
{
    struct plan plan = { .parts = NULL };
    enum cleave_status status = make_plan(options, &plan, err);

    CV_THEN(status, visit_files(options, &plan, false, err));
    CV_THEN(status, write_files(options, &plan, err));
    CV_THEN(status, visit_files(options, &plan, true, err));
    free(plan.parts);
    free(plan.files);
    return status;
}

/* --- a stream, written as it arrives -------------------------------------------------------- */

/* The file that is being written. */
struct current {
    struct cv_piece_writer *writer; /* owned; NULL: none */
    char *name;                     /* owned             */
    uint64_t number, begin, end, bytes;
    uint64_t total; /* size of the input; UINT64_MAX: unknown */
};

static enum cleave_status open_current(const struct cv_pieces_options *options,
                                       struct current *current, struct cleave_error *err)
{
    if (current->writer != NULL)
        return CLEAVE_OK;
    current->begin = current->end;
    current->bytes = 0;
    CV_TRY(
        make_name(options->name, ++current->number, options->count, &current->name, err));
    return cv_piece_writer_open(options->source, current->name, options->replace,
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
    return current->end >=
                   end_of_file(options, current->total, current->number, current->begin)
               ? place_current(options, current, err)
               : CLEAVE_OK;
}

static enum cleave_status wait_for(struct cv_source *source, struct cleave_error *err)
{
    struct pollfd wait = { .fd = cv_source_poll_fd(source), .events = POLLIN };

    while (wait.fd >= 0 && poll(&wait, 1, -1) < 0)
        if (errno != EINTR)
            return cv_fail_errno(err, errno, "cannot wait");
    return cv_source_pump(source, err);
}

static enum cleave_status write_stream(const struct cv_pieces_options *options,
                                       struct current *current, struct cleave_error *err)
{
    enum cv_take state = CV_TAKE_WAIT;

    while (state != CV_TAKE_END) {
        const bool fresh = current->writer == NULL;
        const uint64_t end = end_of_file(options, current->total, current->number + fresh,
                                         fresh ? current->end : current->begin);
        struct cv_piece piece;

        CV_TRY(cv_source_take(options->source,
                              end > current->end ? end - current->end : 1, &state, &piece,
                              err));
        if (state == CV_TAKE_PIECE)
            CV_TRY(add_piece(options, current, &piece, err));
        else if (state == CV_TAKE_WAIT)
            CV_TRY(wait_for(options->source, err));
    }
    CV_TRY(place_current(options, current, err));
    /* If records were too long for the number of files, the last ones are empty. */
    while (current->number < options->count) {
        CV_TRY(open_current(options, current, err));
        CV_TRY(place_current(options, current, err));
    }
    return CLEAVE_OK;
}

static enum cleave_status write_from_stream(const struct cv_pieces_options *options,
                                            struct cleave_error *err)
{
    struct current current = { .total = UINT64_MAX };
    enum cleave_status status;

    if (options->count > 0 && !cv_source_foretold(options->source, &current.total))
        return cv_fail(
            err, CLEAVE_EINPUT,
            "pieces.count: expected a file of known length, got a stream, or a "
            "compressed file without its length (pieces.size or pieces.records)");
    status = write_stream(options, &current, err);
    cv_piece_writer_drop(current.writer);
    free(current.name);
    return status;
}

enum cleave_status cv_pieces_write(const struct cv_pieces_options *options,
                                   struct cleave_error *err)
{
    CV_TRY(cv_pieces_check(options->name, err));
    CV_TRY(cv_source_hold(options->source) > 0 ? write_from_stream(options, err)
                                               : write_from_files(options, err));
    return cv_source_check_end(options->source, err);
}
