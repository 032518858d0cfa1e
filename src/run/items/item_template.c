/* item_template.c -- a command with places for items. SPDX-License-Identifier: MIT */
#include "run/items/item_template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/fail.h"
#include "run/items/item_plus.h"

/* --- the words of a command, put together piece by piece --------------------------- */

void cv_item_words_done(struct cv_item_words *words)
{
    free(words->bytes);
    *words = (struct cv_item_words){ .bytes = NULL };
}

static bool grow_array(struct cv_item_words *words, size_t length)
{
    words->failed =
        words->failed || !CV_ROOM(words->bytes, &words->room, words->length + length);
    return !words->failed;
}

void cv_item_words_put(struct cv_item_words *words, const char *bytes, size_t length)
{
    if (!grow_array(words, length + 1))
        return;
    words->count += !words->open;
    words->open = true;
    if (length > 0)
        memcpy(words->bytes + words->length, bytes, length);
    words->length += length;
}

void cv_item_words_break(struct cv_item_words *words)
{
    if (!words->open || words->failed)
        return;
    words->bytes[words->length++] = '\0'; /* for which put has left room */
    words->open = false;
}

char **cv_item_words_take(struct cv_item_words *words)
{
    const size_t heads = (words->count + 1) * sizeof(char *);
    char **block, *at;

    cv_item_words_break(words);
    block = words->failed ? NULL : malloc(heads + words->length + 1);
    if (block == NULL)
        return NULL;
    at = (char *)block + heads;
    if (words->length > 0)
        memcpy(at, words->bytes, words->length);
    for (size_t i = 0; i < words->count; i++) {
        block[i] = at;
        at += strlen(at) + 1;
    }
    block[words->count] = NULL;
    return block;
}

/* --- values between the words of a shell's command line ---------------------------- */

static bool is_plain(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.' ||
           byte == '+' || byte == '/';
}

/* Quotes that hold nothing are left out at both ends, but not between two '. */
static void add_quoted(struct cv_text *out, const char *bytes, size_t length)
{
    size_t at = 0;

    while (at < length) {
        size_t end = at;

        if (bytes[at] == '\'') {
            cv_text_add(out, "%s\"'\"", at > 0 && bytes[at - 1] == '\'' ? "''" : "");
            at++;
            continue;
        }
        while (end < length && bytes[end] != '\'')
            end++;
        cv_text_add(out, "'%.*s'", (int)(end - at), bytes + at);
        at = end;
    }
}

/* Add a value so that a Bourne shell reads exactly it, whatever its bytes: as it is if all
 * of them are letters, digits or one of -_.+/, else in '...', with each ' of it as "'". This
 * is what GNU parallel writes, so that command lines can be compared. */
static void item_quote(struct cv_text *out, const char *bytes, size_t length)
{
    size_t plain = 0;

    while (plain < length && is_plain(bytes[plain]))
        plain++;
    if (length == 0)
        cv_text_add(out, "''");
    else if (plain == length)
        cv_text_add(out, "%.*s", (int)length, bytes);
    else
        add_quoted(out, bytes, length);
}

/* Within '...' no byte means anything but the one that ends it; within "..." a backslash takes the
 * meaning of the byte behind it. Shells that do not know $'...' take it for '...', which a number
 * does not end. */
static const char *escaped(enum cv_item_quotes quotes, char byte)
{
    switch (byte) {
    case '\'':
        return quotes == CV_ITEM_SINGLE   ? "'\\''"
               : quotes == CV_ITEM_DOLLAR ? "\\047"
                                          : NULL;
    case '\\':
        return quotes == CV_ITEM_SINGLE ? NULL : "\\\\";
    case '"':
        return quotes == CV_ITEM_DOUBLE ? "\\\"" : NULL;
    case '$':
        return quotes == CV_ITEM_DOUBLE ? "\\$" : NULL;
    case '`':
        return quotes == CV_ITEM_DOUBLE ? "\\`" : NULL;
    default:
        return NULL;
    }
}

/* The same where such quotes are open already, and stay open. */
static void item_quote_within(struct cv_text *out, enum cv_item_quotes quotes,
                              const char *bytes, size_t length)
{
    size_t from = 0;

    if (quotes == CV_ITEM_UNQUOTED) {
        item_quote(out, bytes, length);
        return;
    }
    for (size_t at = 0; at < length; at++) {
        const char *text = escaped(quotes, bytes[at]);

        if (text == NULL)
            continue;
        cv_text_add(out, "%.*s%s", (int)(at - from), bytes + from, text);
        from = at + 1;
    }
    cv_text_add(out, "%.*s", (int)(length - from), bytes + from);
}

