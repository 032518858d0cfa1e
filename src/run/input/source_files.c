/* source_files.c -- sources of regular files, of fetched files, and of items.
 * SPDX-License-Identifier: MIT
 *
 * A file is open only while it is cut or a piece of it is in use, so that there may be more files
 * than descriptors. Its identity is compared whenever it is opened again.
 *
 * Items are the bytes of one file without content. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <cleave/execute.h>
#include "base/arena.h"
#include "base/fail.h"
#include "base/new_file.h"
#include "base/text.h"
#include "base/write_all.h"
#include "run/decode/decoded_file.h"
#include "run/fetch/fetch.h"
#include "run/input/source_kind.h"
#include "run/split/split_kind.h"

/* --- FILE.cleave-index: boundaries of a file that are found once ------------------- */

/* Lines of text: splitter and identity of the file, then the first boundary at or after each
 * multiple of a number of bytes, then a hash of all that. For splitters that would have to read
 * the file from its start. */

enum { MOST_BYTES = 8 << 20, HASH_LINE = 21 }; /* "end 0123456789abcdef\n" */

static void add_head(struct cv_text *out, const struct cv_source_file *file)
{
    const uint64_t bytes = file->decoded != NULL ? file->packed_size : file->size;

    cv_text_add(out, "cleave index 1\nsplit %s\n", cv_splitter_text(file->cut.splitter));
    cv_text_add(out, "file %" PRIu64 " %" PRId64 "\n", bytes, file->mtime_ns);
}

char *cv_source_index_name(const struct cv_source_file *file)
{
    char *name = NULL;

    return asprintf(&name, "%s.cleave-index", file->path) < 0 ? NULL : name;
}

static enum cleave_status refuse(const char *name, const char *why,
                                 struct cleave_error *err)
{
    return cv_fail_at(err, CV_FILE(name),
                      "%s: make it again by cleave split with pieces.index and "
                      "pieces.replace, or remove it",
                      why);
}

static bool read_number(const char **at, char end, uint64_t *out)
{
    char *behind;

    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    *out = strtoull(*at, &behind, 10);
    *at = behind + 1;
    return errno == 0 && *behind == end;
}

static bool read_slots(struct cv_cut_file *cut, const char *at)
{
    uint64_t grain, count, last = 0;

    if (strncmp(at, "slots ", 6) != 0)
        return false;
    at += 6;
    if (!read_number(&at, ' ', &grain) || !read_number(&at, '\n', &count) || grain == 0 ||
        count == 0 || count > MOST_BYTES / sizeof *cut->slots)
        return false;
    if (!CV_ROOM(cut->slots, &cut->slots_capacity, (size_t)count))
        return false;
    for (cut->nslots = 0; cut->nslots < count; cut->nslots++) {
        uint64_t slot;

        if (!read_number(&at, '\n', &slot) || slot < last || slot > cut->size ||
            (slot < cut->nslots * grain && slot != cut->size))
            return false;
        cut->slots[cut->nslots] = last = slot;
    }
    cut->grain = grain;
    return strncmp(at, "end ", 4) == 0;
}

static enum cleave_status read_index(struct cv_source_file *file, const char *name,
                                     const char *text, size_t length,
                                     struct cleave_error *err)
{
    struct cv_text head = { .bytes = NULL };
    const char *of = NULL;
    bool ours, same, good;
    char hash[HASH_LINE + 1];

    add_head(&head, file);
    if (head.failed)
        return cv_fail_memory(err, "an index of the input");
    of = strstr(head.bytes, "\nfile ") + 1;
    ours =
        length > head.length && memcmp(text, head.bytes, (size_t)(of - head.bytes)) == 0;
    same = ours && memcmp(text, head.bytes, head.length) == 0;
    good = length > HASH_LINE && memcmp(text, "cleave index 1\n", 15) == 0;
    if (good) {
        snprintf(hash, sizeof hash, "end %016" PRIx64 "\n",
                 (uint64_t)XXH3_64bits(text, length - HASH_LINE));
        good = memcmp(text + length - HASH_LINE, hash, HASH_LINE) == 0;
    }
    if (good && same && !read_slots(&file->cut, text + head.length)) {
        file->cut.nslots = 0;
        good = false;
    }
    cv_text_done(&head);
    if (!good)
        return refuse(name, "damaged, or no index", err);
    return ours && !same ? refuse(name, "the file has changed since it was made", err)
                         : CLEAVE_OK;
}

