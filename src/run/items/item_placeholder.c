/* item_placeholder.c -- placeholders for items, and the substitutions of Perl that define them.
 * SPDX-License-Identifier: MIT */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "run/items/item_placeholder.h"

#include <ctype.h>
#include <limits.h>
#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"

/* About 0.1 s without JIT; and memory that a match without JIT may take. */
enum { MOST_STEPS = 1000000, MOST_KIB = 64 << 10, SHOWN = 128 };

/* --- regular expressions ------------------------------------------------------------------ */

struct cv_item_regex {
    pcre2_code *code;       /* owned, as all pointers but `field` */
    pcre2_match_data *data; /* the last match */
    pcre2_match_context *limits;
    const char *field;
    char shown[SHOWN];
};

static enum cleave_status fail_pcre2(const struct cv_item_regex *regex, int code,
                                     const char *value, struct cleave_error *err)
{
    char why[SHOWN] = "";

    if (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED)
        return cv_fail_memory(err, "an expression");
    pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
    if (value == NULL)
        return cv_fail(err, CLEAVE_EINPUT, "%s: '%s': %s", regex->field, regex->shown,
                       why);
    return cv_fail(err, CLEAVE_EINPUT, "%s: '%s' failed on the item '%s': %s",
                   regex->field, regex->shown, CV_SHOWN(value, SHOWN), why);
}

void cv_item_regex_free(struct cv_item_regex *regex)
{
    if (regex == NULL)
        return;
    pcre2_code_free(regex->code);
    pcre2_match_data_free(regex->data);
    pcre2_match_context_free(regex->limits);
    free(regex);
}

enum cleave_status cv_item_regex_new(const char *text, uint32_t flags, const char *field,
                                     const char *shown, struct cv_item_regex **out,
                                     struct cleave_error *err)
{
    struct cv_item_regex *regex = calloc(1, sizeof *regex);
    enum cleave_status status = CLEAVE_OK;
    PCRE2_SIZE offset;
    int code;

    if (regex == NULL)
        return cv_fail_memory(err, "an expression");
    regex->field = field;
    cv_shown(shown, strlen(shown), regex->shown, sizeof regex->shown);
    regex->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, flags, &code,
                                &offset, NULL);
    if (regex->code != NULL) {
        (void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE); /* else interpreted */
        regex->data = pcre2_match_data_create_from_pattern(regex->code, NULL);
        regex->limits = pcre2_match_context_create(NULL);
    }
    if (regex->code == NULL)
        status = fail_pcre2(regex, code, NULL, err);
    else if (regex->data == NULL || regex->limits == NULL)
        status = cv_fail_memory(err, "an expression");
    if (status != CLEAVE_OK) {
        cv_item_regex_free(regex);
        return status;
    }
    pcre2_set_match_limit(regex->limits, MOST_STEPS);
    pcre2_set_heap_limit(regex->limits, MOST_KIB);
    *out = regex;
    return CLEAVE_OK;
}

enum cleave_status cv_item_regex_find(const struct cv_item_regex *regex, const char *text,
                                      size_t from, struct cv_item_match *out,
                                      struct cleave_error *err)
{
    const size_t most = sizeof out->groups / sizeof *out->groups;
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(regex->data);
    uint32_t flags = PCRE2_NOTEMPTY_ATSTART;
    int count;

    for (;; flags |= PCRE2_NO_JIT) {
        count = pcre2_match(regex->code, (PCRE2_SPTR)text, strlen(text), from, flags,
                            regex->data, regex->limits);
        if (count != PCRE2_ERROR_JIT_STACKLIMIT)
            break;
    }
    *out = (struct cv_item_match){ .count = 0 };
    if (count == PCRE2_ERROR_NOMATCH)
        return CLEAVE_OK;
    if (count < 0)
        return fail_pcre2(regex, count, text, err);
    for (; out->count < (size_t)count && out->count < most; out->count++, ends += 2) {
        const bool set = ends[0] != PCRE2_UNSET && ends[0] <= ends[1];

        out->groups[out->count].bytes = text + (set ? ends[0] : 0);
        out->groups[out->count].length = set ? ends[1] - ends[0] : 0;
    }
    return CLEAVE_OK;
}

/* --- reading substitutions ---------------------------------------------------------------- */

struct change {
    struct cv_item_regex *regex; /* owned */
    char *text;     /* owned: the replacement, as pcre2_substitute reads it */
    uint32_t flags; /* for pcre2_substitute */
    bool otherwise; /* only if the change before found nothing */
    bool required;  /* by --match: a value without a match is an error */
};

