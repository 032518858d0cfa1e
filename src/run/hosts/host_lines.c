/* host_lines.c -- hosts of a file, a line each. SPDX-License-Identifier: MIT
 *
 * GNU parallel, Open MPI, MPICH, PBS, Slurm, LSF and Grid Engine have files of hosts; a line of any of
 * them is taken for what it says, and what does not matter here is passed over. */
#include <string.h>

#include "base/text.h"
#include "run/hosts/host_spec_internal.h"

/* What a field says of the host before it. */
enum field { SLOTS, USER, NOTHING, UNKNOWN };

static enum field field_of(struct cv_text_part name)
{
    static const struct {
        const char *name;
        enum field is;
    } known[] = {
        { "slots", SLOTS },       { "cpu", SLOTS },         { "cpus", SLOTS },
        { "count", SLOTS },       { "np", SLOTS },          { "user", USER },
        { "username", USER },     { "user_name", USER },    { "user-name", USER },
        { "max_slots", NOTHING }, { "max-slots", NOTHING }, { "ifhn", NOTHING },
        { "binding", NOTHING },
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == name.length &&
            memcmp(known[i].name, name.at, name.length) == 0)
            return known[i].is;
    return UNKNOWN;
}

/* The next word, which is taken off. */
static struct cv_text_part take_word(struct cv_text_part *rest)
{
    struct cv_text_part word = *rest;

    word.length = 0;
    while (word.length < rest->length && !cv_is_blank(rest->at[word.length]))
        word.length++;
    *rest = cv_trim(cv_behind(*rest, word.length));
    return word;
}

/* "slots=4", "slots = 4": what stands before and behind the '=', which are taken off. */
static bool take_field(struct cv_text_part *rest, struct cv_text_part *name,
                       struct cv_text_part *value)
{
    const char *is = memchr(rest->at, '=', rest->length);

    if (is == NULL)
        return false;
    *name = cv_trim((struct cv_text_part){ rest->at, (size_t)(is - rest->at) });
    *rest = cv_trim(cv_behind(*rest, (size_t)(is - rest->at) + 1));
    *value = take_word(rest);
    return value->length > 0;
}

/* "host:2" or "host", before fields. */
static enum cleave_status add_host(struct cv_host_reading *reading,
                                   struct cv_text_part host, struct cv_text_part user,
                                   uint32_t slots)
{
    struct cv_host_spec *out = reading->out;
    const size_t first = out->count;
    struct cv_text text = { NULL, 0, 0, false };
    enum cleave_status status;

    if (user.length > 0)
        cv_text_add(&text, "%.*s@", (int)user.length, user.at);
    cv_text_add(&text, "%.*s", (int)host.length, host.at);
    status =
        text.failed
            ? cv_fail_memory(reading->err, "the hosts")
            : cv_host_word_add(reading, (struct cv_text_part){ text.bytes, text.length },
                               CV_HOSTS_PLAIN);
    cv_text_done(&text);
    for (size_t i = first; status == CLEAVE_OK && slots > 0 && i < out->count; i++)
        out->items[i].slots = slots;
    return status;
}

/* "host slots=4 max-slots=8", "host:4 ifhn=other". */
static enum cleave_status add_fields(struct cv_host_reading *reading,
                                     struct cv_text_part line)
{
    struct cv_text_part rest = line, host = take_word(&rest), name, value,
                        user = { "", 0 };
    uint32_t slots = 0;

    while (rest.length > 0) {
        enum field is;

        if (!take_field(&rest, &name, &value))
            return cv_host_word_refuse(reading, line, "'host slots=N', with 1 to 4096");
        is = field_of(name);
        if (is == UNKNOWN)
            return cv_host_word_refuse(reading, line, "'host slots=N'");
        if (is == SLOTS && !cv_host_slots_read(value, &slots))
            return cv_host_word_refuse(reading, line, "'host slots=N', with 1 to 4096");
        if (is == USER)
            user = value;
    }
    return add_host(reading, host, user, slots);
}

/* "host 4" or "host 4 queue@host range", as LSF and Grid Engine have it. */
static bool is_granted(struct cv_text_part line, struct cv_text_part *host,
                       uint32_t *slots)
{
    struct cv_text_part rest = line, queue;

    *host = take_word(&rest);
    if (!cv_host_slots_read(take_word(&rest), slots))
        return false;
    queue = take_word(&rest);
    return queue.length == 0 || memchr(queue.at, '@', queue.length) != NULL;
}

/* Words between commas. */
static enum cleave_status add_list(struct cv_host_reading *reading,
                                   struct cv_text_part line)
{
    for (;;) {
        const size_t whole = cv_host_word_length(line.at);
        const size_t length = whole < line.length ? whole : line.length;

        if (length == 0)
            return cv_host_word_refuse(reading, line,
                                       "a host before and after each comma");
        CV_TRY(cv_host_word_add(reading, (struct cv_text_part){ line.at, length },
                                CV_HOSTS_PLAIN));
        if (length == line.length)
            return CLEAVE_OK;
        line = cv_behind(line, length + 1);
    }
}

static bool begins_with(struct cv_text_part text, const char *with)
{
    return text.length >= strlen(with) && memcmp(text.at, with, strlen(with)) == 0;
}

static enum cleave_status add_line(struct cv_host_reading *reading,
                                   struct cv_text_part line)
{
    struct cv_text_part rest = line, host = take_word(&rest);
    uint32_t slots;

    if (begins_with(line, "workers:") || begins_with(line, "port:") ||
        begins_with(line, "{"))
        return cv_host_word_refuse(reading, line,
                                   "a host in each line; a platform file is named by "
                                   "--hosts");
    if (rest.length == 0)
        return memchr(host.at, '/', host.length) != NULL && !cv_is_ssh_url(host) &&
                       memchr(host.at, ',', host.length) == NULL
                   ? cv_host_word_add(reading, line, CV_HOSTS_PARALLEL)
                   : add_list(reading, line);
    if (is_granted(line, &host, &slots))
        return add_host(reading, host, (struct cv_text_part){ "", 0 }, slots);
    if (begins_with(rest, "-") && !cv_is_shell(line))
        return cv_host_word_refuse(reading, line,
                                   "options before the host, as in 'ssh -p 2222 host'");
    if (memchr(rest.at, '=', rest.length) != NULL &&
        !cv_is_shell(line)) /* ssh -o NAME=VALUE host */
        return add_fields(reading, line);
    return cv_host_word_add(reading, line, CV_HOSTS_PARALLEL);
}

enum cleave_status cv_host_lines_add(const char *text, const char *where,
                                     struct cv_arena *arena, struct cv_host_spec *out,
                                     struct cleave_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, by editors of Windows */
    struct cv_host_reading reading = { where, 0, arena, out, err };

    if (strncmp(text, mark, strlen(mark)) == 0)
        text += strlen(mark);
    for (const char *next; *text != '\0'; text = next) {
        struct cv_text_part line = { text, strcspn(text, "\n") };
        size_t end = 0;

        next = text + line.length + (text[line.length] != '\0');
        reading.line++;
        /* A comment begins a line or follows a blank. */
        while (end < line.length &&
               !(line.at[end] == '#' && (end == 0 || cv_is_blank(line.at[end - 1]))))
            end++;
        line.length = end;
        line = cv_trim(line);
        if (line.length > 0)
            CV_TRY(add_line(&reading, line));
    }
    return CLEAVE_OK;
}
