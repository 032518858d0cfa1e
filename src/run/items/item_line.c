/* item_line.c -- a command of items as a line and as words. SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/fail.h"
#include "run/items/item_commands.h"

enum cleave_status cv_item_commands_line(const struct cv_item_commands *commands,
                                         uint64_t index, uint32_t slot,
                                         struct cv_text *out, struct cleave_error *err)
{
    struct cv_item_arguments arguments = { .items = NULL };
    enum cleave_status status = cv_item_arguments_get(commands, index, &arguments, err);

    if (status == CLEAVE_OK)
        cv_item_template_line(&commands->template,
                              &(struct cv_item_values){
                                  arguments.items, commands->none ? 0 : arguments.count,
                                  commands->base + index + 1, slot, commands->count },
                              out);
    cv_item_arguments_done(&arguments);
    return status == CLEAVE_OK && out->failed ? cv_fail_memory(err, "a command") : status;
}

/* The line, as one word for the shell. */
static enum cleave_status add_line(const struct cv_item_commands *commands,
                                   uint64_t index, uint32_t slot,
                                   struct cv_item_words *words, struct cleave_error *err)
{
    struct cv_text line = { NULL, 0, 0, false };
    enum cleave_status status = cv_item_commands_line(commands, index, slot, &line, err);

    if (status == CLEAVE_OK) {
        cv_item_words_put(words, commands->shell, strlen(commands->shell));
        cv_item_words_break(words);
        cv_item_words_put(words, "-c", 2);
        cv_item_words_break(words);
        cv_item_words_put(words, line.bytes != NULL ? line.bytes : "", line.length);
    }
    cv_text_done(&line);
    return status;
}

static enum cleave_status add_words(const struct cv_item_commands *commands,
                                    uint64_t index, uint32_t slot,
                                    struct cv_item_words *words, struct cleave_error *err)
{
    struct cv_item_arguments arguments = { .items = NULL };
    enum cleave_status status = cv_item_arguments_get(commands, index, &arguments, err);

    if (status == CLEAVE_OK)
        cv_item_template_words(&commands->template,
                               &(struct cv_item_values){
                                   arguments.items, commands->none ? 0 : arguments.count,
                                   commands->base + index + 1, slot, commands->count },
                               words);
    cv_item_arguments_done(&arguments);
    return status;
}

enum cleave_status cv_item_commands_words(const struct cv_item_commands *commands,
                                          uint64_t index, uint32_t slot, char ***out,
                                          struct cleave_error *err)
{
    struct cv_item_words words = { .bytes = NULL };
    enum cleave_status status = commands->shell != NULL
                                    ? add_line(commands, index, slot, &words, err)
                                    : add_words(commands, index, slot, &words, err);
    char **taken = status == CLEAVE_OK ? cv_item_words_take(&words) : NULL;

    cv_item_words_done(&words);
    if (status == CLEAVE_OK && taken == NULL)
        return cv_fail_memory(err, "a command");
    if (status == CLEAVE_OK)
        *out = taken;
    return status;
}
