/* run_results.c -- outputs of items in files, or tagged.
 * SPDX-License-Identifier: MIT
 *
 * --results DIR has the layout of GNU parallel: DIR/NAME/VALUE for each argument, where NAME is its
 * number, or its name with --header :, and in the last folder stdout, stderr and seq. If DIR has
 * places it is the name of the output itself, or of a folder if it ends in a slash. A name that is
 * too long for a directory ends in a hash instead. */
#include "cli/run/run_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/write_all.h"

enum { NAME_SHOWN = 80 }; /* bytes of a name in messages */

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

/* FNV-1a; not 0. */
static uint64_t hash_bytes(const char *bytes, size_t length)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    return hash != 0 ? hash : 1;
}

static enum cleave_status hash_name(const char *path, uint64_t *out,
                                    struct cleave_error *err)
{
    char *text = malloc(strlen(path) + 1);

    if (text == NULL)
        return cv_fail_memory(err, "--results");
    normalize_path(path, text);
    *out = hash_bytes(text, strlen(text));
    free(text);
    return CLEAVE_OK;
}

/* A name of more than NAME_MAX bytes keeps its first ones, and ends in "~" and a hash of all. */
static void shorten_names(char *path)
{
    enum { HASH = 1 + 16, KEPT = NAME_MAX - HASH };
    char *to = path;

    for (const char *from = path; *from != '\0';) {
        const size_t length = strcspn(from, "/");
        size_t kept = length <= NAME_MAX ? length : KEPT;
        char ending[HASH + 1] = "";

        if (length > NAME_MAX) {
            while (((unsigned char)from[kept] & 0xc0) ==
                   0x80) /* not within a character */
                kept--;
            snprintf(ending, sizeof ending, "~%016llx",
                     (unsigned long long)hash_bytes(from, length));
        }
        memmove(to, from, kept);
        memcpy(to + kept, ending, strlen(ending));
        to += kept + strlen(ending);
        from += length;
        while (*from == '/')
            *to++ = *from++;
    }
    *to = '\0';
}

/* Whether an item has '..' after the folder in which results are to be. */
static bool leads_out(const struct cv_run_items *items, const char *path)
{
    size_t at = cv_item_template_head(&items->place), length;

    while (at > 0 && path[at - 1] != '/')
        at--;
    for (bool inside = at > 0; inside && path[at] != '\0'; at += length) {
        length = strcspn(path + at, "/");
        if (length == 2 && strncmp(path + at, "..", 2) == 0)
            return true;
        length += strspn(path + at + length, "/");
    }
    return false;
}

static uint64_t hash_file(const struct stat *info)
{
    const uint64_t hash = (uint64_t)info->st_ino * UINT64_C(0x9e3779b97f4a7c15) ^
                          (uint64_t)info->st_dev * UINT64_C(0xc2b2ae3d27d4eb4f);

    return hash != 0 ? hash : 1;
}

/* The slot of a hash, or the free one for it. */
static struct cv_hashed_item *find_slot(const struct cv_hashed_items *items,
                                        uint64_t hash)
{
    size_t i = (size_t)(hash ^ hash >> 32) & (items->room - 1);

    while (items->slots[i].hash != 0 && items->slots[i].hash != hash)
        i = (i + 1) & (items->room - 1);
    return &items->slots[i];
}

static bool contains(const struct cv_hashed_items *items, uint64_t hash)
{
    return items->count > 0 && find_slot(items, hash)->hash != 0;
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
            return cv_fail_memory(err, "--results");
        for (size_t i = 0; i < items->room; i++)
            if (items->slots[i].hash != 0)
                *find_slot(&larger, items->slots[i].hash) = items->slots[i];
        free(items->slots);
        *items = larger;
    }
    slot = find_slot(items, hash);
    items->count += slot->hash == 0;
    if (slot->hash == 0)
        *slot = (struct cv_hashed_item){ hash, item };
    *out = slot->item;
    return CLEAVE_OK;
}

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
    char shown[NAME_SHOWN];
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
    return cv_fail(
        err, CLEAVE_EINPUT,
        "--results: '%s' would be overwritten, which is item %llu: "
        "expected another name, as with '{}.out'",
        cv_shown(path, strlen(path), shown, sizeof shown),
        (unsigned long long)find_slot(&results->files, hash_file(&info))->item + 1);
}

