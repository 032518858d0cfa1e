/* persistent.c -- a command for cleave run --persistent. SPDX-License-Identifier: MIT
 *
 *     cleave run --persistent -i FILE -- persistent
 *
 * Answers each chunk with itself in upper case. Lengths have 8 bytes, the highest first. */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    unsigned char head[8], *chunk = NULL;

    while (fread(head, 1, 8, stdin) == 8) {
        uint64_t length = 0;

        for (int i = 0; i < 8; i++)
            length = length << 8 | head[i];
        free(chunk);
        chunk = malloc(length + 1);
        if (chunk == NULL || fread(chunk, 1, length, stdin) != length)
            return 1;
        for (uint64_t i = 0; i < length; i++)
            chunk[i] = (unsigned char)toupper(chunk[i]);
        fwrite(head, 1, 8, stdout);
        fwrite(chunk, 1, length, stdout);
        if (fflush(stdout) != 0)
            return 1;
    }
    free(chunk);
    return 0;
}
