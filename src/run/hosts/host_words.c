/* host_words.c -- hosts as people write them. SPDX-License-Identifier: MIT */
#include "run/hosts/host_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define BLANK " \t\r\v\f"

/* Where words are read from and put. */
struct reading {
    const char *where;
    unsigned line; /* from 1; 0: no file */
    struct cv_arena *arena;
    struct cv_host_words *out;
    struct cleave_error *err;
};

/* Part of a text, without the end of a string. */
struct span {
    const char *at;
    size_t length;
};

static enum cleave_status refuse(const struct reading *reading, struct span got,
                                 const char *expected)
{
    char shown[80], line[16] = "";

    if (reading->line > 0)
        snprintf(line, sizeof line, ":%u", reading->line);
    return cv_fail(reading->err, CLEAVE_EINPUT, "%s%s: expected %s, got '%s'",
                   reading->where, line, expected,
                   cv_shown(got.at, got.length, shown, sizeof shown));
}

static bool is_blank(char c)
{
    return c != '\0' && strchr(BLANK, c) != NULL;
}

static struct span trim(struct span text)
{
    while (text.length > 0 && is_blank(text.at[0]))
        text = (struct span){ text.at + 1, text.length - 1 };
    while (text.length > 0 && is_blank(text.at[text.length - 1]))
        text.length--;
    return text;
}

/* --- numbers and names -------------------------------------------------------------------- */

/* All of it is a number of slots. */
static bool read_slots(struct span text, uint32_t *out)
{
    *out = 0;
    if (text.length == 0)
        return false;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        *out = *out * 10 + (uint32_t)(text.at[i] - '0');
        if (*out > CV_HOST_SLOTS_MOST)
            return false;
    }
    return *out > 0;
}

/* What ssh and the shells that it passes through take for a name, whatever it is. */
static bool is_name(const char *text, const char *more)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789._-";
    size_t length = 0;

    while (text[length] != '\0' &&
           (strchr(plain, text[length]) != NULL || strchr(more, text[length]) != NULL))
        length++;
    return length > 0 && text[length] == '\0' && text[0] != '-';
}

static enum cleave_status add_one(struct reading *reading, const char *login,
                                  const char *ssh, uint32_t slots)
{
    struct cv_host_words *out = reading->out;
    const struct span got = { login != NULL ? login : ":",
                              login != NULL ? strlen(login) : 1 };
    const char *at = login != NULL ? strrchr(login, '@') : NULL;
    const char *name = at != NULL ? at + 1 : login;
    struct cv_host_word *grown = out->items;

    if (at != NULL) {
        char user[CV_HOST_NAME_MOST + 1];

        memcpy(user, login, (size_t)(at - login));
        user[at - login] = '\0';
        if (!is_name(user, "+$"))
            return refuse(reading, got, "a user before the '@'");
    }
    if (name != NULL && !is_name(name, ""))
        return refuse(reading, got, "the name of a host: letters, digits, '.', '_', '-'");
    if (out->count >= CV_HOST_NAMES_MOST)
        return refuse(reading, got, "at most 65536 hosts");
    if (out->count == out->room)
        grown = cv_grow(out->items, &out->room, out->count + 1, sizeof *grown);
    if (grown == NULL)
        return cv_fail_memory(reading->err, "the hosts");
    out->items = grown;
    grown[out->count++] = (struct cv_host_word){ name, login, ssh, slots, 1 };
    return CLEAVE_OK;
}

/* All hosts that a login with ranges stands for. */
static enum cleave_status add_login(struct reading *reading, struct span login,
                                    const char *ssh, uint32_t slots)
{
    struct cv_host_names names = { NULL, 0, 0 };
    struct cleave_error why;
    enum cleave_status status;
    char line[16] = "";

    if (login.length == 1 && login.at[0] == ':')
        return add_one(reading, NULL, NULL, slots);
    status = cv_host_range_expand(login.at, login.length, reading->arena, &names, &why);
    if (reading->line > 0)
        snprintf(line, sizeof line, ":%u", reading->line);
    if (status != CLEAVE_OK)
        status =
            cv_fail(reading->err, status, "%s%s: %s", reading->where, line, why.text);
    for (size_t i = 0; status == CLEAVE_OK && i < names.count; i++)
        status = add_one(reading, names.items[i], ssh, slots);
    free(names.items);
    return status;
}

/* --- one word ----------------------------------------------------------------------------- */

/* "host", "host:4", ":", "::4". */
static enum cleave_status add_plain(struct reading *reading, struct span word)
{
    uint32_t slots = 0;
    struct span login = word;

