/* leader_spec.c -- which hosts or ranks lead others. SPDX-License-Identifier: MIT */
#include "run/hosts/leader_spec.h"

#include <stdlib.h>
#include <string.h>
#include "base/text.h"

static enum cleave_status refuse(const char *text, const char *expected,
                                 struct cleave_error *err)
{
    char shown[80];

    return cv_fail(err, CLEAVE_EINPUT, "hosts.via: expected %s, got '%s'", expected,
                   cv_shown(text, strlen(text), shown, sizeof shown));
}

/* The bytes before the first ':' outside of brackets. */
static size_t length_of_leader(const char *text)
{
    const char *end = text[0] == '[' ? strchr(text, ']') : NULL;

    end = end != NULL ? end : text;
    return (size_t)(end - text) + strcspn(end, ":");
}

/* Add the hosts of a text, the leader first. *behind: the text names hosts after the
 * leader. */
static enum cleave_status read_hosts(const char *text, struct cv_arena *arena,
                                     struct cv_host_spec *out, bool *behind,
                                     struct cleave_error *err)
{
    const size_t length = length_of_leader(text), first = out->count;
    char *leader = cv_arena_text(arena, text);

    if (leader == NULL)
        return cv_fail_memory(err, "the hosts");
    *behind = text[length] == ':';
    leader[length] = '\0';
    if (length == 0)
        return refuse(text, "a host before the ':'", err);
    CV_TRY(cv_host_words_add(leader, CV_HOSTS_PLAIN, "hosts.via", arena, out, err));
    if (out->count != first + 1)
        return refuse(text, "one host that leads, before the ':'", err);
    if (!*behind)
        return CLEAVE_OK;
    text += length + 1;
    if (text[0] != '\0' && text[strspn(text, "0123456789")] == '\0')
        return refuse(text,
                      "the hosts behind the leader after the ':', whose own slots "
                      "hosts.list has",
                      err);
    CV_TRY(cv_host_words_add(text, CV_HOSTS_PLAIN, "hosts.via", arena, out, err));
    for (size_t i = first; i < out->count; i++)
        if (out->items[i].name == NULL)
            return refuse(text, "other machines than ':', this one", err);
    return CLEAVE_OK;
}

static enum cleave_status keep_rule(const struct cv_host_spec *words, size_t first,
                                    bool behind, struct cv_arena *arena,
                                    struct cv_lead_rule *out, struct cleave_error *err)
{
    const char **led = cv_array(arena, words->count - first, sizeof *led);

    if (led == NULL)
        return cv_fail_memory(err, "the hosts");
    for (size_t i = first + 1; i < words->count; i++)
        led[i - first - 1] = words->items[i].name;
    *out = (struct cv_lead_rule){ words->items[first].name, behind ? led : NULL };
    return CLEAVE_OK;
}

enum cleave_status cv_via_read(const char *const *texts, size_t count,
                               struct cv_arena *arena, struct cv_via *out,
                               struct cleave_error *err)
{
    struct cv_host_spec words = { NULL, 0, 0 };
    enum cleave_status status = CLEAVE_OK;

    *out = (struct cv_via){ .rules = cv_array(arena, count, sizeof *out->rules) };
    for (; status == CLEAVE_OK && out->rules != NULL && out->count < count;
         out->count++) {
        const size_t first = words.count;
        bool behind = false;

        status = read_hosts(texts[out->count], arena, &words, &behind, err);
        if (status == CLEAVE_OK)
            status =
                keep_rule(&words, first, behind, arena, &out->rules[out->count], err);
    }
    if (status == CLEAVE_OK)
        out->hosts = cv_array(arena, words.count, sizeof *out->hosts);
    if (status == CLEAVE_OK && (out->rules == NULL || out->hosts == NULL))
        status = cv_fail_memory(err, "the hosts");
    if (status == CLEAVE_OK && words.count > 0)
        memcpy(out->hosts, words.items, words.count * sizeof *out->hosts);
    out->nhosts = words.count;
    free(words.items);
    return status;
}

enum cleave_status cv_via_read_names(const char *const *texts, size_t count,
                                     struct cv_arena *arena, struct cv_via *out,
                                     struct cleave_error *err)
{
    CV_TRY(cv_via_read(texts, count, arena, out, err));
    for (size_t i = 0; i < out->nhosts; i++)
        if (out->hosts[i].slots > 0 || out->hosts[i].login != out->hosts[i].name)
            return refuse(out->hosts[i].login,
                          "names of workers whose connection the platform file describes",
                          err);
    return CLEAVE_OK;
}

/* --- ranks of an MPI job ------------------------------------------------------------ */

enum { RANKS_MOST = 65536 };

enum cleave_status cv_rank_groups_read(const char *text, uint32_t *out,
                                       struct cleave_error *err)
{
    char *end;
    unsigned long number;

    if (strcmp(text, "node") == 0) {
        *out = UINT32_MAX;
        return CLEAVE_OK;
    }
    number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number < 2 ||
        number > RANKS_MOST)
        return cv_fail(err, CLEAVE_EINPUT,
                       "hosts.leaders: expected node, or how many ranks of a machine one "
                       "leads, 2 to %d, got '%s'",
                       (int)RANKS_MOST, text);
    *out = (uint32_t)number;
    return CLEAVE_OK;
}

enum cleave_status cv_rank_groups_make(const uint32_t *machine, uint32_t size,
                                       uint32_t max, uint32_t *leader,
                                       struct cleave_error *err)
{
    /* for each machine: the leader of the next ranks, and the number that it has */
    struct {
        uint32_t leader, count;
    } *open = calloc(size, sizeof *open);

    if (open == NULL)
        return cv_fail_memory(err, "the ranks");
    leader[0] = 0;
    for (uint32_t r = 1; r < size; r++) {
        const uint32_t m = machine[r];

        if (open[m].count == 0 || open[m].count >= max) {
            open[m].leader = r;
            open[m].count = 0;
        }
        open[m].count++;
        leader[r] = open[m].leader;
    }
    free(open);
    return CLEAVE_OK;
}

uint32_t cv_rank_group_size(const uint32_t *leader, uint32_t size, uint32_t rank)
{
    uint32_t count = 0;

    for (uint32_t r = 1; r < size; r++)
        count += leader[r] == rank;
    return count;
}
