/* item_template.c -- a command with placeholders for items. SPDX-License-Identifier: MIT */
#include "run/items/item_template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/fail.h"
#include "base/file_target.h"
#include "run/common/shell.h"

/* --- words -------------------------------------------------------------------------------- */

/* Append to the open word, or begin one; `length` may be 0. */
static void put_bytes(struct cv_item_words *words, const char *bytes, size_t length)
{
    words->failed =
        words->failed || !CV_ROOM(words->bytes, &words->room, words->length + length + 1);
    if (words->failed)
        return;
    words->count += !words->open;
    words->open = true;
    if (length > 0)
        memcpy(words->bytes + words->length, bytes, length);
    words->length += length;
}

/* The next bytes begin a new word. */
static void end_word(struct cv_item_words *words)
{
    if (!words->open || words->failed)
        return;
    words->bytes[words->length++] = '\0'; /* put_bytes() has left room */
    words->open = false;
}

void cv_item_words_add(struct cv_item_words *words, const char *bytes, size_t length)
{
    put_bytes(words, bytes, length);
    end_word(words);
}

enum cleave_status cv_item_words_take(struct cv_item_words *words,
                                      enum cleave_status status, char ***out,
                                      struct cleave_error *err)
{
    const size_t heads = (words->count + 1) * sizeof(char *);
    char **block = NULL, *at;

    end_word(words);
    if (status == CLEAVE_OK && !words->failed)
        block = malloc(heads + words->length + 1);
    if (block != NULL) {
        at = (char *)block + heads;
        if (words->length > 0)
            memcpy(at, words->bytes, words->length);
        for (size_t i = 0; i < words->count; i++) {
            block[i] = at;
            at += strlen(at) + 1;
        }
        block[words->count] = NULL;
        *out = block;
    }
    free(words->bytes);
    return status != CLEAVE_OK || block != NULL ? status
                                                : cv_fail_memory(err, "a command");
}

/* --- quotes ------------------------------------------------------------------------------- */

enum quotes { UNQUOTED, SINGLE /* '...' */, DOUBLE /* "..." */, DOLLAR /* $'...' */ };

/* The state of a shell that has read a part of a line. '{}' and "{}" are typed by habit: a value
 * with its own quotes would split there at a blank, and text after a semicolon in it would run. */
struct shell_state {
    char open[32]; /* first bytes of open quotes and brackets: one of ' " $ ( ` */
    size_t depth;
    char before;    /* the last byte; 'x' after an escaped one                  */
    int less_thans; /* directly before, outside of quotes                       */
    bool escaped;   /* the next byte is, by a backslash                         */
    bool comment;
    bool unknown; /* the line has something that only a complete shell can read */
};

static struct shell_state begin_line(const char *const *words)
{
    struct shell_state state = { .depth = 0 };

    /* A pattern of `case` has a bracket that closes nothing. */
    for (size_t i = 0; words[i] != NULL; i++)
        state.unknown = state.unknown || strstr(words[i], "esac") != NULL;
    return state;
}

static char innermost(const struct shell_state *state)
{
    return state->depth > 0 ? state->open[state->depth - 1] : '\0';
}

static void open_quote(struct shell_state *state, char first)
{
    if (state->depth == sizeof state->open)
        state->unknown = true;
    else
        state->open[state->depth++] = first;
}

/* A byte outside of quotes, which may be inside of $(...) or `...`. */
static void read_unquoted(struct shell_state *state, char byte)
{
    const char inside = innermost(state), before = state->before;

    /* Quotes mean nothing in a here-document (<<), but quote after <<<. */
    state->unknown = state->less_thans == 2 && byte != '<';
    state->less_thans = byte == '<' ? state->less_thans + 1 : 0;
    if (byte == '\\')
        state->escaped = true;
    else if ((byte == ')' && inside == '(') || (byte == '`' && inside == '`'))
        state->depth--;
    else if (byte == '\'' && before == '$')
        open_quote(state, '$');
    else if (byte == '\'' || byte == '"' || byte == '(' || byte == '`')
        open_quote(state, byte);
    else if (byte == '#' && (before == '\0' || strchr(" \t\n;&|(`", before) != NULL))
        state->comment = true;
}

