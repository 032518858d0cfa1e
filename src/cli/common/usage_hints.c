/* usage_hints.c -- hints for mistyped calls. SPDX-License-Identifier: MIT */
#include "cli/common/usage_hints.h"

#include <ctype.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file_target.h"
#include "cli/common/output.h"

enum { PART_MOST = 4096, FIRST_LINE = 4096 };

/* A unit as it follows a number; NULL: it is not one. */
static const char *find_unit(const char *word)
{
    static const char *const units[][2] = {
        { "B", "" },      { "bytes", "" },      { "k", "k" },       { "K", "k" },
        { "kB", "kB" },   { "KB", "kB" },       { "M", "M" },       { "MB", "MB" },
        { "G", "G" },     { "GB", "GB" },       { "T", "T" },       { "TB", "TB" },
        { "KiB", "KiB" }, { "MiB", "MiB" },     { "GiB", "GiB" },   { "TiB", "TiB" },
        { "s", "s" },     { "sec", "s" },       { "seconds", "s" }, { "ms", "ms" },
        { "us", "us" },   { "ns", "ns" },       { "m", "min" },     { "min", "min" },
        { "h", "h" },     { "minutes", "min" }, { "hours", "h" },   { "%", "%" },
    };

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(word, units[i][0]) == 0)
            return units[i][1];
    return NULL;
}

bool cv_usage_hint_unit(int count, char *const *words, const char *word, char *buffer,
                        size_t size)
{
    const char *unit = find_unit(word);

    if (unit == NULL)
        return false;
    for (int i = 1; i < count; i++) {
        const char *before = words[i - 1];

        if (words[i] != word)
            continue;
        snprintf(buffer, size, "%s%s", before, unit);
        return before[0] >= '0' && before[0] <= '9' &&
               before[strspn(before, "0123456789.")] == '\0';
    }
    return false;
}

static bool is_list(const char *name)
{
    char first[PART_MOST];
    const size_t length = strcspn(name, ", ");

    if (name[length] == '\0' || length == 0 || length >= sizeof first)
        return false;
    memcpy(first, name, length);
    first[length] = '\0';
    return access(first, F_OK) == 0;
}

static bool is_remote(const char *name)
{
    const char *colon = strchr(name, ':');

    return colon != NULL && colon > name && colon[1] != '\0' &&
           memchr(name, '/', (size_t)(colon - name)) == NULL;
}

const char *cv_usage_hint_name(const char *name, char *buffer, size_t size)
{
    const size_t length = strlen(name);

    buffer[0] = '\0';
    if (name[0] == '~')
        snprintf(buffer, size, "; a shell knows ~ only outside of quotes");
    else if (length > 0 && name[length - 1] == '\r')
        snprintf(buffer, size,
                 "; it ends in a carriage return, as lines of a script of Windows do: "
                 "sed -i 's/\\r$//' SCRIPT");
    else if (strstr(name, "://") != NULL)
        snprintf(buffer, size, "; from the network: curl -sfL %s | cleave ...",
                 CV_ECHO(name));
    else if (is_list(name))
        snprintf(buffer, size, "; repeat the option for each file: -i FILE -i FILE");
    else if (is_remote(name))
        snprintf(buffer, size, "; from another machine: ssh %.*s cat %s | cleave ...",
                 (int)strcspn(name, ":"), name, CV_ECHO(strchr(name, ':') + 1));
    return buffer;
}

/* Pipes give 0 bytes: reading would wait and consume. */
static size_t read_beginning(const char *name, char *bytes, size_t max)
{
    struct stat facts;
    FILE *file =
        stat(name, &facts) == 0 && S_ISREG(facts.st_mode) ? fopen(name, "re") : NULL;
    size_t length;

    if (file == NULL)
        return 0;
    length = fread(bytes, 1, max, file);
    fclose(file);
    return length;
}

void cv_usage_hint_seeming(const char *name, const char *what, const char *advice)
{
    if (what == NULL)
        return;
    cv_print_note(
        "%s is cut between lines; it seems to be %s: %s. --split lines, if that is right",
        strcmp(name, "-") == 0 ? "standard input" : CV_ECHO(name), what, advice);
}

void cv_usage_hint_endless(const char *name, const char *what, const char *advice)
{
    cv_print_note("%s: no line ends in its first MiB, and one worker had all of it; it "
                  "seems to be %s: %s",
                  strcmp(name, "-") == 0 ? "standard input" : CV_ECHO(name), what,
                  advice);
}

