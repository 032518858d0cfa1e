/* fold_command.c -- the words of a command that reduces. SPDX-License-Identifier: MIT */
#include "run/fold/fold_command.h"

#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/text.h"
#include "run/fold/fold.h"

bool cv_fold_takes_files(const char *command)
{
    return strstr(command, "{1}") != NULL && strstr(command, "{2}") != NULL;
}

enum cleave_status cv_fold_check_command(const char *command, struct cleave_error *err)
{
    char shown[128];

    if (command[0] == '\0')
        return cv_fail(err, CLEAVE_EINPUT, "expected a command that reduces, got ''");
    if (strstr(command, "{1}") == NULL && strstr(command, "{2}") == NULL)
        return CLEAVE_OK;
    if (cv_fold_takes_files(command))
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EINPUT,
                   "expected {1} and {2} or none of them in the command that reduces, "
                   "got '%s'",
                   cv_shown(command, strlen(command), shown, sizeof shown));
}

/* The command with names of files in the place of {1} and {2}. They are those of this
 * process's descriptors: there is no other name, and a copy would cost. */
static bool name_files(const char *command, const struct cv_taken partials[2],
                       struct cv_text *out)
{
    for (const char *rest = command; *rest != '\0';) {
        const size_t length = strcspn(rest, "{");

        cv_text_add(out, "%.*s", (int)length, rest);
        rest += length;
        if (strncmp(rest, "{1}", 3) == 0 || strncmp(rest, "{2}", 3) == 0) {
            cv_text_add(out, "/proc/%ld/fd/%d", (long)getpid(),
                        partials[rest[1] - '1'].fd);
            rest += 3;
        } else if (*rest != '\0') {
            cv_text_add(out, "%c", *rest++);
        }
    }
    return !out->failed;
}

static enum cleave_status set_command(struct cv_fold_call *call, const char *text,
                                      struct cleave_error *err)
{
    const char *const words[] = { "/bin/sh", "-c", text, NULL };

    cv_fold_call_done(call);
    CV_TRY(cv_command_init(&call->command, call->prefix, words, err));
    call->has_command = true;
    return cv_command_set(&call->command, "CLEAVE_WORKER", call->worker, err);
}

enum cleave_status cv_fold_call_prepare(struct cv_fold_call *call,
                                        struct cleave_error *err)
{
    return call->has_command ? CLEAVE_OK : set_command(call, call->text, err);
}

/* They are named in it. */
static enum cleave_status start_on_files(struct cv_fold_call *call, struct cv_slot *slot,
                                         const struct cv_taken partials[2],
                                         struct cleave_error *err)
{
    struct cv_text text = { NULL, 0, 0, false };
    enum cleave_status status = name_files(call->text, partials, &text)
                                    ? set_command(call, text.bytes, err)
                                    : cv_fail_memory(err, "a command");

    cv_text_done(&text);
    CV_TRY(status);
    slot->command = &call->command;
    return cv_slot_start_parts(slot, NULL, 0, err);
}

enum cleave_status cv_fold_call_start(struct cv_fold_call *call, struct cv_slot *slot,
                                      const struct cv_taken *partials, size_t count,
                                      struct cleave_error *err)
{
    struct cv_part parts[CV_FOLD_MOST];

    if (cv_fold_takes_files(call->text))
        return start_on_files(call, slot, partials, err);
    CV_TRY(cv_fold_call_prepare(call, err));
    for (size_t i = 0; i < count; i++)
        parts[i] = (struct cv_part){ .fd = partials[i].fd,
                                     .begin = partials[i].begin,
                                     .end = partials[i].end,
                                     .name = "a partial result" };
    slot->command = &call->command;
    return cv_slot_start_parts(slot, parts, count, err);
}

void cv_fold_call_done(struct cv_fold_call *call)
{
    if (call->has_command)
        cv_command_done(&call->command);
    call->has_command = false;
}
