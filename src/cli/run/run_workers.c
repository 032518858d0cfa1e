/* run_workers.c -- the workers that --workers names or counts, and --dry-run.
 * SPDX-License-Identifier: MIT
 *
 * Counts are those of GNU parallel: 8, +2, -1, 50%, 0. Anything else is a list of
 * "name", "name*14" or "name[0-3,6]", each with words before its command after ':'. In
 * these {i} is the number of one of several workers and {%} the place among all. A name
 * never looks like a count. '@60/min' after a count, or before ':', is a rate that they share. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "base/shell_word.h"
#include "cli/run/run_parts.h"
#include "cli/task/load_task.h"
#include "engine/rate.h"
#include "model/platform/generate.h"
#include "run/common/machine.h"
#include "run/hosts/host_spec.h"
#include "run/master/run_policy.h"

enum { CV_MOST_WORKERS = 4096 };

struct members {
    struct cv_arena *arena;
    const char **names, **prefixes; /* of the arena */
    uint32_t count;
    struct cleave_rate *rates; /* of the arena */
    size_t nrates;
};

/* Whether the word is meant as a count, valid or not. */
static bool looks_counted(const char *word)
{
    return (word[0] >= '0' && word[0] <= '9') || word[0] == '+' || word[0] == '-' ||
           word[0] == '.';
}

static int expected_workers(const char *got)
{
    return cv_refuse("--workers: expected 1 to %d, +N, -N, N%%, 0, or names such as "
                     "'fast,slow:nice -n 19', got '%s'",
                     CV_MOST_WORKERS, CV_ECHO(got));
}

static bool is_count(const char *name)
{
    const char *digits = name + (name[0] == '+' || name[0] == '-' ? 1 : 0);
    const char *end = digits + strspn(digits, "0123456789.");

    return end > digits && (*end == '\0' || strcmp(end, "%") == 0);
}

/* `alone`: it would be the only worker, which needs no name. */
static int check_name(const char *name, bool alone)
{
    if (CV_IS_ONE_OF(name, "auto", "max", "all", "cores", "cpus", "nproc"))
        return cv_refuse("--workers: '%s' is neither a number of workers nor a name: "
                         "100%% is one for each core, 0 as many as possible",
                         name);
    if (is_count(name))
        return cv_refuse("--workers: '%s' in a list is not a name. A comma in the words "
                         "of a worker is written '\\,', as in 'a:taskset -c 0\\,1'",
                         CV_ECHO(name));
    if (name[0] == '\0' || looks_counted(name))
        return expected_workers(name);
    if (alone && cv_worker_name_fits(name, strlen(name)))
        return cv_refuse("--workers: expected a number in digits, as -j 2, got '%s'; to "
                         "give one worker this name: '%s*1'",
                         CV_ECHO(name), CV_ECHO(name));
    return CV_EXIT_DONE;
}

/* `number` is NULL for a worker without one. */
static char *fill_in(struct cv_arena *arena, const char *words, const char *number,
                     uint32_t place)
{
    struct cv_text text = { NULL, 0, 0, false };

    cv_text_add(&text, "%s", "");
    while (*words != '\0') {
        const size_t plain = strcspn(words, "{");

        cv_text_add(&text, "%.*s", (int)plain, words);
        words += plain;
        if (number != NULL && strncmp(words, "{i}", 3) == 0) {
            cv_text_add(&text, "%s", number);
            words += 3;
        } else if (strncmp(words, "{%}", 3) == 0) {
            cv_text_add(&text, "%u", place + 1);
            words += 3;
        } else if (*words != '\0') {
            cv_text_add(&text, "%c", *words++);
        }
    }
    return cv_text_take(&text, arena);
}

static int add_one(struct members *out, const char *name, const char *words,
                   const char *number)
{
    const uint32_t place = out->count;

    if (place == CV_MOST_WORKERS)
        return cv_refuse("--workers: expected at most %d, got more", CV_MOST_WORKERS);
    out->names[place] = cv_arena_text(out->arena, name);
    if (words != NULL)
        out->prefixes[place] = fill_in(out->arena, words, number, place);
    if (out->names[place] == NULL || (words != NULL && out->prefixes[place] == NULL))
        return cv_no_memory("the workers");
    out->count++;
    return CV_EXIT_DONE;
}

