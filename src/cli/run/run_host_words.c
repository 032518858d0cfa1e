/* run_host_words.c -- workers of hosts that were named in words. SPDX-License-Identifier: MIT
 *
 * Nothing is known of their costs, so all are thought to be alike until they have been
 * measured. A host that does not say how many slots it has is asked for its cores when it is
 * reached; until then one worker stands for it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file_target.h"
#include "cli/run/run_hosts.h"
#include "io/input.h"
#include "model/platform/nominal.h"
#include "run/hosts/leader_spec.h"
#include "run/common/usable_cores.h"

enum { MOST_BYTES = 16 * 1024 * 1024 }; /* of a file of hosts */

#define HERE "here" /* what workers of this machine are called */

/* --- which ones --------------------------------------------------------------------------- */

bool cv_hosts_are_file(const char *text)
{
    static const char *const ends[] = { ".yaml", ".yml", ".json" };

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (cv_name_ends_in(text, ends[i]))
            return true;
    return cv_hosts_are_text(text) || strcmp(text, "-") == 0 || access(text, F_OK) == 0 ||
           !cv_host_words_have_slash(text);
}

const char *cv_hosts_file(const struct cv_run_options *values)
{
    const char *path = values->hosts_file != NULL ? values->hosts_file
                       : values->hosts != NULL && cv_hosts_are_file(values->hosts)
                           ? values->hosts
                           : NULL;
    struct stat facts;

    return path != NULL && stat(path, &facts) == 0 && S_ISREG(facts.st_mode) ? path
                                                                             : NULL;
}

/* Whether it is the file in which PBS says what it has granted. */
static bool is_granted(const char *path)
{
    const char *granted = getenv("PBS_NODEFILE");

    return granted != NULL && strcmp(granted, path) == 0;
}

static enum cleave_status read_file(const char *path, struct cv_arena *arena,
                                    struct cv_host_spec *out, struct cleave_error *err)
{
    char *text = NULL;
    size_t length;
    enum cleave_status status;

    CV_TRY(cv_input_read(path, MOST_BYTES, &text, &length, err));
    status = strlen(text) == length
                 ? cv_host_lines_add(text, cv_input_name(path), arena, out, err)
                 : cv_fail(err, CLEAVE_EINPUT, "%s: expected lines of text, got a byte 0",
                           cv_input_name(path));
    free(text);
    if (status == CLEAVE_OK && out->count == 0)
        return cv_fail(err, CLEAVE_EINPUT, "%s: expected hosts, got none",
                       cv_input_name(path));
    return status;
}

static enum cleave_status read_words(const struct cv_run_options *values,
                                     struct cv_arena *arena, struct cv_host_spec *out,
                                     struct cleave_error *err)
{
    if (values->hosts_file != NULL)
        CV_TRY(read_file(values->hosts_file, arena, out, err));
    if (values->hosts != NULL)
        CV_TRY(
            cv_host_words_add(values->hosts, CV_HOSTS_PLAIN, "--hosts", arena, out, err));
    for (size_t i = 0; i < values->logins.count; i++)
        CV_TRY(cv_host_words_add(values->logins.items[i], CV_HOSTS_PARALLEL, "--sshlogin",
                                 arena, out, err));
    return cv_host_words_settle(
        out, values->hosts_file != NULL && is_granted(values->hosts_file), "hosts", err);
}

/* --- who leads whom ----------------------------------------------------------------------- */

/* The hosts of a run, and whom each is behind. */
struct roster {
    struct cv_host_spec words; /* its array is owned                                 */
    uint32_t *leader;          /* of the arena: per host                             */
    bool *leads;               /* the same                                           */
    uint32_t usual;            /* slots of a host that does not say; 0: its cores    */
    const struct cv_reach *reach;
    struct cv_arena *arena;
};

/* Whether it is this machine. */
static bool is_here(const struct roster *roster, const struct cv_host_spec_item *word)
{
    const char *as = roster->reach->view.as;

    return word->name == NULL || (as != NULL && strcmp(word->name, as) == 0);
}

