/* run_leaders.c -- hosts that lead others: what they are told. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include "base/shell_word.h"
#include "cli/common/output.h"
#include "cli/run/run_hosts.h"
#include "io/platform_file.h"

void cv_lead_words(const struct cv_host_fields *host, const struct cv_reach *reach,
                   const char *const *led, struct cv_words *words)
{
    cv_words_split(words, "--lead -- --as");
    cv_words_add(words, host->name);
    for (size_t i = 0; led[i] != NULL; i++)
        cv_words_add(words, led[i]);
    for (size_t i = 0; reach->lead[i] != NULL; i++)
        cv_words_add(words, reach->lead[i]);
}

void cv_lead_line(const struct cv_host_fields *host, const struct cv_reach *reach,
                  const char *const *led, struct cv_arena *arena, struct cv_text *line)
{
    struct cv_words words = { .arena = arena };
    const char *const *list;

    cv_lead_words(host, reach, led, &words);
    list = cv_words_done(&words);
    cv_text_add(line, " ");
    if (list != NULL)
        cv_sh_words_add(line, list);
    line->failed = line->failed || list == NULL;
}

/* The hosts behind a leader, by name. */
static enum cleave_status list_behind(const char *path, const char *text,
                                      const char *leader, const struct cv_reach *reach,
                                      struct cv_arena *arena, const char *const **out,
                                      struct cleave_error *err)
{
    struct cv_platform_view how = reach->view;
    struct cv_words names = { .arena = arena };
    struct cv_platform_file view;

    how.as = leader;
    CV_TRY(cv_platform_parse_as(path, text, strlen(text), &how, arena, &view, err));
    for (uint32_t g = 0; g < view.platform->ngroups; g++)
        if (strcmp(view.hosts[g].name, leader) != 0)
            cv_words_add(&names, view.hosts[g].name);
    cleave_platform_free(view.platform);
    *out = cv_words_done(&names);
    return *out != NULL ? CLEAVE_OK : cv_fail_memory(err, "the hosts");
}

/* Those behind a leader are its own affair, which has to be known there. */
enum cleave_status cv_leads_of_file(const char *path, const char *text,
                                    const struct cv_host_fields *host,
                                    const struct cv_reach *reach, struct cv_arena *arena,
                                    const char *const **behind, const char *const **led,
                                    struct cleave_error *err)
{
    struct cv_words words = { .arena = arena };

    if (reach->lead == NULL)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: worker '%s' leads others (via:), which 'cleave run' can do",
                       path, host->name);
    if (strlen(text) > CV_LED_MOST)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "%s: expected at most %d bytes, which are sent to leaders, got %zu", path,
            (int)CV_LED_MOST, strlen(text));
    cv_words_add(&words, "--hosts");
    cv_words_add(&words, text);
    for (size_t i = 0; i < reach->via.count; i++) {
        cv_words_add(&words, "--via");
        cv_words_add(&words, reach->via.items[i]);
    }
    *led = cv_words_done(&words);
    if (*led == NULL)
        return cv_fail_memory(err, "the hosts");
    return list_behind(path, text, host->name, reach, arena, behind, err);
}

static bool same_words(const char *const *a, const char *const *b)
{
    while (*a != NULL && *b != NULL && strcmp(*a, *b) == 0) {
        a++;
        b++;
    }
    return *a == *b; /* both have ended */
}

void cv_leads_compare(const struct cv_worker_list *before,
                      const struct cv_worker_list *now,
                      void (*note)(void *context, const char *text), void *context)
{
    char text[400];

    for (size_t i = 0; i < now->nhosts; i++)
        for (size_t k = 0; now->hosts[i].leads && k < before->nhosts; k++) {
            if (strcmp(before->hosts[k].name, now->hosts[i].name) != 0 ||
                !before->hosts[k].leads || same_words(before->behind[k], now->behind[i]))
                continue;
            snprintf(text, sizeof text,
                     "%.250s: others are behind it than when the run began, of which it "
                     "is not told",
                     now->hosts[i].name);
            note(context, text);
        }
}

int cv_reach_lead(struct cv_reach *reach, const struct cv_call *call)
{
    const struct cv_run_options *values = call->values;
    struct cv_words words = { .arena = call->arena };

    cv_options_add_words(call,
                         "--split --header --records --together --max-record --unordered "
                         "--header-out --reduce --commutative --memory --retries --nice "
                         "--pin --ssh --remote --push --connect-timeout --host-timeout",
                         &words);
    reach->view.as = values->as;
    reach->via = values->via;
    reach->lead = cv_words_done(&words);
    return reach->lead != NULL ? CV_EXIT_DONE : cv_no_memory("those who lead others");
}

int cv_leads_check(const struct cv_worker_list *workers,
                   const struct cleave_execution *execution,
                   const struct cv_run_options *values)
{
    const char *what = execution->items.words != NULL   ? "items"
                       : execution->input.pairs != NULL ? "--pairs"
                       : execution->tell_records && !values->cat
                           ? "a command that asks for its chunk (CLEAVE_CHUNK, ..), of "
                             "which leaders have numbers of their own"
                           : NULL;

    const char *request = values->leaders != NULL ? "--leaders"
                          : values->via.count > 0 ? "--via"
                                                  : "via:";

    for (size_t i = 0; what != NULL && i < workers->nhosts; i++)
        if (workers->hosts[i].leads)
            return cv_refuse("host '%s' leads others (%s), which it cannot with %s: "
                             "leave %s out, so that all are reached from here",
                             workers->hosts[i].name, request, what, request);
    return CV_EXIT_DONE;
}
