/* journal_items.c -- items in a journal. SPDX-License-Identifier: MIT */
#include "run/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cleave/execute.h>

#include "base/bisect.h"
#include "base/compare.h"
#include "base/fail.h"
#include "run/journal/journal_internal.h"

struct cv_item_keys {
    const struct cleave_items *items; /* borrowed */
    uint64_t *keys;                   /* owned: one for each */
    struct cv_content_hasher *hasher; /* owned */
};

static const uint64_t MOST_KEY = UINT64_C(1) << 62;

static enum cleave_status add_bytes(struct cv_content_hasher *hasher, const void *bytes,
                                    size_t length, struct cleave_error *err)
{
    return cv_content_hasher_add_part(
        hasher, &(struct cv_part){ .bytes = bytes, .fd = -1, .end = length }, err);
}

/* Hash the words with their NUL bytes. */
static enum cleave_status hash_words(struct cv_item_keys *keys, uint64_t item,
                                     uint64_t *out, struct cleave_error *err)
{
    const struct cleave_items *items = keys->items;
    enum cleave_status status = CLEAVE_OK;
    char **words;

    CV_TRY(items->words(items->context, item, 0, &words, err));
    for (size_t i = 0; status == CLEAVE_OK && words[i] != NULL; i++)
        status = add_bytes(keys->hasher, words[i], strlen(words[i]) + 1, err);
    free(words);
    *out = cv_content_hasher_finish(keys->hasher).low % MOST_KEY;
    return status;
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

/* --- contents ----------------------------------------------------------------------------- */

/* Names of other things than regular files add nothing. */
static enum cleave_status hash_file(struct cv_content_hasher *hasher, const char *name,
                                    struct cleave_error *err)
{
    enum cleave_status status = CLEAVE_OK;
    struct stat now;
    int fd;

    if (stat(name, &now) != 0 || !S_ISREG(now.st_mode))
        return CLEAVE_OK;
    fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &now) != 0)
        status = cv_fail(err, CLEAVE_EENGINE, "%s: cannot read for the journal: %s", name,
                         strerror(errno));
    CV_THEN(status, add_bytes(hasher, &now.st_size, sizeof now.st_size, err));
    CV_THEN(status,
            cv_content_hasher_add(hasher, name, fd, 0, (uint64_t)now.st_size, err));
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

/* --- finished items ------------------------------------------------------------------------ */

static struct cv_journal_row *find_row(const struct cv_journal *journal, uint64_t key)
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
        struct cv_journal_row *row = find_row(journal, keys->keys[i]);

        if (row == NULL)
            continue;
        CV_TRY(cv_item_keys_content(keys, i, &now, err));
        if (cv_content_hash_equal(now, row->chunk.hash) ||
            cv_content_hash_equal(now, nothing))
            CV_TRY(cv_source_know(source, 0, i, i + 1, row->chunk.id, err));
        else
            row->stale = journal->stale = true;
    }
    return CLEAVE_OK;
}
