/* run_leads.c -- hosts that lead others: what they are told. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include "base/shell_word.h"
#include "cli/kit/output.h"
#include "cli/run/run_hosts.h"
#include "io/platform_leaders.h"

/* What a worker that leads others is told: who it is, in which platform, and what this run is
 * told. */
void cv_lead_words(const struct cv_group *group, const struct cv_reach *reach,
                   const char *platform, struct cv_words *words)
{
    cv_words_split(words, "--lead -- --as");
    cv_words_add(words, group->name);
    cv_words_add(words, "--hosts");
    cv_words_add(words, platform);
    for (size_t i = 0; reach->lead[i] != NULL; i++)
        cv_words_add(words, reach->lead[i]);
}

/* The same for a shell. */
void cv_lead_line(const struct cv_group *group, const struct cv_reach *reach,
                  const char *platform, struct cv_arena *arena, struct cv_text *line)
{
    struct cv_words words = { .arena = arena };
    const char *const *list;

    cv_lead_words(group, reach, platform, &words);
    list = cv_words_done(&words);
    cv_text_add(line, " ");
    if (list != NULL)
        cv_shell_words_add(line, list);
    line->failed = line->failed || list == NULL;
}

/* The hosts behind a leader, by name, and those behind them. */
enum cleave_status cv_leads_list(const char *path, const char *text, const char *leader,
                                 struct cv_arena *arena, const char *const **out,
                                 struct cleave_error *err)
{
    struct cleave_platform *view;
    const char **names;
    size_t count = 0;

    CV_TRY(cv_platform_parse_as(path, text, strlen(text), leader, &view, err));
    names = cv_array(arena, view->ngroups + 1, sizeof *names);
    for (uint32_t g = 0; names != NULL && g < view->ngroups; g++)
        if (strcmp(view->groups[g].name, leader) != 0) {
            names[count] = cv_arena_text(arena, view->groups[g].name);
            names = names[count++] != NULL ? names : NULL;
        }
    cleave_platform_free(view);
    *out = names;
    return names != NULL ? CLEAVE_OK : cv_fail_memory(err, "the hosts");
}

static void add_option(struct cv_words *words, const char *name, const char *value)
{
    if (value == NULL)
        return;
    cv_words_add(words, name);
    cv_words_add(words, value);
}

static void add_flag(struct cv_words *words, const char *name, int given)
{
    if (given)
        cv_words_add(words, name);
}

/* Of an option whose value need not be there. */
static void add_maybe(struct cv_words *words, const char *name, const char *value)
{
    struct cv_text text = { NULL, 0, 0, false };

    if (value == NULL)
        return;
    cv_text_add(&text, value[0] != '\0' ? "%s=%s" : "%s", name, value);
    cv_words_take(words, &text);
}

static void add_number(struct cv_words *words, const char *name, double number)
{
    char text[64];

    if (!(number > 0))
        return;
    snprintf(text, sizeof text, "%.17g", number);
    add_option(words, name, text);
}

int cv_reach_lead(struct cv_reach *reach, const struct cv_run_options *values,
                  struct cv_arena *arena)
{
    struct cv_words words = { .arena = arena };

    add_option(&words, "--split", values->split);
    add_maybe(&words, "--header", values->header);
    add_number(&words, "--records", (double)values->records);
    add_option(&words, "--together", values->together);
    add_number(&words, "--max-record", values->max_record);
    add_flag(&words, "--unordered", values->unordered);
    add_maybe(&words, "--header-out", values->header_out);
    add_option(&words, "--reduce", values->reduce);
    add_flag(&words, "--commutative", values->commutative);
    add_number(&words, "--memory", values->memory);
    add_number(&words, "--retries", (double)values->retries);
    add_number(&words, "--nice", (double)values->nice);
    add_maybe(&words, "--pin", values->pin);
    add_option(&words, "--ssh", values->ssh);
    add_option(&words, "--remote", values->program);
    add_flag(&words, "--push", values->push);
    add_number(&words, "--connect-timeout", values->connect_timeout_s);
    add_number(&words, "--host-timeout", values->host_timeout_s);
    reach->as = values->as;
    reach->lead = cv_words_done(&words);
    return reach->lead != NULL
               ? CV_EXIT_DONE
               : cv_complain(CV_EXIT_FAILED, "out of memory for those who lead others");
}

int cv_leads_check(const struct cv_crew *crew, const struct cleave_execution *execution,
                   bool cat)
{
    const char *what = execution->items.words != NULL   ? "items"
                       : execution->input.pairs != NULL ? "--pairs"
                       : execution->tell_records && !cat
                           ? "a command that asks for its chunk (CLEAVE_CHUNK, ..), of "
                             "which leaders have numbers of their own"
                           : NULL;

    for (size_t i = 0; what != NULL && i < crew->nhosts; i++)
        if (crew->hosts[i].leads)
            return cv_complain(CV_EXIT_USAGE,
                               "host '%s' leads others (via:), which it cannot with %s: "
                               "leave via: out, so that all are reached from here",
                               crew->hosts[i].name, what);
    return CV_EXIT_DONE;
}