static void read_byte(struct shell_state *state, char byte)
{
    const char inside = innermost(state);

    if (state->comment)
        state->comment = byte != '\n';
    else if (inside == '\0' || inside == '(' || inside == '`')
        read_unquoted(state, byte);
    else if (byte == (inside == '"' ? '"' : '\''))
        state->depth--;
    else if (inside != '\'' && byte == '\\')
        state->escaped = true;
    else if (inside == '"' && (byte == '`' || (byte == '(' && state->before == '$')))
        open_quote(state, byte);
}

static void read_text(struct shell_state *state, const char *text, size_t length)
{
    for (size_t i = 0; i < length && !state->unknown; i++) {
        if (state->escaped) {
            state->escaped = false;
            state->before = 'x';
            continue;
        }
        read_byte(state, text[i]);
        state->before = text[i];
    }
}

static enum quotes current_quotes(const struct shell_state *state)
{
    const char inside = state->unknown ? '\0' : innermost(state);

    return inside == '\''  ? SINGLE
           : inside == '"' ? DOUBLE
           : inside == '$' ? DOLLAR
                           : UNQUOTED;
}

static bool is_plain(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '_' || byte == '.' ||
           byte == '+' || byte == '/';
}

/* Append a value that a Bourne shell reads unchanged: without quotes if it has only letters,
 * digits and -_.+/, else in '...', with "'" for each '. GNU parallel writes the same. */
