/* settings.h -- parameters of a policy, and lists of policies, as typed.
 * SPDX-License-Identifier: MIT */
#ifndef CV_SETTINGS_H
#define CV_SETTINGS_H
#include <cleave/policy.h>
#include <cleave/run.h>
#include "cli/common/options.h"

/* Settings that grow; texts live in the arena of the call. */
struct cv_settings {
    struct cleave_setting *items;
    size_t count;
};

/* Room for all of `params` and `more` others. Returns an exit status, as all here. */
int cv_settings_open(struct cv_settings *settings, const struct cv_strings *params,
                     size_t more, struct cv_arena *arena);
/* Add "key=value", from an option of its own or from --param. */
int cv_settings_add(struct cv_settings *settings, const char *text,
                    struct cv_arena *arena);
/* The option that stands for --param key=value; 0 means that it was not given. */
int cv_settings_count(struct cv_settings *settings, const char *key, uint64_t value,
                      struct cv_arena *arena);

/* The same with a text; NULL means that it was not given. */
int cv_settings_text(struct cv_settings *settings, const char *key, const char *value,
                     struct cv_arena *arena);

/* The policies that a list of --policies names, or all for the task when it is NULL.
 * *out lives in the arena. `example` goes into the complaint about an empty list. */
int cv_policies_choose(enum cleave_task task, const char *list, const char *example,
                       struct cv_arena *arena, const struct cleave_policy ***out,
                       size_t *out_count);

#endif
