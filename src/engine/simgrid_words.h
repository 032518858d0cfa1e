/* simgrid_words.h -- what SimGrid says when it gives up, in words for people.
 * SPDX-License-Identifier: MIT
 *
 * Both the program that SimGrid is part of and the one that started it read its last lines. */
#ifndef CV_SIMGRID_WORDS_H
#define CV_SIMGRID_WORDS_H
#include <stddef.h>
#include <string.h>

/* "[12.5] ./src/x.cpp:95: [xbt/ERROR] Parse error" is about a parse error: what is behind the
 * mark; NULL when the line has none. */
static inline const char *cv_simgrid_marked(const char *line)
{
    const char *mark = strstr(line, "/CRITICAL] ");

    if (mark == NULL)
        mark = strstr(line, "/ERROR] ");
    return mark == NULL ? NULL : strchr(mark, ' ') + 1;
}

/* Exceptions have names of C++; the ones that files lead to are said in a sentence. */
static inline const char *cv_simgrid_plain(const char *words)
{
    static const char *const plain[][2] = {
        { "NetworkFailureException",
          "a link or host on the way goes off, by a profile of the platform file" },
        { "HostFailureException",
          "the host goes off, by a profile of the platform file" },
    };

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strstr(words, plain[i][0]) != NULL)
            return plain[i][1];
    return words;
}

#endif