/* Note that `item` writes the file `path`, as it may have done before; an error if another item
 * does. `made`: the name is made of an item, so a file of an item is refused as well. */
static enum cleave_status claim_name(struct cv_result_names *results,
                                     const struct cv_item_commands *commands,
                                     uint64_t item, const char *path, bool made,
                                     struct cleave_error *err)
{
    char shown[NAME_SHOWN];
    uint64_t hash = 0, owner;

    CV_TRY(hash_name(path, &hash, err));
    if (made && !contains(&results->names, hash))
        CV_TRY(spare_items(results, commands, item, path, err));
    CV_TRY(put(&results->names, hash, item, &owner, err));
    if (owner == item)
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT,
                   "--results: items %llu and %llu both have the name '%s': expected "
                   "one that tells them apart, as with {#}",
                   (unsigned long long)owner + 1, (unsigned long long)item + 1,
                   cv_shown(path, strlen(path), shown, sizeof shown));
}

static void add_value(struct cv_text *out, const char *value)
{
    for (; *value != '\0'; value++)
        if (*value == '\\' || *value == '\t' || *value == '/')
            cv_text_add(out, "\\%c", *value == '/' ? '_' : *value == '\t' ? 't' : '\\');
        else
            cv_text_add(out, "%c", *value);
}

static bool comes_before(const char *a, const char *b)
{
    const double first = strtod(a, NULL), second = strtod(b, NULL);

    return first < second || (!(second < first) && strcmp(a, b) < 0);
}

/* NAME/VALUE/ for each argument, sorted by name. */
static enum cleave_status add_folders(const struct cv_item_commands *commands,
                                      const struct cv_item_arguments *arguments,
                                      struct cv_text *out, struct cleave_error *err)
{
    size_t *order = malloc((arguments->count + 1) * sizeof *order);

