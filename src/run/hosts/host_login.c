/* host_login.c -- who one is reached as: names, addresses, users. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "run/hosts/host_spec_internal.h"

#define URL "ssh://"

enum { MOST_PORT = 65535 };

#define DIGITS "0123456789"

enum cleave_status cv_host_word_refuse(const struct cv_host_reading *reading,
                                       struct cv_text_part got, const char *expected)
{
    char shown[80], line[16] = "";

    if (reading->line > 0)
        snprintf(line, sizeof line, ":%u", reading->line);
    return cv_fail(reading->err, CLEAVE_EINPUT, "%s%s: expected %s, got '%s'",
                   reading->where, line, expected,
                   cv_shown(got.at, got.length, shown, sizeof shown));
}

struct cv_text_part cv_behind(struct cv_text_part text, size_t length)
{
    return (struct cv_text_part){ text.at + length, text.length - length };
}

const char *cv_host_hint(const char *word, bool in_file)
{
    if (strcmp(word, "-") == 0)
        return "a host; --hosts-file - reads them from standard input";
    if (strspn(word, ".") == strlen(word))
        return "a host; files are named by --hosts-file, such as "
               "~/.parallel/sshloginfile";
    if (word[0] == '@')
        return "the hosts of a group by their names, or --hosts-file FILE for those of a "
               "file";
    if (strpbrk(word, "{}") != NULL || strstr(word, "..") != NULL)
        return "a range in brackets, as in node[1-4]";
    if (strstr(word, "://") != NULL)
        return "ssh://user@host:port, or the host alone";
    if (word[0] == ':' && word[1] != '\0' && strspn(word + 1, DIGITS) == strlen(word + 1))
        return "'::4' for 4 slots of this machine";
    if (strspn(word, DIGITS) == strlen(word))
        return "a host before a number of slots, as in host:4";
    if (strchr(word, ':') != NULL)
        return "host:SLOTS, or an address of IPv6 in brackets, as in [fe80::1]:4";
    if (word[0] != '-' && strpbrk(word, "*=()") != NULL)
        return "host:4 for 4 slots";
    if (strpbrk(word, "\"'") != NULL)
        return "hosts without quotes";
    if (!in_file && strpbrk(word, " \t;") != NULL)
        return "commas between hosts, as in a,b:4,me@c";
    return "the name of a host: letters, digits, '.', '_', '-'";
}

/* --- numbers and names -------------------------------------------------------------------- */