static enum cleave_status read_file(struct cv_source_file *file, const char *name, int fd,
                                    struct cleave_error *err)
{
    enum cleave_status status;
    struct stat now;
    char *text;
    ssize_t got;

    if (fstat(fd, &now) != 0 || now.st_size > MOST_BYTES)
        return refuse(name, "damaged, or no index", err);
    text = calloc(1, (size_t)now.st_size + 1);
    if (text == NULL)
        return cv_fail_memory(err, "an index of the input");
    got = pread(fd, text, (size_t)now.st_size, 0);
    status = got < 0 ? refuse(name, strerror(errno), err)
                     : read_index(file, name, text, (size_t)got, err);
    free(text);
    return status;
}

/* Read the index, if there is one. */
static enum cleave_status load_index(struct cv_source_file *file,
                                     struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    char *name;
    int fd;

    if (file->borrowed || file->fetched != NULL ||
        !cv_source_index_helps(file->cut.splitter))
        return CLEAVE_OK;
    name = cv_source_index_name(file);
    if (name == NULL)
        return cv_fail_memory(err, "an index of the input");
    fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* even if it is a FIFO */
    if (fd >= 0) {
        status = read_file(file, name, fd, err);
        close(fd);
    }
    free(name);
    return status;
}

static enum cleave_status write_text(const char *name, const struct cv_text *text,
                                     bool force, struct cleave_error *err)
{
    struct cv_new_file out;
    struct cleave_error why;
    enum cleave_status status =
        cv_new_file_open(name, force ? 0 : CV_NEW_FILE_ONLY, &out, &why);

    if (status == CLEAVE_OK) {
        const int error = cv_write_all(out.fd, text->bytes, text->length);

        if (error != 0)
            status = cv_fail(&why, CLEAVE_EENGINE, "%s", strerror(error));
    }
    CV_THEN(status, cv_new_file_place(&out, &why));
    cv_new_file_drop(&out);
    if (status == CLEAVE_OK)
        return CLEAVE_OK;
    return cv_fail(err, status == CLEAVE_EREFUSED ? CLEAVE_EINPUT : status,
                   "cannot write '%s': %s", CV_SHOWN(name, 200),
                   status == CLEAVE_EREFUSED
                       ? "it exists; use pieces.replace to replace it"
                       : why.text);
}

enum cleave_status cv_source_file_make_index(struct cv_source_file *file, bool force,
                                             uint64_t *slots, struct cleave_error *err)
{
    struct cv_text text = { .bytes = NULL };
    char *name = cv_source_index_name(file);
    enum cleave_status status = CLEAVE_OK;
    uint64_t cut;

    if (file->size > 1)
        status = cv_cut_file_at(&file->cut, file->size - 1, &cut, err);
    if (status == CLEAVE_OK && file->cut.torn != UINT64_MAX)
        status = cv_source_fail_torn(file->name, file->cut.torn, err);
    add_head(&text, file);
    cv_text_add(&text, "slots %" PRIu64 " %zu\n", file->cut.grain,
                file->cut.nslots > 0 ? file->cut.nslots : 1);
    for (size_t i = 0; i < file->cut.nslots; i++)
        cv_text_add(&text, "%" PRIu64 "\n", file->cut.slots[i]);
    if (file->cut.nslots == 0)
        cv_text_add(&text, "0\n");
    if (!text.failed)
        cv_text_add(&text, "end %016" PRIx64 "\n",
                    (uint64_t)XXH3_64bits(text.bytes, text.length));
    *slots += file->cut.nslots;
    if (status == CLEAVE_OK && (name == NULL || text.failed))
        status = cv_fail_memory(err, "an index of the input");
    CV_THEN(status, write_text(name, &text, force, err));
    cv_text_done(&text);
    free(name);
    return status;
}

