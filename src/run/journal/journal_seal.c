/* journal_seal.c -- rows that are as they were written. SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/fail.h"
#include "run/journal/journal_internal.h"

enum cleave_status cv_journal_seal(struct cv_journal *journal, const char *table,
                                   struct cv_packer *columns,
                                   char out[CV_CONTENT_HASH_TEXT],
                                   struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    struct cv_part all;

    cv_pack_text(columns, table);
    cv_pack_number(columns, journal->key);
    all = (struct cv_part){ .bytes = columns->bytes, .fd = -1, .end = columns->length };
    if (columns->failed) {
        status = cv_fail_memory(err, "the journal");
    } else {
        cv_content_hasher_reset(journal->hasher);
        status = cv_content_hasher_add_part(journal->hasher, &all, err);
        cv_content_hash_text(cv_content_hasher_finish(journal->hasher), out);
    }
    cv_pack_done(columns);
    return status;
}

enum cleave_status cv_journal_seal_chunk(struct cv_journal *journal, int64_t row,
                                         const struct cv_journal_chunk *chunk,
                                         char out[CV_CONTENT_HASH_TEXT],
                                         struct cleave_error *err)
{
    struct cv_packer columns = { NULL, 0, 0, false };

    cv_pack_number(&columns, (uint64_t)row);
    cv_pack_number(&columns, chunk->file);
    cv_pack_number(&columns, chunk->begin);
    cv_pack_number(&columns, chunk->end);
    cv_pack_number(&columns, chunk->hash.high);
    cv_pack_number(&columns, chunk->hash.low);
    cv_pack_number(&columns, (uint64_t)chunk->status);
    cv_pack_real(&columns, chunk->seconds);
    cv_pack_real(&columns, chunk->start_s);
    cv_pack_text(&columns, chunk->worker);
    cv_pack_number(&columns, chunk->output_bytes);
    cv_pack_number(&columns, chunk->output_hash.high);
    cv_pack_number(&columns, chunk->output_hash.low);
    return cv_journal_seal(journal, "chunk", &columns, out, err);
}

const char *cv_journal_text(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text != NULL && strlen(text) == (size_t)sqlite3_column_bytes(row, column)
               ? text
               : NULL;
}

bool cv_journal_is(sqlite3_stmt *row, int column, const char *text)
{
    const char *there = cv_journal_text(row, column);

    return there != NULL && strcmp(there, text) == 0;
}

bool cv_journal_types(sqlite3_stmt *row, const char *types)
{
    for (int i = 0; types[i] != '\0'; i++) {
        const int type = sqlite3_column_type(row, i);
        const int expected = types[i] == 'i'   ? SQLITE_INTEGER
                             : types[i] == 'r' ? SQLITE_FLOAT
                             : types[i] == 't' ? SQLITE_TEXT
                                               : SQLITE_BLOB;

        if (type != expected || (types[i] == 't' && cv_journal_text(row, i) == NULL))
            return false;
    }
    return true;
}