/* Workers name.0 .. name.(n-1), named as in platform files with `count: n`. */
static int add_alike(struct members *out, const char *name, const char *count,
                     const char *words)
{
    const size_t digits = strspn(count, "0123456789");
    const long n = digits <= 6 ? strtol(count, NULL, 10) : 0;
    char full[256], number[32];
    int status = CV_EXIT_DONE;

    if (n < 1 || count[digits] != '\0')
        return cv_refuse("--workers: expected '%s*N' with N of 1 to %d, got '%s*%s'",
                         CV_ECHO(name), CV_MOST_WORKERS, CV_ECHO(name), CV_ECHO(count));
    for (long i = 0; i < n && status == CV_EXIT_DONE; i++) {
        snprintf(number, sizeof number, "%ld", i);
        snprintf(full, sizeof full, n > 1 ? "%.200s.%s" : "%.200s", name, number);
        status = add_one(out, full, words, number);
    }
    return status;
}

/* Workers with numbers after their name, as wide as they are written. */
static int add_range(struct members *out, const char *name, const char *range,
                     const char *words)
{
    const char *list = cv_arena_print(out->arena, "%s[%s", name, range);
    struct cv_host_names names = { NULL, 0, 0 };
    int status = CV_EXIT_DONE;

    if (list == NULL)
        return cv_no_memory("the workers");
    if (strcspn(range, "]") + 1 != strlen(range) ||
        cv_host_list_expand(list, out->arena, &names, NULL) != CLEAVE_OK)
        status = cv_refuse("--workers: expected numbers such as '%s[0-3]' or "
                           "'%s[0,2-3]', got '%s'",
                           CV_ECHO(name), CV_ECHO(name), CV_ECHO(list));
    for (size_t i = 0; i < names.count && status == CV_EXIT_DONE; i++)
        status = add_one(out, names.items[i], words, names.items[i] + strlen(name));
    free(names.items);
    return status;
}

/* "60/min", "90000w/h", "5/10s" for workers [first, out->count). */
static int add_rate(struct members *out, const char *text, uint32_t first)
{
    struct cleave_rate rate = { .first = first, .count = out->count - first };

    if (!cv_rate_parse(text, &rate))
        return cv_refuse("--workers: expected a rate such as '@60/min', '@5/10s' or "
                         "'@9000w/h', got '@%s'",
                         CV_ECHO(text));
    if (!rate.by_weight && rate.amount < 1)
        return cv_refuse(
            "--workers: '@%s' allows no start at all; expected a longer period, "
            "such as '@1/10s'",
            CV_ECHO(text));
    if (out->rates == NULL)
        out->rates =
            cv_need(out->arena, CV_MOST_WORKERS, sizeof *out->rates, "the workers");
    out->rates[out->nrates++] = rate;
    return CV_EXIT_DONE;
}

/* Cut a rate off; NULL: there is none. */
static char *cut_rate(char *text)
{
    char *rate = strchr(text, '@');

    if (rate != NULL)
        *rate++ = '\0';
    return rate;
}

static int add_named(struct members *out, char *text, const char *words, bool alone)
{
    char *many, kind;

    if (strpbrk(text, "\"\\\n") != NULL)
        return expected_workers(text);
    many = text + strcspn(text, "[*");
    kind = *many;
    if (kind != '\0')
        *many++ = '\0';
    CV_DO(check_name(text, alone && kind == '\0' && words == NULL));
    if (kind == '*')
        return add_alike(out, text, many, words);
    if (kind == '[')
        return add_range(out, text, many, words);
    if (words != NULL && strstr(words, "{i}") != NULL)
        return cv_refuse("--workers: {i} is the number of one of several workers, as in "
                         "'%s[0-3]:...' or '%s*4:...'",
                         CV_ECHO(text), CV_ECHO(text));
    return add_one(out, text, words, NULL);
}

static int add_member(struct members *out, char *text, bool alone)
{
    const uint32_t first = out->count;
    char *words = strchr(text, ':'), *rate;

    if (words != NULL)
        *words++ = '\0';
    rate = cut_rate(text);
    CV_DO(add_named(out, text, words, alone && rate == NULL));
    return rate != NULL ? add_rate(out, rate, first) : CV_EXIT_DONE;
}

/* Cut off the next member at a comma outside of brackets. '\,' is a comma in the
 * words. NULL: no member is left. */