static int64_t nanoseconds(struct timespec time)
{
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* --- one file ------------------------------------------------------------------------------- */

/* Standard input is like a file if it is one, and nothing was read from it. */
static bool is_plain_file(const char *path, const struct stat *now)
{
    return S_ISREG(now->st_mode) &&
           (strcmp(path, "-") != 0 || lseek(STDIN_FILENO, 0, SEEK_CUR) == 0);
}

/* Files of /proc have a size of 0; files of /sys have a size of one page, less bytes, and no blocks
 * on a disk. */
static bool has_wrong_size(int fd, const struct stat *now)
{
    char byte;

    if (now->st_size == 0)
        return pread(fd, &byte, 1, 0) > 0;
    return now->st_blocks == 0 && pread(fd, &byte, 1, now->st_size - 1) == 0;
}

static void close_file(struct cv_source_file *file)
{
    if (file->fd >= 0) {
        cv_cut_file_done(&file->cut);
        if (file->decoded != NULL)
            cv_decoded_file_use(file->decoded, -1);
        if (!file->borrowed)
            close(file->fd);
    }
    file->fd = -1;
}

static void set_identity(struct cv_source_file *file, const struct stat *now)
{
    file->device = (uint64_t)now->st_dev;
    file->inode = (uint64_t)now->st_ino;
    file->size = (uint64_t)now->st_size;
    file->mtime_ns = nanoseconds(now->st_mtim);
    file->ctime_ns = nanoseconds(now->st_ctim);
}

enum cleave_status cv_source_file_init(struct cv_source_file *file, const char *path,
                                       bool *is_stream, struct cleave_error *err)
{
    const bool standard = strcmp(path, "-") == 0;
    struct stat now;

    *file = (struct cv_source_file){ .fd = -1 };
    if ((standard ? fstat(STDIN_FILENO, &now) : stat(path, &now)) != 0)
        return cv_source_cannot_read(standard ? "standard input" : path, err);
    if (S_ISDIR(now.st_mode))
        return cv_fail_at(err, CV_FILE(path), "expected a file, got a directory");
    file->borrowed = standard;
    file->name = strdup(standard ? "standard input" : path);
    file->path = standard ? strdup(path) : realpath(path, NULL);
    if (file->path == NULL) /* /dev/fd/3 may be a pipe, or a file that was removed */
        file->path = strdup(path);
    if (file->name == NULL || file->path == NULL)
        return cv_fail_memory(err, "an input");
    set_identity(file, &now);
    *is_stream = !is_plain_file(path, &now);
    if (*is_stream)
        return CLEAVE_OK;
    file->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0 || fstat(file->fd, &now) != 0)
        return cv_source_cannot_read(path, err);
    *is_stream = has_wrong_size(file->fd, &now);
    if (*is_stream) {
        if (!standard)
            close(file->fd);
        file->fd = -1;
        return CLEAVE_OK;
    }
    set_identity(file, &now);
    close_file(file);
    return CLEAVE_OK;
}

enum cleave_status cv_source_file_fetch(struct cv_source_file *file, const char *name,
                                        const struct cv_source_options *options,
                                        struct cleave_error *err)
{
    *file = (struct cv_source_file){ .fd = -1 };
    file->name = strdup(name);
    file->path = strdup(name);
    if (file->name == NULL || file->path == NULL)
        return cv_fail_memory(err, "an input");
    CV_TRY(cv_fetch_size(options->size, file->name, &file->size, err));
    return cv_fetched_new(options->fetch, file->name, file->size, &file->fetched, err);
}

static void file_done(struct cv_source_file *file)
{
    close_file(file);
    cv_decoded_file_free(file->decoded);
    cv_fetched_free(file->fetched);
    free(file->name);
    free(file->path);
    free(file->tail);
    free(file->header);
    *file = (struct cv_source_file){ .fd = -1 };
}

static enum cleave_status check_unchanged(struct cv_source_file *file,
                                          struct cleave_error *err)
{
    const uint64_t size = file->decoded != NULL ? file->packed_size : file->size;
    struct stat now;

    if (file->fetched != NULL)
        return CLEAVE_OK;
    if (fstat(file->fd, &now) != 0)
        return cv_source_cannot_read(file->name, err);
    if ((uint64_t)now.st_size != size)
        return cv_fail_at(err, CV_FILE(file->name),
                          "changed while it was in use: %" PRIu64 " bytes at first, "
                          "now %" PRIu64,
                          size, (uint64_t)now.st_size);
    if ((uint64_t)now.st_dev != file->device || (uint64_t)now.st_ino != file->inode)
        return cv_fail_at(err, CV_FILE(file->name),
                          "changed while it was in use: now another file");
    if (nanoseconds(now.st_mtim) != file->mtime_ns)
        return cv_fail_at(err, CV_FILE(file->name),
                          "changed while it was in use: written to");
    /* A link, a new name or new permissions change ctime, too. */
    file->touched = file->touched || nanoseconds(now.st_ctim) != file->ctime_ns;
    return CLEAVE_OK;
}

