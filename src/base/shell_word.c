/* shell_word.c -- quoting for shells, and lists of arguments.
 * SPDX-License-Identifier: MIT */
#include "base/shell_word.h"

#include <string.h>
#include "base/file_target.h"

static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./=:,+@%^";

    return *word != '\0' && word[strspn(word, plain)] == '\0';
}

/* bash, ksh, zsh and newer POSIX shells know $'...'. */
static void add_escaped(struct cv_text *out, const char *word)
{
    cv_text_add(out, "$'");
    for (; *word != '\0'; word++) {
        const unsigned char byte = (unsigned char)*word;

        if (byte == '\n')
            cv_text_add(out, "\\n");
        else if (byte == '\t')
            cv_text_add(out, "\\t");
        else if (byte == '\\' || byte == '\'')
            cv_text_add(out, "\\%c", byte);
        else if (byte < ' ' || byte >= 127)
            cv_text_add(out, "\\%03o", byte);
        else
            cv_text_add(out, "%c", byte);
    }
    cv_text_add(out, "'");
}

static void add_quoted(struct cv_text *out, const char *word)
{
    cv_text_add(out, "'");
    for (; *word != '\0'; word++)
        cv_text_add(out, *word == '\'' ? "'\\''" : "%c", *word);
    cv_text_add(out, "'");
}

static void add_for_sh(struct cv_text *out, const char *word)
{
    if (is_plain(word))
        cv_text_add(out, "%s", word);
    else
        add_quoted(out, word);
}

void cv_shell_word_add(struct cv_text *out, const char *word)
{
    if (cv_printable(word, strlen(word), true))
        add_for_sh(out, word);
    else
        add_escaped(out, word);
}

static void add_words(struct cv_text *out, const char *const *words,
                      void (*add)(struct cv_text *out, const char *word))
{
    for (size_t i = 0; words[i] != NULL; i++) {
        if (i > 0)
            cv_text_add(out, " ");
        add(out, words[i]);
    }
}

void cv_shell_words_add(struct cv_text *out, const char *const *words)
{
    add_words(out, words, cv_shell_word_add);
}

void cv_shell_words_append(struct cv_text *out, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cv_text_add(out, " ");
        cv_shell_word_add(out, words[i]);
    }
}

void cv_sh_words_add(struct cv_text *out, const char *const *words)
{
    add_words(out, words, add_for_sh);
}

/* --- login shells ------------------------------------------------------------------- */

/* Special between ' and ': newline and ! in csh, backslash in fish. */
static bool is_odd(char byte)
{
    return (byte > 0 && byte < ' ') || byte == 127 || strchr("'\\!", byte) != NULL;
}

/* Plain words and spaces only. */
static bool is_simple(const char *script)
{
    char word[2] = { 0, 0 };

    for (; *script != '\0'; script++) {
        word[0] = *script;
        if (*script != ' ' && (strchr("=^%", *script) != NULL || !is_plain(word)))
            return false;
    }
    return true;
}

void cv_login_line_add(struct cv_text *out, const char *script)
{
    const char *byte = script;

    while (*byte != '\0' && !is_odd(*byte))
        byte++;
    if (is_simple(script)) {
        cv_text_add(out, "%s", script);
    } else if (*byte == '\0') {
        cv_text_add(out, "exec sh -c '%s'", script);
    } else {
        cv_text_add(out, "exec sh -c 'eval \"$(printf %%b \"$1\")\"' sh '");
        for (byte = script; *byte != '\0'; byte++)
            cv_text_add(out, is_odd(*byte) ? "\\0%03o" : "%c", (unsigned char)*byte);
        cv_text_add(out, "'");
    }
}

/* --- arguments of a command --------------------------------------------------------- */

#define BLANK " \t"

/* Room for `count` words and NULL. */
static bool grow_array(struct cv_words *words, size_t count)
{
    size_t room = words->room > 0 ? words->room : 16;
    const char **grown;

    if (count < words->room)
        return true;
    while (room <= count)
        room *= 2;
    grown = cv_array(words->arena, room, sizeof *grown);
    if (grown == NULL)
        return false;
    if (words->count > 0)
        memcpy(grown, words->items, words->count * sizeof *grown);
    words->items = grown;
    words->room = room;
    return true;
}

/* `word` is in the arena. */
static void append(struct cv_words *words, const char *word)
{
    if (word == NULL || !grow_array(words, words->count + 1))
        words->failed = true;
    else
        words->items[words->count++] = word;
}

void cv_words_add(struct cv_words *words, const char *word)
{
    append(words, word != NULL ? cv_arena_text(words->arena, word) : NULL);
}

void cv_words_split(struct cv_words *words, const char *text)
{
    char *copy = text != NULL ? cv_arena_text(words->arena, text) : NULL, *rest;

    words->failed = words->failed || copy == NULL;
    for (char *word = copy != NULL ? strtok_r(copy, BLANK, &rest) : NULL; word != NULL;
         word = strtok_r(NULL, BLANK, &rest))
        append(words, word);
}

void cv_words_take(struct cv_words *words, struct cv_text *text)
{
    cv_words_add(words, text->failed ? NULL : text->bytes);
    cv_text_done(text);
}

const char **cv_words_done(struct cv_words *words)
{
    if (words->failed || !grow_array(words, words->count))
        return NULL;
    words->items[words->count] = NULL;
    return words->items;
}

bool cv_is_bourne_shell(const char *path)
{
    static const char *const names[] = { "sh",  "bash", "dash",  "ash",
                                         "ksh", "zsh",  "ksh93", "mksh" };

    return cv_is_one_of(cv_file_name(path), names, sizeof names / sizeof *names);
}

const char *cv_shell_noted(const char *program)
{
    return program[0] == '/' && cv_is_bourne_shell(program) ? "sh" : program;
}