    if (order == NULL)
        return cv_fail_memory(err, "--results");
    for (size_t i = 0; i < arguments->count; i++) {
        size_t at = i;

        for (; at > 0 && i < commands->nnames &&
               comes_before(commands->names[i], commands->names[order[at - 1]]);
             at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (size_t i = 0; i < arguments->count; i++) {
        if (order[i] < commands->nnames)
            cv_text_add(out, "%s/", commands->names[order[i]]);
        else
            cv_text_add(out, "%zu/", order[i] + 1);
        add_value(out, arguments->items[order[i]]);
        cv_text_add(out, "/");
    }
    free(order);
    return CLEAVE_OK;
}

static enum cleave_status run_template_fill(const struct cv_run_items *items,
                                            const struct cv_item_template *template,
                                            uint64_t item, uint32_t slot,
                                            struct cv_text *out, struct cleave_error *err)
{
    struct cv_item_arguments arguments = { .items = NULL };
    enum cleave_status status =
        cv_item_arguments_get(&items->commands, item, &arguments, err);

    if (status == CLEAVE_OK)
        status = cv_item_template_line(template,
                                       &(struct cv_item_values){
                                           arguments.items, arguments.count, item + 1,
                                           slot, items->commands.count },
                                       out, err);
    cv_item_arguments_done(&arguments);
    return status;
}

static enum cleave_status begin_name(const struct cv_run_items *items, uint64_t item,
                                     struct cv_text *out, struct cleave_error *err)
{
    struct cv_item_arguments arguments = { .items = NULL };
    enum cleave_status status;

    if (items->in_place)
        return run_template_fill(items, &items->place, item, 1, out, err);
    status = cv_item_arguments_get(&items->commands, item, &arguments, err);
    cv_text_add(out, "%s/", items->results);
    if (status == CLEAVE_OK)
        status = add_folders(&items->commands, &arguments, out, err);
    cv_item_arguments_done(&arguments);
    return status;
}

/* `which`: 0 stdout, 1 stderr, 2 seq. */
static enum cleave_status name_file(const struct cv_run_items *items, uint64_t item,
                                    int which, struct cv_text *out,
                                    struct cleave_error *err)
{
    static const char *const inside[] = { "stdout", "stderr", "seq" };
    static const char *const behind[] = { "", ".err", ".seq" };

    CV_TRY(begin_name(items, item, out, err));
    if (out->length == 0 || out->failed)
        return cv_fail(err, CLEAVE_EINPUT, "--results: item %llu has no name",
                       (unsigned long long)item + 1);
    cv_text_add(out, "%s",
                out->bytes[out->length - 1] == '/' ? inside[which] : behind[which]);
    if (out->failed)
        return cv_fail_memory(err, "--results");
    shorten_names(out->bytes);
    out->length = strlen(out->bytes);
    if (!items->in_place || !leads_out(items, out->bytes))
        return CLEAVE_OK;
    return cv_fail(
        err, CLEAVE_EINPUT,
        "--results: item %llu leads out of the folder, to '%s': expected a name "
        "without '..', as with {/}",
        (unsigned long long)item + 1, CV_ECHO(out->bytes));
}

static enum cleave_status fail_file(const char *path, const char *why,
                                    struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EENGINE, "--results: cannot write '%s': %s", CV_ECHO(path),
                   why);
}

/* Two runs have the same names in a folder. A file system without locks has none. */
static enum cleave_status lock_folder(struct cv_run_items *items,
                                      struct cleave_error *err)
{
    int fd;

    if (items->in_place || items->result_names.locked)
        return CLEAVE_OK;
    items->result_names.locked = true;
    fd = open(items->results, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return CLEAVE_OK;
    close(fd);
    return cv_fail(err, CLEAVE_EINPUT, "--results: another run writes to '%s'",
                   CV_ECHO(items->results));
}

/* Reserve the name of a file, and make its directory. */
static enum cleave_status claim_file(struct cv_run_items *items, uint64_t item, int which,
                                     struct cv_text *path, struct cleave_error *err)
{
    struct cleave_error why;
    enum cleave_status status;

    CV_TRY(name_file(items, item, which, path, err));
    CV_TRY(claim_name(&items->result_names, &items->commands, item, path->bytes,
                      items->in_place, err));
    status = cv_folders_make(path->bytes, &why);
    return status == CLEAVE_OK ? lock_folder(items, err)
                               : cv_fail(err, status, "--results: %s", why.text);
}

/* *out is above 2, as commands replace their standard streams. */
static enum cleave_status make_file(struct cv_run_items *items, uint64_t item, int which,
                                    int *out, struct cleave_error *err)
{
    struct cv_text path = { NULL, 0, 0, false };
    enum cleave_status status = claim_file(items, item, which, &path, err);
    int fd = -1;

    if (status == CLEAVE_OK) {
        fd = cv_open_at_once(path.bytes, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC);
        *out = fd >= 0 && fd <= 2 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : fd;
        if (*out < 0)
            status = fail_file(path.bytes, strerror(errno), err);
        if (*out != fd && fd >= 0)
            close(fd);
    }
    cv_text_done(&path);
    return status;
}

static enum cleave_status open_errors(void *context, uint64_t item, int *out,
                                      struct cleave_error *err)
{
    return make_file(context, item, 1, out, err);
}

/* An older file stays until the new one is complete. */
static enum cleave_status keep_output(struct cv_run_items *items, uint64_t item, int fd,
                                      uint64_t begin, uint64_t end,
                                      struct cleave_error *err)
{
    struct cv_text path = { NULL, 0, 0, false };
    struct cv_new_file file = { .fd = -1 };
    enum cleave_status status = claim_file(items, item, 0, &path, err);
    struct cleave_error why;
    int wrong = 0;

