/* completion_bash.c -- the completion script for bash. SPDX-License-Identifier: MIT
 *
 * It needs no other script. Bash splits words at = and :, so "--policy=u" comes as three
 * words and is put together again. */
#include <stdio.h>
#include <string.h>
#include "cli/completion.h"
#include "cli/verbs.h"

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
    const enum cv_completes operands = cv_operand_completes(verbs, verb->name, &words);

    cv_text_add(out, "    '%s%s)\n        options='--help -h", verb->name,
                second == NULL ? " '*" : "'");
    for (const struct cv_option_group *g = verb->groups; g != NULL && g->title != NULL;
         g++)
        for (const struct cv_option *o = g->options; o->name != NULL; o++)
            cv_text_add(out, " %s", o->name);
    cv_text_add(out, "'\n");
    if (operands == CV_COMPLETES_FILES)
        cv_text_add(out, "        operands=-f\n");
    else if (operands == CV_COMPLETES_WORDS)
        cv_text_add(out, "        operands='%s'\n", words.bytes);
    cv_text_add(out, "        case $option in\n");
    for (const struct cv_option_group *g = verb->groups; g != NULL && g->title != NULL;
         g++)
        for (const struct cv_option *o = g->options; o->name != NULL; o++)
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
