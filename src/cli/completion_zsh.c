/* completion_zsh.c -- the completion scripts for zsh and fish. SPDX-License-Identifier: MIT */
#include <string.h>
#include "cli/completion.h"
#include "cli/kit/help.h"
#include "cli/verbs.h"

/* The first sentence of a help text, without its full stop: at most `most` bytes. */
static size_t sentence(const char *help, size_t most)
{
    size_t length = 0;

    while (
        length < most && help[length] != '\0' &&
        !(help[length] == '.' && (help[length + 1] == ' ' || help[length + 1] == '\0')))
        length++;
    if (length == most)
        while (length > 0 && help[length] != ' ')
            length--;
    return length;
}

/* Between single quotes; `special` are put behind a backslash. */
static void add_quoted(struct cv_text *out, const char *text, size_t length,
                       const char *special)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '\'')
            cv_text_add(out, "'\\''");
        else if (strchr(special, text[i]) != NULL)
            cv_text_add(out, "\\%c", text[i]);
        else
            cv_text_add(out, "%c", text[i]);
    }
}

/* Whether verb `i` is the first with its first word. */
static bool begins_new(size_t i)
{
    const char *name = cv_verb_at(i)->name;
    const size_t length = strcspn(name, " ");

    return i == 0 || strncmp(cv_verb_at(i - 1)->name, name, length) != 0 ||
           (cv_verb_at(i - 1)->name[length] != ' ' &&
            cv_verb_at(i - 1)->name[length] != '\0');
}

/* --- zsh ---------------------------------------------------------------------------- */

static void zsh_action(struct cv_text *out, const struct cv_option *option,
                       const char *task)
{
    struct cv_text words = { NULL, 0, 0, false };
    const enum cv_completes kind = cv_completes(option, task, &words);

    cv_text_add(out, ":");
    add_quoted(out, option->argument, strlen(option->argument), ":\\");
    cv_text_add(out, ":");
    if (kind == CV_COMPLETES_FILES)
        cv_text_add(out, "_files");
    else if (kind == CV_COMPLETES_FOLDERS)
        cv_text_add(out, "_files -/");
    else if (kind == CV_COMPLETES_LIST)
        cv_text_add(out, "_sequence compadd - %s", words.bytes);
    else if (kind == CV_COMPLETES_WORDS) {
        cv_text_add(out, "(");
        add_quoted(out, words.bytes, words.length, ":\\");
        cv_text_add(out, ")");
    }
    out->failed = out->failed || words.failed;
    cv_text_done(&words);
}

static void zsh_option(struct cv_text *out, const struct cv_option *option,
                       const char *task)
{
    const bool repeats = option->kind == CV_OPTION_REPEAT;
    struct cv_text help = { NULL, 0, 0, false };

    cv_option_help(option, &help);
    for (int turn = option->letter != 0 ? 0 : 1; turn < 2; turn++) {
        cv_text_add(out, "            '%s", repeats ? "*" : "");
        if (turn == 0)
            cv_text_add(out, "-%c%s", option->letter, cv_option_takes(option) ? "+" : "");
        else
            cv_text_add(out, "%s%s", option->name, cv_option_takes(option) ? "=" : "");
        cv_text_add(out, "[");
        if (!help.failed)
            add_quoted(out, help.bytes, sentence(help.bytes, 72), "[]:\\");
        cv_text_add(out, "]");
        if (cv_option_takes(option))
            zsh_action(out, option, task);
        cv_text_add(out, "' \\\n");
    }
    out->failed = out->failed || help.failed;
    cv_text_done(&help);
}

static void zsh_verb(struct cv_text *out, const struct cv_verb *verb)
{
    const char *second = strchr(verb->name, ' ');
    struct cv_text words = { NULL, 0, 0, false };
    const enum cv_completes operands = cv_operand_completes(verb->name, &words);

    cv_text_add(out, "    ('%s%s)\n        _arguments -s -S \\\n", verb->name,
                second == NULL ? " '*" : "'");
    for (const struct cv_option_group *g = verb->groups; g != NULL && g->title != NULL;
         g++)
        for (const struct cv_option *o = g->options; o->name != NULL; o++)
            zsh_option(out, o, second != NULL ? second + 1 : "");
    zsh_option(out, cv_help_option, "");
    if (operands == CV_COMPLETES_FILES)
        cv_text_add(out, "            '*:file:_files'\n");
    else if (operands == CV_COMPLETES_WORDS)
        cv_text_add(out, "            '*:name:(%s)'\n", words.bytes);
    else if (verb->operands != NULL)
        cv_text_add(out, "            '*::command:_normal'\n");
    else
        cv_text_add(out, "            && return\n");
    cv_text_add(out, "        ;;\n");
    out->failed = out->failed || words.failed;
    cv_text_done(&words);
}