struct cv_item_expression {
    struct change *changes; /* owned */
    size_t count, room;
    struct cv_text buffers[2]; /* results of substitutions, in turn */
};

/* An expression that is being read. */
struct reader {
    const char *at;
    const struct cv_item_match *name;
    const char *field, *shown;
    struct cleave_error *err;
};

static enum cleave_status refuse(const struct reader *reader, const char *why)
{
    return cv_fail(reader->err, CLEAVE_EINPUT, "%s: '%s': %s", reader->field,
                   CV_SHOWN(reader->shown, SHOWN), why);
}

static char closing(char open)
{
    static const char pairs[] = "(){}[]<>";
    const char *at = strchr(pairs, open);

    return at != NULL && (at - pairs) % 2 == 0 ? at[1] : open;
}

/* Read up to the delimiter that closes `open`. As in Perl, a backslash before a delimiter is
 * dropped, unless the delimiters are a pair, which nests. */
static bool read_field(struct reader *reader, char open, struct cv_text *out)
{
    const char close = closing(open), *at = reader->at;

    cv_text_add(out, "%s", ""); /* so that there is a text */
    for (unsigned depth = 0; *at != '\0' && (*at != close || depth > 0); at++) {
        if (at[0] == '\\' && at[1] != '\0') {
            if (at[1] != open || close != open)
                cv_text_add(out, "\\");
            at++;
        } else if (close != open) {
            depth += *at == open;
            depth -= *at == close;
        }
        cv_text_add(out, "%c", *at);
    }
    reader->at = at + (*at == close);
    return *at == close;
}

/* Both fields of a substitution, which begins at 's'. */
static bool read_fields(struct reader *reader, struct cv_text *from, struct cv_text *to)
{
    char open = reader->at[0] == 's' ? reader->at[1] : '\0';

    if (!ispunct((unsigned char)open))
        return false;
    reader->at += 2;
    if (!read_field(reader, open, from))
        return false;
    if (closing(open) != open) { /* the other field has its own delimiters */
        reader->at += strspn(reader->at, " \t\n");
        open = *reader->at;
        if (!ispunct((unsigned char)open))
            return false;
        reader->at++;
    }
    return read_field(reader, open, to);
}

static enum cleave_status read_flags(struct reader *reader, struct change *change,
                                     uint32_t *out)
{
    static const char letters[] = "imsx";
    static const uint32_t flags[] = { PCRE2_CASELESS, PCRE2_MULTILINE, PCRE2_DOTALL,
                                      PCRE2_EXTENDED };

    for (; isalpha((unsigned char)*reader->at); reader->at++) {
        const char *letter = strchr(letters, *reader->at);

        if (*reader->at == 'g')
            change->flags |= PCRE2_SUBSTITUTE_GLOBAL;
        else if (letter != NULL)
            *out |= flags[letter - letters];
        else if (*reader->at == 'R')
            change->required = true;
        else
            return refuse(reader, *reader->at == 'e'
                                      ? "flag e runs Perl code, which cleave cannot"
                                      : "expected flags g, i, m, s or x");
    }
    return CLEAVE_OK;
}

static bool is_group(const char *at)
{
    return strncmp(at, "$$", 2) == 0 && isdigit((unsigned char)at[2 + (at[2] == '?')]);
}

/* Read "s/a/b/; s/c/d/g". $$1 in it is group 1 of `name`, which may be NULL. $$?1 is the same
 * group with quantifiers that match as little as possible. */
static enum cleave_status expression_new(const char *text,
                                         const struct cv_item_match *name,
                                         const char *field, const char *shown,
                                         struct cv_item_expression **out,
                                         struct cleave_error *err);

/* Append the group of the name that "$$1" or "$$?1" at `at` stands for. */
static enum cleave_status add_group(const struct reader *reader, const char *at,
                                    bool replacement, struct cv_text *out)
{
    static const char lazy[] =
        "s/\\\\.(*SKIP)(*F)|\\[[^]]*](*SKIP)(*F)|[*+}](?!\\?)/$&?/gs";
    const size_t number = (size_t)(at[2 + (at[2] == '?')] - '0');
    struct cv_item_expression *expression = NULL;
    struct cv_text group = { NULL, 0, 0, false };
    enum cleave_status status;
    const char *result;

    if (reader->name == NULL || number == 0 || number >= reader->name->count)
        return refuse(reader, "$$N needs a group in the name, as in '{%(.+?)} s/$$1$//'");
    cv_text_add(&group, "%.*s", (int)reader->name->groups[number].length,
                reader->name->groups[number].bytes);
    if (group.failed)
        return cv_fail_memory(reader->err, "an expression");
    status = expression_new(at[2] == '?'  ? lazy
                            : replacement ? "s/\\W/\\\\$&/g" /* no byte is special */
                                          : "",
                            NULL, reader->field, reader->shown, &expression, reader->err);
    CV_THEN(status,
            cv_item_expression_apply(expression, group.bytes, &result, reader->err));
    if (status == CLEAVE_OK)
        cv_text_add(out, "%s", result);
    cv_item_expression_free(expression);
    cv_text_done(&group);
    return status;
}