/* A host that --via names is one of those that there are, or one more. */
static enum cleave_status meet(struct cv_host_spec *words,
                               const struct cv_host_spec_item *host,
                               struct cleave_error *err)
{
    struct cv_host_spec_item *found = words->items;
    const struct cv_host_spec_item *end = words->items + words->count;

    while (found < end && (found->name == NULL || strcmp(found->name, host->name) != 0))
        found++;
    if (found < end && host->slots > 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--via: '%s' is named elsewhere too: expected its slots there",
                       host->name);
    if (found < end && host->login != host->name &&
        strcmp(found->login, host->login) != 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--via: host '%s' is named twice and reached in different ways",
                       host->name);
    if (found < end)
        return CLEAVE_OK;
    if (!CV_ROOM(words->items, &words->room, words->count + 1))
        return cv_fail_memory(err, "the hosts");
    words->items[words->count++] = *host;
    return CLEAVE_OK;
}

static enum cleave_status find_leaders(struct roster *roster, struct cleave_error *err)
{
    struct cv_via via;
    const char **names;
    uint32_t n;

    CV_TRY(cv_via_read(roster->reach->via.items, roster->reach->via.count, roster->arena,
                       &via, err));
    for (size_t i = 0; i < via.nhosts; i++)
        CV_TRY(meet(&roster->words, &via.hosts[i], err));
    n = (uint32_t)roster->words.count;
    names = cv_array(roster->arena, n, sizeof *names);
    roster->leader = cv_array(roster->arena, n, sizeof *roster->leader);
    roster->leads = cv_array(roster->arena, n, sizeof *roster->leads);
    if (names == NULL || roster->leader == NULL || roster->leads == NULL)
        return cv_fail_memory(err, "the hosts");
    for (uint32_t i = 0; i < n; i++) {
        roster->leader[i] = CV_NO_LEADER;
        if (!is_here(roster, &roster->words.items[i]))
            names[i] = roster->words.items[i].name;
    }
    CV_TRY(cv_lead_rules_apply(via.rules, via.count,
                               &(struct cv_lead_names){ names, NULL, n }, roster->leader,
                               err));
    for (uint32_t i = 0; i < n; i++)
        if (roster->leader[i] != CV_NO_LEADER)
            roster->leads[roster->leader[i]] = true;
    return CLEAVE_OK;
}

/* Whether a host is behind `leader`, or behind one that is. */
static bool is_behind(const struct roster *roster, uint32_t host, uint32_t leader)
{
    while (roster->leader[host] != CV_NO_LEADER) {
        host = roster->leader[host];
        if (host == leader)
            return true;
    }
    return false;
}

/* What ssh is told, or the name of workers, as a list of hosts has it: an address of IPv6 is
 * in brackets there. */
static void add_host(const char *login, struct cv_text *out)
{
    const char *at = strrchr(login, '@');
    const char *host = at != NULL ? at + 1 : login;

    if (strchr(host, ':') != NULL && strncmp(login, "ssh://", 6) != 0)
        cv_text_add(out, "%.*s[%s]", (int)(host - login), login, host);
    else
        cv_text_add(out, "%s", login);
}

/* A host as --sshlogin takes it. */
static void add_login(const struct cv_host_spec_item *word, struct cv_text *out)
{
    if (out->length > 0)
        cv_text_add(out, ",");
    if (word->slots > 0)
        cv_text_add(out, "%u/", word->slots);
    if (word->ssh != NULL)
        cv_text_add(out, "%s ", word->ssh);
    add_host(word->login, out);
}

/* --via for one who is behind the leader and leads others. */
static void add_via(const struct roster *roster, uint32_t leader, struct cv_words *out)
{
    struct cv_text text = { NULL, 0, 0, false };
    const char *between = ":";

    cv_words_add(out, "--via");
    add_host(roster->words.items[leader].name, &text);
    for (uint32_t i = 0; i < roster->words.count; i++)
        if (roster->leader[i] == leader) {
            cv_text_add(&text, "%s", between);
            add_host(roster->words.items[i].name, &text);
            between = ",";
        }
    cv_words_take(out, &text);
}

