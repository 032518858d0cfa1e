/* completion.c -- completion scripts for bash, zsh and fish. SPDX-License-Identifier:
 * MIT
 *
 * Most follows from the tables of options: FILE and DIR, "own|ring" lists words. Other
 * words are here, or come from the lists that check the options. */

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <cleave/policy.h>
#include "cli/task/task.h"
#include "cli/figures/figure_names.h"
#include "cli/verbs.h"

/* Kinds of completions, which number the actions of each shell. */
enum completes {
    COMPLETE_NOTHING, /* a number or any text */
    COMPLETE_FILES,
    COMPLETE_FOLDERS,
    COMPLETE_WORDS, /* one of some words */
    COMPLETE_LIST,  /* several of them, with commas between */
};

static const struct {
    const char *option, *words;
} fixed[] = {
    { "--engine", "native simgrid" },          { "--noise", "none gamma: normal:" },
    { "--goal", "makespan weighted stretch" }, { "--compute-model", "fresh fixed" },
    { "--port", "one duplex multi" },          { "--halt", "never soon,fail= now,fail=" },
};

#define X(id, name) " " name
static const char figures[] = CV_FIGURES(X);
#undef X

static enum cleave_task task_of(const char *task)
{
    return strcmp(task, "reduce") == 0  ? CLEAVE_TASK_REDUCE
           : strcmp(task, "items") == 0 ? CLEAVE_TASK_ITEMS
           : strcmp(task, "loads") == 0 ? CLEAVE_TASK_LOADS
                                        : CLEAVE_TASK_LOAD;
}

/* Add the first `length` bytes of a word, and `after`, to a list with spaces, unless the
 * list has it. */
static void add_word(struct cv_text *out, const char *word, size_t length,
                     const char *after)
{
    char whole[80];
    const char *at = out->bytes;
    const size_t size =
        (size_t)snprintf(whole, sizeof whole, "%.*s%s",
                         length < sizeof whole ? (int)length : -1, word, after);

    for (; at != NULL && (at = strstr(at, whole)) != NULL; at += size)
        if ((at == out->bytes || at[-1] == ' ') && (at[size] == '\0' || at[size] == ' '))
            return;
    cv_text_add(out, "%s%s", out->length > 0 ? " " : "", whole);
}

static void add_policies(enum cleave_task task, struct cv_text *out)
{
    for (size_t i = 0; i < cleave_policy_count(); i++)
        if (cleave_policy_at(i)->task == task)
            add_word(out, cleave_policy_at(i)->name, SIZE_MAX, "");
}

/* KEY= for every parameter of a policy of the task. */
static void add_parameters(enum cleave_task task, struct cv_text *out)
{
    for (size_t i = 0; i < cleave_policy_count(); i++) {
        const struct cleave_param *p = cleave_policy_at(i)->params;

        for (; cleave_policy_at(i)->task == task && p != NULL && p->name != NULL; p++)
            add_word(out, p->name, SIZE_MAX, "=");
    }
}

/* The words of "own|ring" or "TIME|auto" to type literally. */
static void add_choices(const char *argument, struct cv_text *out)
{
    while (*argument != '\0') {
        const size_t length = strcspn(argument, "|");

        if (islower((unsigned char)argument[0]) && memchr(argument, ',', length) == NULL)
            add_word(out, argument, length, "");
        argument += length;
        argument += *argument == '|';
    }
}

/* The completion of the argument of an option; words are added to `out_words`. `task` is the second
 * word of the verb, or "". */
static enum completes find_completion(const struct cv_option *option, const char *task,
                                      struct cv_text *out_words)
{
    const char *argument = option->argument;

    if (strcmp(argument, "FILE") == 0 || strcmp(argument, "TRACE") == 0)
        return COMPLETE_FILES;
    if (strcmp(argument, "DIR") == 0)
        return COMPLETE_FOLDERS;
    if (strcmp(option->name, "--policy") == 0)
        add_policies(task_of(task), out_words);
    else if (strcmp(option->name, "--policies") == 0) {
        add_policies(task_of(task), out_words);
        return COMPLETE_LIST;
    } else if (strcmp(option->name, "--param") == 0)
        add_parameters(task_of(task), out_words);
    else if (strcmp(option->name, "--sweep") == 0)
        cv_sweep_names(task_of(task), "=", out_words);
    else if (option->add_words != NULL)
        option->add_words(out_words);
    else
        add_choices(argument, out_words);
    /* For some verbs the argument lists the words itself. */
    for (size_t i = 0; out_words->length == 0 && i < sizeof fixed / sizeof *fixed; i++)
        if (strcmp(option->name, fixed[i].option) == 0)
            cv_text_add(out_words, "%s", fixed[i].words);
    return out_words->length > 0 ? COMPLETE_WORDS : COMPLETE_NOTHING;
}

/* First words of all verbs, each once. */
static void add_first_words(const struct cv_verb_list *verbs, struct cv_text *out)
{
    for (size_t i = 0; i < verbs->count; i++)
        add_word(out, verbs->items[i]->name, strcspn(verbs->items[i]->name, " "), "");
}