void cv_source_file_cut(struct cv_source_file *file, const struct cv_splitter *splitter,
                        uint64_t size)
{
    file->size = size;
    cv_cut_file_init(&file->cut, splitter, file->name, file->fd, size);
    if (file->decoded != NULL)
        file->cut.reader = &file->decoded->reader;
    if (file->fetched != NULL)
        file->cut.reader = &file->fetched->reader;
}

enum cleave_status cv_source_file_use(struct cv_source_file *file,
                                      const struct cv_splitter *splitter,
                                      struct cleave_error *err)
{
    if (file->fd >= 0)
        return CLEAVE_OK;
    /* A fetched file has no descriptor; this one only shows that it is in use. */
    file->fd = file->borrowed ? STDIN_FILENO
                              : open(file->fetched != NULL ? "/dev/null" : file->path,
                                     O_RDONLY | O_CLOEXEC);
    if (file->fd < 0)
        return cv_source_cannot_read(file->name, err);
    if (file->decoded != NULL)
        cv_decoded_file_use(file->decoded, file->fd);
    cv_source_file_cut(file, splitter, file->size);
    CV_TRY(check_unchanged(file, err));
    return file->ignores_index ? CLEAVE_OK : load_index(file, err);
}

/* --- the kind of files --------------------------------------------------------------------------- */

static void free_files(struct cv_source *source)
{
    cv_cut_pairs_done(&source->pairs);
    for (size_t i = 0; i < source->nfiles; i++)
        file_done(&source->files[i]);
    if (source->mate != NULL)
        file_done(source->mate);
    free(source->files);
    free(source->mate);
}

enum cleave_status cv_source_use(struct cv_source *source, size_t file,
                                 struct cleave_error *err)
{
    if (source->current != file && source->current < source->nfiles &&
        source->files[source->current].in_use == 0)
        close_file(&source->files[source->current]);
    source->current = file;
    CV_TRY(cv_source_file_use(&source->files[file], source->splitter, err));
    source->files[file].cut.longest = source->max_record;
    return CLEAVE_OK;
}

void cv_source_unuse(struct cv_source *source)
{
    if (source->current < source->nfiles)
        close_file(&source->files[source->current]);
    source->current = source->nfiles;
}

static enum cleave_status locate_file(struct cv_source *source, uint64_t address,
                                      size_t *file, uint64_t *base,
                                      struct cleave_error *err)
{
    *file = cv_source_file_at(source, address);
    *base = source->files[*file].base;
    return cv_source_use(source, *file, err);
}

static uint64_t file_end_at(const struct cv_source *source, uint64_t address)
{
    const struct cv_source_file *file =
        &source->files[cv_source_file_at(source, address)];

    return file->base + file->size;
}

static enum cleave_status cut_at(struct cv_source *source, size_t index, uint64_t begin,
                                 uint64_t end, uint64_t target, uint64_t *out,
                                 struct cleave_error *err)
{
    struct cv_source_file *file = &source->files[index];

    (void)begin;
    if (source->mate != NULL) {
        CV_TRY(cv_cut_pairs_at(&source->pairs, target, &source->pair_cut, err));
        *out = source->pair_cut.first;
    } else {
        if (file->decoded != NULL)
            target = cv_decoded_file_round(file->decoded, target);
        if (target < end)
            CV_TRY(cv_cut_file_at(&file->cut, target, out, err));
        else
            *out = end;
    }
    *out = *out < end ? *out : end;
    return CLEAVE_OK;
}

/* Keep a header that is fetched or decoded: each piece would need a command, or decode a block. */
static enum cleave_status keep_header(struct cv_source_file *file, size_t length,
                                      struct cleave_error *err)
{
    const char *bytes;
    size_t got;

    if (file->cut.reader == NULL || file->header != NULL || length == 0)
        return CLEAVE_OK;
    CV_TRY(cv_cut_file_read(&file->cut, 0, length, length, &bytes, &got, err));
    file->header = malloc(length);
    if (file->header == NULL)
        return cv_fail_memory(err, "a header");
    memcpy(file->header, bytes, length);
    return CLEAVE_OK;
}