    for (size_t i = word.length; i-- > 1;)
        if (word.at[i] == ':') {
            login.length = i;
            if (!read_slots((struct span){ word.at + i + 1, word.length - i - 1 },
                            &slots))
                return refuse(reading, word,
                              "a number of slots, 1 to 4096, after the ':'");
            break;
        }
    return add_login(reading, login, NULL, slots);
}

/* The last blank, before which words of ssh stand; 0: there is none. */
static size_t last_blank(struct span word)
{
    for (size_t i = word.length; i-- > 0;)
        if (is_blank(word.at[i]))
            return i;
    return 0;
}

/* Whether words that are to come before a host look like a command for it. */
static bool is_shell(struct span words)
{
    size_t end = 0;

    while (end < words.length && !is_blank(words.at[end]))
        end++;
    return end >= 2 && memcmp(words.at + end - 2, "sh", 2) == 0;
}

/* "4/" at the begin is taken off. */
static bool take_count(struct span *word, uint32_t *slots)
{
    const char *slash = memchr(word->at, '/', word->length);
    const size_t length = slash != NULL ? (size_t)(slash - word->at) : 0;

    if (slash == NULL || word->at[0] == '/' || memchr(word->at, ' ', length) != NULL)
        return true; /* of the path of ssh, if any */
    if (!read_slots((struct span){ word->at, length }, slots))
        return false;
    *word = trim((struct span){ slash + 1, word->length - length - 1 });
    return true;
}

/* "host", "4/host", "4/ssh -p 2222 me@host", ":". */
static enum cleave_status add_parallel(struct reading *reading, struct span whole)
{
    struct span word = whole;
    const char *ssh = NULL;
    uint32_t slots = 0;
    size_t blank;

    if (!take_count(&word, &slots))
        return refuse(reading, whole, "a number of slots, 1 to 4096, before the '/'");
    blank = last_blank(word);
    if (blank > 0) {
        const struct span words = trim((struct span){ word.at, blank });
        char *copy = cv_array(reading->arena, words.length + 1, 1);

        if (!is_shell(words))
            return refuse(reading, whole, "one host, or 'ssh' and its options before it");
        if (copy == NULL)
            return cv_fail_memory(reading->err, "the hosts");
        memcpy(copy, words.at, words.length);
        ssh = copy;
        word = (struct span){ word.at + blank + 1, word.length - blank - 1 };
    }
    if (word.length > 1 && memchr(word.at, ':', word.length) != NULL)
        return refuse(reading, whole,
                      "N/host for slots, 'ssh -p PORT host' for a port, and no password");
    if (word.length == 0 || (word.length == 2 && memcmp(word.at, "..", 2) == 0))
        return refuse(reading, whole,
                      "a host; files are named by --hosts-file, such as "
                      "~/.parallel/sshloginfile");
    return add_login(reading, word, ssh, slots);
}

enum cleave_status cv_host_words_add(const char *list, enum cv_host_spelling spelling,
                                     const char *where, struct cv_arena *arena,
                                     struct cv_host_words *out, struct cleave_error *err)
{
    struct reading reading = { where, 0, arena, out, err };

    for (;;) {
        const size_t length = cv_host_word_length(list);
        const struct span word = trim((struct span){ list, length });

        if (word.length == 0)
            return refuse(&reading, (struct span){ list, strlen(list) },
                          "a host before and after each comma");
        CV_TRY(spelling == CV_HOSTS_PLAIN ? add_plain(&reading, word)
                                          : add_parallel(&reading, word));
        if (list[length] == '\0')
            return CLEAVE_OK;
        list += length + 1;
    }
}

/* --- lines -------------------------------------------------------------------------------- */

/* "slots=4 max-slots=8" after the host. */
static enum cleave_status read_fields(struct reading *reading, struct span line,
                                      struct span fields, uint32_t *slots)
{
    while (fields.length > 0) {
        size_t end = 0;
        const char *is;
        size_t key;
        uint32_t number;

        while (end < fields.length && !is_blank(fields.at[end]))
            end++;
        is = memchr(fields.at, '=', end);
        key = is != NULL ? (size_t)(is - fields.at) : 0;
        if (is == NULL || !read_slots((struct span){ is + 1, end - key - 1 }, &number))
            return refuse(reading, line, "'host slots=N', with 1 to 4096");
        if (key == 5 && memcmp(fields.at, "slots", 5) == 0)
            *slots = number;
        else if (key != 9 || (memcmp(fields.at, "max_slots", 9) != 0 &&
                              memcmp(fields.at, "max-slots", 9) != 0))
            return refuse(reading, line, "'host slots=N'");
        fields = trim((struct span){ fields.at + end, fields.length - end });
    }
    return CLEAVE_OK;
}

