/* journal_chunks.c -- finished chunks and items in a journal. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cleave/execute.h>
#include "base/arena.h"
#include "base/bisect.h"
#include "base/compare.h"
#include "base/fail.h"
#include "base/shell_word.h"
#include "run/journal/journal.h"
#include "run/journal/journal_internal.h"

enum { PART_BYTES = 1 << 20 }; /* most bytes of an output in a row */

/* --- adding ----------------------------------------------------------------------------- */

/* Delete a chunk and its output. */
static enum cleave_status forget(struct cv_journal *journal, int64_t row,
                                 struct cleave_error *err)
{
    const struct cv_journal_value value = { .number = row };

    CV_TRY(cv_journal_write(journal, CV_SQL_FORGET_PARTS, &value, err));
    return cv_journal_write(journal, CV_SQL_FORGET_CHUNK, &value, err);
}

/* Delete chunks that were found changed, if their bytes are added again. */
static enum cleave_status forget_stale(struct cv_journal *journal,
                                       const struct cv_journal_chunk *chunk,
                                       struct cleave_error *err)
{
    const struct cv_journal_row *rows = journal->rows;
    size_t low;

    /* The first row that ends after the chunk begins. */
    CV_BISECT(low, journal->nrows, i,
              rows[i].chunk.file < chunk->file || (rows[i].chunk.file == chunk->file &&
                                                   rows[i].chunk.end <= chunk->begin));
    for (; low < journal->nrows; low++) {
        const struct cv_journal_row *old = &journal->rows[low];

        if (old->chunk.file != chunk->file || old->chunk.begin >= chunk->end)
            break;
        if (old->stale)
            CV_TRY(forget(journal, old->row, err));
    }
    return CLEAVE_OK;
}

static enum cleave_status add_chunk(struct cv_journal *journal,
                                    const struct cv_journal_chunk *chunk,
                                    struct cleave_error *err)
{
    const struct cv_journal_value values[] = {
        { .number = journal->next_row },
        { .number = (int64_t)chunk->file },
        { .number = (int64_t)chunk->begin },
        { .number = (int64_t)chunk->end },
        { .hash = chunk->hash },
        { .number = chunk->status },
        { .real = chunk->seconds },
        { .real = chunk->start_s },
        { .text = chunk->worker },
        { .number = (int64_t)chunk->output_bytes },
        { .hash = chunk->output_hash },
    };

    return cv_journal_write(journal, CV_SQL_ADD_CHUNK, values, err);
}

static enum cleave_status add_output(struct cv_journal *journal, int fd, uint64_t begin,
                                     uint64_t end, struct cv_journal_chunk *chunk,
                                     struct cleave_error *err)
{
    const struct cv_part output = { .fd = fd, .begin = begin, .end = end };

    if (journal->part == NULL)
        journal->part = malloc(PART_BYTES);
    if (journal->part == NULL)
        return cv_fail_memory(err, "a part of an output");
    cv_content_hasher_reset(journal->hasher);
    for (int part = 0; begin < end; part++) {
        const size_t length =
            end - begin < PART_BYTES ? (size_t)(end - begin) : PART_BYTES;
        ssize_t got;

        errno = 0;
        got = cv_part_read(&output, begin, journal->part, length);
        if (got != (ssize_t)length)
            return cv_fail(err, CLEAVE_EENGINE,
                           "cannot read an output at byte %" PRIu64 ": %s",
                           begin + (got > 0 ? (uint64_t)got : 0),
                           errno != 0 ? strerror(errno) : "it ends there");
        cv_content_hasher_add_bytes(journal->hasher, journal->part, length);
        begin += length;
        if (!chunk->outside)
            CV_TRY(cv_journal_write(journal, CV_SQL_ADD_PART,
                                    (const struct cv_journal_value[]){
                                        { .number = journal->next_row },
                                        { .number = part },
                                        { .number = (int64_t)length,
                                          .bytes = journal->part } },
                                    err));
    }
    chunk->output_hash = cv_content_hasher_finish(journal->hasher);
    return CLEAVE_OK;
}