/* The place in the second file of the record that begins at `offset` in the first. */
static enum cleave_status find_mate(struct cv_source *source, uint64_t offset,
                                    uint64_t *out, struct cleave_error *err)
{
    if (source->pair_cut.first != offset)
        CV_TRY(cv_cut_pairs_at(&source->pairs, offset, &source->pair_cut, err));
    assert(source->pair_cut.first == offset);
    *out = source->pair_cut.second;
    return CLEAVE_OK;
}

static enum cleave_status fill_piece(struct cv_source *source, struct cv_range body,
                                     struct cv_piece *piece, struct cleave_error *err)
{
    struct cv_source_file *file = &source->files[piece->file], *mate = source->mate;

    if (body.begin > 0)
        CV_TRY(keep_header(file, (size_t)piece->header.end, err));
    piece->name = file->name;
    piece->fd = file->fd;
    piece->lazy = file->cut.reader;
    piece->header_bytes = file->header;
    piece->begin = file->base + body.begin;
    if (body.begin > file->edge)
        file->edge = body.begin;
    if (body.end == file->size && file->base + file->size < source->total)
        CV_TRY(cv_cut_file_closing(&file->cut, &piece->closing, err));
    if (mate == NULL)
        return CLEAVE_OK;
    piece->mate_fd = mate->fd;
    piece->mate_lazy = mate->cut.reader;
    CV_TRY(find_mate(source, body.begin, &piece->mate.begin, err));
    CV_TRY(find_mate(source, body.end, &piece->mate.end, err));
    if (piece->mate.begin > mate->edge)
        mate->edge = piece->mate.begin;
    return CLEAVE_OK;
}

static void note_use(struct cv_source *source, const struct cv_piece *piece, bool begins)
{
    struct cv_source_file *file = &source->files[piece->file];

    if (begins) {
        file->in_use += piece->end - piece->begin;
        return;
    }
    file->in_use -= piece->end - piece->begin;
    if (file->in_use == 0 && piece->file != source->current)
        close_file(file);
}

static enum cleave_status finish_piece(struct cv_source *source,
                                       const struct cv_piece *piece,
                                       struct cleave_error *err)
{
    (void)err;
    note_use(source, piece, false);
    return CLEAVE_OK;
}

static enum cleave_status is_boundary(struct cv_source *source, size_t index,
                                      uint64_t offset, bool *out,
                                      struct cleave_error *err)
{
    const uint64_t size = source->files[index].size;
    uint64_t cut = offset;

    if (offset > 0 && offset < size)
        CV_TRY(cv_source_cut(source, index, offset - 1, size, offset, &cut, err));
    *out = cut == offset && offset <= size;
    return CLEAVE_OK;
}

static enum cleave_status judge(struct cv_source *source,
                                const struct cv_source_known *known, bool *ready,
                                bool *whole, struct cv_piece *piece,
                                struct cleave_error *err)
{
    bool begins, ends;

    *ready = true;
    CV_TRY(cv_source_use(source, known->file, err));
    CV_TRY(is_boundary(source, known->file, known->begin, &begins, err));
    CV_TRY(is_boundary(source, known->file, known->end, &ends, err));
    *whole = begins && ends;
    if (!*whole)
        return CLEAVE_OK;
    CV_TRY(cv_source_make(source, known->file,
                          (struct cv_range){ known->begin, known->end }, piece, err));
    return cv_source_remove(source, piece, err);
}

enum cleave_status cv_source_check(struct cv_source *source, const struct cv_piece *piece,
                                   struct cleave_error *err)
{
    if (source->kind != &cv_source_files)
        return CLEAVE_OK;
    CV_TRY(check_unchanged(&source->files[piece->file], err));
    return source->mate != NULL ? check_unchanged(source->mate, err) : CLEAVE_OK;
}

const char *cv_source_was_modified(struct cv_source *source, const struct cv_piece *piece)
{
    struct cv_source_file *const files[] = { &source->files[piece->file], source->mate };

    for (size_t i = 0; source->kind == &cv_source_files && i < 2; i++)
        if (files[i] != NULL && files[i]->touched && !files[i]->touch_reported) {
            files[i]->touch_reported = true;
            return files[i]->name;
        }
    return NULL;
}