/* --- in which quotes of a shell's line a place stands ------------------------------ */

/* The words, ended by NULL, are those of the line. */
static struct cv_item_within item_within_begin(const char *const *words)
{
    struct cv_item_within within = { .depth = 0 };

    /* The patterns of a case have a bracket that closes nothing. */
    for (size_t i = 0; words[i] != NULL; i++)
        within.lost = within.lost || strstr(words[i], "esac") != NULL;
    return within;
}

static char innermost(const struct cv_item_within *within)
{
    return within->depth > 0 ? within->open[within->depth - 1] : '\0';
}

static void begin(struct cv_item_within *within, char what)
{
    if (within->depth == CV_ITEM_NESTED)
        within->lost = true;
    else
        within->open[within->depth++] = what;
}

/* A byte outside of quotes, be it in $(...) or `...`. */
static void read_plain(struct cv_item_within *within, char byte)
{
    const char inside = innermost(within), before = within->before;

    /* In a here-document, unlike behind <<<, quotes are none. */
    within->lost = within->less == 2 && byte != '<';
    within->less = byte == '<' ? within->less + 1 : 0;
    if (byte == '\\')
        within->escaped = true;
    else if ((byte == ')' && inside == '(') || (byte == '`' && inside == '`'))
        within->depth--;
    else if (byte == '\'' && before == '$')
        begin(within, '$');
    else if (byte == '\'' || byte == '"' || byte == '(' || byte == '`')
        begin(within, byte);
    else if (byte == '#' && (before == '\0' || strchr(" \t\n;&|(`", before) != NULL))
        within->comment = true;
}

static void read_byte(struct cv_item_within *within, char byte)
{
    const char inside = innermost(within);

    if (within->comment)
        within->comment = byte != '\n';
    else if (inside == '\0' || inside == '(' || inside == '`')
        read_plain(within, byte);
    else if (byte == (inside == '"' ? '"' : '\''))
        within->depth--;
    else if (inside != '\'' && byte == '\\')
        within->escaped = true;
    else if (inside == '"' && (byte == '`' || (byte == '(' && within->before == '$')))
        begin(within, byte);
}

/* Read on. A place counts as an 'x'. */
static void item_within_read(struct cv_item_within *within, const char *text,
                             size_t length)
{
    for (size_t i = 0; i < length && !within->lost; i++) {
        if (within->escaped) {
            within->escaped = false;
            within->before = 'x';
            continue;
        }
        read_byte(within, text[i]);
        within->before = text[i];
    }
}

/* Unquoted, if it is not known. */
static enum cv_item_quotes item_within_now(const struct cv_item_within *within)
{
    switch (within->lost ? '\0' : innermost(within)) {
    case '\'':
        return CV_ITEM_SINGLE;
    case '"':
        return CV_ITEM_DOUBLE;
    case '$':
        return CV_ITEM_DOLLAR;
    default:
        return CV_ITEM_UNQUOTED;
    }
}

/* --- a command with places for items ----------------------------------------------- */

/* --- reading ------------------------------------------------------------------------------ */

static enum cleave_status add_piece(struct cv_item_template *template,
                                    struct cv_item_piece piece, struct cleave_error *err)
{
    if (!CV_ROOM(template->pieces, &template->room, template->count + 1))
        return cv_fail_memory(err, "the command");
    template->pieces[template->count++] = piece;
    template->places = template->places || piece.kind == CV_ITEM_PLACE;
    return CLEAVE_OK;
}

/* The place that `text` begins with; 0: none. */
static size_t find_place(const char *text, const struct cv_item_replacements *signs,
                         struct cv_item_piece *out)
{
    struct cv_item_placeholder place = { .length = 0 };