/* Append what '$' or '\\' at *at stands for, as pcre2_substitute reads it, and skip it. */
static enum cleave_status translate(const struct reader *reader, const char **at,
                                    struct cv_text *out)
{
    const char *from = *at;
    const bool braced = strncmp(from, "${", 2) == 0;
    const size_t digits = strspn(from + 1 + braced, "0123456789");
    size_t length = from[0] == '$' || from[1] == '\0' ? 1 : 2;

    if (from[0] == '$' && digits > 0 && (!braced || from[2 + digits] == '}')) {
        cv_text_add(out, "${%.*s}", (int)digits, from + 1 + braced);
        length = 1 + digits + (braced ? 2 : 0);
    } else if (strncmp(from, "$&", 2) == 0) {
        cv_text_add(out, "${0}");
        length = 2;
    } else if (strncmp(from, "$+{", 3) == 0 && strchr(from, '}') != NULL) {
        length = (size_t)(strchr(from, '}') - from) + 1;
        cv_text_add(out, "$%.*s", (int)length - 2, from + 2);
    } else if (from[0] == '$' && (isalpha((unsigned char)from[1]) || from[1] == '_')) {
        return refuse(reader, "expected $1, $& or $+{name}: there are no variables");
    } else if (from[0] == '$') {
        cv_text_add(out, "$$");
    } else if (from[1] >= '1' && from[1] <= '9') {
        cv_text_add(out, "${%c}", from[1]);
    } else if (from[1] != '\0' && strchr("ULEul", from[1]) != NULL) {
        cv_text_add(out, "\\x00%c", from[1]); /* for change_case() */
    } else if (from[1] == 'x' && strtol(from + 2 + (from[2] == '{'), NULL, 16) == 0) {
        return refuse(reader, "expected \\x01 to \\xff");
    } else if (isalnum((unsigned char)from[1]) && strchr("ntrfaex", from[1]) == NULL) {
        return refuse(reader,
                      "expected \\U, \\L, \\u, \\l, \\E, \\n, \\t or \\x in the text");
    } else {
        cv_text_add(out, "%.2s", from);
    }
    *at += length;
    return CLEAVE_OK;
}

/* Append a regular expression, or a replacement as pcre2_substitute reads it. */
static enum cleave_status expand(const struct reader *reader, const char *at,
                                 bool replacement, struct cv_text *out)
{
    cv_text_add(out, "%s", ""); /* so that there is a text */
    while (*at != '\0') {
        if (replacement && strncmp(at, "${", 2) == 0 && is_group(at + 2)) {
            cv_text_add(out, "${"); /* ${$$1}: the group that the name numbers */
            CV_TRY(add_group(reader, at + 2, true, out));
            at += 5;
        } else if (is_group(at)) {
            CV_TRY(add_group(reader, at, replacement, out));
            at += at[2] == '?' ? 4 : 3;
        } else if (replacement && (*at == '$' || *at == '\\')) {
            CV_TRY(translate(reader, &at, out));
        } else {
            cv_text_add(out, "%c", *at++);
        }
    }
    if (replacement && !out->failed && strstr(out->bytes, "\\x00") != NULL)
        cv_text_add(out, "\\x00E");
    return out->failed ? cv_fail_memory(reader->err, "an expression") : CLEAVE_OK;
}

static enum cleave_status read_change(struct reader *reader, struct change *out)
{
    struct cv_text from = { NULL, 0, 0, false }, to = { NULL, 0, 0, false };
    struct cv_text regex = { NULL, 0, 0, false }, text = { NULL, 0, 0, false };
    enum cleave_status status;
    uint32_t flags = 0;

    if (read_fields(reader, &from, &to))
        status = read_flags(reader, out, &flags);
    else
        status = refuse(reader, "expected s/REGEX/TEXT/, or several separated by ';': "
                                "cleave does not run Perl code");
    if (status == CLEAVE_OK && (from.failed || to.failed))
        status = cv_fail_memory(reader->err, "an expression");
    CV_THEN(status, expand(reader, from.bytes, false, &regex));
    CV_THEN(status, expand(reader, to.bytes, true, &text));
    CV_THEN(status, cv_item_regex_new(regex.bytes, flags, reader->field, reader->shown,
                                      &out->regex, reader->err));
    if (status == CLEAVE_OK) {
        out->text = text.bytes;
        text.bytes = NULL;
    }
    cv_text_done(&from);
    cv_text_done(&to);
    cv_text_done(&regex);
    cv_text_done(&text);
    return status;
}