static char *next_member(char **rest)
{
    char *member = *rest, *to = member, *from = member;
    bool named = false, inside = false;

    if (member == NULL)
        return NULL;
    for (; *from != '\0' && (*from != ',' || inside); from++) {
        named = named || *from == ':';
        inside = !named && (*from == '[' || (inside && *from != ']'));
        if (from[0] == '\\' && from[1] == ',')
            from++;
        *to++ = *from;
    }
    *rest = *from == ',' ? from + 1 : NULL;
    *to = '\0';
    return member;
}

static int members_read(const char *text, struct members *out)
{
    char *rest = cv_need_text(out->arena, text, "the workers"), *member;
    int status = CV_EXIT_DONE;

    out->names = cv_need(out->arena, CV_MOST_WORKERS, sizeof *out->names, "the workers");
    out->prefixes =
        cv_need(out->arena, CV_MOST_WORKERS, sizeof *out->prefixes, "the workers");
    while (status == CV_EXIT_DONE && (member = next_member(&rest)) != NULL)
        if (member[0] != '\0')
            status = add_member(out, member, strchr(text, ',') == NULL);
    if (status == CV_EXIT_DONE && out->count == 0)
        return cv_refuse("--workers: expected a list of workers, got nothing");
    return status;
}

enum {
    MOST_POSSIBLE = 256, /* the most workers for 0 */
    FILES_EACH = 4,      /* pipes, end and output of a command */
    FILES_ELSE = 64,
};

static uint32_t most_possible(void)
{
    struct rlimit files;
    unsigned long max = MOST_POSSIBLE;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY)
        max = files.rlim_cur > FILES_ELSE + FILES_EACH
                  ? (files.rlim_cur - FILES_ELSE) / FILES_EACH
                  : 1;
    return (uint32_t)(max < MOST_POSSIBLE ? max : MOST_POSSIBLE);
}

static uint32_t within_limits(long long count)
{
    return count < 1 ? 1 : count > CV_MOST_WORKERS ? CV_MOST_WORKERS : (uint32_t)count;
}

static int read_count(const char *text, uint32_t *out)
{
    const bool more = text[0] == '+', fewer = text[0] == '-';
    const char *digits = text + (more || fewer ? 1 : 0);
    const long long cores = cv_usable_cores();
    long long number;
    bool share;
    char *end;

    if (*digits < '0' || *digits > '9')
        return expected_workers(text);
    number = strtoll(digits, &end, 10);
    share = *end == '%' && !more && !fewer;
    if (end[share ? 1 : 0] != '\0' || number > INT_MAX || (share && number == 0))
        return expected_workers(text);
    if (share)
        *out = within_limits(cores * number / 100);
    else if (more || fewer)
        *out = within_limits(more ? cores + number : cores - number);
    else if (number == 0)
        *out = most_possible();
    else if (number > CV_MOST_WORKERS)
        return expected_workers(text);
    else
        *out = (uint32_t)number;
    return CV_EXIT_DONE;
}

static int read_counted(const char *text, struct members *out)
{
    char *count = cv_need_text(out->arena, text, "the workers");
    const char *rate = cut_rate(count);

    CV_DO(read_count(count, &out->count));
    return rate != NULL ? add_rate(out, rate, 0) : CV_EXIT_DONE;
}

int cv_crew_read(const char *text, struct cv_arena *arena, struct cv_worker_list *out)
{
    struct members members = { .arena = arena };
    struct cleave_error err;
    int status = CV_EXIT_DONE;

    *out = (struct cv_worker_list){ .platform = NULL };
    if (text == NULL)
        members.count = within_limits(cv_usable_cores());
    else if (looks_counted(text) && strchr(text, ',') == NULL)
        status = read_counted(text, &members);
    else
        status = members_read(text, &members);
    out->prefixes = members.prefixes;
    out->rates = members.rates;
    out->nrates = members.nrates;
    if (status == CV_EXIT_DONE &&
        cv_nominal_platform(CV_NOMINAL_HERE, members.names, members.count, &out->platform,
                            &err) != CLEAVE_OK)
        status = cv_refuse("--workers: %s", err.text);
    return status;
}

bool cv_crew_has_weights(const struct cleave_worker_list *workers)
{
    for (size_t i = 0; i < workers->nrates; i++)
        if (workers->rates[i].by_weight)
            return true;
    return false;
}

uint32_t cv_crew_count(const struct cv_worker_list *workers)
{
    return workers->platform != NULL ? cleave_platform_nworkers(workers->platform)
                                     : (uint32_t)cv_usable_cores();
}

