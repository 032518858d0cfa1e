/* split_group.c -- records that stay together: so many, or neighbours with the same key.
 * SPDX-License-Identifier: MIT
 *
 * The key of a record is a column, or what an expression matches, in its first 64 KiB; where
 * there is none it is empty. A hash of it is compared rather than the key, so that it need not
 * be kept. */
#include "run/split/split_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/fail.h"
#include "base/text.h"

enum { MOST_COLUMN = 100000 };

struct cv_split_group {
    uint64_t records; /* so many; 0: those with the same key */
    unsigned column;  /* from 1; 0: what the expression matches */
    regex_t regex;
    bool has_regex;
    struct re_registers places; /* owned: of the last match */
};

bool cv_splitter_groups(const struct cv_splitter *splitter)
{
    return splitter->group != NULL;
}

uint64_t cv_group_records(const struct cv_splitter *splitter)
{
    return splitter->group->records;
}

void cv_split_group_free(struct cv_splitter *splitter)
{
    if (splitter->group != NULL && splitter->group->has_regex) {
        free(splitter->group->places.start);
        free(splitter->group->places.end);
        regfree(&splitter->group->regex);
    }
    free(splitter->group);
}

/* --- what was asked for ------------------------------------------------------------------- */

static enum cleave_status new_group(struct cv_splitter *splitter, const char *option,
                                    const char *text, struct cleave_error *err)
{
    if (splitter->group != NULL)
        return cv_fail(err, CLEAVE_EINPUT, "expected --records or --together, got both");
    splitter->group = calloc(1, sizeof *splitter->group);
    if (splitter->group == NULL)
        return cv_fail_memory(err, "a splitter");
    return cv_splitter_say(splitter, option, text, err);
}

enum cleave_status cv_splitter_set_records(struct cv_splitter *splitter, uint64_t records,
                                           struct cleave_error *err)
{
    char text[24];

    if (records == 0)
        return CLEAVE_OK;
    snprintf(text, sizeof text, "%llu", (unsigned long long)records);
    CV_TRY(new_group(splitter, "--records", text, err));
    splitter->group->records = records;
    return CLEAVE_OK;
}

enum cleave_status cv_splitter_set_together(struct cv_splitter *splitter,
                                            const char *text, struct cleave_error *err)
{
    char shown[100], reason[128], *end;
    struct cv_split_group *group;
    unsigned long column;
    int failure;

    if (text == NULL)
        return CLEAVE_OK;
    if (splitter->record_bytes > 0 || text[0] == '\0')
        return cv_fail(
            err, CLEAVE_EINPUT,
            "--together: expected a column or an expression, of records that are "
            "lines of text, got '%s' of %s",
            cv_shown(text, strlen(text), shown, sizeof shown), splitter->kind->name);
    CV_TRY(new_group(splitter, "--together", text, err));
    group = splitter->group;
    if (text[strspn(text, "0123456789")] == '\0') {
        column = strtoul(text, &end, 10);
        if (column < 1 || column > MOST_COLUMN)
            return cv_fail(err, CLEAVE_EINPUT,
                           "--together: expected a column from 1 to %d or an expression, "
                           "got '%s'",
                           MOST_COLUMN,
                           cv_shown(text, strlen(text), shown, sizeof shown));
        group->column = (unsigned)column;
        return CLEAVE_OK;
    }
    failure = regcomp(&group->regex, text, REG_EXTENDED | REG_NEWLINE);
    group->has_regex = failure == 0;
    if (failure == 0)
        return CLEAVE_OK;
    regerror(failure, &group->regex, reason, sizeof reason);
    return cv_fail(err, CLEAVE_EINPUT,
                   "--together: expected a column or an extended regular expression, got "
                   "'%s': %s",
                   cv_shown(text, strlen(text), shown, sizeof shown), reason);
}

/* --- keys --------------------------------------------------------------------------------- */

/* Column `column` of the first line; of csv, quotes may hide a separator. */
static struct cv_key_text find_column(char separator, bool quotes, unsigned column,
                                      const char *bytes, size_t length)
{
    size_t begin = 0;
    bool quoted = false;

    for (size_t i = 0; i <= length; i++) {
        const bool end = i == length || (!quoted && bytes[i] == '\n');

        if (!end && quotes && bytes[i] == '"')
            quoted = !quoted;
        if (!end && (quoted || bytes[i] != separator))
            continue;
        if (--column == 0) {
            if (i > begin && bytes[i - 1] == '\r' && end)
                i--;
            return (struct cv_key_text){ bytes + begin, i - begin };
        }
        if (end)
            break;
        begin = i + 1;
    }
    return (struct cv_key_text){ bytes, 0 };
}

/* What the expression matches first, or its first part in parentheses. As split_regex.c, this
 * uses what the C library has for bytes with a length; it keeps its places in the group. */
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
    const bool csv = splitter->kind == &cv_split_csv;

    if (length > CV_GROUP_LOOK)
        length = CV_GROUP_LOOK;
    return group->column > 0 ? find_column(csv ? splitter->byte : '\t', csv,
                                           group->column, bytes, length)
                             : find_match(group, bytes, length);
}

static struct cv_group_key key_of(const struct cv_splitter *splitter, const char *bytes,
                                  size_t length)
{
    struct cv_key_text key;
    XXH128_hash_t hash;

    if (splitter->group->records > 0)
        return (struct cv_group_key){ 0, 0 };
    key = cv_group_key_text(splitter, bytes, length);
    hash = XXH3_128bits(key.bytes, key.length);
    return (struct cv_group_key){ hash.high64, hash.low64 };
}

/* --- groups as records come ----------------------------------------------------------------- */

bool cv_group_add(const struct cv_splitter *splitter, struct cv_group_state *state,
                  const char *bytes, size_t length)
{
    const struct cv_group_key key = key_of(splitter, bytes, length);
    const uint64_t max = splitter->group->records;
    const bool starts = state->count > 0 && (max > 0 ? state->count == max
                                                     : key.high != state->key.high ||
                                                           key.low != state->key.low);

    state->count = starts ? 1 : state->count + 1;
    state->key = key;
    return starts;
}