/* Whom a host leads: their names, and the words that tell it. */
static enum cleave_status find_led(const struct roster *roster, uint32_t leader,
                                   const char *const **behind, const char *const **led,
                                   struct cleave_error *err)
{
    const struct cv_host_spec_item *items = roster->words.items;
    struct cv_words names = { .arena = roster->arena }, words = names;
    struct cv_text logins = { NULL, 0, 0, false };
    char usual[16];

    add_login(&(struct cv_host_spec_item){ .login = items[leader].name,
                                           .slots = items[leader].slots },
              &logins);
    for (uint32_t i = 0; i < roster->words.count; i++) {
        if (roster->leader[i] == leader)
            cv_words_add(&names, items[i].name);
        if (is_behind(roster, i, leader))
            add_login(&items[i], &logins);
        if (roster->leads[i] && is_behind(roster, i, leader))
            add_via(roster, i, &words);
    }
    if (logins.length > CV_LED_MOST) {
        cv_text_done(&logins);
        return cv_fail(err, CLEAVE_EINPUT,
                       "--via: expected at most %d bytes of hosts behind '%s', got %zu",
                       (int)CV_LED_MOST, items[leader].name, logins.length);
    }
    cv_words_add(&words, "--sshlogin");
    cv_words_take(&words, &logins);
    if (roster->usual > 0) {
        snprintf(usual, sizeof usual, "%u", roster->usual);
        cv_words_add(&words, "--workers");
        cv_words_add(&words, usual);
    }
    *behind = cv_words_done(&names);
    *led = cv_words_done(&words);
    return *behind != NULL && *led != NULL ? CLEAVE_OK : cv_fail_memory(err, "the hosts");
}

/* --- their workers ------------------------------------------------------------------------ */

/* 0: as many as it says when it is reached. One who leads others is one worker. */
static uint32_t slots_of(const struct roster *roster, uint32_t host)
{
    const struct cv_host_spec_item *word = &roster->words.items[host];
    const uint32_t said = word->slots > 0 ? word->slots : roster->usual;

    if (roster->leads[host])
        return 1;
    return said > 0 || !is_here(roster, word) ? said : (uint32_t)cv_usable_cores();
}

/* A worker for every slot that is known of, and one for a host of which it is not, in groups
 * of which *of says what host each is. */
static enum cleave_status build(const struct roster *roster, uint32_t **of,
                                struct cleave_platform **out, struct cleave_error *err)
{
    const size_t count = roster->words.count;
    struct cv_group *groups = cv_array(roster->arena, count, sizeof *groups);
    struct cleave_worker *kinds = cv_array(roster->arena, count, sizeof *kinds);
    uint32_t n = 0;

    *of = cv_array(roster->arena, count, sizeof **of);
    if (groups == NULL || kinds == NULL || *of == NULL)
        return cv_fail_memory(err, "the workers");
    for (uint32_t i = 0; i < count; i++) {
        const struct cv_host_spec_item *word = &roster->words.items[i];
        const bool here = is_here(roster, word);
        const uint32_t slots = slots_of(roster, i);

        if (roster->leader[i] != CV_NO_LEADER)
            continue;
        groups[n] = (struct cv_group){ .name = word->name != NULL ? word->name : HERE,
                                       .count = slots > 0 ? slots : 1,
                                       .ssh = here ? NULL : word->login };
        CV_TRY(cv_worker_name_check(groups[n].name, "a host", err));
        kinds[n] = cv_nominal_worker(here ? CV_NOMINAL_HERE : CV_NOMINAL_RANK);
        (*of)[n++] = i;
    }
    return cv_platform_build(CLEAVE_PORT_MULTI, kinds, groups, n, out, NULL, err);
}