void cv_item_expression_free(struct cv_item_expression *expression)
{
    if (expression == NULL)
        return;
    for (size_t i = 0; i < expression->count; i++) {
        cv_item_regex_free(expression->changes[i].regex);
        free(expression->changes[i].text);
    }
    cv_text_done(&expression->buffers[0]);
    cv_text_done(&expression->buffers[1]);
    free(expression->changes);
    free(expression);
}

static enum cleave_status expression_new(const char *text,
                                         const struct cv_item_match *name,
                                         const char *field, const char *shown,
                                         struct cv_item_expression **out,
                                         struct cleave_error *err)
{
    struct reader reader = { text, name, field, shown, err };
    struct cv_item_expression *expression = calloc(1, sizeof *expression);
    enum cleave_status status =
        expression != NULL ? CLEAVE_OK : cv_fail_memory(err, "an expression");

    while (status == CLEAVE_OK) {
        struct change change = { .flags = PCRE2_SUBSTITUTE_EXTENDED |
                                          PCRE2_SUBSTITUTE_UNSET_EMPTY |
                                          PCRE2_SUBSTITUTE_UNKNOWN_UNSET |
                                          PCRE2_SUBSTITUTE_OVERFLOW_LENGTH };

        reader.at += strspn(reader.at, " \t\n;");
        change.otherwise = strncmp(reader.at, "||", 2) == 0;
        if (change.otherwise)
            reader.at += 2 + strspn(reader.at + 2, " \t\n");
        else if (*reader.at == '\0')
            break;
        status = CV_ROOM(expression->changes, &expression->room, expression->count + 1)
                     ? read_change(&reader, &change)
                     : cv_fail_memory(err, "an expression");
        if (status == CLEAVE_OK)
            expression->changes[expression->count++] = change;
    }
    if (status == CLEAVE_OK)
        *out = expression;
    else
        cv_item_expression_free(expression);
    return status;
}

/* --- substituting ------------------------------------------------------------------------- */

/* Remove \U, \L, \u, \l and \E, each of which is marked by a NUL byte, and change the bytes that
 * they stand for. PCRE2 10.42 ignores \u before \L. */
static void change_case(struct cv_text *text)
{
    size_t used = strlen(text->bytes);
    char all = 'E', next = 'E';

    for (size_t i = used; i < text->length; i++) {
        const unsigned char byte = (unsigned char)text->bytes[i];
        const int how = tolower(next != 'E' ? next : all);

        if (byte != '\0') {
            text->bytes[used++] = (char)(how == 'u'   ? toupper(byte)
                                         : how == 'l' ? tolower(byte)
                                                      : byte);
            next = 'E';
            continue;
        }
        i++;
        switch (text->bytes[i]) {
        case 'E':
            all = next = 'E';
            break;
        case 'u':
        case 'l':
            next = text->bytes[i];
            break;
        default:
            all = text->bytes[i];
        }
    }
    text->bytes[used] = '\0';
    text->length = used;
}

/* *replaced is the number of substitutions. */
static enum cleave_status substitute(const struct change *change, const char *from,
                                     struct cv_text *to, int *replaced,
                                     struct cleave_error *err)
{
    const struct cv_item_regex *regex = change->regex;
    const size_t length = strlen(from);
    uint32_t flags = change->flags;

    to->length = length + 64;
    do {
        if (to->length == PCRE2_UNSET || !CV_ROOM(to->bytes, &to->capacity, to->length))
            return cv_fail_memory(err, "an item");
        to->length = to->capacity;
        *replaced = pcre2_substitute(regex->code, (PCRE2_SPTR)from, length, 0, flags,
                                     regex->data, regex->limits, (PCRE2_SPTR)change->text,
                                     PCRE2_ZERO_TERMINATED, (PCRE2_UCHAR *)to->bytes,
                                     &to->length);
        if (*replaced == PCRE2_ERROR_JIT_STACKLIMIT) {
            flags |= PCRE2_NO_JIT;
            to->length = to->capacity;
        }
    } while (*replaced == PCRE2_ERROR_NOMEMORY ||
             *replaced == PCRE2_ERROR_JIT_STACKLIMIT);
    if (*replaced < 0)
        return fail_pcre2(regex, *replaced, from, err);
    if (*replaced == 0 && change->required)
        return cv_fail(err, CLEAVE_EINPUT,
                       "expected a match in every item, got none in '%s'",
                       CV_SHOWN(from, SHOWN));
    change_case(to);
    return CLEAVE_OK;
}