    *out = (struct cv_item_piece){ .kind = CV_ITEM_PLACE, .part = CV_ITEM_WHOLE };
    for (size_t i = 0; i < signs->nrules; i++) {
        const size_t length = strlen(signs->rules[i].sign);

        out->rule = &signs->rules[i];
        out->position = signs->rules[i].position;
        if (strncmp(text, signs->rules[i].sign, length) == 0)
            return length;
    }
    out->rule = NULL;
    out->position = 0;
    if (signs->whole != NULL && strncmp(text, signs->whole, strlen(signs->whole)) == 0)
        return strlen(signs->whole);
    for (size_t i = 0; i < signs->nnames && place.length == 0; i++)
        place = cv_item_place_named(text, signs->names[i], (int)i + 1);
    if (place.length == 0)
        place = cv_item_place_at(text);
    if (place.part >= CV_ITEM_TOTAL && !signs->plus)
        return 0;
    out->position = place.position;
    out->part = place.part;
    if (signs->whole != NULL && place.part == CV_ITEM_WHOLE && place.position == 0)
        return 0;
    return place.length;
}

static enum cleave_status read_word(struct cv_item_template *template, const char *word,
                                    const struct cv_item_replacements *signs,
                                    struct cleave_error *err)
{
    const char *from = word, *at = word;
    struct cv_item_piece piece;

    if (*word == '\0') /* text without bytes: it counts with --quote */
        return add_piece(template, (struct cv_item_piece){ .text = word }, err);
    while (*at != '\0') {
        const bool blank = *at == ' ' || *at == '\t';
        const size_t length = blank ? 1 : find_place(at, signs, &piece);

        if (length == 0 && cv_item_rule_inline_end(at) != NULL)
            return cv_fail(
                err, CLEAVE_EINPUT,
                "'{= s/REGEX/TEXT/ =}' is known in the command only: expected a "
                "place of --rpl '{SIGN} s/REGEX/TEXT/' in '%s'",
                word);
        if (length == 0 && signs->plus) {
            CV_TRY(cv_item_plus_check(at, err));
            if (cv_item_plus_end(at) != NULL)
                return cv_fail(err, CLEAVE_EINPUT,
                               "'%.*s' is known in the command only: expected a place of "
                               "--rpl '{SIGN} s/REGEX/TEXT/' in '%s'",
                               (int)(cv_item_plus_end(at) - at), at, word);
        }
        if (length == 0) {
            at++;
            continue;
        }
        if (at > from)
            CV_TRY(add_piece(template,
                             (struct cv_item_piece){ .text = from,
                                                     .length = (size_t)(at - from) },
                             err));
        if (blank)
            piece =
                (struct cv_item_piece){ .kind = CV_ITEM_BLANK, .text = at, .length = 1 };
        CV_TRY(add_piece(template, piece, err));
        from = at += length;
    }
    if (at == from)
        return CLEAVE_OK;
    return add_piece(template,
                     (struct cv_item_piece){ .text = from,
                                             .length = (size_t)(at - from) },
                     err);
}

/* Whether the command itself, or a part of its name, is a value: then it is taken as it
 * is, so that items may be whole commands. A value behind '=' is none. */
static bool is_bare(const struct cv_item_template *template)
{
    for (size_t i = 0; i < template->count; i++) {
        const struct cv_item_piece *piece = &template->pieces[i];

        if (piece->kind != CV_ITEM_TEXT)
            return piece->kind == CV_ITEM_PLACE;
        if (memchr(piece->text, '=', piece->length) != NULL ||
            memchr(piece->text, '\n', piece->length) != NULL)
            return false;
    }
    return false;
}

/* See in which quotes places stand. */
static void find_quotes(struct cv_item_template *template, const char *const *words)
{
    struct cv_item_within within = item_within_begin(words);

    for (size_t i = 0; i < template->count; i++) {
        struct cv_item_piece *piece = &template->pieces[i];

        piece->quotes = item_within_now(&within);
        if (piece->kind == CV_ITEM_PLACE)
            item_within_read(&within, "x", 1);
        else if (piece->kind == CV_ITEM_SPACE)
            item_within_read(&within, " ", 1);
        else
            item_within_read(&within, piece->text, piece->length);
    }
}

enum cleave_status cv_item_template_init(struct cv_item_template *out,
                                         const char *const *words,
                                         const struct cv_item_replacements *signs,
                                         struct cleave_error *err)
{
    const struct cv_item_piece space = { .kind = CV_ITEM_SPACE };
    enum cleave_status status = CLEAVE_OK;

    *out = (struct cv_item_template){ .count = 0 };
    for (size_t i = 0; status == CLEAVE_OK && words[i] != NULL; i++) {
        if (i > 0)
            status = add_piece(out, space, err);
        if (status == CLEAVE_OK)
            status = read_word(out, words[i], signs, err);
    }
    if (status == CLEAVE_OK && !out->places && !signs->optional) {
        if (out->count > 0)
            status = add_piece(out, space, err);
        if (status == CLEAVE_OK)
            status = add_piece(out, (struct cv_item_piece){ .kind = CV_ITEM_PLACE }, err);
    }
    out->bare = is_bare(out);
    find_quotes(out, words);
    if (status != CLEAVE_OK)
        cv_item_template_done(out);
    return status;
}

