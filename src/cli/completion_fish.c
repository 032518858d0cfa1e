/* completion_fish.c -- the completion script for fish. SPDX-License-Identifier: MIT */
#include <string.h>
#include "cli/completion.h"
#include "cli/common/verb.h"
#include "cli/verbs.h"

/* The condition under which a line for the verb holds. */
static void fish_condition(struct cv_text *out, const char *name)
{
    const size_t length = strcspn(name, " ");

    cv_text_add(out, "complete -c cleave -n '__fish_seen_subcommand_from %.*s",
                (int)length, name);
    if (name[length] == ' ')
        cv_text_add(out, "; and __fish_seen_subcommand_from %s", name + length + 1);
    cv_text_add(out, "'");
}

/* The end of a line: what the word is for. */
static void fish_describe(struct cv_text *out, const char *text, size_t length)
{
    cv_text_add(out, " -d '");
    for (size_t i = 0; i < length; i++)
        cv_text_add(out, "%s%c", text[i] == '\'' || text[i] == '\\' ? "\\" : "", text[i]);
    cv_text_add(out, "'\n");
}

static void fish_option(struct cv_text *out, const struct cv_verb *verb,
                        const struct cv_option *option, const char *task)
{
    struct cv_text words = { NULL, 0, 0, false }, help = { NULL, 0, 0, false };

    fish_condition(out, verb->name);
    cv_text_add(out, " -l %s", option->name + 2);
    if (option->letter != 0)
        cv_text_add(out, " -s %c", option->letter);
    if (cv_option_takes(option)) {
        switch (cv_completes(option, task, &words)) {
        case CV_COMPLETES_FILES:
            cv_text_add(out, " -r -F");
            break;
        case CV_COMPLETES_FOLDERS:
            cv_text_add(out, " -x -a '(__fish_complete_directories)'");
            break;
        case CV_COMPLETES_WORDS:
        case CV_COMPLETES_LIST:
            cv_text_add(out, " -x -a '%s'", words.bytes);
            break;
        case CV_COMPLETES_NOTHING:
            cv_text_add(out, " -x");
            break;
        }
    }
    cv_option_help(option, &help);
    if (!help.failed)
        fish_describe(out, help.bytes, cv_sentence_length(help.bytes));
    out->failed = out->failed || words.failed || help.failed;
    cv_text_done(&words);
    cv_text_done(&help);
}

static void fish_verb(const struct cv_verb_list *verbs, struct cv_text *out,
                      const struct cv_verb *verb)
{
    const char *second = strchr(verb->name, ' ');
    struct cv_text words = { NULL, 0, 0, false };
    const enum cv_completes operands = cv_operand_completes(verbs, verb->name, &words);

    for (const struct cv_option_group *g = verb->groups; g != NULL && g->title != NULL;
         g++)
        for (const struct cv_option *o = g->options; o->name != NULL; o++)
            fish_option(out, verb, o, second != NULL ? second + 1 : "");
    fish_option(out, verb, cv_help_option, "");
    if (operands == CV_COMPLETES_FILES) {
        fish_condition(out, verb->name);
        cv_text_add(out, " -F\n");
    } else if (operands == CV_COMPLETES_WORDS) {
        fish_condition(out, verb->name);
        cv_text_add(out, " -a '%s'\n", words.bytes);
    }
    out->failed = out->failed || words.failed;
    cv_text_done(&words);
}

/* "load reduce ..": the second words of all verbs, each once. */
static void add_second_words(const struct cv_verb_list *verbs, struct cv_text *out)
{
    for (size_t i = 0; i < verbs->count; i++) {
        const char *second = strchr(verbs->items[i]->name, ' ');
        size_t k = 0;

        if (second == NULL)
            continue;
        while (k < i && (strchr(verbs->items[k]->name, ' ') == NULL ||
                         strcmp(strchr(verbs->items[k]->name, ' '), second) != 0))
            k++;
        if (k == i)
            cv_text_add(out, "%s", second);
    }
}

/* The first word of a verb, and the second one, which stands behind that alone. */
static void fish_words(const struct cv_verb_list *verbs, struct cv_text *out, size_t i)
{
    const char *name = verbs->items[i]->name, *summary = verbs->items[i]->summary;
    const size_t length = strcspn(name, " ");

    if (cv_verb_begins(verbs, i)) {
        const char *what = name[length] == ' ' ? "several commands" : summary;

        cv_text_add(out, "complete -c cleave -n __fish_use_subcommand -a %.*s",
                    (int)length, name);
        fish_describe(out, what, strlen(what));
    }
    if (name[length] == ' ') {
        cv_text_add(out,
                    "complete -c cleave -n '__fish_seen_subcommand_from %.*s; and not "
                    "__fish_seen_subcommand_from",
                    (int)length, name);
        add_second_words(verbs, out);
        cv_text_add(out, "' -a %s", name + length + 1);
        fish_describe(out, summary, strlen(summary));
    }
}

void cv_completion_fish(const struct cv_verb_list *verbs, struct cv_text *out)
{
    cv_text_add(out,
                "# Completion of cleave for fish. Made by 'cleave completions fish': "
                "edit the option\n# tables instead. SPDX-License-Identifier: MIT\n"
                "complete -c cleave -f\n");
    for (size_t i = 0; i < verbs->count; i++)
        fish_words(verbs, out, i);
    for (size_t i = 0; i < verbs->count; i++)
        fish_verb(verbs, out, verbs->items[i]);
}