    if (status == CLEAVE_OK) {
        status = cv_new_file_open(path.bytes, CV_NEW_FILE_HASTY, &file, &why);
        if (status == CLEAVE_OK)
            wrong = cv_copy_range(fd, begin, end, file.fd);
        if (wrong != 0)
            status = cv_fail(&why, CLEAVE_EENGINE, "%s", strerror(wrong));
        if (status == CLEAVE_OK)
            status = cv_new_file_place(&file, &why);
        if (status == CLEAVE_OK)
            status = cv_new_file_close(&file, &why);
        else
            cv_new_file_drop(&file);
        if (status != CLEAVE_OK)
            status = fail_file(path.bytes, why.text, err);
    }
    cv_text_done(&path);
    return status;
}

static enum cleave_status keep_in_folder(struct cv_run_items *items, uint64_t item,
                                         int fd, uint64_t begin, uint64_t end,
                                         struct cleave_error *err)
{
    char number[24];
    const int length =
        snprintf(number, sizeof number, "%llu", (unsigned long long)item + 1);
    int file, wrong;

    CV_TRY(make_file(items, item, 2, &file, err));
    wrong = cv_write_all(file, number, (size_t)length);
    close(file);
    return wrong == 0 ? keep_output(items, item, fd, begin, end, err)
                      : cv_fail(err, CLEAVE_EENGINE, "--results: cannot write: %s",
                                strerror(wrong));
}

/* --files: a temporary file with any name. */
static enum cleave_status keep_somewhere(const struct cv_run_items *items, int fd,
                                         uint64_t begin, uint64_t end,
                                         struct cv_text *name, struct cleave_error *err)
{
    int file, wrong;

    cv_text_add(name, "%s/cleave-XXXXXX", items->folder);
    if (name->failed)
        return cv_fail_memory(err, "--files");
    file = mkostemp(name->bytes, O_CLOEXEC);
    if (file < 0)
        return cv_fail(err, CLEAVE_EENGINE, "--files: cannot make a file in '%s': %s",
                       items->folder, strerror(errno));
    wrong = cv_copy_range(fd, begin, end, file);
    if (close(file) != 0 && wrong == 0)
        wrong = errno;
    if (wrong == 0)
        return CLEAVE_OK;
    (void)unlink(name->bytes); /* a part is useless */
    return cv_fail(err, CLEAVE_EENGINE, "--files: cannot write '%.200s': %.200s",
                   name->bytes, strerror(wrong));
}

static enum cleave_status keep(void *context, uint64_t item, int fd, uint64_t begin,
                               uint64_t end, char **out, size_t *out_length,
                               struct cleave_error *err)
{
    struct cv_run_items *items = context;
    struct cv_text name = { NULL, 0, 0, false };
    enum cleave_status status = items->results != NULL
                                    ? keep_in_folder(items, item, fd, begin, end, err)
                                    : keep_somewhere(items, fd, begin, end, &name, err);

    *out = NULL;
    if (status == CLEAVE_OK && items->names_files && items->results != NULL)
        status = name_file(items, item, 0, &name, err);
    if (status == CLEAVE_OK && items->names_files) {
        cv_text_add(&name, "\n");
        *out = name.bytes;
        *out_length = name.length;
        return name.failed ? cv_fail_memory(err, "--files") : CLEAVE_OK;
    }
    cv_text_done(&name);
    return status;
}

static enum cleave_status open_row_errors(void *context, uint64_t item, int *out,
                                          struct cleave_error *err)
{
    struct cv_run_items *items = context;

    return cv_run_rows_errors(&items->rows, item, out, err);
}

static enum cleave_status make_row(void *context, uint64_t item, int fd, uint64_t begin,
                                   uint64_t end, char **out, size_t *out_length,
                                   struct cleave_error *err)
{
    struct cv_run_items *items = context;

