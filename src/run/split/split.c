/* split.c -- splitters by name, their headers and groups. SPDX-License-Identifier: MIT */
#include "run/split/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/split/split_kind.h"

enum { MAX_HEADER = 1000000, MAX_COLUMN = 100000 };

/* Groups have a number of records, or records with the same key. The key is a column, or the match
 * of an expression, in the first 64 KiB of a record; without one it is empty. */
struct cv_split_group {
    uint64_t records; /* 0: with the same key                */
    unsigned column;  /* from 1; 0: match of the expression  */
    regex_t regex;
    bool has_regex;
    struct re_registers places; /* owned: of the last match */
};

/* --- names ---------------------------------------------------------------------------------- */

static const struct cv_split_kind *const kinds[] = {
#define X(name) &cv_split_##name,
    CV_SPLIT_MAP(X)
#undef X
};

size_t cv_splitter_kinds(void)
{
    return sizeof kinds / sizeof kinds[0];
}

const char *cv_splitter_name(size_t index)
{
    return kinds[index]->name;
}

const char *cv_splitter_needs(size_t index)
{
    return kinds[index]->optional ? NULL : kinds[index]->takes;
}

const char *cv_splitter_text(const struct cv_splitter *splitter)
{
    return splitter->text;
}

bool cv_splitter_frames(const struct cv_splitter *splitter)
{
    return splitter->kind->frames;
}

bool cv_splitter_has_tail(const struct cv_splitter *splitter)
{
    return splitter->kind->tail != NULL;
}

static const char *kind_name(const void *context, size_t index)
{
    (void)context;
    return cv_splitter_name(index);
}

/* Advice for a format without its own splitter; NULL: unknown. */
static const char *find_other_name(const char *name)
{
    static const char *const others[][2] = {
        { "tsv", "lines, or csv:tab where quotes hold ends of lines" },
        { "tab", "lines, or csv:tab where quotes hold ends of lines" },
        { "ndjson", "jsonl" },
        { "fq", "fastq" },
        { "fa", "fasta" },
        { "text", "lines" },
        { "txt", "lines" },
        { "sam", "lines with input.header '@'" },
        { "vcf", "lines with input.header '#'" },
    };

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(name, others[i][0]) == 0)
            return others[i][1];
    return NULL;
}

static enum cleave_status find_kind(const char *name, size_t length,
                                    const struct cv_split_kind **out,
                                    struct cleave_error *err)
{
    char shown[64], near[128];

    for (size_t i = 0; i < cv_splitter_kinds(); i++)
        if (strlen(kinds[i]->name) == length &&
            memcmp(kinds[i]->name, name, length) == 0) {
            *out = kinds[i];
            return CLEAVE_OK;
        }
    cv_shown(name, length, shown, sizeof shown);
    if (find_other_name(shown) != NULL)
        return cv_fail(err, CLEAVE_EINPUT, "unknown splitter '%s': its records are %s",
                       shown, find_other_name(shown));
    cv_suggest(shown, cv_splitter_kinds(), kind_name, NULL, near, sizeof near);
    return cv_fail(err, CLEAVE_EINPUT, "unknown splitter '%s'%s", shown, near);
}

/* `colon` is the rest of the text, from the colon; NULL: none. */
static enum cleave_status check_argument(const struct cv_split_kind *kind,
                                         const char *colon, struct cleave_error *err)
{
    if (kind->takes == NULL && colon != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected '%s' with nothing after its name, got '%s%s'",
                       kind->name, kind->name, CV_SHOWN(colon, 64));
    if (kind->takes != NULL && !kind->optional && (colon == NULL || colon[1] == '\0'))
        return cv_fail(err, CLEAVE_EINPUT, "expected '%s:%s', got '%s%s'", kind->name,
                       kind->takes, kind->name, colon == NULL ? "" : colon);
    return CLEAVE_OK;
}