static enum cleave_status add_all(struct cv_journal *journal,
                                  const struct cv_journal_chunk *chunk, int fd,
                                  uint64_t begin, uint64_t end, struct cleave_error *err)
{
    struct cv_journal_chunk added = *chunk;

    if (journal->stale)
        CV_TRY(forget_stale(journal, chunk, err));
    if (fd >= 0) {
        added.output_bytes = end - begin;
        CV_TRY(add_output(journal, fd, begin, end, &added, err));
    }
    return add_chunk(journal, &added, err);
}

enum cleave_status cv_journal_add(struct cv_journal *journal,
                                  const struct cv_journal_chunk *chunk, int fd,
                                  uint64_t begin, uint64_t end, struct cleave_error *err)
{
    enum cleave_status status;

    CV_TRY(cv_journal_execute(journal, "BEGIN IMMEDIATE", err));
    status = cv_journal_end(journal, add_all(journal, chunk, fd, begin, end, err), err);
    journal->next_row += status == CLEAVE_OK;
    return status;
}

/* --- reading ------------------------------------------------------------------------------- */

/* A damaged row is marked as stale. */
static enum cleave_status read_row(struct cv_journal *journal, sqlite3_stmt *query,
                                   struct cv_journal_row *out, struct cleave_error *err)
{
    struct cv_journal_chunk *chunk = &out->chunk;
    struct cv_journal_value values[CV_JOURNAL_COLUMNS];
    bool good;

    *out =
        (struct cv_journal_row){ .row = sqlite3_column_int64(query, 0), .stale = true };
    CV_TRY(cv_journal_read(journal, query, CV_SQL_ADD_CHUNK, values, &good, err));
    if (!good || strlen(values[8].text) >= sizeof chunk->worker)
        return CLEAVE_OK;
    *chunk = (struct cv_journal_chunk){ .file = (size_t)values[1].number,
                                        .begin = (uint64_t)values[2].number,
                                        .end = (uint64_t)values[3].number,
                                        .hash = values[4].hash,
                                        .status = (int)values[5].number,
                                        .seconds = values[6].real,
                                        .start_s = values[7].real,
                                        .output_bytes = (uint64_t)values[9].number,
                                        .output_hash = values[10].hash };
    strcpy(chunk->worker, values[8].text);
    out->stale = chunk->begin >= chunk->end || chunk->end > INT64_MAX ||
                 chunk->output_bytes > INT64_MAX || chunk->status != values[5].number;
    return CLEAVE_OK;
}

static enum cleave_status read_rows(struct cv_journal *journal, struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    sqlite3_stmt *query = NULL;
    int step;

    CV_TRY(cv_journal_prepare(journal, CV_SQL_CHUNKS, &query, err));
    while (status == CLEAVE_OK && (step = sqlite3_step(query)) != SQLITE_DONE) {
        if (step != SQLITE_ROW)
            status = cv_journal_fail(journal, "read the journal", err);
        else if (!CV_ROOM(journal->rows, &journal->row_room, journal->nrows + 1))
            status = cv_fail_memory(err, "the finished chunks of a journal");
        else
            status = read_row(journal, query, &journal->rows[journal->nrows++], err);
    }
    sqlite3_reset(query);
    return status;
}

static int by_place(const void *a, const void *b)
{
    const struct cv_journal_row *first = a, *second = b;
    const struct cv_journal_chunk *x = &first->chunk, *y = &second->chunk;

    if (x->file != y->file)
        return CV_COMPARE(x->file, y->file);
    return x->begin != y->begin ? CV_COMPARE(x->begin, y->begin)
                                : CV_COMPARE(first->row, second->row);
}

/* Two chunks that share a byte are both damaged. */
static void find_overlaps(struct cv_journal_row *rows, size_t n)
{
    size_t longest = 0; /* row with the highest end so far */

    for (size_t i = 1; i < n; i++) {
        const struct cv_journal_chunk *last = &rows[longest].chunk;

        if (rows[i].chunk.file == last->file && rows[i].chunk.begin < last->end)
            rows[i].stale = rows[longest].stale = true;
        if (rows[i].chunk.file != last->file || rows[i].chunk.end > last->end)
            longest = i;
    }
}

/* Remove stale rows from the list and from the database. */
static enum cleave_status drop_damaged(struct cv_journal *journal,
                                       struct cleave_error *err)
{
    size_t kept = 0;

