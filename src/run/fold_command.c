/* fold_command.c -- the words of a command that reduces. SPDX-License-Identifier: MIT */
#include "run/fold_command.h"

#include <string.h>
#include <unistd.h>

#include "base/fail.h"

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

bool cv_fold_name_files(const char *command, const int fds[2], struct cv_text *out)
{
    for (const char *rest = command; *rest != '\0';) {
        const size_t length = strcspn(rest, "{");

        cv_text_add(out, "%.*s", (int)length, rest);
        rest += length;
        if (strncmp(rest, "{1}", 3) == 0 || strncmp(rest, "{2}", 3) == 0) {
            cv_text_add(out, "/proc/%ld/fd/%d", (long)getpid(), fds[rest[1] - '1']);
            rest += 3;
        } else if (*rest != '\0') {
            cv_text_add(out, "%c", *rest++);
        }
    }
    return !out->failed;
}