void cv_item_template_done(struct cv_item_template *template)
{
    free(template->pieces);
    *template = (struct cv_item_template){ .count = 0 };
}

/* --- what a shell would make of it -------------------------------------------------------- */

/* Text in which no shell sees anything but itself. */
static bool is_plain_text(const struct cv_item_piece *piece, bool first_word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-.,:/@%+^";

    for (size_t i = 0; i < piece->length; i++)
        if (memchr(plain, piece->text[i], sizeof plain - 1) == NULL &&
            (piece->text[i] != '=' || first_word || i == 0))
            return false;
    return true;
}

bool cv_item_template_is_plain(const struct cv_item_template *template)
{
    bool first_word = true, begun = false;

    if (template->bare)
        return false;
    for (size_t i = 0; i < template->count; i++) {
        const struct cv_item_piece *piece = &template->pieces[i];
        const bool gap = piece->kind == CV_ITEM_BLANK || piece->kind == CV_ITEM_SPACE;

        first_word = first_word && !(gap && begun);
        begun = begun || !gap;
        if (piece->kind == CV_ITEM_TEXT && !is_plain_text(piece, first_word))
            return false;
        if (piece->kind == CV_ITEM_PLACE && first_word)
            return false;
    }
    return true;
}

char *cv_item_template_program(const struct cv_item_template *template)
{
    const struct cv_item_piece *pieces = template->pieces;
    size_t at = 0;

    while (at < template->count && !template->as_words &&
           (pieces[at].kind == CV_ITEM_BLANK || pieces[at].kind == CV_ITEM_SPACE))
        at++;
    if (at == template->count || pieces[at].kind != CV_ITEM_TEXT ||
        (at + 1 < template->count &&
         (pieces[at + 1].kind == CV_ITEM_PLACE ||
          (template->as_words && pieces[at + 1].kind != CV_ITEM_SPACE))))
        return NULL;
    return strndup(pieces[at].text, pieces[at].length);
}

/* --- filling in --------------------------------------------------------------------------- */

/* Where pieces go: one of the two. */
struct target {
    const struct cv_item_template *template;
    const struct cv_item_values *values;
    struct cv_text *line;
    struct cv_item_words *words;
};

static void put_text(const struct target *to, const char *text, size_t length)
{
    if (to->words != NULL)
        cv_item_words_put(to->words, text, length);
    else
        cv_text_add(to->line, "%.*s", (int)length, text);
}

static void put_gap(const struct target *to)
{
    if (to->words != NULL)
        cv_item_words_break(to->words);
    else
        cv_text_add(to->line, " ");
}

static void put_value(const struct target *to, const struct cv_item_piece *piece,
                      const char *bytes, size_t length)
{
    if (to->words != NULL || to->template->bare)
        put_text(to, bytes, length);
    else
        item_quote_within(to->line, piece->quotes, bytes, length);
}

/* What is put in place of one argument; NULL: nothing at all, as there is none. */
static void put_one(const struct target *to, const struct cv_item_piece *piece,
                    const char *argument)
{
    struct cv_text text = { NULL, 0, 0, false };

    if (argument == NULL) {
        if (to->template->as_words)
            put_text(to, "", 0);
        return;
    }
    if (piece->rule == NULL && piece->part == CV_ITEM_WHOLE) {
        put_value(to, piece, argument, strlen(argument));
        return;
    }
    if (piece->rule != NULL)
        cv_item_rule_add(&text, piece->rule, argument);
    else
        cv_item_part_add(&text, piece->part, argument);
    put_value(to, piece, text.bytes != NULL ? text.bytes : "", text.length);
    if (to->words != NULL)
        to->words->failed = to->words->failed || text.failed;
    else
        to->line->failed = to->line->failed || text.failed;
    cv_text_done(&text);
}

/* With as many digits as the last one has, if that is given. */
static void put_number(const struct target *to, uint64_t number, uint64_t last)
{
    char text[48];
    int digits = 1, length;

    for (; last >= 10; last /= 10)
        digits++;
    length = snprintf(text, sizeof text, "%0*llu", digits, (unsigned long long)number);
    put_text(to, text, (size_t)length);
}