    for (size_t i = 0; i < journal->nrows; i++) {
        if (journal->rows[i].stale) {
            CV_TRY(forget(journal, journal->rows[i].row, err));
            journal->damaged++;
        } else {
            journal->rows[kept] = journal->rows[i];
            journal->rows[kept].chunk.id = kept;
            kept++;
        }
    }
    journal->nrows = kept;
    return CLEAVE_OK;
}

/* Move damaged rows, whose offsets mean nothing, to the end; returns the number of others. */
static size_t partition(struct cv_journal_row *rows, size_t n)
{
    size_t good = 0;

    for (size_t i = 0; i < n; i++) {
        const struct cv_journal_row row = rows[i];

        if (row.stale)
            continue;
        rows[i] = rows[good];
        rows[good++] = row;
    }
    return good;
}

enum cleave_status cv_journal_load(struct cv_journal *journal, size_t *out_count,
                                   struct cleave_error *err)
{
    size_t good;

    journal->nrows = 0;
    journal->stale = false;
    CV_TRY(read_rows(journal, err));
    journal->total = journal->nrows;
    good = partition(journal->rows, journal->nrows);
    if (good > 1)
        qsort(journal->rows, good, sizeof *journal->rows, by_place);
    find_overlaps(journal->rows, good);
    CV_TRY(cv_journal_execute(journal, "BEGIN IMMEDIATE", err));
    CV_TRY(cv_journal_end(journal, drop_damaged(journal, err), err));
    *out_count = journal->nrows;
    return CLEAVE_OK;
}

uint64_t cv_journal_damaged(const struct cv_journal *journal, uint64_t *of)
{
    *of = journal->total;
    return journal->damaged;
}

/* --- outputs ---------------------------------------------------------------------------- */

static void mark_stale(struct cv_journal *journal, uint64_t id)
{
    journal->rows[id].stale = true;
    journal->stale = true;
}

/* Whether a row is the next part of an output that has `left` more bytes. */
static bool next_part(sqlite3_stmt *row, int64_t number, uint64_t left)
{
    const size_t length = (size_t)sqlite3_column_bytes(row, 1);

    return sqlite3_column_type(row, 0) == SQLITE_INTEGER &&
           sqlite3_column_type(row, 1) == SQLITE_BLOB &&
           sqlite3_column_int64(row, 0) == number && length > 0 && length <= PART_BYTES &&
           length <= left;
}

enum cleave_status cv_journal_output(struct cv_journal *journal, uint64_t id,
                                     cv_journal_sink *sink, void *context, bool *whole,
                                     struct cleave_error *err)
{
    const struct cv_journal_row *row = &journal->rows[id];
    uint64_t left = row->chunk.output_bytes;
    enum cleave_status status = CLEAVE_OK;
    sqlite3_stmt *parts = NULL;
    int step = SQLITE_DONE;

    *whole = true;
    CV_TRY(cv_journal_prepare(journal, CV_SQL_PARTS, &parts, err));
    sqlite3_bind_int64(parts, 1, row->row);
    cv_content_hasher_reset(journal->hasher);
    for (int64_t number = 0; status == CLEAVE_OK && *whole; number++) {
        const void *bytes;
        size_t length;

        step = sqlite3_step(parts);
        if (step != SQLITE_ROW)
            break;
        *whole = next_part(parts, number, left);
        if (!*whole)
            break;
        bytes = sqlite3_column_blob(parts, 1);
        length = (size_t)sqlite3_column_bytes(parts, 1);
        left -= length;
        if (bytes != NULL)
            cv_content_hasher_add_bytes(journal->hasher, bytes, length);
        status = bytes != NULL ? sink(context, bytes, length, err)
                               : cv_fail_memory(err, "a part of an output");
    }
    if (status == CLEAVE_OK && *whole && step != SQLITE_DONE)
        status = cv_journal_fail(journal, "read the journal", err);
    sqlite3_reset(parts);
    CV_TRY(status);
    *whole = *whole && left == 0 &&
             cv_content_hash_equal(cv_content_hasher_finish(journal->hasher),
                                   row->chunk.output_hash);
    if (!*whole) {
        mark_stale(journal, id);
        journal->damaged++;
    }
    return CLEAVE_OK;
}