/* Continue after the records that were counted last, unless they are after the piece. */
static enum cleave_status number_records(struct cv_source_file *file,
                                         struct cv_range body, uint64_t *first,
                                         uint64_t *count, struct cleave_error *err)
{
    uint64_t between, number;

    if (file->counted_to > body.begin)
        file->counted_to = file->counted = 0;
    CV_TRY(cv_cut_file_count(&file->cut, file->counted_to, body.begin, &between, err));
    CV_TRY(cv_cut_file_count(&file->cut, body.begin, body.end, &number, err));
    file->counted_to = body.begin;
    file->counted += between;
    *first = file->counted + 1;
    *count = number;
    return CLEAVE_OK;
}

static enum cleave_status count_records(struct cv_source *source,
                                        const struct cv_piece *piece, uint64_t *first,
                                        uint64_t *count, struct cleave_error *err)
{
    struct cv_source_file *file = &source->files[piece->file];
    const struct cv_range body = { piece->body.begin - piece->skip, piece->body.end };
    const bool was_open = file->fd >= 0;
    enum cleave_status status;

    CV_TRY(cv_source_file_use(file, source->splitter, err));
    status = number_records(file, body, first, count, err);
    if (!was_open)
        close_file(file);
    return status;
}

static enum cleave_status find_torn_in(struct cv_source *source,
                                       struct cv_source_file *file, bool *out,
                                       struct cleave_error *note,
                                       struct cleave_error *err)
{
    const bool was_open = file->fd >= 0;
    enum cleave_status status;
    uint64_t count, torn;

    CV_TRY(cv_source_file_use(file, source->splitter, err));
    /* A walk from the last known boundary to the end finds an incomplete record. */
    status = cv_cut_file_count(&file->cut, file->edge, file->size, &count, err);
    torn = file->cut.torn;
    if (!was_open)
        close_file(file);
    *out = status == CLEAVE_OK && torn != UINT64_MAX;
    if (*out)
        cv_source_fail_torn(file->name, torn, note);
    return status;
}

static enum cleave_status find_torn(struct cv_source *source, bool *out,
                                    struct cleave_error *note, struct cleave_error *err)
{
    *out = false;
    if (source->splitter->kind->walk == NULL)
        return CLEAVE_OK;
    for (size_t i = 0; i < source->nfiles && !*out; i++)
        CV_TRY(find_torn_in(source, &source->files[i], out, note, err));
    return *out || source->mate == NULL
               ? CLEAVE_OK
               : find_torn_in(source, source->mate, out, note, err);
}

/* The start of the record that ends at `end`; `begin` is a boundary, `inside` in the record. */
static enum cleave_status find_start(struct cv_cut_file *file, uint64_t begin,
                                     uint64_t inside, uint64_t end, uint64_t *out,
                                     struct cleave_error *err)
{
    while (inside - begin > 1) {
        const uint64_t middle = begin + (inside - begin) / 2;
        uint64_t boundary;

        CV_TRY(cv_cut_file_at(file, middle, &boundary, err));
        if (boundary < end)
            begin = boundary;
        else
            inside = middle;
    }
    *out = begin;
    return CLEAVE_OK;
}

/* Fail if a record between two boundaries is too long. If records are short, this finds only
 * boundaries that are max / 2 apart. */
static enum cleave_status limit_records(struct cv_cut_file *file, uint64_t begin,
                                        uint64_t end, uint64_t max,
                                        struct cleave_error *err)
{
    while (end - begin > max) {
        const uint64_t inside = begin + 1 + max / 2;
        uint64_t boundary, start = begin;

        CV_TRY(cv_cut_file_at(file, inside, &boundary, err));
        if (boundary - begin > max) {
            CV_TRY(find_start(file, begin, inside, boundary, &start, err));
            if (boundary - start > max)
                return cv_cut_fail_long(file->name, false, start, max, err);
        }
        begin = boundary;
    }
    return CLEAVE_OK;
}

static enum cleave_status limit_piece(struct cv_source *source,
                                      const struct cv_piece *piece,
                                      struct cleave_error *err)
{
    const uint64_t max = source->max_record;

    if (max == 0)
        return CLEAVE_OK;
    CV_TRY(limit_records(&source->files[piece->file].cut, piece->body.begin,
                         piece->body.end, max, err));
    return source->mate == NULL ? CLEAVE_OK
                                : limit_records(&source->mate->cut, piece->mate.begin,
                                                piece->mate.end, max, err);
}

enum cleave_status cv_source_header_end(struct cv_source *source, size_t file,
                                        uint64_t *out, struct cleave_error *err)
{
    if (source->stream == NULL)
        CV_TRY(cv_source_use(source, file, err));
    return cv_source_find_header(source, file, out, err);
}