/* False: it is not text. */
static bool read_first_line(const char *name, char line[FIRST_LINE])
{
    const size_t length = read_beginning(name, line, FIRST_LINE - 1);

    line[length] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    for (const char *at = line; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' && *at != '\t')
            return false;
    return true;
}

void cv_usage_hint_separator(const char *name)
{
    char line[FIRST_LINE];

    if (!read_first_line(name, line) || strchr(line, ',') != NULL ||
        strpbrk(line, ";\t") == NULL)
        return;
    cv_print_note("the first line of %s has no comma, but %s, and csv only finds quotes "
                  "next to commas: --split '%s'",
                  CV_ECHO(name), strchr(line, ';') != NULL ? "';'" : "tabs",
                  strchr(line, ';') != NULL ? "csv:;" : "csv:tab");
}

enum { BEGINNING = 4096 };

/* tee() copies from a pipe without consuming. */
static ssize_t look_into_pipe(int fd, int wait_ms, char *bytes)
{
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    ssize_t length = 0;
    int copy[2];

    if (poll(&ready, 1, wait_ms) <= 0 || pipe2(copy, O_CLOEXEC) != 0)
        return 0;
    if (tee(fd, copy[1], BEGINNING, SPLICE_F_NONBLOCK) > 0)
        length = read(copy[0], bytes, BEGINNING);
    close(copy[0]);
    close(copy[1]);
    return length;
}

static ssize_t look(int fd, int wait_ms, char *bytes)
{
    struct stat facts;

    if (fstat(fd, &facts) != 0)
        return 0;
    if (S_ISFIFO(facts.st_mode))
        return look_into_pipe(fd, wait_ms, bytes);
    return S_ISREG(facts.st_mode) ? pread(fd, bytes, BEGINNING, lseek(fd, 0, SEEK_CUR))
                                  : 0;
}

enum cv_listed_files cv_lists_files(int fd, int wait_ms)
{
    char bytes[BEGINNING];
    const ssize_t length = look(fd, wait_ms, bytes);
    char *name = bytes, *end;
    bool nulls;

    if (length <= 0)
        return CV_LISTS_NO_FILES;
    nulls = memchr(bytes, '\0', (size_t)length) != NULL;
    /* The last name may be cut. */
    while ((end = memchr(name, nulls ? '\0' : '\n', (size_t)(bytes + length - name))) !=
           NULL) {
        *end = '\0';
        if (access(name, F_OK) != 0)
            return CV_LISTS_NO_FILES;
        name = end + 1;
    }
    if (name == bytes)
        return CV_LISTS_NO_FILES;
    return nulls ? CV_LISTS_NULLS : CV_LISTS_LINES;
}

/* A shell takes unset variables for empty: 'sort {} >out.$PARALLEL_SEQ' would write
 * all outputs to one file. */

#define OF_ARRAY "the number of a task is an item here: '... {} ...' ::: {1..100}"

static const struct {
    const char *name, *here;
} variables[] = {
    { "PARALLEL_SEQ", "the number of the command is $CLEAVE_CHUNK, or {#} of an item" },
    { "PARALLEL_JOBSLOT", "the place of the worker is $CLEAVE_SLOT, or {%} of an item" },
    { "SLURM_ARRAY_TASK_ID", OF_ARRAY },
    { "PBS_ARRAY_INDEX", OF_ARRAY },
    { "PBS_ARRAYID", OF_ARRAY },
    { "SGE_TASK_ID", OF_ARRAY },
    { "LSB_JOBINDEX", OF_ARRAY },
};

static bool asks_for(const char *word, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = word; (at = strstr(at, name)) != NULL; at += length) {
        const char *sign = at > word && at[-1] == '{' ? at - 1 : at;
        const char end = at[length];

        if (sign > word && sign[-1] == '$' && end != '_' && !isalnum((unsigned char)end))
            return true;
    }
    return false;
}

static bool sets(const char *const *words, size_t count, const char *name)
{
    const size_t length = strlen(name);

    for (size_t i = 0; i < count; i++)
        for (const char *at = words[i]; (at = strstr(at, name)) != NULL; at += length)
            if (at[length] == '=' && (at == words[i] || strchr("${", at[-1]) == NULL))
                return true;
    return false;
}

int cv_foreign_variables_check(const char *const *words, size_t count)
{
    for (size_t v = 0; v < sizeof variables / sizeof *variables; v++)
        for (size_t i = 0; i < count; i++)
            if (asks_for(words[i], variables[v].name) &&
                getenv(variables[v].name) == NULL &&
                !sets(words, count, variables[v].name))
                return cv_refuse("$%s is not set here, so it would be empty: %s",
                                 variables[v].name, variables[v].here);
    return CV_EXIT_DONE;
}
