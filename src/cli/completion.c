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
#include "cli/common/verb.h"
#include "cli/task/task.h"
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

static void add_words(const struct cv_verb_list *verbs, struct cv_text *out,
                      const char *first);

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

/* The words that name a first operand, such as the policies of 'cleave policies'; files
 * for the verbs that read one. */
static enum cv_completes operand_completes(const struct cv_verb_list *verbs,
                                           const char *verb, struct cv_text *out_words)
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

/* Bytes of the first sentence of a help text, without its full stop, or of as many words of it
 * as a line has room for. */
static size_t sentence_length(const char *help)
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

/* Whether verb `index` is the first with its first word. */
static bool verb_begins(const struct cv_verb_list *verbs, size_t index)
{
    const char *name = verbs->items[index]->name;
    const size_t length = strcspn(name, " ");
    const char *before = index > 0 ? verbs->items[index - 1]->name : "";

    return strncmp(before, name, length) != 0 ||
           (before[length] != ' ' && before[length] != '\0');
}

/* --- the completion script for bash ------------------------------------------------ */

/* It needs no other script. Bash splits words at = and :, so "--policy=u" comes as three
 * words and is put together again. */

static const char head[] =
    "# Completion of cleave for bash. Made by 'cleave completions bash': edit the "
    "option\n"
    "# tables instead. SPDX-License-Identifier: MIT\n"
    "\n"
    "# Words that begin as the present one does; no space behind KEY= and KIND:.\n"
    "_cleave_words() {\n"
    "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
    "    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=:] ]]; then\n"
    "        compopt -o nospace 2>/dev/null\n"
    "    fi\n"
    "}\n"
    "\n"
    "# The same behind the last comma.\n"
    "_cleave_list() {\n"
    "    local before=\n"
    "    [[ $cur == *,* ]] && before=${cur%,*},\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$1\" -- \"${cur##*,}\")\n"
    "    compopt -o nospace 2>/dev/null\n"
    "}\n"
    "\n"
    "_cleave_files() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$cur\")\n"
    "}\n"
    "\n"
    "_cleave() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local options= operands= i\n"
    "    COMPREPLY=()\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=\n"
    "    elif [[ $option == = ]]; then\n"
    "        option=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "        if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
    "            if declare -F _command_offset >/dev/null; then\n"
    "                _command_offset $((i + 1))\n"
    "            elif ((COMP_CWORD == i + 1)); then\n"
    "                mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
    "            else\n"
    "                _cleave_files -f\n"
    "            fi\n"
    "            return\n"
    "        fi\n"
    "    done\n";

/* First words of all verbs, each once, or second words of those that begin with `first`. */
static void add_words(const struct cv_verb_list *verbs, struct cv_text *out,
                      const char *first)
{
    const char *last = "";
    size_t last_length = 0;

    for (size_t i = 0; i < verbs->count; i++) {
        const char *name = verbs->items[i]->name;
        const size_t length = strcspn(name, " ");

        if (first != NULL) {
            if (strlen(first) == length && strncmp(name, first, length) == 0 &&
                name[length] == ' ')
                cv_text_add(out, " %s", name + length + 1);
        } else if (length != last_length || strncmp(name, last, length) != 0) {
            cv_text_add(out, " %.*s", (int)length, name);
        }
        last = name;
        last_length = length;
    }
}

static void add_pattern(struct cv_text *out, const struct cv_option *option)
{
    cv_text_add(out, "        %s", option->name);
    if (option->letter != 0)
        cv_text_add(out, " | -%c", option->letter);
    cv_text_add(out, ") ");
}

static void add_option(struct cv_text *out, const struct cv_option *option,
                       const char *task)
{
    struct cv_text words = { NULL, 0, 0, false };

    if (!cv_option_takes(option))
        return;
    add_pattern(out, option);
    switch (cv_completes(option, task, &words)) {
    case CV_COMPLETES_FILES:
        cv_text_add(out, "_cleave_files -f; return ;;\n");
        break;
    case CV_COMPLETES_FOLDERS:
        cv_text_add(out, "_cleave_files -d; return ;;\n");
        break;
    case CV_COMPLETES_WORDS:
        cv_text_add(out, "_cleave_words '%s'; return ;;\n", words.bytes);
        break;
    case CV_COMPLETES_LIST:
        cv_text_add(out, "_cleave_list '%s'; return ;;\n", words.bytes);
        break;
    case CV_COMPLETES_NOTHING:
        cv_text_add(out, "return ;;\n");
        break;
    }
    out->failed = out->failed || words.failed;
    cv_text_done(&words);
}

