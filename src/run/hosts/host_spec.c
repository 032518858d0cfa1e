/* host_spec.c -- hosts as people write them. SPDX-License-Identifier: MIT */
#include "run/hosts/host_spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "run/hosts/host_spec_internal.h"

#define BLANK " \t\r\v\f"

bool cv_is_blank(char c)
{
    return c != '\0' && strchr(BLANK, c) != NULL;
}

struct cv_text_part cv_trim(struct cv_text_part text)
{
    while (text.length > 0 && cv_is_blank(text.at[0]))
        text = (struct cv_text_part){ text.at + 1, text.length - 1 };
    while (text.length > 0 && cv_is_blank(text.at[text.length - 1]))
        text.length--;
    return text;
}

bool cv_host_slots_read(struct cv_text_part text, uint32_t *out)
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

/* --- one word ----------------------------------------------------------------------------- */

/* As addresses of IPv6 have them. */
static bool has_two_colons(struct cv_text_part text)
{
    const char *first = memchr(text.at, ':', text.length);

    return first != NULL &&
           memchr(first + 1, ':', text.length - (size_t)(first + 1 - text.at)) != NULL;
}

/* "host", "host:4", "[::1]:4", ":", "::4". */
static enum cleave_status add_plain(struct cv_host_reading *reading,
                                    struct cv_text_part word)
{
    uint32_t slots = 0;
    struct cv_text_part login = word;

    for (size_t i = word.length; i-- > 1 && word.at[i] != ']';)
        if (word.at[i] == ':') {
            login.length = i;
            if (i > 1 && memchr(word.at, ':', i) != NULL && word.at[i - 1] != ']')
                return cv_host_word_refuse(reading, word, cv_host_hint("::", false));
            if (!cv_host_slots_read(cv_behind(word, i + 1), &slots))
                return cv_host_word_refuse(reading, word,
                                           "a number of slots, 1 to 4096, after the ':', "
                                           "or neither for all its cores");
            break;
        }
    return cv_host_login_add(reading, login, NULL, slots);
}

/* The last blank, before which words of ssh stand; 0: there is none. */
static size_t last_blank(struct cv_text_part word)
{
    for (size_t i = word.length; i-- > 0;)
        if (cv_is_blank(word.at[i]))
            return i;
    return 0;
}

bool cv_is_shell(struct cv_text_part words)
{
    size_t end = 0;

    while (end < words.length && !cv_is_blank(words.at[end]))
        end++;
    return end >= 2 && memcmp(words.at + end - 2, "sh", 2) == 0;
}

/* "@group/" at the begin is taken off: groups are for items that ask for one. */
static void take_group(struct cv_text_part *word)
{
    const char *slash = memchr(word->at, '/', word->length);

    if (slash != NULL && word->at[0] == '@')
        *word = cv_behind(*word, (size_t)(slash - word->at) + 1);
}

/* "4/" at the begin is taken off. */
static bool take_count(struct cv_text_part *word, uint32_t *slots)
{
    const char *slash = memchr(word->at, '/', word->length);
    const size_t length = slash != NULL ? (size_t)(slash - word->at) : 0;

    if (slash == NULL || word->at[0] == '/' || cv_is_ssh_url(*word))
        return true;
    if (!cv_host_slots_read(cv_trim((struct cv_text_part){ word->at, length }), slots))
        return memchr(word->at, ' ', length) != NULL; /* of the path of ssh */
    *word = cv_trim(cv_behind(*word, length + 1));
    return true;
}

/* "host", "4/host", "@group/4/host", "4/ssh -p 2222 me@host", ":". */
static enum cleave_status add_parallel(struct cv_host_reading *reading,
                                       struct cv_text_part whole)
{
    struct cv_text_part word = whole;
    const char *ssh = NULL;
    uint32_t slots = 0;
    size_t blank;