static void zsh_choice(struct cv_text *out, const char *name, size_t length,
                       const char *summary)
{
    cv_text_add(out, "            '%.*s:", (int)length, name);
    add_quoted(out, summary, strlen(summary), ":\\");
    cv_text_add(out, "'\n");
}

void cv_completion_zsh(struct cv_text *out)
{
    cv_text_add(out,
                "#compdef cleave\n"
                "# Completion of cleave for zsh. Made by 'cleave completions zsh': edit "
                "the option\n# tables instead. SPDX-License-Identifier: MIT\n\n"
                "_cleave() {\n    local -a choices\n"
                "    if (( CURRENT == 2 )); then\n        choices=(\n");
    for (size_t i = 0; i < cv_verb_count(); i++) {
        const char *name = cv_verb_at(i)->name;
        const size_t length = strcspn(name, " ");

        if (begins_new(i))
            zsh_choice(out, name, length,
                       name[length] == ' ' ? "several commands" : cv_verb_at(i)->summary);
    }
    cv_text_add(out,
                "        )\n        _describe command choices\n        return\n    fi\n"
                "    if (( CURRENT == 3 )); then\n        choices=()\n"
                "        case $words[2] in\n");
    for (size_t i = 0; i < cv_verb_count(); i++) {
        const char *name = cv_verb_at(i)->name;
        const size_t length = strcspn(name, " ");

        if (!begins_new(i) || name[length] == '\0')
            continue;
        cv_text_add(out, "        (%.*s) choices=(\n", (int)length, name);
        for (size_t k = i; k < cv_verb_count(); k++)
            if (strncmp(cv_verb_at(k)->name, name, length + 1) == 0)
                zsh_choice(out, cv_verb_at(k)->name + length + 1,
                           strlen(cv_verb_at(k)->name + length + 1),
                           cv_verb_at(k)->summary);
        cv_text_add(out, "        ) ;;\n");
    }
    cv_text_add(out,
                "        esac\n        if (( $#choices )); then\n"
                "            _describe command choices\n            return\n        fi\n"
                "    fi\n    local verb=\"$words[2] $words[3]\"\n"
                "    case $words[2] in\n");
    for (size_t i = 0; i < cv_verb_count(); i++) {
        const char *name = cv_verb_at(i)->name;
        const size_t length = strcspn(name, " ");

        if (begins_new(i) && name[length] == ' ')
            cv_text_add(out, "    (%.*s) shift words; (( CURRENT-- )) ;;\n", (int)length,
                        name);
    }
    cv_text_add(out,
                "    esac\n    shift words\n    (( CURRENT-- ))\n    case $verb in\n");
    for (size_t i = 0; i < cv_verb_count(); i++)
        zsh_verb(out, cv_verb_at(i));
    cv_text_add(out,
                "    esac\n}\n\n"
                "# Loaded from fpath this is the function itself; else it was sourced.\n"
                "if [[ ${funcstack[1]} == _cleave ]]; then\n"
                "    _cleave \"$@\"\n"
                "else\n"
                "    compdef _cleave cleave\n"
                "fi\n");
}

/* --- fish --------------------------------------------------------------------------- */

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
        fish_describe(out, help.bytes, sentence(help.bytes, 72));
    out->failed = out->failed || words.failed || help.failed;
    cv_text_done(&words);
    cv_text_done(&help);
}

static void fish_verb(struct cv_text *out, const struct cv_verb *verb)
{
    const char *second = strchr(verb->name, ' ');
    struct cv_text words = { NULL, 0, 0, false };
    const enum cv_completes operands = cv_operand_completes(verb->name, &words);

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

void cv_completion_fish(struct cv_text *out)
{
    cv_text_add(out,
                "# Completion of cleave for fish. Made by 'cleave completions fish': "
                "edit the option\n# tables instead. SPDX-License-Identifier: MIT\n"
                "complete -c cleave -f\n");
    for (size_t i = 0; i < cv_verb_count(); i++) {
        const char *name = cv_verb_at(i)->name, *summary = cv_verb_at(i)->summary;
        const size_t length = strcspn(name, " ");

        if (begins_new(i)) {
            const char *what = name[length] == ' ' ? "several commands" : summary;

            cv_text_add(out, "complete -c cleave -n __fish_use_subcommand -a %.*s",
                        (int)length, name);
            fish_describe(out, what, strlen(what));
        }
        if (name[length] == ' ') {
            cv_text_add(
                out,
                "complete -c cleave -n '__fish_seen_subcommand_from %.*s; and not "
                "__fish_seen_subcommand_from load reduce streams' -a %s",
                (int)length, name, name + length + 1);
            fish_describe(out, summary, strlen(summary));
        }
    }
    for (size_t i = 0; i < cv_verb_count(); i++)
        fish_verb(out, cv_verb_at(i));
}
