/* host_spec.c -- hosts as users write them, in lists and files.
 * SPDX-License-Identifier: MIT */
#include "run/hosts/host_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/text.h"
#include "engine/rate.h"

/* --- ranges of names ---------------------------------------------------------------------- */

enum { MOST_DIGITS = 9 };

/* A part of a string, not terminated. */
struct part {
    const char *at;
    size_t length;
};

/* A word that is expanded; `name` is the beginning of the next name. */
struct making {
    struct part word;
    char name[CV_HOST_NAME_MOST + 1];
    size_t used;
    struct cv_arena *arena;
    struct cv_host_names *out;
    struct cleave_error *err;
};

static enum cleave_status refuse_range(const struct making *making, const char *expected)
{
    char shown[80];

    return cv_fail(making->err, CLEAVE_EINPUT, "expected %s, got '%s'", expected,
                   cv_shown(making->word.at, making->word.length, shown, sizeof shown));
}

static enum cleave_status add_name(struct making *making)
{
    struct cv_host_names *out = making->out;
    const char *name;

    making->name[making->used] = '\0';
    if (out->count >= CV_HOST_NAMES_MOST)
        return cv_fail(making->err, CLEAVE_EINPUT, "more than %d hosts",
                       (int)CV_HOST_NAMES_MOST);
    name = cv_arena_text(making->arena, making->name);
    if (name == NULL || !CV_ROOM(out->items, &out->room, out->count + 1))
        return cv_fail_memory(making->err, "the hosts");
    out->items[out->count++] = name;
    return CLEAVE_OK;
}

/* Reads digits at *at, and moves it. */
static bool read_number(struct part word, size_t *at, uint32_t *out, int *digits)
{
    const size_t begin = *at;

    *out = 0;
    while (*at < word.length && word.at[*at] >= '0' && word.at[*at] <= '9') {
        if (*at - begin >= MOST_DIGITS)
            return false;
        *out = *out * 10 + (uint32_t)(word.at[(*at)++] - '0');
    }
    *digits = (int)(*at - begin);
    return *digits > 0;
}

/* "01-03" or "7" at `*at`: numbers as wide as the first one. */
static enum cleave_status read_range(const struct making *making, size_t *at,
                                     uint32_t *first, uint32_t *last, int *width)
{
    int digits;

    if (!read_number(making->word, at, first, width))
        return refuse_range(making, "numbers of at most 9 digits in brackets, as in "
                                    "node[01-16,20]");
    *last = *first;
    if (*at < making->word.length && making->word.at[*at] == '-') {
        ++*at;
        if (!read_number(making->word, at, last, &digits))
            return refuse_range(making,
                                "a number of at most 9 digits at the end of a range");
    }
    if (*last < *first)
        return refuse_range(making, "ranges that count up");
    if (*last - *first >= CV_HOST_NAMES_MOST)
        return refuse_range(making, "at most 65536 hosts in a range");
    return CLEAVE_OK;
}

/* Adds all names whose rest begins at `at`. The recursion is limited by the length of
 * a name: each pair of brackets adds a digit. */
static enum cleave_status expand_from(struct making *making, size_t at)
{
    const struct part word = making->word;
    const char *open = memchr(word.at + at, '[', word.length - at), *close;
    const size_t plain = (open != NULL ? (size_t)(open - word.at) : word.length) - at;
    const size_t used = making->used + plain;
    uint32_t number, last;
    int width;

    if (memchr(word.at + at, ']', plain) != NULL)
        return refuse_range(making, "a '[' before the ']'");
    if (used > CV_HOST_NAME_MOST)
        return refuse_range(making, "a name of at most 255 bytes");
    memcpy(making->name + making->used, word.at + at, plain);
    making->used = used;
    if (open == NULL)
        return add_name(making);
    at += plain;
    do {
        at++; /* '[' or ',' */
        CV_TRY(read_range(making, &at, &number, &last, &width));
        close = at < word.length && (word.at[at] == ',' || word.at[at] == ']')
                    ? memchr(word.at + at, ']', word.length - at)
                    : NULL;
        if (close == NULL)
            return refuse_range(making, "a ']' after the numbers");
        if (used + MOST_DIGITS > CV_HOST_NAME_MOST)
            return refuse_range(making, "a name of at most 255 bytes");
        for (; number <= last; number++) {
            making->used = used + (size_t)snprintf(making->name + used, MOST_DIGITS + 1,
                                                   "%0*u", width, number);
            CV_TRY(expand_from(making, (size_t)(close - word.at) + 1));
        }
    } while (word.at[at] == ',');
    return CLEAVE_OK;
}