static enum cleave_status fill_crew(const struct roster *roster, const uint32_t *of,
                                    struct cv_worker_list *out, struct cleave_error *err)
{
    for (uint32_t g = 0; g < out->platform->ngroups; g++) {
        const struct cv_group *group = &out->platform->groups[g];
        const struct cv_host_spec_item *word = &roster->words.items[of[g]];
        struct cv_reach own = *roster->reach;
        const char *const *led = NULL;

        if (is_here(roster, word))
            continue;
        if (word->ssh != NULL)
            own.ssh = word->ssh;
        if (roster->leads[of[g]])
            CV_TRY(find_led(roster, of[g], &out->behind[out->nhosts], &led, err));
        CV_TRY(cv_host_describe(group, &own, led, group->first, slots_of(roster, of[g]),
                                roster->arena, &out->hosts[out->nhosts++], err));
    }
    return CLEAVE_OK;
}

static enum cleave_status make_crew(struct roster *roster, struct cv_worker_list *out,
                                    struct cleave_error *err)
{
    const char *as = roster->reach->view.as;
    bool known = as == NULL;
    uint32_t *of;

    for (size_t i = 0; !known && i < roster->words.count; i++)
        known = roster->words.items[i].name != NULL &&
                strcmp(roster->words.items[i].name, as) == 0;
    if (!known)
        return cv_fail(err, CLEAVE_EINPUT, "--as: there is no host '%s' to be", as);
    CV_TRY(find_leaders(roster, err));
    CV_TRY(build(roster, &of, &out->platform, err));
    out->hosts = cv_array(roster->arena, roster->words.count, sizeof *out->hosts);
    out->behind = cv_array(roster->arena, roster->words.count, sizeof *out->behind);
    if (out->hosts == NULL || out->behind == NULL)
        return cv_fail_memory(err, "the hosts");
    return fill_crew(roster, of, out, err);
}

/* -j beside hosts: what each has that does not say. */
static enum cleave_status read_usual(const char *text, uint32_t *out,
                                     struct cleave_error *err)
{
    char *end;
    unsigned long number;

    *out = 0;
    if (text == NULL || strcmp(text, "100%") == 0)
        return CLEAVE_OK;
    number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || number < 1 ||
        number > CV_HOST_SLOTS_MOST)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--workers: beside hosts expected the slots of each, 1 to %d, or "
                       "100%%, got '%s'",
                       (int)CV_HOST_SLOTS_MOST, text);
    *out = (uint32_t)number;
    return CLEAVE_OK;
}

/* The crew of a platform file, beside which nothing else may name hosts. */
static enum cleave_status open_file(const struct cv_run_options *values,
                                    const struct cv_reach *reach, struct cv_arena *arena,
                                    struct cv_worker_list *out, struct cleave_error *err)
{
    struct cv_reach own = *reach;
    struct cv_via via;

    if (values->hosts_file != NULL || values->logins.count > 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "--hosts %s is a platform file: expected neither --hosts-file "
                       "nor --sshlogin",
                       values->hosts);
    if (values->workers != NULL)
        return cv_fail(err, CLEAVE_EINPUT, "expected --workers or --hosts, got both");
    if (strchr(values->hosts, '/') != NULL && !cv_hosts_are_text(values->hosts) &&
        access(values->hosts, F_OK) != 0 && errno == ENOENT)
        return cv_fail(
            err, CLEAVE_EINPUT,
            "--hosts: %s: No such file or directory: expected a platform file, "
            "or hosts as in a,b:4,me@c",
            values->hosts);
    CV_TRY(cv_via_read_names(values->via.items, values->via.count, arena, &via, err));
    own.view.rules = via.rules;
    own.view.nrules = via.count;
    return cv_crew_open(values->hosts, &own, arena, out, err);
}

enum cleave_status cv_crew_find(const struct cv_run_options *values,
                                const struct cv_reach *reach, struct cv_arena *arena,
                                struct cv_worker_list *out, struct cleave_error *err)
{
    struct roster roster = { .reach = reach, .arena = arena };
    enum cleave_status status;

    *out = (struct cv_worker_list){ .platform = NULL };
    if (values->hosts != NULL && cv_hosts_are_file(values->hosts))
        return open_file(values, reach, arena, out, err);
    CV_TRY(read_usual(values->workers, &roster.usual, err));
    status = read_words(values, arena, &roster.words, err);
    if (status == CLEAVE_OK)
        status = make_crew(&roster, out, err);
    free(roster.words.items);
    return status;
}