enum cleave_status cv_source_lend(struct cv_source *source, size_t file,
                                  struct cv_part *out, struct cleave_error *err)
{
    const struct cv_source_file *lent = &source->files[file];

    CV_TRY(cv_source_use(source, file, err));
    note_use(source, &(struct cv_piece){ .file = file, .end = 1 }, true);
    *out = (struct cv_part){
        .fd = lent->fd, .lazy = lent->cut.reader, .end = lent->size, .name = lent->name
    };
    return CLEAVE_OK;
}

void cv_source_give_back(struct cv_source *source, size_t file)
{
    note_use(source, &(struct cv_piece){ .file = file, .end = 1 }, false);
}

#define FILE_FUNCTIONS                                                                  \
    .free = free_files, .locate = locate_file, .end_at = file_end_at, .cut = cut_at,    \
    .count = count_records, .find_torn = find_torn, .fill = fill_piece, .judge = judge, \
    .in_use = note_use

const struct cv_source_kind cv_source_files = {
    FILE_FUNCTIONS,
    .finish = finish_piece,
    .limit = limit_piece,
};

/* --- the kind of items --------------------------------------------------------------------------- */

static bool items_have_room(const struct cv_source *source)
{
    return source->pending.total < source->hold;
}

static int items_poll_fd(const struct cv_source *source)
{
    return source->open ? source->items->comes(source->items->context) : -1;
}

static enum cleave_status pump_items(struct cv_source *source, struct cleave_error *err)
{
    const struct cleave_items *items = source->items;
    uint64_t count = source->total;
    bool ended = false;

    CV_TRY(items->more(items->context, &count, &ended, err));
    if (count > source->total)
        CV_TRY(cv_range_set_put(&source->pending, source->total, count, err));
    source->total = source->files->size = source->files->cut.size = count;
    if (ended) {
        source->open = false;
        source->hold = 0;
    }
    return CLEAVE_OK;
}

static enum cleave_status finish_items(struct cv_source *source,
                                       const struct cv_piece *piece,
                                       struct cleave_error *err)
{
    const struct cleave_items *items = source->items;

    for (uint64_t item = piece->begin; items->over != NULL && item < piece->end; item++)
        items->over(items->context, item);
    return finish_piece(source, piece, err);
}

const struct cv_source_kind cv_source_items = {
    FILE_FUNCTIONS,           .finish = finish_items, .has_room = items_have_room,
    .poll_fd = items_poll_fd, .pump = pump_items,
};

static enum cleave_status make_item_file(struct cv_source_file *file, uint64_t count,
                                         struct cleave_error *err)
{
    struct stat now;

    *file = (struct cv_source_file){ .fd = memfd_create("items", MFD_CLOEXEC) };
    if (file->fd < 0 || ftruncate(file->fd, (off_t)count) != 0 ||
        fstat(file->fd, &now) != 0)
        return cv_fail_errno(err, errno, "cannot number the items");
    set_identity(file, &now);
    file->name = strdup("items");
    file->path = strdup("items");
    return file->name != NULL && file->path != NULL ? CLEAVE_OK
                                                    : cv_fail_memory(err, "the items");
}

enum cleave_status cv_source_open_items(const struct cleave_items *items, uint64_t hold,
                                        const struct cv_splitter *splitter,
                                        struct cv_source **out, struct cleave_error *err)
{
    struct cv_source *source = calloc(1, sizeof *source);
    enum cleave_status status;

    if (source != NULL)
        source->files = calloc(1, sizeof *source->files);
    if (source == NULL || source->files == NULL) {
        free(source);
        return cv_fail_memory(err, "the items");
    }
    source->kind = &cv_source_items;
    source->splitter = splitter;
    source->raw = true;
    source->nfiles = 1; /* the file stays open */
    source->total = items->count;
    source->items = items;
    source->open = items->more != NULL;
    source->hold = source->open ? hold : 0;
    cv_range_set_init(&source->pending);
    status = make_item_file(source->files, items->count, err);
    cv_source_file_cut(source->files, splitter, items->count);
    CV_THEN(status, cv_range_set_put(&source->pending, 0, items->count, err));
    if (status == CLEAVE_OK)
        *out = source;
    else
        cv_source_free(source);
    return status;
}