enum cleave_status cv_journal_output_is(struct cv_journal *journal, uint64_t id, int fd,
                                        bool *out, struct cv_journal_chunk *out_chunk,
                                        struct cleave_error *err)
{
    const struct cv_journal_row *row = &journal->rows[id];
    const uint64_t bytes = row->chunk.output_bytes;
    sqlite3_stmt *parts = NULL;
    struct stat facts;
    int step;

    *out = false;
    *out_chunk = row->chunk;
    CV_TRY(cv_journal_prepare(journal, CV_SQL_PARTS, &parts, err));
    sqlite3_bind_int64(parts, 1, row->row);
    step = sqlite3_step(parts);
    sqlite3_reset(parts);
    if (step != SQLITE_DONE || bytes == 0 || fstat(fd, &facts) != 0 ||
        (uint64_t)facts.st_size != bytes)
        return CLEAVE_OK;
    cv_content_hasher_reset(journal->hasher);
    CV_TRY(cv_content_hasher_add(journal->hasher, "an output", fd, 0, bytes, err));
    *out = cv_content_hash_equal(cv_content_hasher_finish(journal->hasher),
                                 row->chunk.output_hash);
    return CLEAVE_OK;
}

/* --- resuming --------------------------------------------------------------------------- */

enum cleave_status cv_journal_tell(struct cv_journal *journal, struct cv_source *source,
                                   struct cleave_error *err)
{
    size_t count;

    CV_TRY(cv_journal_load(journal, &count, err));
    for (size_t i = 0; i < count; i++) {
        const struct cv_journal_chunk *chunk = &journal->rows[i].chunk;

        CV_TRY(cv_source_know(source, chunk->file, chunk->begin, chunk->end, i, err));
    }
    return CLEAVE_OK;
}

enum cleave_status cv_journal_confirm(struct cv_journal *journal,
                                      struct cv_source *source, enum cv_known state,
                                      const struct cv_piece *piece, uint64_t id,
                                      bool *same, struct cleave_error *note,
                                      struct cleave_error *err)
{
    const struct cv_content_hash then = journal->rows[id].chunk.hash;
    const struct cv_range was = piece->body;
    struct cv_content_hash now;

    if (state == CV_KNOWN_PIECE) {
        CV_TRY(cv_source_hash(source, piece, &now, err));
        *same = cv_content_hash_equal(then, now);
        if (!*same)
            cv_fail_at(note, CV_FILE(piece->name),
                       "bytes %" PRIu64 " to %" PRIu64 " have changed since they were "
                       "done: expected hash %016" PRIx64 "%016" PRIx64 ", got %016" PRIx64
                       "%016" PRIx64,
                       was.begin, was.end, then.high, then.low, now.high, now.low);
    } else {
        *same = false;
        cv_fail_at(note, CV_FILE(piece->name),
                   "bytes %" PRIu64 " to %" PRIu64 " were done, but no longer begin and "
                   "end with a record: the file has changed or, after an incomplete "
                   "last record, grown",
                   was.begin, was.end);
    }
    if (!*same)
        mark_stale(journal, id);
    return CLEAVE_OK;
}

/* --- speeds of workers ----------------------------------------------------------------------
 *
 * A chunk takes a start, and its bytes divided by the speed of its worker. Open chunks have
 * measured starts. A start that was not measured is at most the time of the shortest chunk, and
 * hardly less, because the first chunks of a run are small. Speeds decide which worker gets
 * which first chunk; measurements of the new run replace them. */

/* Speeds that differ by less are equal, as far as a journal can tell. */
static const double ALIKE = 1.25;

/* Bytes of a worker and their time without starts; measured starts and their time. */
struct sum {
    double bytes, time_s;
    double starts_s, starts;
};

static struct sum *find(const char *const *names, uint32_t count, struct sum *sums,
                        const char *name)
{
    for (uint32_t w = 0; w < count; w++)
        if (names[w] != NULL && strcmp(names[w], name) == 0)
            return &sums[w];
    return NULL;
}