    return cv_run_rows_make(&items->rows, item, fd, begin, end, out, out_length, err);
}

static enum cleave_status tag(void *context, uint64_t item, uint32_t slot, char **out,
                              struct cleave_error *err)
{
    const struct cv_run_items *items = context;
    struct cv_text text = { NULL, 0, 0, false };

    CV_TRY(run_template_fill(items, &items->tag, item, slot, &text, err));
    cv_text_add(&text, "\t");
    if (text.failed)
        return cv_fail_memory(err, "--tag");
    *out = text.bytes;
    return CLEAVE_OK;
}

/* Read a text with placeholders, which are filled without quotes. */
static int run_template_read(const struct cv_call *call, const struct cv_run_items *items,
                             const char *text, struct cv_item_template *out)
{
    struct cv_item_replacements replacements = items->commands.replacements;
    const char **words = cv_need(call->arena, 2, sizeof *words, "the items");

    words[0] = text;
    replacements.optional = true;
    CV_CALL(cv_item_template_init(out, words, CV_ITEM_LINE, &replacements, &err));
    out->bare = true;
    return CV_EXIT_DONE;
}

static int read_templates(const struct cv_call *call, struct cv_run_items *items,
                          const char *const *texts, size_t count,
                          struct cv_item_template **out, size_t *out_count)
{
    int status = CV_EXIT_DONE;