/* A number that is the same for all arguments. */
static void put_common(const struct target *to, enum cv_item_part part)
{
    const struct cv_item_values *values = to->values;

    if (part == CV_ITEM_NUMBER || part == CV_ITEM_PADDED)
        put_number(to, values->number, part == CV_ITEM_PADDED ? values->total : 0);
    else
        put_number(to, part == CV_ITEM_TOTAL ? values->total : values->slot, 0);
}

/* Whether a place is filled once, and with what. */
static bool put_single(const struct target *to, const struct cv_item_piece *piece)
{
    const struct cv_item_values *values = to->values;
    const int at =
        piece->position > 0 ? piece->position - 1 : (int)values->count + piece->position;

    if (piece->rule == NULL && cv_item_part_is_number(piece->part))
        put_common(to, piece->part);
    else if (piece->position != 0)
        put_one(to, piece,
                at >= 0 && (size_t)at < values->count ? values->arguments[at] : NULL);
    else
        return false;
    return true;
}

static void put_place(const struct target *to, const struct cv_item_piece *piece)
{
    if (put_single(to, piece))
        return;
    for (size_t i = 0; i < to->values->count; i++) {
        if (i > 0)
            put_gap(to);
        put_one(to, piece, to->values->arguments[i]);
    }
}

static void put_piece(const struct target *to, const struct cv_item_piece *piece)
{
    switch (piece->kind) {
    case CV_ITEM_SPACE:
        put_gap(to);
        break;
    case CV_ITEM_BLANK:
        if (to->words != NULL && !to->template->as_words)
            cv_item_words_break(to->words);
        else
            put_text(to, piece->text, 1);
        break;
    case CV_ITEM_PLACE:
        put_place(to, piece);
        break;
    default:
        if (piece->length > 0 || to->template->as_words)
            put_text(to, piece->text, piece->length);
    }
}

/* The pieces of a word, once for each argument if one of them is a place for all. */
static void put_context(const struct target *to, const struct cv_item_piece *pieces,
                        size_t count)
{
    bool repeats = false;

    for (size_t i = 0; i < count; i++)
        repeats = repeats ||
                  (pieces[i].kind == CV_ITEM_PLACE && pieces[i].position == 0 &&
                   (pieces[i].rule != NULL || !cv_item_part_is_number(pieces[i].part)));
    for (size_t a = 0; a < to->values->count && (a == 0 || repeats); a++) {
        if (a > 0)
            put_gap(to);
        for (size_t i = 0; i < count; i++)
            if (pieces[i].kind != CV_ITEM_PLACE)
                put_piece(to, &pieces[i]);
            else if (!put_single(to, &pieces[i]))
                put_one(to, &pieces[i], to->values->arguments[a]);
    }
}

static void put_all(const struct target *to)
{
    const struct cv_item_template *template = to->template;
    const struct cv_item_piece *pieces = template->pieces;

    for (size_t i = 0; i < template->count; i++) {
        size_t end = i;

        while (template->contexts && end < template->count &&
               pieces[end].kind != CV_ITEM_BLANK && pieces[end].kind != CV_ITEM_SPACE)
            end++;
        if (end > i) {
            put_context(to, &pieces[i], end - i);
            i = end - 1;
            continue;
        }
        put_piece(to, &pieces[i]);
    }
}

void cv_item_template_words(const struct cv_item_template *template,
                            const struct cv_item_values *values,
                            struct cv_item_words *out)
{
    put_all(&(struct target){ template, values, NULL, out });
}

/* Where words are what they are, the line is all of them, quoted. */
static void quote_words(const struct cv_item_template *template,
                        const struct cv_item_values *values, struct cv_text *out)
{
    struct cv_item_words words = { .bytes = NULL };
    const char *at;

    cv_item_template_words(template, values, &words);
    cv_item_words_break(&words);
    out->failed = out->failed || words.failed;
    at = words.bytes;
    for (size_t i = 0; i < words.count && !words.failed; i++) {
        if (i > 0)
            cv_text_add(out, " ");
        item_quote(out, at, strlen(at));
        at += strlen(at) + 1;
    }
    cv_item_words_done(&words);
}

void cv_item_template_line(const struct cv_item_template *template,
                           const struct cv_item_values *values, struct cv_text *out)
{
    if (template->as_words)
        quote_words(template, values, out);
    else
        put_all(&(struct target){ template, values, out, NULL });
}