static void add_verb(const struct cv_verb_list *verbs, struct cv_text *out,
                     const struct cv_verb *verb)
{
    const char *second = strchr(verb->name, ' ');
    struct cv_text words = { NULL, 0, 0, false };
    const enum cv_completes operands = operand_completes(verbs, verb->name, &words);
    const struct cv_option *o;

    cv_text_add(out, "    '%s%s)\n        options='--help -h", verb->name,
                second == NULL ? " '*" : "'");
    for (size_t i = 0; (o = cv_option_at(verb->groups, i)) != NULL; i++)
        cv_text_add(out, " %s", o->name);
    cv_text_add(out, "'\n");
    if (operands == CV_COMPLETES_FILES)
        cv_text_add(out, "        operands=-f\n");
    else if (operands == CV_COMPLETES_WORDS)
        cv_text_add(out, "        operands='%s'\n", words.bytes);
    cv_text_add(out, "        case $option in\n");
    for (size_t i = 0; (o = cv_option_at(verb->groups, i)) != NULL; i++)
        add_option(out, o, second != NULL ? second + 1 : "");
    cv_text_add(out, "        esac\n        ;;\n");
    out->failed = out->failed || words.failed;
    cv_text_done(&words);
}

void cv_completion_bash(const struct cv_verb_list *verbs, struct cv_text *out)
{
    const char *last = "";

    cv_text_add(out, "%s", head);
    cv_text_add(out, "    if ((COMP_CWORD == 1)); then\n        _cleave_words '");
    add_words(verbs, out, NULL);
    cv_text_add(out, " --help --version'\n        return\n    fi\n"
                     "    if ((COMP_CWORD == 2)); then\n"
                     "        case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < verbs->count; i++) {
        const char *name = verbs->items[i]->name;
        const size_t length = strcspn(name, " ");
        char first[32];

        if (name[length] == '\0' ||
            (strncmp(last, name, length) == 0 && last[length] == ' '))
            continue;
        snprintf(first, sizeof first, "%.*s", (int)length, name);
        cv_text_add(out, "        %s) _cleave_words '", first);
        add_words(verbs, out, first);
        cv_text_add(out, "'; return ;;\n");
        last = name;
    }
    cv_text_add(out, "        esac\n    fi\n"
                     "    case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n");
    for (size_t i = 0; i < verbs->count; i++)
        add_verb(verbs, out, verbs->items[i]);
    cv_text_add(out, "    esac\n"
                     "    if [[ $cur == -* || -z $operands ]]; then\n"
                     "        _cleave_words \"$options\"\n"
                     "    elif [[ $operands == -f ]]; then\n"
                     "        _cleave_files -f\n"
                     "    else\n"
                     "        _cleave_words \"$operands\"\n"
                     "    fi\n"
                     "}\n"
                     "complete -F _cleave cleave\n");
}

/* --- the completion script for fish ------------------------------------------------ */

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
        fish_describe(out, help.bytes, sentence_length(help.bytes));
    out->failed = out->failed || words.failed || help.failed;
    cv_text_done(&words);
    cv_text_done(&help);
}

static void fish_verb(const struct cv_verb_list *verbs, struct cv_text *out,
                      const struct cv_verb *verb)
{
    const char *second = strchr(verb->name, ' ');
    struct cv_text words = { NULL, 0, 0, false };
    const enum cv_completes operands = operand_completes(verbs, verb->name, &words);
    const struct cv_option *o;

    for (size_t i = 0; (o = cv_option_at(verb->groups, i)) != NULL; i++)
        fish_option(out, verb, o, second != NULL ? second + 1 : "");
    fish_option(out, verb, &cv_help_option, "");
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

    if (verb_begins(verbs, i)) {
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

/* --- the completion script for zsh ------------------------------------------------- */

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
            add_quoted(out, help.bytes, sentence_length(help.bytes), "[]:\\");
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
    const enum cv_completes operands = operand_completes(verbs, verb->name, &words);
    const struct cv_option *o;

    cv_text_add(out, "    ('%s%s)\n        _arguments -s -S \\\n", verb->name,
                second == NULL ? " '*" : "'");
    for (size_t i = 0; (o = cv_option_at(verb->groups, i)) != NULL; i++)
        zsh_option(out, o, second != NULL ? second + 1 : "");
    zsh_option(out, &cv_help_option, "");
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

        if (verb_begins(verbs, i))
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

        if (!verb_begins(verbs, i) || name[length] == '\0')
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
    cv_text_add(out, "#compdef cleave\n"
                     "# Completion of cleave for zsh. Made by 'cleave completions zsh': "
                     "edit the option\n# tables instead. SPDX-License-Identifier: MIT\n\n"
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

        if (verb_begins(verbs, i) && name[length] == ' ')
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