/* Second words of verbs with the first word of `name`; of all verbs if it is NULL. */
static void add_second_words(const struct cv_verb_list *verbs, const char *name,
                             struct cv_text *out)
{
    const size_t length = name != NULL ? strcspn(name, " ") + 1 : 0;

    for (size_t i = 0; i < verbs->count; i++) {
        const char *second = strchr(verbs->items[i]->name, ' ');

        if (second != NULL &&
            (name == NULL || strncmp(verbs->items[i]->name, name, length) == 0))
            add_word(out, second + 1, SIZE_MAX, "");
    }
}

/* Words for the first operand; files for verbs that read one. */
static enum completes operand_completes(const struct cv_verb_list *verbs,
                                        const char *verb, struct cv_text *out_words)
{
    if (strcmp(verb, "report") == 0 || strcmp(verb, "replay") == 0)
        return COMPLETE_FILES;
    if (strcmp(verb, "completions") == 0)
        cv_text_add(out_words, "bash zsh fish");
    if (strcmp(verb, "policies") == 0) {
        add_policies(CLEAVE_TASK_LOAD, out_words);
        add_policies(CLEAVE_TASK_REDUCE, out_words);
        add_policies(CLEAVE_TASK_ITEMS, out_words);
        add_policies(CLEAVE_TASK_LOADS, out_words);
    }
    if (strcmp(verb, "figures") == 0)
        cv_text_add(out_words, "%s", figures + 1);
    if (strcmp(verb, "help") == 0) {
        add_first_words(verbs, out_words);
        for (size_t i = 0; cv_help_topic_name(i) != NULL; i++)
            cv_text_add(out_words, " %s", cv_help_topic_name(i));
    }
    return out_words->length > 0 ? COMPLETE_WORDS : COMPLETE_NOTHING;
}

/* The length of the first sentence of a help text, without full stop; or the length of
 * the words that fit. */
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

/* Bash splits words at = and :, so "--policy=u" arrives as three words. */

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

static void add_option(struct cv_text *out, const struct cv_option *option,
                       const char *task)
{
    static const char *const actions[] = { "", "_cleave_files -f; ", "_cleave_files -d; ",
                                           "_cleave_words '", "_cleave_list '" };
    struct cv_text words = { NULL, 0, 0, false };
    enum completes kind;

    if (!cv_option_takes(option))
        return;
    kind = find_completion(option, task, &words);
    cv_text_add(out, "        %s", option->name);
    if (option->letter != 0)
        cv_text_add(out, " | -%c", option->letter);
    cv_text_add(out, ") %s", actions[kind]);
    if (words.length > 0)
        cv_text_add(out, "%s'; ", words.bytes);
    cv_text_add(out, "return ;;\n");
    cv_text_end(&words, out);
}

static void add_verb(const struct cv_verb_list *verbs, struct cv_text *out,
                     const struct cv_verb *verb)
{
    const char *second = strchr(verb->name, ' ');
    struct cv_text words = { NULL, 0, 0, false };
    const enum completes operands = operand_completes(verbs, verb->name, &words);
    const struct cv_option *o;

    cv_text_add(out, "    '%s%s)\n        options='--help -h", verb->name,
                second == NULL ? " '*" : "'");
    for (size_t i = 0; (o = cv_option_at(verb->groups, i)) != NULL; i++)
        cv_text_add(out, " %s", o->name);
    cv_text_add(out, "'\n");
    if (operands == COMPLETE_FILES)
        cv_text_add(out, "        operands=-f\n");
    else if (operands == COMPLETE_WORDS)
        cv_text_add(out, "        operands='%s'\n", words.bytes);
    cv_text_add(out, "        case $option in\n");
    for (size_t i = 0; (o = cv_option_at(verb->groups, i)) != NULL; i++)
        add_option(out, o, second != NULL ? second + 1 : "");
    cv_text_add(out, "        esac\n        ;;\n");
    cv_text_end(&words, out);
}

void cv_completion_bash(const struct cv_verb_list *verbs, struct cv_text *out)
{
    struct cv_text words = { NULL, 0, 0, false };

    add_first_words(verbs, &words);
    cv_text_add(out,
                "%s    if ((COMP_CWORD == 1)); then\n        _cleave_words ' %s --help "
                "--version'\n        return\n    fi\n"
                "    if ((COMP_CWORD == 2)); then\n        case ${COMP_WORDS[1]} in\n",
                head, words.bytes != NULL ? words.bytes : "");
    for (size_t i = 0; i < verbs->count; i++) {
        const char *name = verbs->items[i]->name;

        if (strchr(name, ' ') == NULL || !verb_begins(verbs, i))
            continue;
        cv_text_done(&words);
        add_second_words(verbs, name, &words);
        cv_text_add(out, "        %.*s) _cleave_words ' %s'; return ;;\n",
                    (int)strcspn(name, " "), name, words.bytes);
    }
    cv_text_end(&words, out);
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

static void fish_condition(struct cv_text *out, const char *name)
{
    const size_t length = strcspn(name, " ");

    cv_text_add(out, "complete -c cleave -n '__fish_seen_subcommand_from %.*s",
                (int)length, name);
    if (name[length] == ' ')
        cv_text_add(out, "; and __fish_seen_subcommand_from %s", name + length + 1);
    cv_text_add(out, "'");
}

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
    static const char *const actions[] = { " -x", " -r -F",
                                           " -x -a '(__fish_complete_directories)'",
                                           " -x -a '", " -x -a '" };
    struct cv_text words = { NULL, 0, 0, false }, help = words;

    fish_condition(out, verb->name);
    cv_text_add(out, " -l %s", option->name + 2);
    if (option->letter != 0)
        cv_text_add(out, " -s %c", option->letter);
    if (cv_option_takes(option))
        cv_text_add(out, "%s", actions[find_completion(option, task, &words)]);
    if (words.length > 0)
        cv_text_add(out, "%s'", words.bytes);
    cv_option_help(option, &help);
    if (!help.failed)
        fish_describe(out, help.bytes, sentence_length(help.bytes));
    cv_text_end(&words, out);
    cv_text_end(&help, out);
}

