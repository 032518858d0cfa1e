/* shell.h -- the shell of commands, and the words that only a shell understands.
 * SPDX-License-Identifier: MIT */
#ifndef CV_SHELL_H
#define CV_SHELL_H
#include "run/common/command.h"

/* The path of the shell that has started this process, so that its exported functions are known;
 * else $SHELL, if it quotes like a Bourne shell; else /bin/sh. For free(); NULL: memory is
 * short. */
char *cv_shell_find(void);
/* Whether `name` is a program, builtin, keyword or function of the shell. */
bool cv_shell_knows(const char *shell, const char *name);
/* Whether a program of this name is found. */
bool cv_is_program(const char *name);

/* A command that gives a line to the shell. */
enum cleave_status cv_shell_command_init(struct cv_command *command,
                                         const char *const *prefix, const char *line,
                                         struct cleave_error *err);

enum cv_shell_sign {
    CV_SIGN_NONE,  /* an argument                            */
    CV_SIGN_JOIN,  /* | || && ; before another command       */
    CV_SIGN_FILE,  /* > >> < 2> 2>> &>: the next word is a file */
    CV_SIGN_WHOLE, /* 2>&1, >/dev/null                       */
};

/* The meaning of words[at], which NULL ends, for a line that a shell reads. A sign is between
 * other words, and a command follows a CV_SIGN_JOIN: in cut -d '|' -f 2, tr ';' ',' and
 * grep -c '>' the signs are arguments. */
enum cv_shell_sign cv_shell_sign(const char *const *words, size_t at);
/* Whether the first word of a line is a plain name that neither PATH nor the shell knows. */
bool cv_line_lacks_program(const char *shell, const char *line, char *name, size_t size);

#endif
