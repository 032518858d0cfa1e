/* result_name_set.c -- result files of items: each belongs to one item and is not an item itself.
 * SPDX-License-Identifier: MIT */
#include "run/items/result_name_set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"

enum { SHOWN = 80 }; /* bytes of a name in messages */

struct cv_hashed_item {
    uint64_t hash; /* 0: the slot is free */
    uint64_t item;
};

void cv_result_names_done(struct cv_result_names *results)
{
    free(results->names.slots);
    free(results->files.slots);
    *results = (struct cv_result_names){ .files_complete = false };
}

/* --- hashes ------------------------------------------------------------------------------- */

/* Remove '.' and '..' from a path, as items may be called so. `out` has room for the path. */
static void normalize_path(const char *path, char *out)
{
    const size_t root = path[0] == '/';
    size_t used = root;

    memcpy(out, path, root);
    while (*path != '\0') {
        const size_t length = strcspn(path, "/");
        const bool up = length == 2 && strncmp(path, "..", 2) == 0;

        if (up && used > root) {
            while (used > root && out[used - 1] != '/')
                used--;
            used -= used > root;
        } else if (length > 0 && !(length == 1 && path[0] == '.')) {
            if (used > root)
                out[used++] = '/';
            memcpy(out + used, path, length);
            used += length;
        }
        path += length;
        path += *path == '/';
    }
    out[used] = '\0';
}

/* FNV-1a. */
static enum cleave_status hash_name(const char *path, uint64_t *out,
                                    struct cleave_error *err)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    char *text = malloc(strlen(path) + 1);

    if (text == NULL)
        return cv_fail_memory(err, "items.results");
    normalize_path(path, text);
    for (const char *at = text; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
    free(text);
    *out = hash != 0 ? hash : 1;
    return CLEAVE_OK;
}

static uint64_t hash_file(const struct stat *info)
{
    const uint64_t hash = (uint64_t)info->st_ino * UINT64_C(0x9e3779b97f4a7c15) ^
                          (uint64_t)info->st_dev * UINT64_C(0xc2b2ae3d27d4eb4f);

    return hash != 0 ? hash : 1;
}

/* The slot of a hash, or the free one for it. */
static struct cv_hashed_item *find(const struct cv_hashed_items *items, uint64_t hash)
{
    size_t i = (size_t)(hash ^ hash >> 32) & (items->room - 1);

    while (items->slots[i].hash != 0 && items->slots[i].hash != hash)
        i = (i + 1) & (items->room - 1);
    return &items->slots[i];
}

static bool contains(const struct cv_hashed_items *items, uint64_t hash)
{
    return items->count > 0 && find(items, hash)->hash != 0;
}

/* *out is the item that has the hash: this one, unless an earlier one has it. */
static enum cleave_status put(struct cv_hashed_items *items, uint64_t hash, uint64_t item,
                              uint64_t *out, struct cleave_error *err)
{
    struct cv_hashed_item *slot;

    if (2 * items->count >= items->room) {
        struct cv_hashed_items larger = { .count = items->count,
                                          .room =
                                              items->room > 0 ? 2 * items->room : 256 };

        larger.slots = calloc(larger.room, sizeof *larger.slots);
        if (larger.slots == NULL)
            return cv_fail_memory(err, "items.results");
        for (size_t i = 0; i < items->room; i++)
            if (items->slots[i].hash != 0)
                *find(&larger, items->slots[i].hash) = items->slots[i];
        free(items->slots);
        *items = larger;
    }
    slot = find(items, hash);
    items->count += slot->hash == 0;
    if (slot->hash == 0)
        *slot = (struct cv_hashed_item){ hash, item };
    *out = slot->item;
    return CLEAVE_OK;
}

/* --- files of items ----------------------------------------------------------------------- */

static enum cleave_status note_files(struct cv_result_names *results,
                                     const struct cv_item_commands *commands,
                                     uint64_t item, struct cleave_error *err)
{
    struct cv_item_arguments arguments = { .items = NULL };
    enum cleave_status status = cv_item_arguments_get(commands, item, &arguments, err);
    uint64_t ignored;
    struct stat info;

    for (size_t i = 0; status == CLEAVE_OK && i < arguments.count; i++)
        if (stat(arguments.items[i], &info) == 0 && S_ISREG(info.st_mode))
            status = put(&results->files, hash_file(&info), item, &ignored, err);
    cv_item_arguments_done(&arguments);
    return status;
}

/* Refuse to overwrite a file of an item. For a stream, only this and earlier items are known. */
static enum cleave_status spare_items(struct cv_result_names *results,
                                      const struct cv_item_commands *commands,
                                      uint64_t item, const char *path,
                                      struct cleave_error *err)
{
    const bool streamed = commands->stream != NULL;
    char shown[SHOWN];
    struct stat info;

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return CLEAVE_OK;
    if (streamed)
        CV_TRY(note_files(results, commands, item, err));
    for (uint64_t i = 0; !streamed && !results->files_complete && i < commands->count;
         i++)
        CV_TRY(note_files(results, commands, i, err));
    results->files_complete = !streamed;
    if (!contains(&results->files, hash_file(&info)))
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT,
                   "items.results: '%s' would be overwritten, which is item %llu: "
                   "expected another name, as with '{}.out'",
                   cv_shown(path, strlen(path), shown, sizeof shown),
                   (unsigned long long)find(&results->files, hash_file(&info))->item + 1);
}

enum cleave_status cv_result_names_claim(struct cv_result_names *results,
                                         const struct cv_item_commands *commands,
                                         uint64_t item, const char *path, bool made,
                                         struct cleave_error *err)
{
    char shown[SHOWN];
    uint64_t hash = 0, owner;

    CV_TRY(hash_name(path, &hash, err));
    if (made && !contains(&results->names, hash))
        CV_TRY(spare_items(results, commands, item, path, err));
    CV_TRY(put(&results->names, hash, item, &owner, err));
    if (owner == item)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT,
                   "items.results: items %llu and %llu both have the name '%s': expected "
                   "one that tells them apart, as with {#}",
                   (unsigned long long)owner + 1, (unsigned long long)item + 1,
                   cv_shown(path, strlen(path), shown, sizeof shown));
}