enum cleave_status cv_item_expression_apply(struct cv_item_expression *expression,
                                            const char *value, const char **out,
                                            struct cleave_error *err)
{
    int replaced = 0;

    for (size_t i = 0; i < expression->count; i++) {
        struct cv_text *to = &expression->buffers[value == expression->buffers[0].bytes];

        if (expression->changes[i].otherwise && replaced > 0)
            continue;
        CV_TRY(substitute(&expression->changes[i], value, to, &replaced, err));
        value = to->bytes;
    }
    *out = value;
    return CLEAVE_OK;
}

/* --- placeholders ------------------------------------------------------------------------- */

/* Name and expression, as GNU parallel 20260422 defines them; or, after CV_ITEM_UNKNOWN, an alternative.
 * A longer beginning precedes a shorter one. */
static const struct known {
    enum cv_item_part part;
    const char *definition;
} known[] = {
    { CV_ITEM_VALUE, "{}" },
    { CV_ITEM_VALUE, "{.} s:\\.[^/.]*$::" },
    { CV_ITEM_VALUE, "{..} s:\\.[^/.]*\\.[^/.]*$::" },
    { CV_ITEM_VALUE, "{...} s:\\.[^/.]*\\.[^/.]*\\.[^/.]*$::" },
    { CV_ITEM_VALUE, "{/} s:.*/::" },
    { CV_ITEM_VALUE,
      "{//} s:(?<=.)/+\\z::s; s:^(.*/|)[^/]*\\z:$1:s; s:(?<=.)/+\\z::s; s:^\\z:.:" },
    { CV_ITEM_VALUE, "{/.} s:.*/::; s:\\.[^/.]*$::" },
    { CV_ITEM_VALUE, "{/..} s:.*/::; s:\\.[^/.]*\\.[^/.]*$::" },
    { CV_ITEM_VALUE, "{/...} s:.*/::; s:\\.[^/.]*\\.[^/.]*\\.[^/.]*$::" },
    { CV_ITEM_VALUE, "{+/} s:/[^/]*$:: || s:.*$::" },
    { CV_ITEM_VALUE, "{+.} s:.*\\.:: || s:.*$::" },
    { CV_ITEM_VALUE, "{+..} s:.*\\.([^/.]*\\.[^/.]*)$:$1: || s:.*$::" },
    { CV_ITEM_VALUE, "{+...} s:.*\\.([^/.]*\\.[^/.]*\\.[^/.]*)$:$1: || s:.*$::" },
    { CV_ITEM_NUMBER, "{#}" },
    { CV_ITEM_SLOT, "{%}" },
    /* With items.plus only. */
    { CV_ITEM_TOTAL, "{##}" },
    { CV_ITEM_PADDED_NUMBER, "{0#}" },
    { CV_ITEM_NUMBER, "{seq}" },
    { CV_ITEM_NUMBER_FROM_0, "{seq-1}" },
    { CV_ITEM_SLOT, "{slot}" },
    { CV_ITEM_SLOT_FROM_0, "{slot-1}" },
    { CV_ITEM_VALUE, "{:-([^}]+?)} s/^0?\\z/$$1/" },
    { CV_ITEM_VALUE, "{:(\\d+?)} s/^.{0,$$1}//s" },
    { CV_ITEM_VALUE, "{:(\\d+?):(\\d+?)} s/^.{0,$$1}(.{0,$$2}).*/$1/s" },
    { CV_ITEM_VALUE, "{##([^#}][^}]*?)} s/^$$1//" },
    { CV_ITEM_VALUE, "{#([^#}][^}]*?)} s/^$$?1(.*)/$1/" },
    { CV_ITEM_VALUE, "{%%([^}]+?)} s/$$1$//" },
    { CV_ITEM_VALUE, "{%([^}]+?)} s/(.*)$$?1$/$1/" },
    { CV_ITEM_VALUE, "{/#([^}]+?)/([^}]*?)} s/^$$1/$$2/g" },
    { CV_ITEM_VALUE, "{/%([^}]+?)/([^}]*?)} s/$$1$/$$2/g" },
    { CV_ITEM_VALUE, "{//([^}]+?)/([^}]*?)} s/$$1/$$2/g" },
    { CV_ITEM_VALUE, "{/([^#%}/]+?)/([^}]*?)} s/$$1/$$2/" },
    { CV_ITEM_VALUE, "{^^([^}]+?)} s/($$1)/\\U$1/g" },
    { CV_ITEM_VALUE, "{^([^}]+?)} s/^($$1)/\\U$1/" },
    { CV_ITEM_VALUE, "{,,([^}]+?)} s/($$1)/\\L$1/g" },
    { CV_ITEM_VALUE, "{,([^}]+?)} s/^($$1)/\\L$1/" },
    { CV_ITEM_UNKNOWN,
      "{uniq} a test in the command: 'if [ {1} != {2} ]; then ...; fi'" },
    { CV_ITEM_UNKNOWN,
      "{choose_k} a test in the command: 'if [[ {1} < {2} ]]; then ...; fi'" },
    { CV_ITEM_UNKNOWN, "{0%} {%}" },
    { CV_ITEM_UNKNOWN, "{host} \"$(hostname)\"" },
    { CV_ITEM_UNKNOWN, "{sshlogin} \"$(hostname)\"" },
    { CV_ITEM_UNKNOWN, "{hgrp} \"$CLEAVE_WORKER\"" },
    { CV_ITEM_UNKNOWN, "{agrp} \"$CLEAVE_WORKER\"" },
};