int cv_crew_be_nice(struct cv_worker_list *workers, uint64_t nice, struct cv_arena *arena)
{
    const uint32_t count = cv_crew_count(workers);
    const char **prefixes = cv_array(arena, count, sizeof *prefixes);

    if (nice == 0)
        return CV_EXIT_DONE;
    for (uint32_t w = 0; prefixes != NULL && w < count; w++) {
        const char *own = workers->prefixes != NULL ? workers->prefixes[w] : NULL;

        prefixes[w] = cv_arena_print(arena, "nice -n %llu %s", (unsigned long long)nice,
                                     own != NULL ? own : "");
        if (prefixes[w] == NULL)
            prefixes = NULL;
    }
    workers->prefixes = prefixes;
    return prefixes != NULL ? CV_EXIT_DONE : cv_no_memory("the workers");
}

/* The bytes of all inputs; NAN: *odd is not a regular file or, with errno, is not found. */
static double input_size(const struct cleave_execution *execution, const char **odd)
{
    struct stat facts;
    double bytes = 0;

    for (size_t i = 0; i < execution->input.count; i++) {
        *odd = execution->input.files[i];
        errno = 0;
        if (stat(*odd, &facts) != 0 || !S_ISREG(facts.st_mode))
            return NAN;
        bytes += (double)facts.st_size;
    }
    return bytes;
}

/* Whether chunks will stay open: most commands work while they read. */
static bool opens(const struct cleave_execution *execution)
{
    const struct cleave_policy *policy;

    return cv_run_policy_find(&execution->policy, &policy, NULL) == CLEAVE_OK &&
           policy->opens_chunks && execution->hosts.count == 0 && !execution->persistent;
}

static enum cleave_status describe(const struct cleave_execution *execution, double bytes,
                                   struct cv_arena *arena, struct cleave_job *out,
                                   struct cleave_error *err)
{
    *out = (struct cleave_job){ .platform = execution->workers.platform,
                                .load = bytes,
                                .policy = cv_run_policy_name(&execution->policy),
                                .reads = opens(execution) ? "stream" : NULL,
                                .seed = 1 };
    return cv_run_policy_settings(&execution->policy, arena, &out->settings,
                                  &out->nsettings, err);
}

/* The command as a shell takes it, with the words of some workers. */
static void add_commands(const struct cleave_execution *execution, struct cv_text *out)
{
    enum { SHOWN = 4 };
    const char *const *prefixes = execution->workers.prefixes;
    const uint32_t n = cleave_platform_nworkers(execution->workers.platform);
    uint32_t shown = 0;

    cv_text_add(out, "command   ");
    cv_shell_words_add(out, execution->command);
    for (uint32_t w = 0; w < n && prefixes != NULL; w++) {
        if (prefixes[w] == NULL || (w > 0 && prefixes[w - 1] == prefixes[w]) ||
            ++shown > SHOWN)
            continue;
        cv_text_add(out, "\n  %s: %s ",
                    cleave_platform_worker_name(execution->workers.platform, w),
                    prefixes[w]);
        cv_shell_words_add(out, execution->command);
    }
    if (shown > SHOWN)
        cv_text_add(out, "\n  and %u more workers with other words", shown - SHOWN);
    cv_text_add(out, "\ninput     ");
    cv_shell_word_add(out, execution->input.files[0]);
    if (execution->input.count > 1)
        cv_text_add(out, " and %zu more", execution->input.count - 1);
    cv_text_add(out, ", cut at %s\n",
                execution->input.split == NULL ? "lines"
                : strcmp(execution->input.split, "auto") == 0
                    ? "the records of its format"
                    : execution->input.split);
}

static void add_chunks(const struct cleave_schedule *schedule,
                       const struct cleave_platform *platform, size_t width,
                       struct cv_text *out)
{
    enum { SHOWN = 6 };
    double min = INFINITY, max = 0;
    struct cv_table table;

    cv_table_init(&table, "+chunk|worker|~about bytes|#starts s|#ends s");
    for (size_t i = 0; i < schedule->nchunks; i++) {
        const struct cleave_chunk *chunk = &schedule->chunks[i];

        min = fmin(min, chunk->units);
        max = fmax(max, chunk->units);
        if (i >= SHOWN)
            continue;
        cv_table_add(&table, "%g %s %g %g %g", (double)i + 1,
                     cleave_platform_worker_name(platform, chunk->worker),
                     round(chunk->units), chunk->compute_start_s, chunk->compute_end_s);
    }
    cv_text_add(out, "\n");
    cv_table_take(&table, false, width, out);
    if (schedule->nchunks > SHOWN)
        cv_text_add(out, "  and %zu more; all have %s to %s bytes\n",
                    schedule->nchunks - SHOWN, CV_SHOW_UNITS(round(min)),
                    CV_SHOW_UNITS(round(max)));
}

