/* tournament.c -- room for the places of a tournament. SPDX-License-Identifier: MIT */
#include "sim/load/tournament.h"

#include <stdlib.h>

bool cv_tournament_init(struct cv_tournament *tree, size_t places)
{
    size_t power = 1;

    while (power < places)
        power *= 2;
    tree->places = power;
    tree->nodes = calloc(2 * power, sizeof *tree->nodes);
    return tree->nodes != NULL;
}

void cv_tournament_clear(struct cv_tournament *tree)
{
    for (size_t i = 0; i < 2 * tree->places; i++)
        tree->nodes[i] = CV_PENDING_NEVER;
}

void cv_tournament_done(struct cv_tournament *tree)
{
    free(tree->nodes);
    tree->nodes = NULL;
}