enum { KNOWN = sizeof known / sizeof *known, KNOWN_PLAIN = 15 };

static const char *expression_of(const char *definition)
{
    definition += strcspn(definition, " ");
    return definition + strspn(definition, " ");
}

/* A placeholder that was found, before its expression is compiled. */
struct found {
    struct cv_item_placeholder placeholder;
    const char *expression;
    struct cv_item_match name; /* groups of the name */
    const char *field;         /* names it in errors */
    const char *definition;    /* by the user; NULL: errors show the placeholder */
};

/* Compare a text with the name of a definition, in which groups are regular expressions. */
static enum cleave_status match_name(const char *text, const char *definition,
                                     struct found *out, struct cleave_error *err)
{
    const size_t length = strcspn(definition, " ");
    const char *close = memrchr(definition, ')', length);
    const char *open = close != NULL ? memchr(definition, '(', length) : NULL;
    const size_t before = open != NULL ? (size_t)(open - definition) : length;
    struct cv_text pattern = { NULL, 0, 0, false };
    struct cv_item_regex *regex = NULL;
    enum cleave_status status;

    out->placeholder.length = 0;
    if (strncmp(text, definition, before) != 0)
        return CLEAVE_OK;
    out->placeholder.length = length;
    out->expression = expression_of(definition);
    if (open == NULL)
        return CLEAVE_OK;
    cv_text_add(&pattern, "^%.*s\\Q%.*s\\E", (int)(close + 1 - open), open,
                (int)(definition + length - close - 1), close + 1);
    status = pattern.failed ? cv_fail_memory(err, "an expression")
                            : cv_item_regex_new(pattern.bytes, 0, out->field, definition,
                                                &regex, err);
    CV_THEN(status, cv_item_regex_find(regex, text + before, 0, &out->name, err));
    out->placeholder.length =
        out->name.count > 0 ? before + out->name.groups[0].length : 0;
    cv_item_regex_free(regex);
    cv_text_done(&pattern);
    return status;
}

/* The n-th definition by --match is for value n. */
static bool is_match(const char *definition)
{
    return strncmp(definition, "{N.", 3) == 0;
}

/* --match +2: the one for value 2. */
static int follow_match(const struct cv_item_replacements *from, int position)
{
    int matches = 0;

    for (size_t i = 0; i < from->ndefinitions; i++) {
        const bool here = is_match(from->definitions[i]) && ++matches == position;
        const char *other = here ? strstr(from->definitions[i], "(?:+") : NULL;

        if (other != NULL)
            return (int)strtol(other + 4, NULL, 10);
    }
    return position;
}

/* The longest name wins. `offset`: bytes of definitions to skip, which begin with '{', before the
 * part of a placeholder after the position of its value. */
static enum cleave_status match_definitions(const char *text, size_t offset, int position,
                                            const struct cv_item_replacements *from,
                                            struct found *out, struct cleave_error *err)
{
    const int wanted = follow_match(from, position);
    int matches = 0;

