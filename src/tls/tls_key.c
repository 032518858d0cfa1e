/* tls_key.c -- keys and addresses as users write them. SPDX-License-Identifier: MIT */
#include "tls/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/fail.h"

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

enum cleave_status cv_tls_key_parse(const char *digits, const char *name,
                                    struct cv_tls_key *out, struct cleave_error *err)
{
    size_t count = strlen(digits);
    bool good = true;

    while (count > 0 && strchr(" \t\r\n", digits[count - 1]) != NULL)
        count--;
    for (size_t i = 0; i < count; i++)
        good = good && digit(digits[i]) >= 0;
    if (!good || count % 2 != 0 || count / 2 < CV_TLS_KEY_MIN ||
        count / 2 > CV_TLS_KEY_MAX)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: expected a key of %d to %d hexadecimal digits, as 'cleave "
                       "keygen' makes one",
                       name, 2 * CV_TLS_KEY_MIN, 2 * CV_TLS_KEY_MAX);
    out->length = count / 2;
    for (size_t i = 0; i < out->length; i++)
        out->bytes[i] =
            (unsigned char)(digit(digits[2 * i]) * 16 + digit(digits[2 * i + 1]));
    return CLEAVE_OK;
}

static size_t read_text(int fd, char *out, size_t room)
{
    size_t count = 0;

    while (count < room) {
        const ssize_t got = TEMP_FAILURE_RETRY(read(fd, out + count, room - count));

        if (got <= 0)
            break;
        count += (size_t)got;
    }
    return count;
}

enum cleave_status cv_tls_key_read(const char *path, struct cv_tls_key *out,
                                   struct cleave_error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[2 * CV_TLS_KEY_MAX + 16];
    struct stat facts;

    if (fd < 0 || fstat(fd, &facts) != 0) {
        cv_fail(err, CLEAVE_EINPUT, "%s: cannot read: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        return CLEAVE_EINPUT;
    }
    text[read_text(fd, text, sizeof text - 1)] = '\0';
    close(fd);
    if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return cv_fail(err, CLEAVE_EINPUT,
                       "%s: others may open this key: expected mode 0600, got %04o", path,
                       (unsigned)facts.st_mode & 07777u);
    return cv_tls_key_parse(text, path, out, err);
}

static enum cleave_status not_an_address(const char *text, struct cleave_error *err)
{
    return cv_fail(err, CLEAVE_EINPUT,
                   "expected an address HOST:PORT, or PORT of this machine, got '%s'",
                   text);
}

enum cleave_status cv_tls_address_parse(const char *text, struct cv_tls_address *out,
                                        struct cleave_error *err)
{
    const char *colon = strrchr(text, ':'), *port = colon != NULL ? colon + 1 : text;
    const char *host = colon != NULL ? text : "127.0.0.1";
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(host);
    const size_t digits = strspn(port, "0123456789");

    if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
        host++;
        length -= 2;
    } else if (memchr(host, ':', length) != NULL) { /* an IPv6 address without brackets */
        return not_an_address(text, err);
    }
    if (length == 0 || length >= sizeof out->host || digits == 0 || digits > 5 ||
        port[digits] != '\0' || strtoul(port, NULL, 10) > 65535)
        return not_an_address(text, err);
    memcpy(out->host, host, length);
    out->host[length] = '\0';
    memcpy(out->port, port, digits + 1);
    return CLEAVE_OK;
}