    take_group(&word);
    if (!take_count(&word, &slots))
        return cv_host_word_refuse(reading, whole,
                                   memmem(word.at, word.length, "://", 3) != NULL
                                       ? cv_host_hint("://", false)
                                       : "a number of slots, 1 to 4096, before the '/', "
                                         "or neither for all its cores");
    blank = last_blank(word);
    if (blank > 0) {
        const struct cv_text_part words =
            cv_trim((struct cv_text_part){ word.at, blank });

        if (!cv_is_shell(words))
            return cv_host_word_refuse(reading, whole,
                                       "one host, or 'ssh' and its options before it");
        ssh = cv_host_copy(reading, words);
        if (ssh == NULL)
            return CLEAVE_ENOMEM;
        word = cv_behind(word, blank + 1);
    }
    if (word.length == 0)
        return cv_host_word_refuse(reading, whole, "a host after the '/'");
    if (word.length > 1 && memchr(word.at, ':', word.length) != NULL &&
        !cv_is_ssh_url(word) && cv_find_address(word) == word.length)
        return cv_host_word_refuse(reading, whole,
                                   has_two_colons(word)
                                       ? cv_host_hint("::", false)
                                       : "N/host for slots, 'ssh -p PORT host' for a "
                                         "port, and no password");
    return cv_host_login_add(reading, word, ssh, slots);
}

/* Whether a word is spelt as GNU parallel does, wherever it stands. */
static bool is_parallel(struct cv_text_part word)
{
    const char *slash = memchr(word.at, '/', word.length);
    uint32_t slots;

    if (slash != NULL && (word.at[0] == '@' ||
                          cv_host_slots_read(cv_trim((struct cv_text_part){
                                                 word.at, (size_t)(slash - word.at) }),
                                             &slots)))
        return true;
    return last_blank(word) > 0 && cv_is_shell(word);
}

enum cleave_status cv_host_word_add(struct cv_host_reading *reading,
                                    struct cv_text_part word,
                                    enum cv_host_spelling spelling)
{
    if (spelling == CV_HOSTS_PARALLEL || is_parallel(word))
        return add_parallel(reading, word);
    return cv_is_ssh_url(word) ? cv_host_login_add(reading, word, NULL, 0)
                               : add_plain(reading, word);
}

bool cv_host_words_have_slash(const char *list)
{
    for (;;) {
        const size_t length = cv_host_word_length(list);
        const struct cv_text_part word = cv_trim((struct cv_text_part){ list, length });

        if (memchr(word.at, '/', word.length) != NULL && !is_parallel(word) &&
            !cv_is_ssh_url(word))
            return false;
        if (list[length] == '\0')
            return true;
        list += length + 1;
    }
}

enum cleave_status cv_host_words_add(const char *list, enum cv_host_spelling spelling,
                                     const char *where, struct cv_arena *arena,
                                     struct cv_host_spec *out, struct cleave_error *err)
{
    struct cv_host_reading reading = { where, 0, arena, out, err };

    for (;;) {
        const size_t length = cv_host_word_length(list);
        const struct cv_text_part word = cv_trim((struct cv_text_part){ list, length });

        if (word.length == 0)
            return cv_host_word_refuse(&reading,
                                       (struct cv_text_part){ list, strlen(list) },
                                       "a host before and after each comma");
        CV_TRY(cv_host_word_add(&reading, word, spelling));
        if (list[length] == '\0')
            return CLEAVE_OK;
        list += length + 1;
    }
}

/* --- together ----------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* By name, this machine first; those of one name as they stood. */
static int by_name(const void *a, const void *b)
{
    const struct cv_host_spec_item *first = *(struct cv_host_spec_item *const *)a;
    const struct cv_host_spec_item *second = *(struct cv_host_spec_item *const *)b;
    const int names = strcmp(first->name != NULL ? first->name : "",
                             second->name != NULL ? second->name : "");

    return names != 0 ? names : (first > second) - (first < second);
}

/* Put `word` to the one of its name before it. */
static enum cleave_status add_up(struct cv_host_spec_item *first,
                                 struct cv_host_spec_item *word, const char *where,
                                 struct cleave_error *err)
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