    if (count == 0)
        return CV_EXIT_DONE;
    *out = calloc(count, sizeof **out);
    if (*out == NULL)
        return cv_no_memory("the items");
    for (size_t i = 0; i < count && status == CV_EXIT_DONE; i++) {
        status = run_template_read(call, items, texts[i], &(*out)[i]);
        *out_count += status == CV_EXIT_DONE;
    }
    return status;
}

static int open_files(const struct cv_call *call, struct cv_run_items *items)
{
    const struct cv_run_options *values = call->values;
    const size_t count = values->transfers.count;
    const char **sent = cv_need(call->arena, count + 1, sizeof *sent, "the items");

    for (size_t i = 0; i < count; i++) {
        sent[i] = values->transfers.items[i];
        if (values->replace != NULL && strcmp(sent[i], "{}") == 0) /* --transfer */
            sent[i] = values->replace;
    }
    CV_DO(read_templates(call, items, sent, count, &items->sends, &items->nsends));
    return read_templates(call, items, values->returns.items, values->returns.count,
                          &items->returns, &items->nreturns);
}

const char *cv_run_directory(const struct cv_run_options *values)
{
    const char *tmpdir = getenv("TMPDIR");

    return values->directory != NULL             ? values->directory
           : tmpdir != NULL && tmpdir[0] != '\0' ? tmpdir
                                                 : "/tmp";
}

int cv_run_results_open(const struct cv_call *call, struct cv_run_items *items)
{
    const struct cv_run_options *values = call->values;

    items->results = values->results;
    items->names_files = values->files != 0;
    items->tags = (values->tag || values->tagstring != NULL) && items->results == NULL &&
                  !items->names_files;
    if (items->names_files && items->results == NULL)
        items->folder = cv_run_directory(values);
    if (items->results != NULL && cv_rows_kind(items->results) != CV_ROWS_NONE) {
        items->rows = (struct cv_run_rows){ .kind = cv_rows_kind(items->results),
                                            .commands = &items->commands,
                                            .unordered = values->unordered != 0 };
        items->rows_file = strncmp(items->results, "-.", 2) == 0 ? "-" : items->results;
        items->results = NULL;
    }
    if (items->results != NULL) {
        CV_DO(run_template_read(call, items, items->results, &items->place));
        items->in_place = items->place.has_placeholder;
    }
    if (items->tags)
        CV_DO(run_template_read(call, items,
                                values->tagstring != NULL ? values->tagstring : "{}",
                                &items->tag));
    items->tag.repeats = items->commands.template.repeats;
    return open_files(call, items);
}

void cv_run_items_done(struct cv_run_items *items)
{
    for (size_t i = 0; i < items->nsends; i++)
        cv_item_template_done(&items->sends[i]);
    for (size_t i = 0; i < items->nreturns; i++)
        cv_item_template_done(&items->returns[i]);
    free(items->sends);
    free(items->returns);
    cv_run_rows_done(&items->rows);
    free(items->result_names.names.slots);
    free(items->result_names.files.slots);
    cv_item_template_done(&items->tag);
    cv_item_template_done(&items->place);
    cv_item_commands_done(&items->commands);
}

static enum cleave_status fill_names(const struct cv_run_items *items,
                                     const struct cv_item_template *templates,
                                     size_t count, uint64_t item, uint32_t slot,
                                     char ***out, struct cleave_error *err)
{
    struct cv_item_words names = { .bytes = NULL };
    struct cv_text name = { NULL, 0, 0, false };
    enum cleave_status status = CLEAVE_OK;

    for (size_t i = 0; status == CLEAVE_OK && i < count; i++) {
        name.length = 0;
        status = run_template_fill(items, &templates[i], item, slot, &name, err);
        if (status == CLEAVE_OK && name.failed)
            status = cv_fail_memory(err, "the names of files");
        if (status == CLEAVE_OK)
            cv_item_words_add(&names, name.bytes, name.length);
    }
    cv_text_done(&name);
    return cv_item_words_take(&names, status, out, err);
}

static enum cleave_status get_sends(void *context, uint64_t item, uint32_t slot,
                                    char ***out, struct cleave_error *err)
{
    const struct cv_run_items *items = context;

    return fill_names(items, items->sends, items->nsends, item, slot, out, err);
}

static enum cleave_status get_returns(void *context, uint64_t item, uint32_t slot,
                                      char ***out, struct cleave_error *err)
{
    const struct cv_run_items *items = context;

    return fill_names(items, items->returns, items->nreturns, item, slot, out, err);
}

/* "." is this directory, relative to the home if it is below it here. */
static int name_folder(const struct cv_call *call, const char **folder)
{
    const char *home = getenv("HOME");
    char *here;
    size_t length = home != NULL ? strlen(home) : 0;

    if (*folder == NULL || strcmp(*folder, ".") != 0)
        return CV_EXIT_DONE;
    here = getcwd(NULL, 0);
    if (here == NULL)
        return cv_print_error(CV_EXIT_FAILED,
                              "--workdir: cannot determine the current directory: %s",
                              strerror(errno));
    if (length > 1 && strncmp(here, home, length) == 0 && here[length] == '/')
        *folder = cv_arena_print(call->arena, "~%s", here + length);
    else
        *folder = cv_arena_text(call->arena, here);
    free(here);
    return *folder != NULL ? CV_EXIT_DONE : cv_no_memory("the items");
}

int cv_run_results_fill(const struct cv_call *call, const struct cv_run_items *items,
                        struct cleave_execution *out)
{
    const struct cv_run_options *values = call->values;
    const char **base =
        cv_need(call->arena, values->basefiles.count + 1, sizeof *base, "the items");

    if (values->basefiles.count > 0)
        memcpy(base, values->basefiles.items, values->basefiles.count * sizeof *base);
    if (items->rows_file != NULL) {
        out->items.errors = open_row_errors;
        out->items.keep = make_row;
    }
    if (items->results != NULL)
        out->items.errors = open_errors;
    if (items->results != NULL || items->names_files)
        out->items.keep = keep;
    if (items->tags)
        out->items.tag = tag;
    out->items.sends = items->nsends > 0 ? get_sends : NULL;
    out->items.returns = items->nreturns > 0 ? get_returns : NULL;
    out->hosts.base_files = base;
    out->hosts.cleanup = values->cleanup != 0;
    return name_folder(call, &out->hosts.work_directory);
}
