/* item_shell.h -- the shell that reads command lines. SPDX-License-Identifier: MIT */
#ifndef CV_ITEM_SHELL_H
#define CV_ITEM_SHELL_H
#include <stdbool.h>

/* The path of the shell that has started this process, so that its exported functions are
 * known; else $SHELL, if it quotes like a Bourne shell; else /bin/sh. For free(); NULL: memory
 * is short. */
char *cv_item_shell(void);
/* Whether a program of this name is found. */
bool cv_item_is_program(const char *name);
/* Whether the name is a command or a function of the shell. */
bool cv_item_shell_knows(const char *shell, const char *name);

#endif
