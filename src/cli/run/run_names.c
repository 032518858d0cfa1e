/* run_names.c -- workers of this machine by their names.
 * SPDX-License-Identifier: MIT
 *
 * Members of a list are "name", "name*14" or "name[0-3,6]", and each may go on with ':' and
 * the words that stand before its command, where {i} is the number of each of several
 * workers and {%} the place that a worker has among all, from 1. */
#include "cli/run/run_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "cli/common/output.h"

/* A list that is being read. */
struct reading {
    struct cv_arena *arena;
    struct cv_members *out;
};

bool cv_looks_counted(const char *word)
{
    return (word[0] >= '0' && word[0] <= '9') || word[0] == '+' || word[0] == '-' ||
           word[0] == '.';
}

int cv_expected_workers(const char *got)
{
    char shown[CV_ECHO_ROOM];

    return cv_print_error(CV_EXIT_USAGE,
                          "--workers: expected 1 to %d, +N, -N, N%%, 0, or names such as "
                          "'fast,slow:nice -n 19', got '%s'",
                          CV_MOST_WORKERS, cv_echo(got, shown));
}

/* "8", "+2", "1.5", "50%". */
static bool is_count(const char *name)
{
    const char *digits = name + (name[0] == '+' || name[0] == '-' ? 1 : 0);
    const char *end = digits + strspn(digits, "0123456789.");

    return end > digits && (*end == '\0' || strcmp(end, "%") == 0);
}

/* Whether a worker, or some with numbers behind, may be called so. */
static int check_name(const char *name)
{
    static const char *const words[] = { "auto", "max", "all", "cores", "cpus", "nproc" };
    char shown[CV_ECHO_ROOM];

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(name, words[i]) == 0)
            return cv_print_error(
                CV_EXIT_USAGE,
                "--workers: '%s' is no number of workers and cannot be a "
                "name: 100%% is one for each core, 0 as many as possible",
                name);
    if (is_count(name))
        return cv_print_error(
            CV_EXIT_USAGE,
            "--workers: '%s' in a list is no name. A comma in the words of "
            "a worker is written '\\,', as in 'a:taskset -c 0\\,1'",
            cv_echo(name, shown));
    if (name[0] == '\0' || cv_looks_counted(name))
        return cv_expected_workers(name);
    return CV_EXIT_DONE;
}

/* The words of a worker, with its number (NULL: it has none) and its place. */
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

/* One worker. */
static int add_one(struct reading *reading, const char *name, const char *words,
                   const char *number)
{
    struct cv_members *out = reading->out;
    const uint32_t place = out->count;

    if (place == CV_MOST_WORKERS)
        return cv_print_error(CV_EXIT_USAGE, "--workers: expected at most %d, got more",
                              CV_MOST_WORKERS);
    out->names[place] = cv_arena_text(reading->arena, name);
    if (words != NULL)
        out->prefixes[place] = fill_in(reading->arena, words, number, place);
    if (out->names[place] == NULL || (words != NULL && out->prefixes[place] == NULL))
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the workers");
    out->count++;
    return CV_EXIT_DONE;
}

/* --- several alike ------------------------------------------------------------------------ */

/* A whole number of at most six digits; -1: there is none. `text` is left behind it. */
static long take_number(const char **text, int *out_digits)
{
    const size_t digits = strspn(*text, "0123456789");
    const long number = digits > 0 && digits <= 6 ? strtol(*text, NULL, 10) : -1;

    *out_digits = (int)digits;
    *text += digits;
    return number;
}