    for (size_t i = 0; i < from->ndefinitions; i++) {
        struct found found = { .field = "items.replacements",
                               .definition = from->definitions[i] };

        const bool match = is_match(from->definitions[i]);

        matches += match;
        if ((offset > 0 && from->definitions[i][0] != '{') ||
            (match && (offset == 0 || matches != wanted)))
            continue;
        CV_TRY(match_name(text, from->definitions[i] + offset + match, &found, err));
        if (found.placeholder.length > out->placeholder.length)
            *out = found;
    }
    if (matches > 0 && position > matches && text[0] == '.' &&
        isdigit((unsigned char)text[1]))
        return cv_fail(err, CLEAVE_EINPUT,
                       "'{%d%.2s}': expected %d expressions for matches, got %d",
                       position, text, position, matches);
    return CLEAVE_OK;
}

/* `text` is after the brace, and after the name or number of a value. */
static enum cleave_status match_known(const char *text, size_t count, bool one_value,
                                      struct found *out, struct cleave_error *err)
{
    for (size_t i = 0; i < count && out->placeholder.length == 0; i++) {
        const char *definition = known[i].definition;

        *out = (struct found){ .placeholder.part = known[i].part, .field = "items.plus" };
        CV_TRY(match_name(text, definition + 1, out, err));
        if (out->placeholder.length > 0 && out->placeholder.part == CV_ITEM_UNKNOWN)
            return cv_fail(err, CLEAVE_EINPUT,
                           "items.plus: expected no placeholder '%.*s'; instead: %s",
                           (int)strcspn(definition, " "), definition, out->expression);
        if (one_value && out->placeholder.part != CV_ITEM_VALUE)
            out->placeholder.length = 0;
    }
    return CLEAVE_OK;
}

/* "{3/.}" or "{-1}": the position of a value, and the rest of the placeholder. */
static int read_position(const char *text, const char **out_rest)
{
    char *rest;
    const long position = strtol(text, &rest, 10);
    const bool number = isdigit((unsigned char)text[text[0] == '-']);

    if (!number || position == 0 || position > INT_MAX || position < -INT_MAX)
        return 0;
    *out_rest = rest;
    return (int)position;
}

static enum cleave_status find_placeholder(const char *text,
                                           const struct cv_item_replacements *from,
                                           struct found *out, struct cleave_error *err)
{
    const size_t whole = from->whole != NULL ? strlen(from->whole) : 0;
    const char *rest = text + 1;
    int position = 0;

    *out = (struct found){ .field = NULL };
    CV_TRY(match_definitions(text, 0, 0, from, out, err));
    if (out->placeholder.length > 0)
        return CLEAVE_OK;
    if (from->whole != NULL && strncmp(text, from->whole, whole) == 0) {
        *out = (struct found){ .placeholder.length = whole, .expression = "" };
        return CLEAVE_OK;
    }
    if (*text != '{' || (from->whole != NULL && text[1] == '}'))
        return CLEAVE_OK;
    for (size_t i = 0; i < from->nnames && out->placeholder.length == 0; i++) {
        const size_t length = strlen(from->names[i]);

        if (length == 0 || strncmp(text + 1, from->names[i], length) != 0)
            continue;
        rest = text + 1 + length;
        position = (int)i + 1;
        CV_TRY(match_definitions(rest, 1, position, from, out, err));
        CV_TRY(match_known(rest, KNOWN_PLAIN, true, out, err));
    }
    if (out->placeholder.length == 0) {
        rest = text + 1;
        position = read_position(text + 1, &rest);
        if (position != 0)
            CV_TRY(match_definitions(rest, 1, position, from, out, err));
        CV_TRY(
            match_known(rest, from->plus ? KNOWN : KNOWN_PLAIN, position != 0, out, err));
    }
    if (out->placeholder.length > 0)
        out->placeholder.length += (size_t)(rest - text);
    out->placeholder.position = position;
    return CLEAVE_OK;
}

/* {= s/REGEX/TEXT/ =}, or {=2 s/REGEX/TEXT/ =} for the second value. *inside is for free(). */
static enum cleave_status find_inline(const char *text, const char *const *later,
                                      struct found *out, char **inside,
                                      struct cleave_error *err)
{
    const char *end = strstr(text + 2, "=}"), *rest = text + 2;
    const char *next = strstr(rest, "{=");

    *out = (struct found){ .field = "{= =}" };
    if (next != NULL && end != NULL &&
        next < end) /* the last one before the end counts */
        return CLEAVE_OK;
    for (; end == NULL && *later != NULL; later++)
        if (strstr(*later, "=}") != NULL)
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected '{= s/REGEX/TEXT/ =}' as one word, in quotes");
    if (end == NULL)
        return CLEAVE_OK;
    out->placeholder.position = read_position(text + 2, &rest);
    out->placeholder.length = (size_t)(end + 2 - text);
    out->expression = *inside =
        rest < end ? strndup(rest, (size_t)(end - rest)) : strdup("");
    return *inside != NULL ? CLEAVE_OK : cv_fail_memory(err, "the command");
}