/* The length of the first word of a list. */
static size_t word_length(const char *list)
{
    bool inside = false;
    size_t length = 0;

    for (; list[length] != '\0' && (inside || list[length] != ','); length++)
        if (list[length] == '[' || list[length] == ']')
            inside = list[length] == '[';
    return length;
}

enum cleave_status cv_host_list_expand(const char *list, struct cv_arena *arena,
                                       struct cv_host_names *out,
                                       struct cleave_error *err)
{
    for (;;) {
        const size_t length = word_length(list);
        struct making making = {
            .word = { list, length }, .arena = arena, .out = out, .err = err
        };

        if (length == 0)
            return cv_fail(err, CLEAVE_EINPUT,
                           "expected a host before and after each comma");
        CV_TRY(expand_from(&making, 0));
        if (list[length] == '\0')
            return CLEAVE_OK;
        list += length + 1;
    }
}

#define URL "ssh://"
#define DIGITS "0123456789"

enum { MOST_PORT = 65535 };

/* The source of the words, and the result. */
struct reading {
    const char *where;
    unsigned line;    /* from 1; 0: no file */
    const char *rate; /* that the hosts of a word get; NULL: none */
    struct cv_arena *arena;
    struct cv_host_spec *out;
    struct cleave_error *err;
};

static enum cleave_status refuse(const struct reading *reading, struct part got,
                                 const char *expected)
{
    char shown[80], line[16] = "";

    if (reading->line > 0)
        snprintf(line, sizeof line, ":%u", reading->line);
    return cv_fail(reading->err, CLEAVE_EINPUT, "%s%s: expected %s, got '%s'",
                   reading->where, line, expected,
                   cv_shown(got.at, got.length, shown, sizeof shown));
}

static struct part part(const char *at, size_t length)
{
    return (struct part){ at, length };
}

static struct part skip(struct part text, size_t length)
{
    return part(text.at + length, text.length - length);
}