enum cleave_status cv_splitter_parse(const char *text, struct cv_splitter **out,
                                     struct cleave_error *err)
{
    const char *colon = strchr(text, ':');
    const struct cv_split_kind *kind = NULL;
    struct cv_splitter *splitter;
    enum cleave_status status = CLEAVE_OK;

    CV_TRY(find_kind(text, colon != NULL ? (size_t)(colon - text) : strlen(text), &kind,
                     err));
    CV_TRY(check_argument(kind, colon, err));
    splitter = calloc(1, sizeof *splitter);
    if (splitter == NULL)
        return cv_fail_memory(err, "a splitter");
    splitter->kind = kind;
    splitter->byte = kind->byte;
    splitter->text = strdup(text);
    if (splitter->text == NULL)
        status = cv_fail_memory(err, "a splitter");
    else if (kind->parse != NULL)
        status = kind->parse(splitter, colon != NULL ? colon + 1 : "", err);
    if (status == CLEAVE_OK)
        *out = splitter;
    else
        cv_splitter_free(splitter);
    return status;
}

static enum cleave_status fail_header(const struct cv_splitter *splitter,
                                      struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EINPUT,
                   "input.header: expected records with a header, but %s has none",
                   splitter->kind->name);
}

static void free_regex(regex_t *regex)
{
    if (regex != NULL)
        regfree(regex);
    free(regex);
}

void cv_splitter_free(struct cv_splitter *splitter)
{
    struct cv_split_group *group;

    if (splitter == NULL)
        return;
    group = splitter->group;
    if (group != NULL && group->has_regex) {
        free(group->places.start);
        free(group->places.end);
        regfree(&group->regex);
    }
    free(group);
    free_regex(splitter->regex);
    free_regex(splitter->regex_cut);
    free(splitter->prefix);
    free(splitter->head_prefix);
    free(splitter->text);
    free(splitter);
}

/* Add a setting to the text. The word after the dashes is a part of journals and indexes. */
static enum cleave_status add_setting(struct cv_splitter *splitter, const char *setting,
                                      const char *argument, struct cleave_error *err)
{
    char *longer = NULL;

    if (asprintf(&longer, "%s --%s %s", splitter->text, setting, argument) < 0)
        return cv_fail_memory(err, "a splitter");
    free(splitter->text);
    splitter->text = longer;
    return CLEAVE_OK;
}

enum cleave_status cv_splitter_become(struct cv_splitter *splitter, const char *text,
                                      struct cleave_error *err)
{
    const char *settings = strchr(splitter->text, ' ');
    struct cv_splitter *other = NULL;
    char *longer = NULL;

    CV_TRY(cv_splitter_parse(text, &other, err));
    splitter->kind = other->kind;
    splitter->byte = other->byte;
    cv_splitter_free(other);
    if (asprintf(&longer, "%s%s", text, settings != NULL ? settings : "") < 0)
        return cv_fail_memory(err, "a splitter");
    free(splitter->text);
    splitter->text = longer;
    return splitter->headed && splitter->kind->frames ? fail_header(splitter, err)
                                                      : CLEAVE_OK;
}

enum cleave_status cv_splitter_count_from(const struct cv_splitter *splitter, int form,
                                          uint64_t offset, const char *bytes,
                                          size_t length, uint64_t *out,
                                          struct cleave_error *err)
{
    const struct cv_split_kind *kind = splitter->kind;
    const struct cv_view view = { bytes, length, 0, true };
    uint64_t count = 0;
    struct cv_walk walk;

    if (length == 0) {
        *out = 0;
    } else if (kind->walk != NULL) {
        cv_walk_init(&walk, offset);
        walk.form = form;
        CV_TRY(kind->walk(splitter, &walk, bytes, length, err));
        *out = cv_walk_records(&walk);
    } else if (splitter->record_bytes > 0) {
        *out = (length - 1) / splitter->record_bytes + 1;
    } else if (kind->ends_in_byte) {
        *out = cv_count_byte(bytes, length - 1, splitter->byte) + 1;
    } else {
        for (size_t at = 0; kind->next(splitter, &view, at, &at); at++)
            count++;
        *out = count > 0 ? count : 1;
    }
    return CLEAVE_OK;
}

