/* item_shell.h -- the shell that reads command lines. SPDX-License-Identifier: MIT */
#ifndef CV_ITEM_SHELL_H
#define CV_ITEM_SHELL_H
#include <stdbool.h>

/* The path of the shell from which this process was started, so that its functions and its
 * ways are those that the user knows; else $SHELL, if it quotes as Bourne's does; else
 * /bin/sh. For free(); NULL: out of memory. */
char *cv_item_shell(void);
/* Whether the name is one of a program that can be found. */
bool cv_item_is_program(const char *name);
/* Whether a shell knows the name: a word of its own, or a function. */
bool cv_item_shell_knows(const char *shell, const char *name);

#endif