/* The right spelling for a word that is not the name of a host; follows "expected". */
static const char *hint(const char *word, bool in_file)
{
    if (strcmp(word, "-") == 0)
        return "a host; hosts.file - reads them from standard input";
    if (strspn(word, ".") == strlen(word))
        return "a host; files are named by hosts.file, such as "
               "~/.parallel/sshloginfile";
    if (word[0] == '@')
        return "the hosts of a group by their names, or hosts.file FILE for those of a "
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

static bool is_ssh_url(struct part text)
{
    return text.length > strlen(URL) && memcmp(text.at, URL, strlen(URL)) == 0;
}

/* Safe for ssh and the shells between. */
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

/* An IPv6 address, perhaps with a link: fe80::1%eth0. */
static bool is_address(const char *text)
{
    const size_t length = strspn(text, "0123456789abcdefABCDEF:.");

    return length > 1 && memchr(text, ':', length) != NULL &&
           (text[length] == '\0' ||
            (text[length] == '%' && is_name(text + length + 1, "")));
}

static enum cleave_status keep(struct reading *reading, struct cv_host_spec_item word)
{
    struct cv_host_spec *out = reading->out;
    const char *name = word.name != NULL ? word.name : ":";

    if (out->count >= CV_HOST_NAMES_MOST)
        return refuse(reading, part(name, strlen(name)), "at most 65536 hosts");
    if (!CV_ROOM(out->items, &out->room, out->count + 1))
        return cv_fail_memory(reading->err, "the hosts");
    word.rate = reading->rate;
    out->items[out->count++] = word;
    return CLEAVE_OK;
}

/* Add one host; its name follows the user. */
static enum cleave_status add_one(struct reading *reading, const char *login,
                                  bool in_brackets, const char *ssh, uint32_t slots)
{
    const struct part got = { login, strlen(login) };
    const char *at = strrchr(login, '@');
    const char *name = at != NULL ? at + 1 : login;

    if (at != NULL && at > login) {
        char user[CV_HOST_NAME_MOST + 1];

        memcpy(user, login, (size_t)(at - login));
        user[at - login] = '\0';
        if (!is_name(user, "+$"))
            return refuse(reading, got, "a user before the '@'");
    }
    if (at == login || (!in_brackets && !is_host(name)))
        return refuse(reading, got, hint(at == login ? login : name, reading->line > 0));
    return keep(reading, (struct cv_host_spec_item){ .name = name,
                                                     .login = login,
                                                     .ssh = ssh,
                                                     .slots = slots,
                                                     .times = 1 });
}

/* A copy in the arena; NULL: no memory, which is reported. */
static const char *copy_part(const struct reading *reading, struct part text)
{
    char *copy = cv_array(reading->arena, text.length + 1, 1);

    if (copy != NULL)
        memcpy(copy, text.at, text.length);
    else
        (void)cv_fail_memory(reading->err, "the hosts");
    return copy;
}

/* "ssh://me@host:2222" is passed to ssh unchanged. */
static enum cleave_status add_url(struct reading *reading, struct part url,
                                  const char *ssh, uint32_t slots)
{
    static const char expected[] = "ssh://user@host:port, or the host alone";
    struct cv_host_spec_item word = { .ssh = ssh, .slots = slots, .times = 1 };
    struct part rest = skip(url, strlen(URL));
    const char *user = NULL;
    size_t end;
    uint32_t port = 1;

    for (size_t i = rest.length; i-- > 0;)
        if (rest.at[i] == '@') {
            user = copy_part(reading, part(rest.at, i));
            if (user == NULL)
                return CLEAVE_ENOMEM;
            rest = skip(rest, i + 1);
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
        rest = part(rest.at + 1, rest.length - 2);
    word.name = copy_part(reading, rest);
    word.login = copy_part(reading, url);
    if (word.name == NULL || word.login == NULL)
        return CLEAVE_ENOMEM;
    if ((user != NULL && !is_name(user, "+$")) || port < 1 || port > MOST_PORT ||
        url.length > CV_HOST_NAME_MOST ||
        (!is_name(word.name, "") && !is_address(word.name)))
        return refuse(reading, url, expected);
    return keep(reading, word);
}

/* The index of the '[' of an IPv6 address (not of a range); `length`: there is none. */
static size_t find_address(struct part login)
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

/* ssh wants the address without brackets. */
static enum cleave_status add_address(struct reading *reading, struct part login,
                                      size_t begin, const char *ssh, uint32_t slots)
{
    char *copy = cv_array(reading->arena, login.length + 1, 1);
    const size_t inside = login.length - begin - 2;

    if (copy == NULL)
        return cv_fail_memory(reading->err, "the hosts");
    memcpy(copy, login.at, begin);
    memcpy(copy + begin, login.at + begin + 1, inside);
    if (begin > CV_HOST_NAME_MOST || !is_address(copy + begin))
        return refuse(reading, login,
                      "an address of IPv6 in the brackets, as in [fe80::1]");
    return add_one(reading, copy, true, ssh, slots);
}

/* Add all hosts of ":", "me@n[1-4]", "[fe80::1]" or "ssh://me@host:2222". */
static enum cleave_status add_login(struct reading *reading, struct part login,
                                    const char *ssh, uint32_t slots)
{
    const size_t address = find_address(login);
    struct cv_host_names names = { NULL, 0, 0 };
    struct cleave_error why;
    struct making making = {
        .word = login, .arena = reading->arena, .out = &names, .err = &why
    };
    enum cleave_status status;
    char line[16] = "";

    if (login.length == 1 && login.at[0] == ':')
        return keep(reading, (struct cv_host_spec_item){ .slots = slots, .times = 1 });
    if (is_ssh_url(login))
        return add_url(reading, login, ssh, slots);
    if (address < login.length)
        return add_address(reading, login, address, ssh, slots);
    status = expand_from(&making, 0);
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

#define BLANK " \t\r\v\f"

static bool is_blank(char c)
{
    return c != '\0' && strchr(BLANK, c) != NULL;
}

static struct part trim(struct part text)
{
    while (text.length > 0 && is_blank(text.at[0]))
        text = part(text.at + 1, text.length - 1);
    while (text.length > 0 && is_blank(text.at[text.length - 1]))
        text.length--;
    return text;
}

/* The whole text is a number of slots. */
static bool read_slots(struct part text, uint32_t *out)
{
    uint32_t slots = 0;

    *out = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9')
            return false;
        slots = slots * 10 + (uint32_t)(text.at[i] - '0');
        if (slots > CV_HOST_SLOTS_MOST)
            return false;
    }
    *out = slots;
    return slots > 0;
}

/* As in IPv6 addresses. */
static bool has_two_colons(struct part text)
{
    const char *first = memchr(text.at, ':', text.length);

    return first != NULL &&
           memchr(first + 1, ':', text.length - (size_t)(first + 1 - text.at)) != NULL;
}

/* "host", "host:4", "[::1]:4", ":", "::4". */
static enum cleave_status add_plain(struct reading *reading, struct part word)
{
    uint32_t slots = 0;
    struct part login = word;

    for (size_t i = word.length; i-- > 1 && word.at[i] != ']';)
        if (word.at[i] == ':') {
            login.length = i;
            if (i > 1 && memchr(word.at, ':', i) != NULL && word.at[i - 1] != ']')
                return refuse(reading, word, hint("::", false));
            if (!read_slots(skip(word, i + 1), &slots))
                return refuse(reading, word,
                              "a number of slots, 1 to 4096, after the ':', "
                              "or neither for all its cores");
            break;
        }
    return add_login(reading, login, NULL, slots);
}

/* The last blank, which follows words for ssh; 0: none. */
static size_t last_blank(struct part word)
{
    for (size_t i = word.length; i-- > 0;)
        if (is_blank(word.at[i]))
            return i;
    return 0;
}

/* The words look like a command that connects. */
static bool is_shell(struct part words)
{
    size_t end = 0;

    while (end < words.length && !is_blank(words.at[end]))
        end++;
    return end >= 2 && memcmp(words.at + end - 2, "sh", 2) == 0;
}

/* Remove "@group/": groups are for items that ask for one. */
static void take_group(struct part *word)
{
    const char *slash = memchr(word->at, '/', word->length);

    if (slash != NULL && word->at[0] == '@')
        *word = skip(*word, (size_t)(slash - word->at) + 1);
}

/* Remove "4/". */
static bool take_count(struct part *word, uint32_t *slots)
{
    const char *slash = memchr(word->at, '/', word->length);
    const size_t length = slash != NULL ? (size_t)(slash - word->at) : 0;

    if (slash == NULL || word->at[0] == '/' || is_ssh_url(*word))
        return true;
    if (!read_slots(trim(part(word->at, length)), slots))
        return memchr(word->at, ' ', length) != NULL; /* in the path of ssh */
    *word = trim(skip(*word, length + 1));
    return true;
}

/* "host", "4/host", "@group/4/host", "4/ssh -p 2222 me@host", ":". */
static enum cleave_status add_parallel(struct reading *reading, struct part whole)
{
    struct part word = whole;
    const char *ssh = NULL;
    uint32_t slots = 0;
    size_t blank;

    take_group(&word);
    if (!take_count(&word, &slots))
        return refuse(reading, whole,
                      memmem(word.at, word.length, "://", 3) != NULL
                          ? hint("://", false)
                          : "a number of slots, 1 to 4096, before the '/', "
                            "or neither for all its cores");
    blank = last_blank(word);
    if (blank > 0) {
        const struct part words = trim(part(word.at, blank));

        if (!is_shell(words))
            return refuse(reading, whole, "one host, or 'ssh' and its options before it");
        ssh = copy_part(reading, words);
        if (ssh == NULL)
            return CLEAVE_ENOMEM;
        word = skip(word, blank + 1);
    }
    if (word.length == 0)
        return refuse(reading, whole, "a host after the '/'");
    if (word.length > 1 && memchr(word.at, ':', word.length) != NULL &&
        !is_ssh_url(word) && find_address(word) == word.length)
        return refuse(reading, whole,
                      has_two_colons(word) ? hint("::", false)
                                           : "N/host for slots, 'ssh -p PORT host' for a "
                                             "port, and no password");
    return add_login(reading, word, ssh, slots);
}

/* The word has the syntax of GNU parallel. */
static bool is_parallel(struct part word)
{
    const char *slash = memchr(word.at, '/', word.length);
    uint32_t slots;

    if (slash != NULL &&
        (word.at[0] == '@' ||
         read_slots(trim(part(word.at, (size_t)(slash - word.at))), &slots)))
        return true;
    return last_blank(word) > 0 && is_shell(word);
}

/* The length of a word without its rate. A name has no slash, so that "me@b" and "@group/b" have no
 * rate. */
static size_t rate_begin(struct part word)
{
    size_t at = word.length;

    while (at > 0 && word.at[at - 1] != '@')
        at--;
    return at > 1 && at < word.length && strchr(DIGITS, word.at[at]) != NULL &&
                   memchr(word.at + at, '/', word.length - at) != NULL
               ? at - 1
               : word.length;
}

/* Remove "@60/min". */
static enum cleave_status take_rate(struct reading *reading, struct part *word)
{
    const struct part whole = *word;
    struct cleave_rate rate;

    reading->rate = NULL;
    word->length = rate_begin(whole);
    if (word->length == whole.length)
        return CLEAVE_OK;
    reading->rate = copy_part(reading, skip(whole, word->length + 1));
    if (reading->rate == NULL)
        return CLEAVE_ENOMEM;
    return cv_rate_parse(reading->rate, &rate) && (rate.by_weight || rate.amount >= 1)
               ? CLEAVE_OK
               : refuse(reading, whole,
                        "a rate such as @60/min or @9000w/h after the host");
}

/* Add all hosts of a word. */
static enum cleave_status add_word(struct reading *reading, struct part word,
                                   enum cv_host_spelling spelling)
{
    CV_TRY(take_rate(reading, &word));
    if (spelling == CV_HOSTS_PARALLEL || is_parallel(word))
        return add_parallel(reading, word);
    return is_ssh_url(word) ? add_login(reading, word, NULL, 0)
                            : add_plain(reading, word);
}

bool cv_host_words_have_slash(const char *list)
{
    for (;;) {
        const size_t length = word_length(list);
        struct part word = trim(part(list, length));

        word.length = rate_begin(word);
        if (memchr(word.at, '/', word.length) != NULL && !is_parallel(word) &&
            !is_ssh_url(word))
            return false;
        if (list[length] == '\0')
            return true;
        list += length + 1;
    }
}

static enum cleave_status add_list(struct reading *reading, struct part list,
                                   enum cv_host_spelling spelling)
{
    for (;;) {
        const size_t whole = word_length(list.at);
        const size_t length = whole < list.length ? whole : list.length;
        const struct part word = trim(part(list.at, length));

        if (word.length == 0)
            return refuse(reading, list, "a host before and after each comma");
        CV_TRY(add_word(reading, word, spelling));
        if (length == list.length)
            return CLEAVE_OK;
        list = skip(list, length + 1);
    }
}

enum cleave_status cv_host_words_add(const char *list, enum cv_host_spelling spelling,
                                     const char *where, struct cv_arena *arena,
                                     struct cv_host_spec *out, struct cleave_error *err)
{
    struct reading reading = { where, 0, NULL, arena, out, err };

    return add_list(&reading, part(list, strlen(list)), spelling);
}

/* --- hosts that are named several times --------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* By name, this machine first; then by position. */
static int by_name(const void *a, const void *b)
{
    const struct cv_host_spec_item *first = *(struct cv_host_spec_item *const *)a;
    const struct cv_host_spec_item *second = *(struct cv_host_spec_item *const *)b;
    const int names = strcmp(first->name != NULL ? first->name : "",
                             second->name != NULL ? second->name : "");

    return names != 0 ? names : (first > second) - (first < second);
}

/* Add the slots of `word` to `first`, which has the same name. */
static enum cleave_status add_up(struct cv_host_spec_item *first,
                                 struct cv_host_spec_item *word, const char *where,
                                 struct cleave_error *err)
{
    const char *name = word->name != NULL ? word->name : ":";

    if (!same_text(first->login, word->login) || !same_text(first->ssh, word->ssh))
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: host '%s' is named twice and reached in different ways",
                       where, name);
    if (!same_text(first->rate, word->rate))
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: host '%s' is named twice, and not with the same rate", where,
                       name);
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

enum cleave_status cv_host_words_settle(struct cv_host_spec *words, bool lines_count,
                                        const char *where, struct cleave_error *err)
{
    struct cv_host_spec_item **order = calloc(words->count + 1, sizeof(*order));
    struct cv_host_spec_item *first = NULL;
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

/* --- files --------------------------------------------------------------------------------
 *
 * Lines of the host files of GNU parallel, Open MPI, MPICH, PBS, Slurm, LSF and Grid Engine are
 * read; fields that do not matter are skipped. */

enum field { SLOTS, USER, NOTHING, UNKNOWN };

static enum field field_of(struct part name)
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

/* Remove and return the first word. */
static struct part take_word(struct part *rest)
{
    struct part word = *rest;

    word.length = 0;
    while (word.length < rest->length && !is_blank(rest->at[word.length]))
        word.length++;
    *rest = trim(skip(*rest, word.length));
    return word;
}

/* Remove "slots=4" or "slots = 4". */
static bool take_field(struct part *rest, struct part *name, struct part *value)
{
    const char *is = memchr(rest->at, '=', rest->length);

    if (is == NULL)
        return false;
    *name = trim(part(rest->at, (size_t)(is - rest->at)));
    *rest = trim(skip(*rest, (size_t)(is - rest->at) + 1));
    *value = take_word(rest);
    return value->length > 0;
}

/* Add "host:2" or "host". */
static enum cleave_status add_host(struct reading *reading, struct part host,
                                   struct part user, uint32_t slots)
{
    struct cv_host_spec *out = reading->out;
    const size_t first = out->count;
    struct cv_text text = { NULL, 0, 0, false };
    enum cleave_status status;

    if (user.length > 0)
        cv_text_add(&text, "%.*s@", (int)user.length, user.at);
    cv_text_add(&text, "%.*s", (int)host.length, host.at);
    status = text.failed
                 ? cv_fail_memory(reading->err, "the hosts")
                 : add_word(reading, part(text.bytes, text.length), CV_HOSTS_PLAIN);
    cv_text_done(&text);
    for (size_t i = first; status == CLEAVE_OK && slots > 0 && i < out->count; i++)
        out->items[i].slots = slots;
    return status;
}

/* "host slots=4 max-slots=8", "host:4 ifhn=other". */
static enum cleave_status add_fields(struct reading *reading, struct part line)
{
    struct part rest = line, host = take_word(&rest), name, value, user = { "", 0 };
    uint32_t slots = 0;

    while (rest.length > 0) {
        enum field is;

        if (!take_field(&rest, &name, &value))
            return refuse(reading, line, "'host slots=N', with 1 to 4096");
        is = field_of(name);
        if (is == UNKNOWN)
            return refuse(reading, line, "'host slots=N'");
        if (is == SLOTS && !read_slots(value, &slots))
            return refuse(reading, line, "'host slots=N', with 1 to 4096");
        if (is == USER)
            user = value;
    }
    return add_host(reading, host, user, slots);
}

/* "host 4" or "host 4 queue@host range": LSF and Grid Engine. */
static bool is_granted(struct part line, struct part *host, uint32_t *slots)
{
    struct part rest = line, queue;

    *host = take_word(&rest);
    if (!read_slots(take_word(&rest), slots))
        return false;
    queue = take_word(&rest);
    return queue.length == 0 || memchr(queue.at, '@', queue.length) != NULL;
}

static bool begins_with(struct part text, const char *with)
{
    return text.length >= strlen(with) && memcmp(text.at, with, strlen(with)) == 0;
}

static enum cleave_status add_line(struct reading *reading, struct part line)
{
    struct part rest = line, host = take_word(&rest);
    uint32_t slots;

    if (begins_with(line, "workers:") || begins_with(line, "port:") ||
        begins_with(line, "{"))
        return refuse(reading, line,
                      "a host in each line; a platform file is named by hosts.list");
    if (rest.length == 0)
        return memchr(host.at, '/', rate_begin(host)) != NULL && !is_ssh_url(host) &&
                       memchr(host.at, ',', host.length) == NULL
                   ? add_word(reading, line, CV_HOSTS_PARALLEL)
                   : add_list(reading, line, CV_HOSTS_PLAIN);
    if (is_granted(line, &host, &slots))
        return add_host(reading, host, part("", 0), slots);
    if (begins_with(rest, "-") && !is_shell(line))
        return refuse(reading, line, "options before the host, as in 'ssh -p 2222 host'");
    if (memchr(rest.at, '=', rest.length) != NULL &&
        !is_shell(line)) /* ssh -o NAME=VALUE host */
        return add_fields(reading, line);
    return add_word(reading, line, CV_HOSTS_PARALLEL);
}

enum cleave_status cv_host_lines_add(const char *text, const char *where,
                                     struct cv_arena *arena, struct cv_host_spec *out,
                                     struct cleave_error *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* UTF-8, written by editors on Windows */
    struct reading reading = { where, 0, NULL, arena, out, err };

    if (strncmp(text, mark, strlen(mark)) == 0)
        text += strlen(mark);
    for (const char *next; *text != '\0'; text = next) {
        struct part line = { text, strcspn(text, "\n") };
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