/* --- headers -------------------------------------------------------------------------------- */

enum cleave_status cv_splitter_set_header(struct cv_splitter *splitter, const char *how,
                                          struct cleave_error *err)
{
    char shown[64], *end;
    unsigned long count;

    if (splitter->kind->frames)
        return fail_header(splitter, err);
    splitter->headed = true;
    if (how == NULL || how[0] == '\0' || strcmp(how, ":") == 0 || strcmp(how, "1") == 0)
        return CLEAVE_OK;
    cv_shown(how, strlen(how), shown, sizeof shown);
    if (how[0] >= '0' && how[0] <= '9') {
        count = strtoul(how, &end, 10);
        if (*end != '\0' || count < 1 || count > MAX_HEADER)
            return cv_fail(err, CLEAVE_EINPUT,
                           "input.header: expected a number of records from 1 to %d, or "
                           "how its lines begin, as '#', got '%s'",
                           MAX_HEADER, shown);
        splitter->head_records = count;
    } else if (strchr(how, '\n') != NULL || splitter->record_bytes > 0) {
        return cv_fail(err, CLEAVE_EINPUT,
                       "input.header: expected lines that begin with '%s', but %s has no "
                       "such lines",
                       shown, splitter->kind->name);
    } else {
        splitter->head_prefix = strdup(how);
        if (splitter->head_prefix == NULL)
            return cv_fail_memory(err, "a header");
    }
    return add_setting(splitter, "header", how, err);
}

bool cv_splitter_is_headed(const struct cv_splitter *splitter)
{
    return splitter->headed;
}

bool cv_splitter_leads(const struct cv_splitter *splitter)
{
    return splitter->head_prefix != NULL || (splitter->headed && splitter->group != NULL);
}

/* The end of the lines at the start that begin with head_prefix. */
static bool find_lines(const struct cv_splitter *splitter, const char *bytes,
                       size_t length, bool ends, size_t *out)
{
    const size_t prefix = strlen(splitter->head_prefix);
    const char end = splitter->kind->ends_in_byte ? splitter->byte : '\n';
    size_t line = 0;

    for (;;) {
        const size_t mark =
            line == 0 && length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        const char *newline;

        *out = line;
        if (length - line < mark + prefix ||
            memcmp(bytes + line + mark, splitter->head_prefix, prefix) != 0)
            return ends || length - line >= 3 + prefix ||
                   (line > 0 && length - line >= prefix);
        newline = memchr(bytes + line, end, length - line);
        if (newline == NULL) {
            *out = length;
            return ends;
        }
        line = (size_t)(newline - bytes) + 1;
    }
}

static bool find_starts(const struct cv_splitter *splitter, const struct cv_view *view,
                        uint64_t records, size_t *out)
{
    size_t at = 0;

    if (!splitter->kind->next(splitter, view, 0, &at))
        return false;
    for (; records > 0; records--)
        if (!splitter->kind->next(splitter, view, at + 1, &at))
            return false;
    *out = at;
    return at <= view->length;
}

enum cleave_status cv_splitter_head(const struct cv_splitter *splitter, const char *bytes,
                                    size_t length, bool ends, bool *found, size_t *out,
                                    struct cleave_error *err)
{
    const uint64_t records = splitter->head_records > 0 ? splitter->head_records : 1;
    const struct cv_view view = { bytes, length, 0, ends };
    struct cv_walk walk;

