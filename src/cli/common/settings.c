/* settings.c -- parameters of a policy, and lists of policies, as typed.
 * SPDX-License-Identifier: MIT */
#include "cli/common/settings.h"

#include <stdio.h>
#include <string.h>
#include "cli/common/output.h"

int cv_settings_add(struct cv_settings *settings, const char *text,
                    struct cv_arena *arena)
{
    const char *equals = strchr(text, '=');
    char shown[CV_ECHO_ROOM];
    char *key;

    if (equals == NULL || equals == text || equals[1] == '\0')
        return cv_print_error(CV_EXIT_USAGE, "--param: expected KEY=VALUE, got '%s'",
                              cv_echo(text, shown));
    key = cv_arena_text(arena, text);
    if (key == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the parameters");
    key[equals - text] = '\0';
    for (size_t i = 0; i < settings->count; i++) {
        if (strcmp(settings->items[i].key, key) == 0)
            return cv_print_error(CV_EXIT_USAGE, "parameter '%s' is given twice",
                                  cv_echo(key, shown));
    }
    settings->items[settings->count].key = key;
    settings->items[settings->count++].value = key + (equals - text) + 1;
    return CV_EXIT_DONE;
}

int cv_settings_count(struct cv_settings *settings, const char *key, uint64_t value,
                      struct cv_arena *arena)
{
    char text[64];

    if (value == 0)
        return CV_EXIT_DONE;
    snprintf(text, sizeof text, "%s=%llu", key, (unsigned long long)value);
    return cv_settings_add(settings, text, arena);
}

int cv_settings_text(struct cv_settings *settings, const char *key, const char *value,
                     struct cv_arena *arena)
{
    struct cv_text line = { NULL, 0, 0, false };
    int status;

    if (value == NULL)
        return CV_EXIT_DONE;
    cv_text_add(&line, "%s=%s", key, value);
    status = line.failed
                 ? cv_print_error(CV_EXIT_FAILED, "out of memory for the parameters")
                 : cv_settings_add(settings, line.bytes, arena);
    cv_text_done(&line);
    return status;
}

int cv_settings_open(struct cv_settings *settings, const struct cv_strings *params,
                     size_t more, struct cv_arena *arena)
{
    int status = CV_EXIT_DONE;

    settings->count = 0;
    settings->items = cv_array(arena, params->count + more, sizeof *settings->items);
    if (settings->items == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the parameters");
    for (size_t i = 0; i < params->count && status == CV_EXIT_DONE; i++)
        status = cv_settings_add(settings, params->items[i], arena);
    return status;
}

static int add_named(enum cleave_task task, const char *name,
                     const struct cleave_policy **policies, size_t *count)
{
    const struct cleave_policy *policy;
    struct cleave_error err;

    if (cleave_policy_find(task, name, &policy, &err) != CLEAVE_OK)
        return cv_print_error(CV_EXIT_USAGE, "--policies: %s", err.text);
    for (size_t i = 0; i < *count; i++) {
        if (policies[i] == policy)
            return cv_print_error(CV_EXIT_USAGE, "--policies: '%s' is named twice", name);
    }
    policies[(*count)++] = policy;
    return CV_EXIT_DONE;
}

int cv_policies_choose(enum cleave_task task, const char *list, const char *example,
                       struct cv_arena *arena, const struct cleave_policy ***out,
                       size_t *out_count)
{
    const size_t all = cleave_policy_count();
    const struct cleave_policy **policies = cv_array(arena, all + 1, sizeof(void *));
    char *copy = cv_arena_text(arena, list != NULL ? list : "");
    char *rest, *name;
    size_t count = 0;
    int status = CV_EXIT_DONE;

    if (policies == NULL || copy == NULL)
        return cv_print_error(CV_EXIT_FAILED, "out of memory for the policies");
    for (size_t i = 0; list == NULL && i < all; i++) {
        if (cleave_policy_at(i)->task == task)
            policies[count++] = cleave_policy_at(i);
    }
    for (name = strtok_r(copy, ",", &rest); name != NULL && status == CV_EXIT_DONE;
         name = strtok_r(NULL, ",", &rest))
        status = add_named(task, name, policies, &count);
    if (status == CV_EXIT_DONE && count == 0)
        return cv_print_error(CV_EXIT_USAGE, "--policies: expected names such as %s",
                              example);
    *out = policies;
    *out_count = count;
    return status;
}