/* Workers name.0 .. name.(n-1), as `count: n` of a platform file calls them. */
static int add_alike(struct reading *reading, const char *name, const char *count,
                     const char *words)
{
    const char *rest = count;
    char full[256], number[32], shown[CV_ECHO_ROOM], got[CV_ECHO_ROOM];
    int digits, status = CV_EXIT_DONE;
    const long n = take_number(&rest, &digits);

    if (n < 1 || *rest != '\0')
        return cv_print_error(CV_EXIT_USAGE,
                              "--workers: expected '%s*N' with N of 1 to %d, got '%s*%s'",
                              cv_echo(name, shown), CV_MOST_WORKERS, shown,
                              cv_echo(count, got));
    for (long i = 0; i < n && status == CV_EXIT_DONE; i++) {
        snprintf(number, sizeof number, "%ld", i);
        snprintf(full, sizeof full, n > 1 ? "%.200s.%s" : "%.200s", name, number);
        status = add_one(reading, full, words, number);
    }
    return status;
}

static int expected_range(const char *name, const char *range)
{
    char shown[CV_ECHO_ROOM], got[CV_ECHO_ROOM];

    return cv_print_error(CV_EXIT_USAGE,
                          "--workers: expected numbers such as '%s[0-3]' or '%s[0,2-3]', "
                          "got '%s[%s'",
                          cv_echo(name, shown), shown, shown, cv_echo(range, got));
}

/* Workers with the numbers of "0-3,06]" behind their name, as wide as they are written. */
static int add_range(struct reading *reading, const char *name, const char *range,
                     const char *words)
{
    const char *rest = range;
    int status = CV_EXIT_DONE;

    while (status == CV_EXIT_DONE) {
        int width, ignored;
        const long first = take_number(&rest, &width);
        long last = first;

        if (*rest == '-') {
            rest++;
            last = take_number(&rest, &ignored);
        }
        if (first < 0 || last < first || (*rest != ',' && strcmp(rest, "]") != 0))
            return expected_range(name, range);
        for (long i = first; i <= last && status == CV_EXIT_DONE; i++) {
            char full[256], number[32];

            snprintf(number, sizeof number, "%0*ld", width, i);
            snprintf(full, sizeof full, "%.200s%s", name, number);
            status = add_one(reading, full, words, number);
        }
        if (*rest++ == ']')
            break;
    }
    return status;
}

/* --- lists -------------------------------------------------------------------------------- */

static int add_member(struct reading *reading, char *text)
{
    char *words = strchr(text, ':'), *many, kind, shown[CV_ECHO_ROOM];
    int status;

    if (words != NULL)
        *words++ = '\0';
    if (strpbrk(text, "\"\\\n") != NULL)
        return cv_expected_workers(text);
    many = text + strcspn(text, "[*");
    kind = *many;
    if (kind != '\0')
        *many++ = '\0';
    status = check_name(text);
    if (status != CV_EXIT_DONE)
        return status;
    if (kind == '*')
        return add_alike(reading, text, many, words);
    if (kind == '[')
        return add_range(reading, text, many, words);
    if (words != NULL && strstr(words, "{i}") != NULL)
        return cv_print_error(
            CV_EXIT_USAGE,
            "--workers: {i} is the number of one of several workers, as in "
            "'%s[0-3]:...' or '%s*4:...'",
            cv_echo(text, shown), shown);
    return add_one(reading, text, words, NULL);
}

/* Cut the next member off at a comma that no '\' stands before and that is not between the
 * brackets of a name; where '\' stands there, only the comma stays. NULL: there is none. */
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

int cv_members_read(const char *text, struct cv_arena *arena, struct cv_members *out)
{
    struct reading reading = { arena, out };
    char *rest = cv_arena_text(arena, text), *member;
    int status = CV_EXIT_DONE;

    out->names = cv_array(arena, CV_MOST_WORKERS, sizeof *out->names);
    out->prefixes = cv_array(arena, CV_MOST_WORKERS, sizeof *out->prefixes);
    if (rest == NULL || out->names == NULL || out->prefixes == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the workers");
    while (status == CV_EXIT_DONE && (member = next_member(&rest)) != NULL)
        if (member[0] != '\0')
            status = add_member(&reading, member);
    if (status == CV_EXIT_DONE && out->count == 0)
        return cv_print_error(CV_EXIT_USAGE,
                              "--workers: expected a list of workers, got nothing");
    return status;
}