    *found = false;
    if (splitter->kind->frames) {
        *found = splitter->kind->head(splitter, bytes, length, out) || ends;
        return CLEAVE_OK;
    }
    if (splitter->head_prefix != NULL) {
        *found = find_lines(splitter, bytes, length, ends, out);
    } else if (splitter->record_bytes > 0) {
        *found = length / splitter->record_bytes >= records;
        *out = (size_t)(records * splitter->record_bytes);
    } else if (splitter->kind->walk == NULL) {
        *found = find_starts(splitter, &view, records, out);
    } else {
        cv_walk_init(&walk, 0);
        do {
            const size_t done = walk.at < length ? (size_t)walk.at : length;

            walk.until = walk.boundary + 1;
            CV_TRY(
                splitter->kind->walk(splitter, &walk, bytes + done, length - done, err));
        } while (walk.found < records && walk.boundary >= walk.until && walk.at < length);
        *found = walk.found >= records;
        *out = (size_t)walk.boundary;
    }
    if (!*found && ends) {
        *found = true;
        *out = length;
    }
    return CLEAVE_OK;
}

/* --- groups --------------------------------------------------------------------------------- */

uint64_t cv_group_records(const struct cv_splitter *splitter)
{
    return splitter->group->records;
}

static enum cleave_status new_group(struct cv_splitter *splitter, const char *setting,
                                    const char *text, struct cleave_error *err)
{
    if (splitter->group != NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected input.records or input.together, got both");
    splitter->group = calloc(1, sizeof *splitter->group);
    if (splitter->group == NULL)
        return cv_fail_memory(err, "a splitter");
    return add_setting(splitter, setting, text, err);
}

enum cleave_status cv_splitter_set_records(struct cv_splitter *splitter, uint64_t records,
                                           struct cleave_error *err)
{
    char text[24];

    if (records == 0)
        return CLEAVE_OK;
    snprintf(text, sizeof text, "%llu", (unsigned long long)records);
    CV_TRY(new_group(splitter, "records", text, err));
    splitter->group->records = records;
    return CLEAVE_OK;
}

enum cleave_status cv_splitter_set_together(struct cv_splitter *splitter,
                                            const char *text, struct cleave_error *err)
{
    char shown[100], reason[128];
    struct cv_split_group *group;
    unsigned long column;
    int failure;

    if (text == NULL)
        return CLEAVE_OK;
    cv_shown(text, strlen(text), shown, sizeof shown);
    if (splitter->record_bytes > 0 || text[0] == '\0')
        return cv_fail(err, CLEAVE_EINPUT,
                       "input.together: expected a column or an expression, of records "
                       "that are lines of text, got '%s' of %s",
                       shown, splitter->kind->name);
    CV_TRY(new_group(splitter, "together", text, err));
    group = splitter->group;
    if (text[strspn(text, "0123456789")] == '\0') {
        column = strtoul(text, NULL, 10);
        if (column < 1 || column > MAX_COLUMN)
            return cv_fail(err, CLEAVE_EINPUT,
                           "input.together: expected a column from 1 to %d or an "
                           "expression, got '%s'",
                           MAX_COLUMN, shown);
        group->column = (unsigned)column;
        return CLEAVE_OK;
    }
    failure = regcomp(&group->regex, text, REG_EXTENDED | REG_NEWLINE);
    group->has_regex = failure == 0;
    if (failure == 0)
        return CLEAVE_OK;
    regerror(failure, &group->regex, reason, sizeof reason);
    return cv_fail(err, CLEAVE_EINPUT,
                   "input.together: expected a column or an extended regular expression, "
                   "got '%s': %s",
                   shown, reason);
}

/* A column of the first line; false: it has fewer. In csv, quotes may contain a separator. */
static bool find_column(const struct cv_splitter *splitter, unsigned column,
                        const char *bytes, size_t length, struct cv_key_text *out)
{
    const bool quotes = cv_splitter_has_columns(splitter);
    const char separator = quotes ? splitter->byte : '\t';
    size_t begin = 0;
    bool quoted = false;

    *out = (struct cv_key_text){ bytes, 0 };
    for (size_t i = 0; i <= length; i++) {
        const bool end = i == length || (!quoted && bytes[i] == '\n');

        if (!end && quotes && bytes[i] == '"')
            quoted = !quoted;
        if (!end && (quoted || bytes[i] != separator))
            continue;
        if (--column == 0) {
            if (i > begin && bytes[i - 1] == '\r' && end)
                i--;
            *out = (struct cv_key_text){ bytes + begin, i - begin };
            return true;
        }
        if (end)
            break;
        begin = i + 1;
    }
    return false;
}

bool cv_splitter_has_columns(const struct cv_splitter *splitter)
{
    return splitter->kind == &cv_split_csv;
}

bool cv_splitter_column(const struct cv_splitter *splitter, unsigned column,
                        const char *bytes, size_t length, struct cv_key_text *out)
{
    if (!find_column(splitter, column, bytes, length, out))
        return false;
    if (cv_splitter_has_columns(splitter) && out->length > 1 && *out->bytes == '"' &&
        out->bytes[out->length - 1] == '"') {
        out->bytes++;
        out->length -= 2;
    }
    return true;
}

/* The first match of the expression, or its first group in parentheses. re_search takes bytes with a
 * length, and keeps the places in the group: hence it is not for two threads. */
static struct cv_key_text find_match(struct cv_split_group *group, const char *bytes,
                                     size_t length)
{
    const size_t part = group->regex.re_nsub > 0 ? 1 : 0;
    const regoff_t found = re_search(&group->regex, bytes, (regoff_t)length, 0,
                                     (regoff_t)length, &group->places);

    if (found < 0 || group->places.start[part] < 0)
        return (struct cv_key_text){ bytes, 0 };
    return (struct cv_key_text){ bytes + group->places.start[part],
                                 (size_t)(group->places.end[part] -
                                          group->places.start[part]) };
}

struct cv_key_text cv_group_key_text(const struct cv_splitter *splitter,
                                     const char *bytes, size_t length)
{
    struct cv_split_group *group = splitter->group;
    struct cv_key_text key;

    if (length > CV_GROUP_LOOK)
        length = CV_GROUP_LOOK;
    if (group->column == 0)
        return find_match(group, bytes, length);
    find_column(splitter, group->column, bytes, length, &key);
    return key;
}

bool cv_group_add(const struct cv_splitter *splitter, struct cv_group_state *state,
                  const char *bytes, size_t length)
{
    const uint64_t max = splitter->group->records;
    XXH128_hash_t hash = { 0, 0 };
    bool starts = state->count == max;

    if (max == 0) {
        const struct cv_key_text key = cv_group_key_text(splitter, bytes, length);

        hash = XXH3_128bits(key.bytes, key.length);
        starts =
            state->count > 0 && (hash.high64 != state->high || hash.low64 != state->low);
    }
    state->count = starts ? 1 : state->count + 1;
    state->high = hash.high64;
    state->low = hash.low64;
    return starts;
}

/* --- the end of an input ----------------------------------------------------------------------- */

/* Whether the last line, which has its newline, is empty. */
static bool ends_empty(const char *last, size_t length)
{
    length--;
    if (length > 0 && last[length - 1] == '\r')
        length--;
    return length == 0 || last[length - 1] == '\n';
}

enum cv_closing cv_splitter_closing(const struct cv_splitter *splitter, const char *last,
                                    size_t length)
{
    const struct cv_split_kind *kind = splitter->kind;

    if (splitter->record_bytes > 0 || kind->eats != NULL)
        return CV_CLOSING_NONE; /* an incomplete record cannot be completed */
    if (kind->ends_in_byte && splitter->byte == '\0')
        return last[length - 1] == '\0' ? CV_CLOSING_NONE : CV_CLOSING_ZERO;
    if (last[length - 1] != '\n')
        return kind->spaced ? CV_CLOSING_EMPTY : CV_CLOSING_LINE;
    return kind->spaced && !ends_empty(last, length) ? CV_CLOSING_LINE : CV_CLOSING_NONE;
}
