/* completion_zsh.c -- the completion script for zsh. SPDX-License-Identifier: MIT */
#include <string.h>
#include "cli/completion.h"
#include "cli/common/verb.h"
#include "cli/verbs.h"

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
            add_quoted(out, help.bytes, cv_sentence_length(help.bytes), "[]:\\");
        cv_text_add(out, "]");
        if (cv_option_takes(option))
            zsh_action(out, option, task);
        cv_text_add(out, "' \\\n");
    }
    out->failed = out->failed || help.failed;
    cv_text_done(&help);
}

static void zsh_verb(const struct cv_verb_list *verbs, struct cv_text *out,
                     const struct cv_verb *verb)
{
    const char *second = strchr(verb->name, ' ');
    struct cv_text words = { NULL, 0, 0, false };
    const enum cv_completes operands = cv_operand_completes(verbs, verb->name, &words);

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

/* "plan", "run", ..: what comes behind cleave. */
static void zsh_first_words(const struct cv_verb_list *verbs, struct cv_text *out)
{
    for (size_t i = 0; i < verbs->count; i++) {
        const char *name = verbs->items[i]->name;
        const size_t length = strcspn(name, " ");

        if (cv_verb_begins(verbs, i))
            zsh_choice(out, name, length,
                       name[length] == ' ' ? "several commands"
                                           : verbs->items[i]->summary);
    }
}

/* "load", "reduce", ..: what comes behind those that are several commands. */
static void zsh_second_words(const struct cv_verb_list *verbs, struct cv_text *out)
{
    for (size_t i = 0; i < verbs->count; i++) {
        const char *name = verbs->items[i]->name;
        const size_t length = strcspn(name, " ");

        if (!cv_verb_begins(verbs, i) || name[length] == '\0')
            continue;
        cv_text_add(out, "        (%.*s) choices=(\n", (int)length, name);
        for (size_t k = i; k < verbs->count; k++)
            if (strncmp(verbs->items[k]->name, name, length + 1) == 0)
                zsh_choice(out, verbs->items[k]->name + length + 1,
                           strlen(verbs->items[k]->name + length + 1),
                           verbs->items[k]->summary);
        cv_text_add(out, "        ) ;;\n");
    }
}

void cv_completion_zsh(const struct cv_verb_list *verbs, struct cv_text *out)
{
    cv_text_add(out,
                "#compdef cleave\n"
                "# Completion of cleave for zsh. Made by 'cleave completions zsh': edit "
                "the option\n# tables instead. SPDX-License-Identifier: MIT\n\n"
                "_cleave() {\n    local -a choices\n"
                "    if (( CURRENT == 2 )); then\n        choices=(\n");
    zsh_first_words(verbs, out);
    cv_text_add(out,
                "        )\n        _describe command choices\n        return\n    fi\n"
                "    if (( CURRENT == 3 )); then\n        choices=()\n"
                "        case $words[2] in\n");
    zsh_second_words(verbs, out);
    cv_text_add(out,
                "        esac\n        if (( $#choices )); then\n"
                "            _describe command choices\n            return\n        fi\n"
                "    fi\n    local verb=\"$words[2] $words[3]\"\n"
                "    case $words[2] in\n");
    for (size_t i = 0; i < verbs->count; i++) {
        const char *name = verbs->items[i]->name;
        const size_t length = strcspn(name, " ");

        if (cv_verb_begins(verbs, i) && name[length] == ' ')
            cv_text_add(out, "    (%.*s) shift words; (( CURRENT-- )) ;;\n", (int)length,
                        name);
    }
    cv_text_add(out,
                "    esac\n    shift words\n    (( CURRENT-- ))\n    case $verb in\n");
    for (size_t i = 0; i < verbs->count; i++)
        zsh_verb(verbs, out, verbs->items[i]);
    cv_text_add(out,
                "    esac\n}\n\n"
                "# Loaded from fpath this is the function itself; else it was sourced.\n"
                "if [[ ${funcstack[1]} == _cleave ]]; then\n"
                "    _cleave \"$@\"\n"
                "else\n"
                "    compdef _cleave cleave\n"
                "fi\n");
}