static enum cleave_status add_line(struct reading *reading, struct span line)
{
    size_t end = 0;
    uint32_t slots = 0;
    struct span fields;

    while (end < line.length && !is_blank(line.at[end]))
        end++;
    fields = trim((struct span){ line.at + end, line.length - end });
    if (memchr(fields.at, '=', fields.length) != NULL &&
        !is_shell(line)) { /* ssh -o NAME=VALUE host */
        CV_TRY(read_fields(reading, line, fields, &slots));
        return add_login(reading, (struct span){ line.at, end }, NULL, slots);
    }
    if (fields.length > 0 || memchr(line.at, '/', line.length) != NULL)
        return add_parallel(reading, line);
    return add_plain(reading, line);
}

enum cleave_status cv_host_lines_add(const char *text, const char *where,
                                     struct cv_arena *arena, struct cv_host_words *out,
                                     struct cleave_error *err)
{
    struct reading reading = { where, 0, arena, out, err };

    for (const char *next; *text != '\0'; text = next) {
        struct span line = { text, strcspn(text, "\n") };
        size_t end = 0;

        next = text + line.length + (text[line.length] != '\0');
        reading.line++;
        /* A comment begins a line or follows a blank. */
        while (end < line.length &&
               !(line.at[end] == '#' && (end == 0 || is_blank(line.at[end - 1]))))
            end++;
        line.length = end;
        line = trim(line);
        if (line.length > 0)
            CV_TRY(add_line(&reading, line));
    }
    return CLEAVE_OK;
}

/* --- together ----------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* By name, this machine first; those of one name as they stood. */
static int by_name(const void *a, const void *b)
{
    const struct cv_host_word *first = *(struct cv_host_word *const *)a;
    const struct cv_host_word *second = *(struct cv_host_word *const *)b;
    const int names = strcmp(first->name != NULL ? first->name : "",
                             second->name != NULL ? second->name : "");

    return names != 0 ? names : (first > second) - (first < second);
}

/* Put `word` to the one of its name before it. */
static enum cleave_status add_up(struct cv_host_word *first, struct cv_host_word *word,
                                 const char *where, struct cleave_error *err)
{
    const char *name = word->name != NULL ? word->name : ":";

    if (!same_text(first->login, word->login) || !same_text(first->ssh, word->ssh))
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: host '%s' is named twice and reached in different ways",
                       where, name);
    if ((first->slots > 0) != (word->slots > 0))
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: host '%s' is named twice, with a number of slots and "
                       "without",
                       where, name);
    if (first->slots + word->slots > CV_HOST_SLOTS_MOST ||
        first->times >= CV_HOST_SLOTS_MOST)
        return cv_fail(err, CLEAVE_EINPUT, "%s: host '%s' has more than %d slots", where,
                       name, (int)CV_HOST_SLOTS_MOST);
    first->slots += word->slots;
    first->times++;
    word->times = 0;
    return CLEAVE_OK;
}

enum cleave_status cv_host_words_settle(struct cv_host_words *words, bool lines_count,
                                        const char *where, struct cleave_error *err)
{
    struct cv_host_word **order = calloc(words->count + 1, sizeof(*order));
    struct cv_host_word *first = NULL;
    enum cleave_status status = CLEAVE_OK;
    size_t kept = 0;

    if (order == NULL)
        return cv_fail_memory(err, "the hosts");
    for (size_t i = 0; i < words->count; i++)
        order[i] = &words->items[i];
    qsort(order, words->count, sizeof(*order), by_name);
    for (size_t i = 0; status == CLEAVE_OK && i < words->count; i++) {
        if (first == NULL || !same_text(first->name, order[i]->name))
            first = order[i];
        else
            status = add_up(first, order[i], where, err);
        lines_count = lines_count || (first->times > 1 && first->slots == 0);
    }
    free(order);
    for (size_t i = 0; status == CLEAVE_OK && i < words->count; i++) {
        if (words->items[i].times == 0)
            continue;
        words->items[kept] = words->items[i];
        if (lines_count && words->items[kept].slots == 0)
            words->items[kept].slots = words->items[kept].times;
        kept++;
    }
    words->count = status == CLEAVE_OK ? kept : words->count;
    return status;
}