static void fish_verb(const struct cv_verb_list *verbs, struct cv_text *out,
                      const struct cv_verb *verb)
{
    const char *second = strchr(verb->name, ' ');
    struct cv_text words = { NULL, 0, 0, false };
    const enum completes operands = operand_completes(verbs, verb->name, &words);
    const struct cv_option *o;

    for (size_t i = 0; (o = cv_option_at(verb->groups, i)) != NULL; i++)
        fish_option(out, verb, o, second != NULL ? second + 1 : "");
    fish_option(out, verb, &cv_help_option, "");
    if (operands == COMPLETE_FILES) {
        fish_condition(out, verb->name);
        cv_text_add(out, " -F\n");
    } else if (operands == COMPLETE_WORDS) {
        fish_condition(out, verb->name);
        cv_text_add(out, " -a '%s'\n", words.bytes);
    }
    cv_text_end(&words, out);
}

static void fish_words(const struct cv_verb_list *verbs, struct cv_text *out, size_t i)
{
    const char *name = verbs->items[i]->name, *summary = verbs->items[i]->summary;
    const size_t length = strcspn(name, " ");
    struct cv_text words = { NULL, 0, 0, false };

    if (verb_begins(verbs, i)) {
        const char *what = name[length] == ' ' ? "several commands" : summary;

        cv_text_add(out, "complete -c cleave -n __fish_use_subcommand -a %.*s",
                    (int)length, name);
        fish_describe(out, what, strlen(what));
    }
    if (name[length] == ' ') {
        add_second_words(verbs, NULL, &words);
        cv_text_add(out,
                    "complete -c cleave -n '__fish_seen_subcommand_from %.*s; and not "
                    "__fish_seen_subcommand_from %s' -a %s",
                    (int)length, name, words.bytes != NULL ? words.bytes : "",
                    name + length + 1);
        fish_describe(out, summary, strlen(summary));
    }
    cv_text_end(&words, out);
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

/* Between single quotes; `special` characters get a backslash. */
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
    static const char *const actions[] = { "", "_files", "_files -/", "(",
                                           "_sequence compadd - " };
    struct cv_text words = { NULL, 0, 0, false };
    const enum completes kind = find_completion(option, task, &words);

    cv_text_add(out, ":");
    add_quoted(out, option->argument, strlen(option->argument), ":\\");
    cv_text_add(out, ":%s", actions[kind]);
    add_quoted(out, words.bytes, words.length, ":\\");
    cv_text_add(out, "%s", kind == COMPLETE_WORDS ? ")" : "");
    cv_text_end(&words, out);
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
    cv_text_end(&help, out);
}

static void zsh_verb(const struct cv_verb_list *verbs, struct cv_text *out,
                     const struct cv_verb *verb)
{
    const char *second = strchr(verb->name, ' ');
    struct cv_text words = { NULL, 0, 0, false };
    const enum completes operands = operand_completes(verbs, verb->name, &words);
    const struct cv_option *o;

    cv_text_add(out, "    ('%s%s)\n        _arguments -s -S \\\n", verb->name,
                second == NULL ? " '*" : "'");
    for (size_t i = 0; (o = cv_option_at(verb->groups, i)) != NULL; i++)
        zsh_option(out, o, second != NULL ? second + 1 : "");
    zsh_option(out, &cv_help_option, "");
    if (operands == COMPLETE_FILES)
        cv_text_add(out, "            '*:file:_files'\n");
    else if (operands == COMPLETE_WORDS)
        cv_text_add(out, "            '*:name:(%s)'\n", words.bytes);
    else if (verb->operands != NULL)
        cv_text_add(out, "            '*::command:_normal'\n");
    else
        cv_text_add(out, "            && return\n");
    cv_text_add(out, "        ;;\n");
    cv_text_end(&words, out);
}

static void zsh_choice(struct cv_text *out, const char *name, size_t length,
                       const char *summary)
{
    cv_text_add(out, "            '%.*s:", (int)length, name);
    add_quoted(out, summary, strlen(summary), ":\\");
    cv_text_add(out, "'\n");
}

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