static void add_up(const struct cv_journal *journal, const char *const *names,
                   uint32_t count, struct sum *sums)
{
    double shortest_s = INFINITY;

    for (size_t i = 0; i < journal->nrows; i++)
        shortest_s = fmin(shortest_s, journal->rows[i].chunk.seconds);
    for (size_t i = 0; i < journal->nrows; i++) {
        const struct cv_journal_chunk *chunk = &journal->rows[i].chunk;
        struct sum *sum = find(names, count, sums, chunk->worker);
        const double start_s = chunk->start_s > 0 ? chunk->start_s : shortest_s;

        if (sum == NULL)
            continue;
        sum->starts += chunk->start_s > 0;
        sum->starts_s += chunk->start_s;
        if (!(chunk->seconds > start_s))
            continue;
        sum->bytes += (double)(chunk->end - chunk->begin);
        sum->time_s += chunk->seconds - start_s;
    }
}

/* Workers without measured starts get the mean of all. */
static void find_starts(const struct sum *sums, uint32_t count,
                        struct cv_journal_costs *out)
{
    double starts_s = 0, starts = 0;

    for (uint32_t w = 0; w < count; w++) {
        starts_s += sums[w].starts_s;
        starts += sums[w].starts;
    }
    out->starts_known = starts > 0;
    for (uint32_t w = 0; w < count; w++)
        out->start_s[w] = sums[w].starts > 0 ? sums[w].starts_s / sums[w].starts
                          : starts > 0       ? starts_s / starts
                                             : 0;
}

enum cleave_status cv_journal_speeds(const struct cv_journal *journal,
                                     const char *const *names, uint32_t count,
                                     struct cv_journal_costs *out,
                                     struct cleave_error *err)
{
    struct sum *sums = calloc(count, sizeof *sums);
    double min = INFINITY, max = 0, sum = 0;

    if (sums == NULL)
        return cv_fail_memory(err, "the journal");
    add_up(journal, names, count, sums);
    for (uint32_t w = 0; w < count; w++) {
        out->speed_ups[w] = sums[w].time_s > 0 ? sums[w].bytes / sums[w].time_s : 0;
        min = fmin(min, out->speed_ups[w]);
        max = fmax(max, out->speed_ups[w]);
        sum += out->speed_ups[w];
    }
    find_starts(sums, count, out);
    free(sums);
    out->known = min > 0 && isfinite(max);
    out->differ = max >= ALIKE * min;
    for (uint32_t w = 0; out->known && !out->differ && w < count; w++)
        out->speed_ups[w] = sum / count;
    return CLEAVE_OK;
}

/* --- items in a journal ------------------------------------------------------------ */

struct cv_item_keys {
    const struct cleave_items *items; /* borrowed */
    uint64_t *keys;                   /* owned: one for each */
    struct cv_content_hasher *hasher; /* owned */
};

static const uint64_t MOST_KEY = UINT64_C(1) << 62;

/* Hash the words with their NUL bytes. */
static enum cleave_status hash_words(struct cv_item_keys *keys, uint64_t item,
                                     uint64_t *out, struct cleave_error *err)
{
    const struct cleave_items *items = keys->items;
    char **words;

    CV_TRY(items->words(items->context, item, 0, &words, err));
    for (size_t i = 0; words[i] != NULL; i++) {
        const char *word = i == 0 ? cv_shell_noted(words[0]) : words[i];

        cv_content_hasher_add_bytes(keys->hasher, word, strlen(word) + 1);
    }
    free(words);
    *out = cv_content_hasher_finish(keys->hasher).low % MOST_KEY;
    return CLEAVE_OK;
}

struct numbered {
    uint64_t key, item;
};

CV_ORDER_BY_TWO(by_key, struct numbered, key, item)

/* Give items with the same words consecutive keys. */
static enum cleave_status separate_equal(struct cv_item_keys *keys,
                                         struct cleave_error *err)
{
    const size_t count = (size_t)keys->items->count;
    struct numbered *sorted = malloc((count + 1) * sizeof *sorted);
    uint64_t next = 0;

    if (sorted == NULL)
        return cv_fail_memory(err, "the journal");
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct numbered){ keys->keys[i], i };
    qsort(sorted, count, sizeof *sorted, by_key);
    for (size_t i = 0; i < count; i++) {
        const uint64_t key = sorted[i].key > next || i == 0 ? sorted[i].key : next;

        keys->keys[sorted[i].item] = key;
        next = key + 1;
    }
    free(sorted);
    return CLEAVE_OK;
}

