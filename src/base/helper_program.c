/* helper_program.c -- programs that come with cleave and are started by it.
 * SPDX-License-Identifier: MIT */
#include "base/helper_program.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"

#ifndef CLEAVE_LIBEXEC_DIR
#define CLEAVE_LIBEXEC_DIR "/usr/local/libexec/cleave"
#endif

static bool is_there(char *path, size_t size, const char *folder, const char *below,
                     const char *program)
{
    const int length = snprintf(path, size, "%s%s/%s", folder, below, program);

    return length > 0 && (size_t)length < size && access(path, X_OK) == 0;
}

bool cv_own_program(char *out, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", out, size - 1);

    if (length > 0)
        out[length] = '\0';
    return length > 0;
}

enum cleave_status cv_helper_program_find(const struct cv_helper_program *helper,
                                          char *path, size_t size,
                                          struct cleave_error *err)
{
    const char *given = getenv("CLEAVE_LIBEXEC"), *program = helper->program;
    char room[PATH_MAX], self[PATH_MAX];
    char *slash;

    if (path == NULL) {
        path = room;
        size = sizeof room;
    }
    if (given != NULL && given[0] != '\0') {
        if (is_there(path, size, given, "", program))
            return CLEAVE_OK;
        return cv_fail(err, CLEAVE_EENGINE,
                       "%s is missing: CLEAVE_LIBEXEC names the folder %.200s, which has "
                       "no %s",
                       helper->what, given, program);
    }
    if (!cv_own_program(self, sizeof self))
        self[0] = '\0';
    slash = strrchr(self, '/');
    if (slash != NULL) {
        *slash = '\0';
        if (is_there(path, size, self, "", program) ||
            is_there(path, size, self, "/../libexec/cleave", program))
            return CLEAVE_OK;
    }
    if (is_there(path, size, CLEAVE_LIBEXEC_DIR, "", program))
        return CLEAVE_OK;
    return cv_fail(err, CLEAVE_EENGINE, "%s is missing: there is no program %s, %s",
                   helper->what, program, helper->remedy);
}