/* The number of a command or a worker, as the code of GNU parallel names it: $_=$job->seq(), seq();
 * CV_ITEM_VALUE: other code. */
static enum cv_item_part find_counter(const char *code)
{
    static const char *const before[] = { "1 ", "$_", "=", "$job->" };
    const char *at = code + strspn(code, " \t");
    const bool slot = strstr(code, "slot()") != NULL;
    const char *const name = slot ? "slot()" : "seq()";

    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        at += strncmp(at, before[i], strlen(before[i])) == 0 ? strlen(before[i]) : 0;
        at += strspn(at, " \t");
    }
    if (strncmp(at, name, strlen(name)) != 0 ||
        at[strlen(name) + strspn(at + strlen(name), " \t;")] != '\0')
        return CV_ITEM_VALUE;
    return slot ? CV_ITEM_SLOT : CV_ITEM_NUMBER;
}

/* Definitions that no word uses are checked as well; one with groups only where it is used. */
enum cleave_status cv_item_replacements_check(const struct cv_item_replacements *from,
                                              struct cleave_error *err)
{
    for (size_t i = 0; i < from->ndefinitions; i++) {
        const char *text = from->definitions[i], *expression = expression_of(text);
        struct cv_item_expression *compiled = NULL;
        const size_t length = strcspn(text, " ");

        for (size_t k = 0; k < i && !is_match(text); k++)
            if (strncmp(text, from->definitions[k], length + 1) == 0)
                return cv_fail(err, CLEAVE_EINPUT,
                               "items.replacements: '%.*s' is defined twice", (int)length,
                               text);
        if (*text == ' ' || *expression == '\0')
            return cv_fail(
                err, CLEAVE_EINPUT,
                "items.replacements: expected '{NAME} s/REGEX/TEXT/', got '%s'",
                CV_SHOWN(text, 128));
        if (memchr(text, '(', length) != NULL ||
            find_counter(expression) != CV_ITEM_VALUE)
            continue;
        CV_TRY(
            expression_new(expression, NULL, "items.replacements", text, &compiled, err));
        cv_item_expression_free(compiled);
    }
    return CLEAVE_OK;
}

/* Find a placeholder and compile its expression. */
static enum cleave_status find_compiled(const char *text, const char *const *later,
                                        const struct cv_item_replacements *from,
                                        struct cv_item_placeholder *out,
                                        struct cleave_error *err)
{
    struct found found = { .field = NULL };
    char *inside = NULL, *shown;
    enum cleave_status status = from->none ? CLEAVE_OK
                                : strncmp(text, "{=", 2) == 0
                                    ? find_inline(text, later, &found, &inside, err)
                                    : find_placeholder(text, from, &found, err);

    if (status == CLEAVE_OK && found.placeholder.length > 0 &&
        find_counter(found.expression) != CV_ITEM_VALUE) {
        found.placeholder.part = find_counter(found.expression);
    } else if (status == CLEAVE_OK && found.placeholder.length > 0 &&
               *found.expression != '\0') {
        shown = strndup(text, found.placeholder.length);
        status = shown == NULL
                     ? cv_fail_memory(err, "the command")
                     : expression_new(found.expression, &found.name, found.field,
                                      found.definition != NULL ? found.definition : shown,
                                      &found.placeholder.expression, err);
        free(shown);
    }
    free(inside);
    *out = found.placeholder;
    return status;
}

enum cleave_status cv_item_placeholder_find(const char *text, const char *const *later,
                                            const struct cv_item_replacements *from,
                                            struct cv_item_placeholder *out,
                                            struct cleave_error *err)
{
    const char *format = from->none ? NULL : cv_item_format_find(text);
    enum cleave_status status;
    char *plain;
    size_t length;

    if (format == NULL)
        return find_compiled(text, later, from, out, err);
    length = (size_t)(format - text); /* with '}' in place of the colon */
    plain = strndup(text, length);
    if (plain == NULL)
        return cv_fail_memory(err, "the command");
    plain[length - 1] = '}';
    status = find_compiled(plain, later, from, out, err);
    free(plain);
    if (status != CLEAVE_OK)
        return status;
    if (out->length != length) {
        cv_item_expression_free(out->expression);
        return find_compiled(text, later, from, out, err);
    }
    out->length = length + strcspn(format, "}") + 1;
    status = cv_item_format_read(format, text, &out->format, err);
    if (status != CLEAVE_OK)
        cv_item_expression_free(out->expression);
    return status;
}
