/* item_placeholder.c -- places for items in a command: what "{.}" and its like stand for.
 * SPDX-License-Identifier: MIT
 *
 * They are those of GNU parallel, whose definitions are expressions of Perl; a dot there
 * does not match the end of a line, which names may hold. */
#include "run/items/item_placeholder.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *const texts[CV_ITEM_PARTS] = {
#define CV_ITEM_PART_TEXT(name, text) [CV_ITEM_##name] = text,
    CV_ITEM_PART_MAP(CV_ITEM_PART_TEXT)
#undef CV_ITEM_PART_TEXT
};

/* --- reading ------------------------------------------------------------------------------ */

/* What stands between the position and the brace. */
static bool read_part(const char *text, struct cv_item_placeholder *out)
{
    const size_t length = strcspn(text, "}");

    if (text[length] == '\0')
        return false;
    for (int part = 0; part < CV_ITEM_PARTS; part++)
        if (strlen(texts[part]) == length && memcmp(texts[part], text, length) == 0) {
            out->part = (enum cv_item_part)part;
            out->length = length + 1;
            return true;
        }
    return false;
}

struct cv_item_placeholder cv_item_place_at(const char *text)
{
    static const struct cv_item_placeholder none = { .length = 0 };
    struct cv_item_placeholder place = none;
    const char *at = text + 1;
    char *rest;
    long position;

    if (text[0] != '{')
        return none;
    if (*at == '-' || (*at >= '0' && *at <= '9' && strncmp(at, "0#", 2) != 0)) {
        position = strtol(at, &rest, 10);
        if (rest == at || position == 0 || position > INT_MAX || position < -INT_MAX)
            return none;
        place.position = (int)position;
        at = rest;
    }
    if (!read_part(at, &place) ||
        (place.position != 0 && cv_item_part_is_number(place.part)))
        return none;
    place.length += (size_t)(at - text);
    return place;
}

struct cv_item_placeholder cv_item_place_named(const char *text, const char *name,
                                               int position)
{
    static const struct cv_item_placeholder none = { .length = 0 };
    struct cv_item_placeholder place = { .position = position };
    const size_t length = strlen(name);

    if (length == 0 || text[0] != '{' || strncmp(text + 1, name, length) != 0 ||
        !read_part(text + 1 + length, &place) || cv_item_part_is_number(place.part))
        return none;
    place.length += 1 + length;
    return place;
}

bool cv_item_part_is_number(enum cv_item_part part)
{
    return part >= CV_ITEM_NUMBER;
}

/* --- parts of a value --------------------------------------------------------------------- */

struct slice {
    const char *bytes;
    size_t length;
};

static void add(struct cv_text *out, struct slice value)
{
    cv_text_add(out, "%.*s", (int)value.length, value.bytes);
}

/* So many endings, each a dot and what is neither a dot nor a slash; where they begin, or
 * SIZE_MAX: there are not as many. */
static size_t endings_at(struct slice value, unsigned count)
{
    size_t at = value.length;

    while (at > 0 && value.bytes[at - 1] != '/') {
        at--;
        if (value.bytes[at] == '.' && --count == 0)
            return at;
    }
    return SIZE_MAX;
}

static struct slice without_endings(struct slice value, unsigned count)
{
    const size_t at = endings_at(value, count);

    return (struct slice){ value.bytes, at == SIZE_MAX ? value.length : at };
}

/* Of the first line that has a slash, all up to its last one goes. */
static void add_file(struct cv_text *out, struct slice value)
{
    size_t begin = 0;

    while (begin < value.length) {
        const char *line = value.bytes + begin;
        const char *end = memchr(line, '\n', value.length - begin);
        const size_t length = end != NULL ? (size_t)(end - line) : value.length - begin;
        const char *slash = memrchr(line, '/', length);

        if (slash != NULL) {
            add(out, (struct slice){ value.bytes, begin });
            begin = (size_t)(slash + 1 - value.bytes);
            add(out, (struct slice){ value.bytes + begin, value.length - begin });
            return;
        }
        begin += length + 1;
    }
    add(out, value);
}

static void add_stem(struct cv_text *out, struct slice value, unsigned endings)
{
    struct cv_text file = { NULL, 0, 0, false };

    add_file(&file, value);
    if (file.bytes != NULL)
        add(out, without_endings((struct slice){ file.bytes, file.length }, endings));
    out->failed = out->failed || file.failed;
    cv_text_done(&file);
}

static size_t without_slashes(const char *bytes, size_t length)
{
    while (length > 1 && bytes[length - 1] == '/')
        length--;
    return length;
}

/* As dirname(1). */
static void add_folder(struct cv_text *out, struct slice value)
{
    size_t length = without_slashes(value.bytes, value.length);

    while (length > 0 && value.bytes[length - 1] != '/')
        length--;
    length = without_slashes(value.bytes, length);
    if (length == 0)
        cv_text_add(out, ".");
    else
        add(out, (struct slice){ value.bytes, length });
}

/* All from the first of so many endings on, without its dot; nothing if there are not as
 * many. One ending may hold a slash. */
static void add_endings(struct cv_text *out, struct slice value, unsigned count)
{
    size_t at = endings_at(value, count);

    if (count == 1) {
        const char *dot = memrchr(value.bytes, '.', value.length);

        at = dot != NULL ? (size_t)(dot - value.bytes) : SIZE_MAX;
    }
    if (at != SIZE_MAX)
        add(out, (struct slice){ value.bytes + at + 1, value.length - at - 1 });
}

static void add_before_file(struct cv_text *out, struct slice value)
{
    const char *slash = memrchr(value.bytes, '/', value.length);

    if (slash != NULL)
        add(out, (struct slice){ value.bytes, (size_t)(slash - value.bytes) });
}

void cv_item_part_add(struct cv_text *out, enum cv_item_part part, const char *value)
{
    const struct slice whole = { value, strlen(value) };

    switch (part) {
    case CV_ITEM_NO_ENDING:
    case CV_ITEM_NO_TWO_ENDINGS:
    case CV_ITEM_NO_THREE_ENDINGS:
        add(out, without_endings(whole, 1 + (unsigned)(part - CV_ITEM_NO_ENDING)));
        break;
    case CV_ITEM_FILE:
        add_file(out, whole);
        break;
    case CV_ITEM_FOLDER:
        add_folder(out, whole);
        break;
    case CV_ITEM_STEM:
    case CV_ITEM_STEM_OF_TWO:
    case CV_ITEM_STEM_OF_THREE:
        add_stem(out, whole, 1 + (unsigned)(part - CV_ITEM_STEM));
        break;
    case CV_ITEM_BEFORE_FILE:
        add_before_file(out, whole);
        break;
    case CV_ITEM_ENDING:
    case CV_ITEM_TWO_ENDINGS:
    case CV_ITEM_THREE_ENDINGS:
        add_endings(out, whole, 1 + (unsigned)(part - CV_ITEM_ENDING));
        break;
    default:
        add(out, whole);
    }
}