bool cv_is_ssh_url(struct cv_text_part text)
{
    return text.length > strlen(URL) && memcmp(text.at, URL, strlen(URL)) == 0;
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

static bool is_host(const char *text)
{
    return is_name(text, "") && strstr(text, "..") == NULL &&
           text[strspn(text, "0123456789")] != '\0' && strcmp(text, ".") != 0;
}

/* An address of IPv6, with the link that it is on if that matters: fe80::1%eth0. */
static bool is_address(const char *text)
{
    const size_t length = strspn(text, "0123456789abcdefABCDEF:.");

    return length > 1 && memchr(text, ':', length) != NULL &&
           (text[length] == '\0' ||
            (text[length] == '%' && is_name(text + length + 1, "")));
}

static enum cleave_status keep(struct cv_host_reading *reading,
                               struct cv_host_spec_item word)
{
    struct cv_host_spec *out = reading->out;
    struct cv_host_spec_item *grown = out->items;
    const char *name = word.name != NULL ? word.name : ":";

    if (out->count >= CV_HOST_NAMES_MOST)
        return cv_host_word_refuse(reading, (struct cv_text_part){ name, strlen(name) },
                                   "at most 65536 hosts");
    if (out->count == out->room)
        grown = cv_grow(out->items, &out->room, out->count + 1, sizeof *grown);
    if (grown == NULL)
        return cv_fail_memory(reading->err, "the hosts");
    out->items = grown;
    grown[out->count++] = word;
    return CLEAVE_OK;
}

/* A host whose name is what follows the user, if there is one. */
static enum cleave_status add_one(struct cv_host_reading *reading, const char *login,
                                  bool in_brackets, const char *ssh, uint32_t slots)
{
    const struct cv_text_part got = { login, strlen(login) };
    const char *at = strrchr(login, '@');
    const char *name = at != NULL ? at + 1 : login;

    if (at != NULL && at > login) {
        char user[CV_HOST_NAME_MOST + 1];

        memcpy(user, login, (size_t)(at - login));
        user[at - login] = '\0';
        if (!is_name(user, "+$"))
            return cv_host_word_refuse(reading, got, "a user before the '@'");
    }
    if (at == login || (!in_brackets && !is_host(name)))
        return cv_host_word_refuse(reading, got,
                                   cv_host_hint(at == login ? login : name,
                                                reading->line > 0));
    return keep(reading, (struct cv_host_spec_item){ name, login, ssh, slots, 1 });
}

/* --- logins ------------------------------------------------------------------------------- */

const char *cv_host_copy(const struct cv_host_reading *reading, struct cv_text_part text)
{
    char *copy = cv_array(reading->arena, text.length + 1, 1);

    if (copy != NULL)
        memcpy(copy, text.at, text.length);
    else
        (void)cv_fail_memory(reading->err, "the hosts");
    return copy;
}

/* "ssh://me@host:2222", which ssh takes as it is; its workers are called as the host. */
static enum cleave_status add_url(struct cv_host_reading *reading,
                                  struct cv_text_part url, const char *ssh,
                                  uint32_t slots)
{
    static const char expected[] = "ssh://user@host:port, or the host alone";
    struct cv_host_spec_item word = { .ssh = ssh, .slots = slots, .times = 1 };
    struct cv_text_part rest = cv_behind(url, strlen(URL));
    const char *user = NULL;
    size_t end;
    uint32_t port = 1;

    for (size_t i = rest.length; i-- > 0;)
        if (rest.at[i] == '@') {
            user = cv_host_copy(reading, (struct cv_text_part){ rest.at, i });
            if (user == NULL)
                return CLEAVE_ENOMEM;
            rest = cv_behind(rest, i + 1);
            break;
        }
    end = rest.length;
    while (end > 0 && rest.at[end - 1] >= '0' && rest.at[end - 1] <= '9')
        end--;
    if (end > 1 && end < rest.length && rest.at[end - 1] == ':') {
        port = 0;
        for (size_t i = end; i < rest.length && port <= MOST_PORT; i++)
            port = port * 10 + (uint32_t)(rest.at[i] - '0');
        rest.length = end - 1;
    }
    if (rest.length > 2 && rest.at[0] == '[' && rest.at[rest.length - 1] == ']')
        rest = (struct cv_text_part){ rest.at + 1, rest.length - 2 };
    word.name = cv_host_copy(reading, rest);
    word.login = cv_host_copy(reading, url);
    if (word.name == NULL || word.login == NULL)
        return CLEAVE_ENOMEM;
    if ((user != NULL && !is_name(user, "+$")) || port < 1 || port > MOST_PORT ||
        url.length > CV_HOST_NAME_MOST ||
        (!is_name(word.name, "") && !is_address(word.name)))
        return cv_host_word_refuse(reading, url, expected);
    return keep(reading, word);
}

size_t cv_find_address(struct cv_text_part login)
{
    size_t begin = login.length;

    while (begin > 0 && login.at[begin - 1] != '@')
        begin--;
    return begin + 2 < login.length && login.at[begin] == '[' &&
                   login.at[login.length - 1] == ']' &&
                   memchr(login.at + begin, ':', login.length - begin) != NULL
               ? begin
               : login.length;
}

/* Without the brackets, which ssh does not know. */
static enum cleave_status add_address(struct cv_host_reading *reading,
                                      struct cv_text_part login, size_t begin,
                                      const char *ssh, uint32_t slots)
{
    char *copy = cv_array(reading->arena, login.length + 1, 1);
    const size_t inside = login.length - begin - 2;

    if (copy == NULL)
        return cv_fail_memory(reading->err, "the hosts");
    memcpy(copy, login.at, begin);
    memcpy(copy + begin, login.at + begin + 1, inside);
    if (begin > CV_HOST_NAME_MOST || !is_address(copy + begin))
        return cv_host_word_refuse(reading, login,
                                   "an address of IPv6 in the brackets, as in [fe80::1]");
    return add_one(reading, copy, true, ssh, slots);
}

enum cleave_status cv_host_login_add(struct cv_host_reading *reading,
                                     struct cv_text_part login, const char *ssh,
                                     uint32_t slots)
{
    const size_t address = cv_find_address(login);
    struct cv_host_names names = { NULL, 0, 0 };
    struct cleave_error why;
    enum cleave_status status;
    char line[16] = "";

    if (login.length == 1 && login.at[0] == ':')
        return keep(reading, (struct cv_host_spec_item){ .slots = slots, .times = 1 });
    if (cv_is_ssh_url(login))
        return add_url(reading, login, ssh, slots);
    if (address < login.length)
        return add_address(reading, login, address, ssh, slots);
    status = cv_host_range_expand(login.at, login.length, reading->arena, &names, &why);
    if (reading->line > 0)
        snprintf(line, sizeof line, ":%u", reading->line);
    if (status != CLEAVE_OK)
        status =
            cv_fail(reading->err, status, "%s%s: %s", reading->where, line, why.text);
    for (size_t i = 0; status == CLEAVE_OK && i < names.count; i++)
        status = add_one(reading, names.items[i], false, ssh, slots);
    free(names.items);
    return status;
}
