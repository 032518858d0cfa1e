/* verbs.c -- finds a verb by its words, and lists verbs. SPDX-License-Identifier: MIT */
#include "cli/verbs.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "cli/common/help.h"
#include "cli/common/output.h"
#include "report/terminal/table.h"
#include "run/items/item_commands.h"

/* Does the verb's name start with these words? */
static bool starts_with(const struct cv_verb *verb, int count, const char *const *words)
{
    const char *name = verb->name;

    for (int i = 0; i < count; i++) {
        const size_t length = strlen(words[i]);

        if (length == 0 || strncmp(name, words[i], length) != 0 ||
            (name[length] != '\0' && name[length] != ' '))
            return false;
        name += length;
        if (*name == ' ')
            name++;
        else if (i + 1 < count)
            return false;
    }
    return true;
}

static bool is_file(const char *name)
{
    struct stat info;

    return stat(name, &info) == 0 && S_ISREG(info.st_mode);
}

static int words_in(const char *name)
{
    int count = 1;

    while ((name = strchr(name, ' ')) != NULL) {
        name++;
        count++;
    }
    return count;
}

const struct cv_verb *cv_verb_find(const struct cv_verb_list *verbs, int count,
                                   const char *const *words, int *out_used)
{
    int plain = 0, started = 0;

    while (plain < count && words[plain][0] != '-')
        plain++;
    *out_used = 0;
    for (size_t i = 0; i < verbs->count; i++) {
        const int needed = words_in(verbs->items[i]->name);

        if (needed <= plain && starts_with(verbs->items[i], needed, words)) {
            *out_used = needed;
            return verbs->items[i];
        }
        if (plain > 0 && plain < needed && starts_with(verbs->items[i], plain, words))
            started = plain;
    }
    *out_used = started;
    return NULL;
}

/* The names to offer for a mistyped one: the verbs that begin with the same first word
 * or, when there are none, first words. */
struct offer {
    const char *names[CV_VERBS_MAX];
    size_t count;
    char first[CV_VERBS_MAX][24];
};

static const char *offered(const void *context, size_t index)
{
    const struct offer *offer = context;

    return offer->names[index];
}

static void offer_first_words(const struct cv_verb_list *verbs, struct offer *offer)
{
    for (size_t i = 0; i < verbs->count; i++) {
        char *word = offer->first[offer->count];
        bool known = false;

        snprintf(word, sizeof offer->first[0], "%.*s",
                 (int)strcspn(verbs->items[i]->name, " "), verbs->items[i]->name);
        for (size_t k = 0; k < offer->count; k++)
            known = known || strcmp(offer->names[k], word) == 0;
        if (!known)
            offer->names[offer->count++] = word;
    }
}

int cv_verb_unknown(const struct cv_verb_list *verbs, int count, const char *const *words)
{
    struct offer offer = { .count = 0 };
    char typed[2 * CV_ECHO_ROOM + 1], hint[512], shown[CV_ECHO_ROOM];

    snprintf(typed, sizeof typed, "%s", cv_echo(words[0], shown));
    for (size_t i = 0; i < verbs->count; i++) {
        if (starts_with(verbs->items[i], 1, words))
            offer.names[offer.count++] = verbs->items[i]->name;
    }
    if (offer.count == 0)
        offer_first_words(verbs, &offer);
    else if (count > 1)
        snprintf(typed, sizeof typed, "%s %s", words[0], cv_echo(words[1], shown));
    cv_suggest(typed, offer.count, offered, &offer, hint, sizeof hint);
    if (strncmp(hint, "; known", 7) == 0 && is_file(words[0]))
        return cv_print_error(CV_EXIT_USAGE,
                              "unknown command '%s'; if it is an input: cleave run -i %s "
                              "COMMAND [ARG]...",
                              typed, typed);
    for (int i = 1; i < count; i++)
        if (strncmp(words[i], ":::", 3) == 0 && cv_item_is_program(words[0]))
            return cv_print_error(
                CV_EXIT_USAGE,
                "unknown command '%s'; to run it for each item: cleave run "
                "%s ... ::: ITEM...",
                cv_echo(words[0], shown), words[0]);
    if (strncmp(hint, "; known", 7) == 0 && cv_item_is_program(words[0]))
        return cv_print_error(
            CV_EXIT_USAGE,
            "unknown command '%s'; to run %s on an input: cleave run -i "
            "FILE %s [ARG]...",
            typed, typed, typed);
    return cv_print_error(CV_EXIT_USAGE, "unknown command '%s'%s", typed, hint);
}

void cv_help_list(const struct cv_verb_list *verbs, int count, const char *const *words,
                  struct cv_text *out)
{
    cv_text_add(out, "Usage: cleave");
    for (int i = 0; i < count; i++)
        cv_text_add(out, " %s", words[i]);
    cv_text_add(out, " COMMAND [OPTION]...\n");
    if (count == 0) {
        cv_text_add(out, "\n");
        cv_wrap(out, cv_program_description, 0, 0, CV_HELP_WIDTH);
        cv_text_add(out, "\n");
    }
    cv_text_add(out, "\nCommands:\n");
    for (size_t i = 0; i < verbs->count; i++) {
        const struct cv_verb *verb = verbs->items[i];

        if (starts_with(verb, count, words))
            cv_text_add(out, "  %-16s %s\n", verb->name, verb->summary);
    }
    cv_text_add(out,
                "\n'cleave COMMAND --help' explains a command and shows an example.\n");
}
