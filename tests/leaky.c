/* leaky.c -- a program that leaks 33 bytes, for a test of leak_watch.c.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>

struct link {
    struct link *next;
};

static struct link *volatile global;
static _Thread_local void *volatile local;
static void *volatile lost;

int main(void)
{
    lost = malloc(33);
    global = calloc(1, sizeof *global);
    if (global == NULL)
        return 1;
    global->next = calloc(1, sizeof *global);
    local = malloc(5);
    free(malloc(7));
    lost = NULL;
    return lost != NULL;
}
