/* completion.c -- what all shells complete: above all, what may stand behind an option.
 * SPDX-License-Identifier: MIT
 *
 * Most follows from the tables of options: FILE and DIR say so, "own|ring" lists words.
 * The words of the others are here or come from the lists that the options are checked
 * against. */
#include "cli/completion.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <cleave/policy.h>
#include "cli/compare/sweep.h"
#include "cli/figures/figure_names.h"
#include "cli/verbs.h"

static const struct {
    const char *option, *words;
} fixed[] = {
    { "--engine", "native simgrid" },           { "--noise", "none gamma: normal:" },
    { "--compute-model", "fresh fixed" },       { "--port", "one duplex multi" },
    { "--halt", "never soon,fail= now,fail=" },
};

#define X(id, name) " " name
static const char figures[] = CV_FIGURES(X);
#undef X

static bool is_reduce(const char *task)
{
    return strcmp(task, "reduce") == 0;
}

static enum cleave_task task_of(const char *task)
{
    return is_reduce(task)              ? CLEAVE_TASK_REDUCE
           : strcmp(task, "items") == 0 ? CLEAVE_TASK_ITEMS
                                        : CLEAVE_TASK_LOAD;
}

static void add_policies(const char *task, struct cv_text *out)
{
    const enum cleave_task wanted = task_of(task);

    for (size_t i = 0; i < cleave_policy_count(); i++)
        if (cleave_policy_at(i)->task == wanted)
            cv_text_add(out, "%s%s", out->length > 0 ? " " : "",
                        cleave_policy_at(i)->name);
}

/* Whether a word stands among others with spaces between. */
static bool has_word(const struct cv_text *text, const char *word)
{
    const size_t length = strlen(word);
    const char *at = text->bytes;

    while (at != NULL && (at = strstr(at, word)) != NULL) {
        if ((at == text->bytes || at[-1] == ' ') &&
            (at[length] == '\0' || at[length] == ' '))
            return true;
        at += length;
    }
    return false;
}

/* KEY= for every parameter of a policy of the task. */
static void add_parameters(const char *task, struct cv_text *out)
{
    const enum cleave_task wanted = task_of(task);

    for (size_t i = 0; i < cleave_policy_count(); i++) {
        const struct cleave_param *p = cleave_policy_at(i)->params;

        if (cleave_policy_at(i)->task != wanted)
            continue;
        for (; p != NULL && p->name != NULL; p++) {
            char word[80];

            snprintf(word, sizeof word, "%s=", p->name);
            if (!has_word(out, word))
                cv_text_add(out, "%s%s", out->length > 0 ? " " : "", word);
        }
    }
}

/* The words of "own|ring" or "TIME|auto" that are to be typed as they stand. */
static void add_choices(const char *argument, struct cv_text *out)
{
    while (*argument != '\0') {
        const size_t length = strcspn(argument, "|");

        if (islower((unsigned char)argument[0]) && memchr(argument, ',', length) == NULL)
            cv_text_add(out, "%s%.*s", out->length > 0 ? " " : "", (int)length, argument);
        argument += length;
        argument += *argument == '|';
    }
}

enum cv_completes cv_completes(const struct cv_option *option, const char *task,
                               struct cv_text *out_words)
{
    const char *argument = option->argument;

    if (strcmp(argument, "FILE") == 0 || strcmp(argument, "TRACE") == 0)
        return CV_COMPLETES_FILES;
    if (strcmp(argument, "DIR") == 0)
        return CV_COMPLETES_FOLDERS;
    if (strcmp(option->name, "--policy") == 0)
        add_policies(task, out_words);
    else if (strcmp(option->name, "--policies") == 0) {
        add_policies(task, out_words);
        return CV_COMPLETES_LIST;
    } else if (strcmp(option->name, "--param") == 0)
        add_parameters(task, out_words);
    else if (strcmp(option->name, "--sweep") == 0)
        cv_sweep_names(is_reduce(task) ? CLEAVE_TASK_REDUCE : CLEAVE_TASK_LOAD, "=",
                       out_words);
    else if (option->add_words != NULL)
        option->add_words(out_words);
    else
        add_choices(argument, out_words);
    /* Of some verbs the argument lists the words itself. */
    for (size_t i = 0; out_words->length == 0 && i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(option->name, fixed[i].option) == 0)
            cv_text_add(out_words, "%s", fixed[i].words);
    return out_words->length > 0 ? CV_COMPLETES_WORDS : CV_COMPLETES_NOTHING;
}

enum cv_completes cv_operand_completes(const struct cv_verb_list *verbs, const char *verb,
                                       struct cv_text *out_words)
{
    if (strcmp(verb, "report") == 0 || strcmp(verb, "replay") == 0)
        return CV_COMPLETES_FILES;
    if (strcmp(verb, "completions") == 0)
        cv_text_add(out_words, "bash zsh fish");
    if (strcmp(verb, "policies") == 0) {
        add_policies("load", out_words);
        add_policies("reduce", out_words);
        add_policies("items", out_words);
    }
    if (strcmp(verb, "figures") == 0)
        cv_text_add(out_words, "%s", figures + 1);
    for (size_t i = 0; strcmp(verb, "help") == 0 && i < verbs->count; i++) {
        char word[32];

        snprintf(word, sizeof word, "%.*s", (int)strcspn(verbs->items[i]->name, " "),
                 verbs->items[i]->name);
        if (!has_word(out_words, word))
            cv_text_add(out_words, "%s%s", out_words->length > 0 ? " " : "", word);
    }
    return out_words->length > 0 ? CV_COMPLETES_WORDS : CV_COMPLETES_NOTHING;
}

size_t cv_sentence_length(const char *help)
{
    const size_t max = 72;
    size_t length = 0;

    while (
        length < max && help[length] != '\0' &&
        !(help[length] == '.' && (help[length + 1] == ' ' || help[length + 1] == '\0')))
        length++;
    if (length == max)
        while (length > 0 && help[length] != ' ')
            length--;
    return length;
}

bool cv_verb_begins(const struct cv_verb_list *verbs, size_t index)
{
    const char *name = verbs->items[index]->name;
    const size_t length = strcspn(name, " ");
    const char *before = index > 0 ? verbs->items[index - 1]->name : "";

    return strncmp(before, name, length) != 0 ||
           (before[length] != ' ' && before[length] != '\0');
}
