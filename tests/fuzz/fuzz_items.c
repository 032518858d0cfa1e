/* fuzz_items.c -- any words as a command, any bytes as items. SPDX-License-Identifier: MIT
 *
 * Lines of the data: the words of the command, with tabs between; a rule; all others are items.
 * If no shell is needed, the words of a command equal those that a shell makes of its
 * line: only '...' and "..." are quoted there. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/items/item_commands.h"
#include "fuzz_target.h"

enum { MOST_BYTES = 512, MOST_WORDS = 16 };

#define require(truth) require_at(truth, #truth, __LINE__)

static void require_at(int truth, const char *text, int line)
{
    if (truth)
        return;
    fprintf(stderr, "fuzz_items.c:%d: %s\n", line, text);
    abort();
}

/* The words of a line, as a shell reads it. */
static void read_line(const char *line, struct cv_item_words *out)
{
    struct cv_text word = { NULL, 0, 0, false };
    bool open = false;

    for (;; line++) {
        if (*line == '\0' || *line == ' ' || *line == '\t') {
            if (open)
                cv_item_words_add(out, word.bytes, word.length);
            word.length = 0;
            open = false;
            if (*line == '\0')
                break;
        } else if (*line == '\'' || *line == '"') {
            const char *end = strchr(line + 1, *line);

            require(end != NULL);
            cv_text_add(&word, "%.*s", (int)(end - line - 1), line + 1);
            line = end;
            open = true;
        } else {
            cv_text_add(&word, "%c", *line);
            open = true;
        }
    }
    cv_text_done(&word);
}

static void check_command(const struct cv_item_commands *commands, uint64_t index)
{
    struct cv_item_arguments arguments = { .items = NULL };
    struct cv_item_words words = { .bytes = NULL }, read = { .bytes = NULL };
    struct cv_text line = { NULL, 0, 0, false };
    struct cv_item_values values;
    char **got = NULL, **expected = NULL;
    enum cleave_status status;

    require(cv_item_arguments_get(commands, index, &arguments, NULL) == CLEAVE_OK);
    values = (struct cv_item_values){ arguments.items, arguments.count, index + 1, 3, 9 };
    status = cv_item_template_line(&commands->template, &values, &line, NULL);
    if (commands->template.literal ? !commands->template.has_signs
                                   : cv_item_template_is_plain(&commands->template)) {
        require(cv_item_template_words(&commands->template, &values, &words, NULL) ==
                status);
    }
    if (words.count > 0 && status == CLEAVE_OK) {
        const size_t count = words.count;

        read_line(line.bytes != NULL ? line.bytes : "", &read);
        require(count == read.count);
        require(cv_item_words_take(&read, CLEAVE_OK, &expected, NULL) == CLEAVE_OK);
        require(cv_item_words_take(&words, CLEAVE_OK, &got, NULL) == CLEAVE_OK);
        for (size_t i = 0; i < count; i++)
            require(strcmp(got[i], expected[i]) == 0);
        free(expected);
        free(got);
    } else {
        free(words.bytes);
    }
    cv_text_done(&line);
    cv_item_arguments_done(&arguments);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[MOST_BYTES + 1], *rest = text, *first, *rule, *item;
    const char *words[MOST_WORDS + 1] = { NULL };
    struct cv_item_lists lists = { .items = NULL };
    struct cv_item_commands commands;
    size_t nwords = 0;

    if (size < 2 || size > MOST_BYTES || memchr(data, '\0', size) != NULL)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    first = strsep(&rest, "\n");
    rule = rest != NULL ? strsep(&rest, "\n") : NULL;
    while (nwords < MOST_WORDS && first != NULL)
        words[nwords++] = strsep(&first, "\t");
    if (cv_item_lists_begin(&lists, false, NULL) != CLEAVE_OK)
        return 0;
    while (rest != NULL && (item = strsep(&rest, "\n")) != NULL)
        require(cv_item_lists_add(&lists, item, strlen(item), NULL) == CLEAVE_OK);
    if (cv_item_commands_init(
            &commands, &lists, NULL,
            &(struct cv_item_options){
                .words = words,
                .replacements = { .plus = (data[0] & 2) != 0,
                                  .definitions = (const char *const[]){ rule },
                                  .ndefinitions = rule != NULL && (data[0] & 2) != 0 },
                .separator = data[0] & 1 ? "," : NULL,
                .header = (data[0] & 4) != 0,
                .literal = (data[0] & 8) != 0,
                .per = data[0] >> 6,
                .many = (data[0] & 48) != 0,
                .repeats = (data[0] & 32) != 0,
                .spread = 2,
                .shown_only = true },
            NULL) == CLEAVE_OK) {
        for (uint64_t i = 0; i < commands.count; i++)
            check_command(&commands, i);
        cv_item_commands_done(&commands);
    }
    return 0;
}
