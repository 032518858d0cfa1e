/* window.c -- a command for cleave run --persistent --window K. SPDX-License-Identifier: MIT
 *
 *     cleave run --persistent --window 8 -N 1 -i FILE -- window
 *
 * Reads the chunks that wait, up to K of them, and answers the last one first, each in upper
 * case. Without --window it holds one chunk at a time, and its answers have no numbers. */
#include <ctype.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1024 };

static void put_head(uint64_t head)
{
    for (int shift = 56; shift >= 0; shift -= 8)
        putchar((int)(head >> shift & 0xFF));
}

int main(void)
{
    const char *text = getenv("CLEAVE_WINDOW");
    const int window = text != NULL ? atoi(text) : 0;
    const int most = window < 1 ? 1 : window < MOST ? window : MOST;
    struct pollfd input = { .events = POLLIN };
    unsigned char head[8], *chunks[MOST];
    uint64_t lengths[MOST], number = 0;
    int held = 0;

    setvbuf(stdin, NULL, _IONBF, 0); /* so that poll sees all that waits */
    while (fread(head, 1, 8, stdin) == 8) {
        uint64_t length = 0;

        for (int i = 0; i < 8; i++)
            length = length << 8 | head[i];
        chunks[held] = malloc(length + 1);
        if (chunks[held] == NULL || fread(chunks[held], 1, length, stdin) != length)
            return 1;
        lengths[held++] = length;
        number++;
        if (held < most && poll(&input, 1, 0) > 0)
            continue;
        for (uint64_t n = number; held > 0; held--) { /* number of the last one: n - 1 */
            const unsigned char *chunk = chunks[held - 1];

            length = lengths[held - 1];
            n--;
            put_head((window > 0 ? (uint64_t)0x80 << 56 | n % 65536 << 40 : 0) | length);
            for (uint64_t i = 0; i < length; i++)
                putchar(toupper(chunk[i]));
            free(chunks[held - 1]);
        }
        if (fflush(stdout) != 0)
            return 1;
    }
    return 0;
}