enum cleave_status cv_item_keys_new(const struct cleave_items *items,
                                    struct cv_item_keys **out, struct cleave_error *err)
{
    struct cv_item_keys *keys = calloc(1, sizeof *keys);
    enum cleave_status status;

    if (keys == NULL)
        return cv_fail_memory(err, "the journal");
    keys->items = items;
    keys->keys = calloc((size_t)items->count + 1, sizeof *keys->keys);
    status = keys->keys != NULL ? cv_content_hasher_new(&keys->hasher, err)
                                : cv_fail_memory(err, "the journal");
    for (uint64_t i = 0; status == CLEAVE_OK && i < items->count; i++)
        status = hash_words(keys, i, &keys->keys[i], err);
    CV_THEN(status, separate_equal(keys, err));
    if (status == CLEAVE_OK)
        *out = keys;
    else
        cv_item_keys_free(keys);
    return status;
}

void cv_item_keys_free(struct cv_item_keys *keys)
{
    if (keys == NULL)
        return;
    cv_content_hasher_free(keys->hasher);
    free(keys->keys);
    free(keys);
}

uint64_t cv_item_keys_at(const struct cv_item_keys *keys, uint64_t item)
{
    return keys->keys[item];
}

/* Names of other things than regular files add nothing. */
static enum cleave_status hash_file(struct cv_content_hasher *hasher, const char *name,
                                    struct cleave_error *err)
{
    enum cleave_status status;
    struct stat now;
    int fd;

    if (stat(name, &now) != 0 || !S_ISREG(now.st_mode))
        return CLEAVE_OK;
    fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &now) != 0) {
        status = cv_fail(err, CLEAVE_EENGINE, "%s: cannot read for the journal: %s", name,
                         strerror(errno));
    } else {
        cv_content_hasher_add_bytes(hasher, &now.st_size, sizeof now.st_size);
        status = cv_content_hasher_add(hasher, name, fd, 0, (uint64_t)now.st_size, err);
    }
    if (fd >= 0)
        close(fd);
    return status;
}

enum cleave_status cv_item_keys_content(struct cv_item_keys *keys, uint64_t item,
                                        struct cv_content_hash *out,
                                        struct cleave_error *err)
{
    const struct cleave_items *items = keys->items;
    enum cleave_status status = CLEAVE_OK;
    char **names = NULL;

    cv_content_hasher_reset(keys->hasher);
    if (items->files != NULL)
        CV_TRY(items->files(items->context, item, &names, err));
    for (size_t i = 0; names != NULL && status == CLEAVE_OK && names[i] != NULL; i++)
        status = hash_file(keys->hasher, names[i], err);
    free(names);
    *out = cv_content_hasher_finish(keys->hasher);
    return status;
}

static const struct cv_journal_row *find_row(const struct cv_journal *journal,
                                             uint64_t key)
{
    size_t low;

    CV_BISECT(low, journal->nrows, i, journal->rows[i].chunk.begin < key);
    return low < journal->nrows && journal->rows[low].chunk.begin == key
               ? &journal->rows[low]
               : NULL;
}

enum cleave_status cv_journal_tell_items(struct cv_journal *journal,
                                         struct cv_source *source,
                                         struct cv_item_keys *keys,
                                         struct cleave_error *err)
{
    struct cv_content_hash nothing, now;
    size_t count;

    cv_content_hasher_reset(keys->hasher);
    nothing = cv_content_hasher_finish(keys->hasher);
    CV_TRY(cv_journal_load(journal, &count, err));
    for (uint64_t i = 0; i < keys->items->count; i++) {
        const struct cv_journal_row *row = find_row(journal, keys->keys[i]);

        if (row == NULL)
            continue;
        CV_TRY(cv_item_keys_content(keys, i, &now, err));
        if (cv_content_hash_equal(now, row->chunk.hash) ||
            cv_content_hash_equal(now, nothing))
            CV_TRY(cv_source_know(source, 0, i, i + 1, row->chunk.id, err));
        else
            mark_stale(journal, row->chunk.id);
    }
    return CLEAVE_OK;
}
