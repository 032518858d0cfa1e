/* fuzz_host_spec.c -- any text as hosts. SPDX-License-Identifier: MIT
 *
 * Accepted names cannot be options of ssh, are unique, and have slots within limits; a
 * single name is unchanged. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "run/hosts/host_spec.h"
#include "fuzz_target.h"

/* which ssh takes unchanged. */
static const char *spoken(const char *login)
{
    return strncmp(login, "ssh://", 6) == 0 ? login + 6 : login;
}

static int is_plain(const char *name)
{
    return strpbrk(name, ":[]@%") == NULL;
}

static int is_address(const char *name)
{
    return strchr(name, ':') != NULL && strpbrk(name, "[]@") == NULL;
}

static void check_all(const struct cv_host_spec *words)
{
    for (size_t i = 0; i < words->count; i++) {
        const struct cv_host_spec_item *word = &words->items[i];

        require(word->slots <= CV_HOST_SLOTS_MOST && word->times > 0);
        require((word->name == NULL) == (word->login == NULL));
        if (word->name == NULL)
            continue;
        require(word->name[0] != '\0' && word->name[0] != '-' && word->login[0] != '-');
        require(strlen(word->login) <= CV_HOST_NAME_MOST);
        require(strpbrk(spoken(word->login), " \t\n,;'\"/&|<>()`*?") == NULL);
        require(is_plain(word->name) || is_address(word->name));
    }
}

static void check(const char *text, int form)
{
    struct cv_arena arena;
    struct cv_host_spec words = { NULL, 0, 0 };
    struct cleave_error err;
    enum cleave_status status;

    cv_arena_init(&arena);
    status = form < 2
                 ? cv_host_words_add(text, form == 0 ? CV_HOSTS_PLAIN : CV_HOSTS_PARALLEL,
                                     "text", &arena, &words, &err)
                 : cv_host_lines_add(text, "text", &arena, &words, &err);
    if (status == CLEAVE_OK)
        status = cv_host_words_settle(&words, form == 3, "text", &err);
    if (status == CLEAVE_OK)
        check_all(&words);
    else
        require(err.text[0] != '\0' && strchr(err.text, '\n') == NULL);
    free(words.items);
    cv_arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    for (int form = 0; form < 4; form++)
        check(text, form);
    free(text);
    return 0;
}
