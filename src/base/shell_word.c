/* shell_word.c -- words as a shell would take them. SPDX-License-Identifier: MIT */
#include "base/shell_word.h"

#include <string.h>

static bool is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./=:,+@%^";

    return *word != '\0' && word[strspn(word, plain)] == '\0';
}

/* $'...' of bash, ksh, zsh and newer POSIX. */
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

void cv_shell_word_add(struct cv_text *out, const char *word)
{
    if (is_plain(word)) {
        cv_text_add(out, "%s", word);
    } else if (!cv_printable(word, strlen(word), true)) {
        add_escaped(out, word);
    } else {
        cv_text_add(out, "'");
        for (; *word != '\0'; word++)
            cv_text_add(out, *word == '\'' ? "'\\''" : "%c", *word);
        cv_text_add(out, "'");
    }
}

void cv_shell_words_add(struct cv_text *out, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        if (i > 0)
            cv_text_add(out, " ");
        cv_shell_word_add(out, words[i]);
    }
}