static void quote(struct cv_text *out, const char *bytes, size_t length)
{
    size_t at = 0;

    while (at < length && is_plain(bytes[at]))
        at++;
    if (length == 0 || at == length) {
        cv_text_add(out, "%.*s", length > 0 ? (int)length : 2, length > 0 ? bytes : "''");
        return;
    }
    for (at = 0; at < length;) {
        size_t end = at;

        if (bytes[at] == '\'') { /* empty quotes only between two of them */
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

/* The replacement of a byte in open quotes; NULL: the byte stays. A shell without $'...' reads it as '...',
 * which \047 does not end. */
static const char *escape(enum quotes quotes, char byte)
{
    if (quotes == SINGLE)
        return byte == '\'' ? "'\\''" : NULL;
    if (byte == '\\')
        return "\\\\";
    if (quotes == DOLLAR)
        return byte == '\'' ? "\\047" : NULL;
    return byte == '"' ? "\\\"" : byte == '$' ? "\\$" : byte == '`' ? "\\`" : NULL;
}

static void quote_within(struct cv_text *out, enum quotes quotes, const char *bytes,
                         size_t length)
{
    size_t from = 0;

    for (size_t at = 0; at < length; at++) {
        const char *text = escape(quotes, bytes[at]);

        if (text == NULL)
            continue;
        cv_text_add(out, "%.*s%s", (int)(at - from), bytes + from, text);
        from = at + 1;
    }
    cv_text_add(out, "%.*s", (int)(length - from), bytes + from);
}

/* --- reading words ------------------------------------------------------------------------ */

enum piece_kind {
    TEXT,
    BLANK, /* one, inside of a word */
    SPACE, /* between two words     */
    PLACEHOLDER,
    SIGN, /* a word that a shell reads */
};

struct cv_item_piece {
    enum piece_kind kind;
    const char *text; /* borrowed from the words; not of a placeholder */
    size_t length;
    struct cv_item_placeholder value;
    enum quotes quotes; /* around a placeholder */
};

static void add_piece(struct cv_item_template *template, struct cv_item_piece piece)
{
    if (!CV_ROOM(template->pieces, &template->room, template->count + 1)) {
        cv_item_expression_free(piece.value.expression);
        template->failed = true;
        return;
    }
    template->pieces[template->count++] = piece;
    template->has_placeholder = template->has_placeholder || piece.kind == PLACEHOLDER;
}

static void add_text(struct cv_item_template *template, const char *from, const char *to)
{
    add_piece(template,
              (struct cv_item_piece){ .text = from, .length = (size_t)(to - from) });
}

/* Read words[0]. */
static enum cleave_status read_word(struct cv_item_template *template,
                                    const char *const *words,
                                    const struct cv_item_replacements *from,
                                    struct cleave_error *err)
{
    const char *begin = words[0], *at = begin;

    while (*at != '\0') {
        struct cv_item_piece piece = { .kind = BLANK, .text = at, .length = 1 };
        size_t length = 1;

        if (*at != ' ' && *at != '\t') {
            piece = (struct cv_item_piece){ .kind = PLACEHOLDER };
            CV_TRY(cv_item_placeholder_find(at, words + 1, from, &piece.value, err));
            length = piece.value.length;
        }
        if (length == 0) {
            at++;
            continue;
        }
        if (at > begin)
            add_text(template, begin, at);
        add_piece(template, piece);
        begin = at += length;
    }
    if (at > begin ||
        at == words[0]) /* an empty word counts if the template is literal */
        add_text(template, begin, at);
    return CLEAVE_OK;
}

/* If the command itself, or a part of its name, is a value, items may be commands. A
 * value after '=' is not part of the name. */
static bool is_bare(const struct cv_item_template *template)
{
    for (size_t i = 0; i < template->count; i++) {
        const struct cv_item_piece *piece = &template->pieces[i];

        if (piece->kind != TEXT)
            return piece->kind == PLACEHOLDER;
        if (memchr(piece->text, '=', piece->length) != NULL ||
            memchr(piece->text, '\n', piece->length) != NULL)
            return false;
    }
    return false;
}

static void find_quotes(struct cv_item_template *template, const char *const *words)
{
    struct shell_state state = begin_line(words);

    for (size_t i = 0; i < template->count; i++) {
        struct cv_item_piece *piece = &template->pieces[i];

        piece->quotes = current_quotes(&state);
        if (piece->kind == PLACEHOLDER)
            read_text(&state, "x", 1);
        else if (piece->kind == SPACE)
            read_text(&state, " ", 1);
        else
            read_text(&state, piece->text, piece->length);
    }
}

/* Read words[at], which may be a sign. An output that commands would overwrite is refused. */
static enum cleave_status read_sign(struct cv_item_template *template,
                                    const char *const *words, size_t at,
                                    const struct cv_item_replacements *from,
                                    struct cleave_error *err)
{
    const enum cv_shell_sign sign = cv_shell_sign(words, at);
    const char *file = words[at + 1];
    struct cv_item_template target = { .count = 0 };
    enum cleave_status status = CLEAVE_OK;

    if (sign == CV_SIGN_NONE)
        return read_word(template, words + at, from, err);
    add_piece(template, (struct cv_item_piece){ .kind = SIGN,
                                                .text = words[at],
                                                .length = strlen(words[at]) });
    template->has_signs = true;
    if (sign != CV_SIGN_FILE || strpbrk(words[at], "<") != NULL ||
        strcmp(words[at], ">>") == 0 || strcmp(words[at], "2>>") == 0 ||
        strncmp(file, "/dev/", 5) == 0)
        return CLEAVE_OK;
    status = read_word(&target, words + at + 1, from, err);
    if (status == CLEAVE_OK && (!target.has_placeholder || target.count == 1) &&
        (target.count != 1 || target.pieces[0].value.part == CV_ITEM_VALUE) &&
        (target.count != 1 || target.pieces[0].value.expression == NULL))
        status = cv_fail(
            err, CLEAVE_EINPUT,
            "'%s' '%s': every command would overwrite %s: name a file after the item, "
            "as '{.}.out'; if '%s' is an argument: items.literal",
            words[at], CV_SHOWN(file, 128),
            target.has_placeholder ? "its item" : "the same file", words[at]);
    cv_item_template_done(&target);
    return status;
}

enum cleave_status cv_item_template_init(struct cv_item_template *out,
                                         const char *const *words, enum cv_item_form form,
                                         const struct cv_item_replacements *replacements,
                                         struct cleave_error *err)
{
    const struct cv_item_piece space = { .kind = SPACE }, all = { .kind = PLACEHOLDER };
    const bool several = words[0] != NULL && words[1] != NULL;
    enum cleave_status status = cv_item_replacements_check(replacements, err);

    *out = (struct cv_item_template){ .count = 0 };
    for (size_t i = 0; status == CLEAVE_OK && words[i] != NULL; i++) {
        if (i > 0)
            add_piece(out, space);
        status = form == CV_ITEM_COMMAND && i > 0
                     ? read_sign(out, words, i, replacements, err)
                     : read_word(out, words + i, replacements, err);
    }
    if (!out->has_placeholder && !replacements->optional) {
        if (out->count > 0)
            add_piece(out, space);
        add_piece(out, all);
    }
    if (status == CLEAVE_OK && out->failed)
        status = cv_fail_memory(err, "the command");
    out->bare = is_bare(out);
    out->literal = form != CV_ITEM_LINE && !out->bare &&
                   (several || (form == CV_ITEM_WORDS && words[0] != NULL));
    find_quotes(out, words);
    if (status != CLEAVE_OK)
        cv_item_template_done(out);
    return status;
}

void cv_item_template_done(struct cv_item_template *template)
{
    for (size_t i = 0; i < template->count; i++)
        cv_item_expression_free(template->pieces[i].value.expression);
    free(template->pieces);
    *template = (struct cv_item_template){ .count = 0 };
}

/* Whether a piece ends a word. */
static bool is_gap(const struct cv_item_template *template,
                   const struct cv_item_piece *piece)
{
    return piece->kind == SPACE || (piece->kind == BLANK && !template->literal);
}

/* --- what a shell would do ---------------------------------------------------------------- */

/* Whether no byte of a text is special to a shell. */
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
        const bool gap = piece->kind == BLANK || piece->kind == SPACE;

        first_word = first_word && !(gap && begun);
        begun = begun || !gap;
        if (piece->kind == SIGN ||
            (piece->kind == TEXT && !is_plain_text(piece, first_word)))
            return false;
        if (piece->kind == PLACEHOLDER && first_word)
            return false;
    }
    return true;
}

char *cv_item_template_program(const struct cv_item_template *template)
{
    const struct cv_item_piece *pieces = template->pieces;
    struct cv_text word = { NULL, 0, 0, false };
    size_t at = 0;

    while (at < template->count && !template->literal && pieces[at].kind <= SPACE &&
           pieces[at].kind != TEXT)
        at++;
    for (; at < template->count && !is_gap(template, &pieces[at]); at++) {
        if (pieces[at].kind == PLACEHOLDER) {
            cv_text_done(&word);
            return NULL;
        }
        cv_text_add(&word, "%.*s", (int)pieces[at].length, pieces[at].text);
    }
    return word.failed ? NULL : word.bytes;
}

size_t cv_item_template_head(const struct cv_item_template *template)
{
    size_t length = 0;

    for (size_t i = 0; i < template->count && template->pieces[i].kind != PLACEHOLDER;
         i++)
        length += template->pieces[i].length;
    return length;
}

/* --- braces that are text ------------------------------------------------------------------- */

/* '{word}', '{#:%03d}' or '{:%.2f}' in a text of plain characters; NULL: none. */
static const char *find_unknown(const struct cv_item_piece *piece, size_t *length)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-.,:/@%+=#{}";
    static const char word[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                               "0123456789";
    const char *const end = piece->text + piece->length;

    for (const char *at = piece->text; at < end; at++)
        if (memchr(plain, *at, sizeof plain - 1) == NULL)
            return NULL;
    for (const char *at = piece->text; at < end; at++) {
        const char *close = *at == '{' ? memchr(at, '}', (size_t)(end - at)) : NULL;

        if (close == NULL)
            continue;
        *length = (size_t)(close + 1 - at);
        if (strncmp(at, "{:%", 3) == 0 || strncmp(at, "{#:", 3) == 0 ||
            (strchr("0123456789", at[1]) == NULL &&
             (strspn(at + 1, word) == *length - 2 ||
              strncmp(at + 1 + strspn(at + 1, word), ":%", 2) == 0)))
            return at;
    }
    return NULL;
}

enum cleave_status cv_item_template_check_text(const struct cv_item_template *template,
                                               struct cleave_error *err)
{
    static const char *const coded[] = { "awk",  "gawk", "mawk",   "nawk",    "jq",
                                         "perl", "sed",  "python", "python3", "ruby",
                                         "node", "find", "xargs",  "parallel" };
    char *program = cv_item_template_program(template);
    const bool code = program != NULL && cv_is_one_of(cv_file_name(program), coded,
                                                      sizeof coded / sizeof *coded);
    bool blank = false;

    free(program);
    for (size_t i = 0; i < template->count && !code; i++) {
        const struct cv_item_piece *piece = &template->pieces[i];
        const char *found = NULL;
        size_t length = 0;

        if (piece->kind == SPACE)
            blank = false;
        for (size_t k = i; piece->kind == SPACE && k + 1 < template->count &&
                           template->pieces[k + 1].kind != SPACE;
             k++)
            blank = blank || template->pieces[k + 1].kind == BLANK;
        if (piece->kind == TEXT &&
            (template->literal ? !blank : piece->quotes == UNQUOTED))
            found = find_unknown(piece, &length);
        if (found != NULL)
            return cv_fail(
                err, CLEAVE_EINPUT,
                "'%.*s' is not a placeholder: columns have names with input.header :, "
                "items.plus adds more; command.literal passes braces on",
                (int)length, found);
    }
    return CLEAVE_OK;
}

/* --- filling in --------------------------------------------------------------------------- */

/* The line or the words that pieces are added to. */
struct target {
    const struct cv_item_template *template;
    const struct cv_item_values *values;
    struct cv_text *line;
    struct cv_item_words *words;
    enum cleave_status status; /* first failure of an expression */
    struct cleave_error *err;
};

static void put_text(struct target *to, const char *text, size_t length)
{
    if (to->words != NULL)
        put_bytes(to->words, text, length);
    else
        cv_text_add(to->line, "%.*s", (int)length, text);
}

static void put_gap(struct target *to)
{
    if (to->words != NULL)
        end_word(to->words);
    else
        cv_text_add(to->line, " ");
}

static void put_value(struct target *to, const struct cv_item_piece *piece,
                      const char *bytes, size_t length)
{
    if (to->words != NULL || to->template->bare)
        put_text(to, bytes, length);
    else if (piece->quotes == UNQUOTED)
        quote(to->line, bytes, length);
    else
        quote_within(to->line, piece->quotes, bytes, length);
}

static void put_formatted(struct target *to, const struct cv_item_piece *piece,
                          const char *value)
{
    struct cv_text text = { NULL, 0, 0, false };

    to->status = cv_item_format_add(&piece->value.format, value, &text, to->err);
    if (to->status == CLEAVE_OK)
        put_value(to, piece, text.bytes, text.length);
    cv_text_done(&text);
}

/* `argument` is NULL if there is no such value. */
static void put_one(struct target *to, const struct cv_item_piece *piece,
                    const char *argument)
{
    if (argument == NULL)
        return;
    if (to->status == CLEAVE_OK && piece->value.expression != NULL)
        to->status = cv_item_expression_apply(piece->value.expression, argument,
                                              &argument, to->err);
    if (to->status == CLEAVE_OK && piece->value.format.conversion != '\0')
        put_formatted(to, piece, argument);
    else if (to->status == CLEAVE_OK)
        put_value(to, piece, argument, strlen(argument));
}

static void put_number(struct target *to, const struct cv_item_piece *piece)
{
    const struct cv_item_values *values = to->values;
    const enum cv_item_part part = piece->value.part;
    int digits = 1, length;
    char text[48];

    for (uint64_t last = values->total; part == CV_ITEM_PADDED_NUMBER && last >= 10;
         last /= 10)
        digits++;
    length =
        snprintf(text, sizeof text, "%0*llu", digits,
                 (unsigned long long)(part == CV_ITEM_TOTAL           ? values->total
                                      : part == CV_ITEM_SLOT          ? values->slot
                                      : part == CV_ITEM_SLOT_FROM_0   ? values->slot - 1
                                      : part == CV_ITEM_NUMBER_FROM_0 ? values->number - 1
                                                                      : values->number));
    if (piece->value.format.conversion != '\0' && to->status == CLEAVE_OK)
        put_formatted(to, piece, text);
    else
        put_text(to, text, (size_t)length);
}

/* Fill a placeholder that stands for one text; false: it stands for all values. */
static bool put_single(struct target *to, const struct cv_item_piece *piece)
{
    const struct cv_item_values *values = to->values;
    const int at = piece->value.position > 0 ? piece->value.position - 1
                                             : (int)values->count + piece->value.position;

    if (piece->value.part != CV_ITEM_VALUE)
        put_number(to, piece);
    else if (piece->value.position != 0)
        put_one(to, piece,
                at >= 0 && (size_t)at < values->count ? values->arguments[at] : NULL);
    else
        return false;
    return true;
}

static void put_piece(struct target *to, const struct cv_item_piece *piece)
{
    switch (piece->kind) {
    case SPACE:
        put_gap(to);
        break;
    case BLANK:
        if (to->words != NULL && !to->template->literal)
            end_word(to->words);
        else
            put_text(to, piece->text, 1);
        break;
    case PLACEHOLDER:
        if (put_single(to, piece))
            break;
        for (size_t i = 0; i < to->values->count; i++) {
            if (i > 0)
                put_gap(to);
            put_one(to, piece, to->values->arguments[i]);
        }
        break;
    default: /* a SIGN of a line is text */
        if (piece->length > 0 || to->template->literal)
            put_text(to, piece->text, piece->length);
    }
}

/* A word, once for each value if it has a placeholder for all of them. */
static void put_repeated(struct target *to, const struct cv_item_piece *pieces,
                         size_t count)
{
    bool repeats = false;

    for (size_t i = 0; i < count; i++)
        repeats =
            repeats || (pieces[i].kind == PLACEHOLDER && pieces[i].value.position == 0 &&
                        pieces[i].value.part == CV_ITEM_VALUE);
    for (size_t a = 0; a < to->values->count && (a == 0 || repeats); a++) {
        if (a > 0)
            put_gap(to);
        for (size_t i = 0; i < count; i++)
            if (pieces[i].kind != PLACEHOLDER)
                put_piece(to, &pieces[i]);
            else if (!put_single(to, &pieces[i]))
                put_one(to, &pieces[i], to->values->arguments[a]);
    }
}

static void put_pieces(struct target *to, size_t first, size_t last)
{
    const struct cv_item_template *template = to->template;
    const struct cv_item_piece *pieces = template->pieces;

    for (size_t i = first; i < last; i++) {
        size_t end = i;

        while (template->repeats && end < last && !is_gap(template, &pieces[end]))
            end++;
        if (end > i) {
            put_repeated(to, &pieces[i], end - i);
            i = end - 1;
            continue;
        }
        put_piece(to, &pieces[i]);
    }
}

enum cleave_status cv_item_template_words(const struct cv_item_template *template,
                                          const struct cv_item_values *values,
                                          struct cv_item_words *out,
                                          struct cleave_error *err)
{
    struct target to = {
        .template = template, .values = values, .words = out, .err = err
    };

    put_pieces(&to, 0, template->count);
    return to.status == CLEAVE_OK && out->failed ? cv_fail_memory(err, "a command")
                                                 : to.status;
}

/* Append quoted words to the line, and signs unchanged. */
static void quote_pieces(struct target *to)
{
    const struct cv_item_piece *pieces = to->template->pieces;
    const size_t count = to->template->count, begin = to->line->length;

    for (size_t from = 0, end; from < count; from = end + 1) {
        struct cv_item_words words = { .bytes = NULL };
        struct target part = *to;
        const char *at;

        for (end = from; end < count && pieces[end].kind != SIGN;)
            end++;
        part.words = &words;
        put_pieces(&part, from, end);
        end_word(&words);
        to->status = part.status;
        to->line->failed = to->line->failed || words.failed;
        at = words.bytes;
        for (size_t i = 0; i < words.count && to->status == CLEAVE_OK; i++) {
            if (to->line->length > begin)
                cv_text_add(to->line, " ");
            quote(to->line, at, strlen(at));
            at += strlen(at) + 1;
        }
        free(words.bytes);
        if (end < count)
            cv_text_add(to->line, " %s", pieces[end].text);
    }
}

enum cleave_status cv_item_template_line(const struct cv_item_template *template,
                                         const struct cv_item_values *values,
                                         struct cv_text *out, struct cleave_error *err)
{
    struct target to = {
        .template = template, .values = values, .line = out, .err = err
    };

    if (template->literal)
        quote_pieces(&to);
    else
        put_pieces(&to, 0, template->count);
    return to.status == CLEAVE_OK && out->failed ? cv_fail_memory(err, "a command")
                                                 : to.status;
}