static bool is_measured(const char *path)
{
    FILE *file = fopen(path, "re");
    char line[sizeof CV_MEASURED_MARK + 2] = "";
    const bool read = file != NULL && fgets(line, sizeof line, file) != NULL;

    if (file != NULL)
        fclose(file);
    return read && strstr(line, CV_MEASURED_MARK) != NULL;
}

/* What is known of the workers, and so of the chunks. */
static void add_basis(const struct cleave_execution *execution, const char *hosts,
                      double bytes, struct cv_text *out)
{
    const double block = execution->policy.block;
    bool asks = false;

    for (size_t i = 0; i < execution->hosts.count; i++)
        asks = asks || execution->hosts.list[i].slots == 0;
    if (asks || hosts == NULL)
        cv_text_add(
            out, "workers   %u%s\n",
            cleave_platform_nworkers(execution->workers.platform),
            asks ? ": one for each host that does not say its slots; a run asks it "
                   "for its cores"
                 : "");
    if (hosts != NULL) {
        cv_text_add(out, "times     by the costs that %s\n",
                    is_measured(hosts)
                        ? "'cleave calibrate' has measured"
                        : "the platform file declares; 'cleave calibrate' measures them");
        return;
    }
    cv_text_add(out, "chunks    ");
    if (block > 0)
        cv_text_add(out, "about %s of %s bytes\n", CV_SHOW_UNITS(ceil(bytes / block)),
                    CV_SHOW_UNITS(block));
    else
        cv_text_add(out, "as policy %s decides while it runs\n",
                    cv_run_policy_name(&execution->policy));
    cv_text_add(out, "times     not known; 'cleave calibrate' measures what --hosts FILE "
                     "needs to plan them\n");
}

int cv_run_plan(const struct cleave_execution *execution, const char *hosts,
                struct cv_arena *arena)
{
    const struct cv_task_options shown = { .gantt = 1 };
    struct cv_screen screen = cv_screen_facts();
    struct cv_text text = { NULL, 0, 0, false };
    struct cv_load_job load = { .schedule = NULL };
    struct cv_task_call task = { .options = &shown, .arena = arena, .job = &load };
    struct cleave_error err;
    const char *odd;
    const double bytes = input_size(execution, &odd);
    int status;

    if (execution->input.count == 0)
        return cv_refuse(
            "--dry-run: expected --input FILE: the size of standard input is not known");
    if (isnan(bytes))
        return errno != 0 ? cv_refuse("%s: %s", odd, strerror(errno))
                          : cv_refuse("--dry-run: %s is not a regular file: its size is "
                                      "not known",
                                      odd);
    if (!(bytes > 0))
        return cv_refuse("--dry-run: the input is empty");
    if (describe(execution, bytes, arena, &load.job, &err) != CLEAVE_OK ||
        (hosts != NULL && cleave_plan_load(&load.job, &load.schedule, &err) != CLEAVE_OK))
        return cv_print_status(&err);
    status = hosts != NULL ? cv_load_planned(&task) : CV_EXIT_DONE;
    if (status == CV_EXIT_DONE) {
        add_commands(execution, &text);
        add_basis(execution, hosts, bytes, &text);
        if (hosts != NULL) {
            cv_schedule_text(&task, &screen, &text);
            add_chunks(load.schedule, load.job.platform, screen.width, &text);
        }
        status = cv_print_take(&text);
    }
    cleave_schedule_free(load.schedule);
    return status;
}

double cv_run_predict(const struct cleave_execution *execution, struct cv_arena *arena)
{
    struct cleave_schedule *schedule;
    struct cleave_job job;
    const char *odd;
    const double bytes = input_size(execution, &odd);
    double end_s;

    if (!(bytes > 0) || describe(execution, bytes, arena, &job, NULL) != CLEAVE_OK ||
        cleave_plan_load(&job, &schedule, NULL) != CLEAVE_OK)
        return NAN;
    end_s = schedule->makespan_s;
    cleave_schedule_free(schedule);
    return end_s;
}
