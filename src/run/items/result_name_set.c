/* result_name_set.c -- names of files that items write to: one item each, and none that an item is.
 * SPDX-License-Identifier: MIT */
#include "run/items/result_name_set.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fail.h"
#include "base/text.h"

/* Of a name that is shown, so much. */
enum { SHOWN = 80 };

void cv_item_taken_done(struct cv_item_taken *taken)
{
    free(taken->names.list);
    free(taken->files.list);
    *taken = (struct cv_item_taken){ .files_known = false };
}

/* --- sets --------------------------------------------------------------------------------- */

/* Write to `out`, which has room for as many bytes, a path without parts that lead nowhere: items
 * may be called '', '.' and '..', and then one file has several names. */
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

static enum cleave_status hash_name(const char *path, uint64_t *out,
                                    struct cleave_error *err)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    char *text = malloc(strlen(path) + 1);

    if (text == NULL)
        return cv_fail_memory(err, "--results");
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

/* The place of it, or the free one where it belongs. */
static struct cv_item_owner *find(const struct cv_item_owners *owners, uint64_t hash)
{
    size_t i = (size_t)(hash ^ hash >> 32) & (owners->room - 1);

    while (owners->list[i].hash != 0 && owners->list[i].hash != hash)
        i = (i + 1) & (owners->room - 1);
    return &owners->list[i];
}

static enum cleave_status grow_array(struct cv_item_owners *owners,
                                     struct cleave_error *err)
{
    struct cv_item_owners larger = { .room = owners->room > 0 ? 2 * owners->room : 256 };

    if (2 * owners->count < owners->room)
        return CLEAVE_OK;
    larger.list = calloc(larger.room, sizeof *larger.list);
    if (larger.list == NULL)
        return cv_fail_memory(err, "--results");
    for (size_t i = 0; i < owners->room; i++)
        if (owners->list[i].hash != 0)
            *find(&larger, owners->list[i].hash) = owners->list[i];
    larger.count = owners->count;
    free(owners->list);
    *owners = larger;
    return CLEAVE_OK;
}

/* Whose it is: this item's, unless it is somebody's. */
static enum cleave_status put(struct cv_item_owners *owners, uint64_t hash, uint64_t item,
                              uint64_t *out_owner, struct cleave_error *err)
{
    struct cv_item_owner *owner;

    CV_TRY(grow_array(owners, err));
    owner = find(owners, hash);
    owners->count += owner->hash == 0;
    if (owner->hash == 0)
        *owner = (struct cv_item_owner){ hash, item };
    *out_owner = owner->item;
    return CLEAVE_OK;
}

static bool is_known(const struct cv_item_owners *owners, uint64_t hash)
{
    return owners->count > 0 && find(owners, hash)->hash != 0;
}

/* --- files that items are ----------------------------------------------------------------- */

/* Those that the item names. */
static enum cleave_status note_item(struct cv_item_taken *taken,
                                    const struct cv_item_commands *commands,
                                    uint64_t item, struct cleave_error *err)
{
    struct cv_item_arguments arguments = { .items = NULL };
    enum cleave_status status = cv_item_arguments_get(commands, item, &arguments, err);
    uint64_t owner;
    struct stat info;

    for (size_t i = 0; status == CLEAVE_OK && i < arguments.count; i++)
        if (stat(arguments.items[i], &info) == 0 && S_ISREG(info.st_mode))
            status = put(&taken->files, hash_file(&info), item, &owner, err);
    cv_item_arguments_done(&arguments);
    return status;
}

/* Of a list that comes, those that have had their turn can be known. */
static enum cleave_status note_items(struct cv_item_taken *taken,
                                     const struct cv_item_commands *commands,
                                     uint64_t item, struct cleave_error *err)
{
    if (commands->stream != NULL)
        return note_item(taken, commands, item, err);
    for (uint64_t i = 0; !taken->files_known && i < commands->count; i++)
        CV_TRY(note_item(taken, commands, i, err));
    taken->files_known = true;
    return CLEAVE_OK;
}

/* What an item is must not be lost for what is made of one. */
static enum cleave_status spare_items(struct cv_item_taken *taken,
                                      const struct cv_item_commands *commands,
                                      uint64_t item, const char *path,
                                      struct cleave_error *err)
{
    char shown[SHOWN];
    struct stat info;

    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return CLEAVE_OK;
    CV_TRY(note_items(taken, commands, item, err));
    if (!is_known(&taken->files, hash_file(&info)))
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT,
                   "--results: '%s' would be overwritten, which is item %llu: expected "
                   "another name, as with '{}.out'",
                   cv_shown(path, strlen(path), shown, sizeof shown),
                   (unsigned long long)find(&taken->files, hash_file(&info))->item + 1);
}

enum cleave_status cv_item_taken_claim(struct cv_item_taken *taken,
                                       const struct cv_item_commands *commands,
                                       uint64_t item, const char *path, bool any,
                                       struct cleave_error *err)
{
    char shown[SHOWN];
    uint64_t hash = 0, owner;

    CV_TRY(hash_name(path, &hash, err));
    if (any && !is_known(&taken->names, hash))
        CV_TRY(spare_items(taken, commands, item, path, err));
    CV_TRY(put(&taken->names, hash, item, &owner, err));
    if (owner == item)
        return CLEAVE_OK;
    return cv_fail(
        err, CLEAVE_EINPUT,
        "--results: items %llu and %llu both have the name '%s': expected one that "
        "tells them apart, as with {#}",
        (unsigned long long)owner + 1, (unsigned long long)item + 1,
        cv_shown(path, strlen(path), shown, sizeof shown));
}
