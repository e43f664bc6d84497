/* Rotary position embedding in C, judged over the line protocol:
 *
 *     cc -O2 -o rope rope.c -lm && posenc check --command ./rope
 *
 * rotate() is the implementation; the rest reads and writes lines (docs/protocol.md). Compiled with -DFROM_ONE it counts positions from one,
 * a mistake that posenc names.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FROM_ONE
enum { FIRST = 1 };
#else
enum { FIRST = 0 };
#endif

/* x is (batch, head, token, head_dim), positions (token) or (batch, token); pairs are neighbours, or a half apart. */
static void rotate(float *x, const int64_t *positions, const int64_t *shape, int batched, double base, int half)
{
    int64_t batches = shape[0], heads = shape[1], tokens = shape[2], width = shape[3], pairs = width / 2;
    for (int64_t row = 0; row < batches * heads * tokens; row++) {
        int64_t token = row % tokens, batch = row / tokens / heads;
        double position = (double)(positions[batched ? batch * tokens + token : token] + FIRST);
        for (int64_t j = 0; j < pairs; j++) {
            double angle = position * pow(base, -2.0 * (double)j / (double)width);
            float *first = x + row * width + (half ? j : 2 * j), *second = first + (half ? pairs : 1);
            double a = *first, b = *second;
            *first = (float)(a * cos(angle) - b * sin(angle));
            *second = (float)(a * sin(angle) + b * cos(angle));
        }
    }
}

/* JSON: skip over values, and find the value of a key. */
static const char *space(const char *s) { return s + strspn(s, " \t\r\n"); }

static const char *skip_string(const char *s)
{
    for (s++; *s && *s != '"'; s++)
        if (*s == '\\' && s[1]) s++;
    return *s ? s + 1 : s;
}

static const char *skip(const char *s)
{
    s = space(s);
    if (*s == '"') return skip_string(s);
    if (*s != '{' && *s != '[') return s + strcspn(s, ",]} \t\r\n");
    for (int depth = 0; *s;) {
        if (*s == '"') { s = skip_string(s); continue; }
        if (*s == '{' || *s == '[') depth++;
        if (*s == '}' || *s == ']') depth--;
        s++;
        if (!depth) break;
    }
    return s;
}

static const char *get(const char *object, const char *key)
{
    if (!object) return NULL;
    const char *s = space(object);
    if (*s != '{') return NULL;
    for (s = space(s + 1); *s == '"'; s = space(s + 1)) {
        const char *name = s + 1, *end = skip_string(s);
        const char *value = space(space(end) + 1);
        if ((size_t)(end - name - 1) == strlen(key) && !strncmp(name, key, strlen(key))) return value;
        s = space(skip(value));
        if (*s != ',') break;
    }
    return NULL;
}

static int is(const char *value, const char *text)
{
    return value && *value == '"' && !strncmp(value + 1, text, strlen(text)) && value[1 + strlen(text)] == '"';
}

/* Base64 of little-endian numbers. */
static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void *decode(const char *text, size_t bytes)
{
    unsigned char *out = calloc(bytes + 3, 1);
    uint32_t group = 0;
    size_t filled = 0, count = 0;
    for (const char *digit, *s = text + 1; *s && *s != '"' && *s != '=' && (digit = strchr(DIGITS, *s)); s++) {
        group = group << 6 | (uint32_t)(digit - DIGITS);
        if (++count % 4 == 0)
            for (int shift = 16; shift >= 0 && filled < bytes; shift -= 8) out[filled++] = (unsigned char)(group >> shift);
    }
    if (count % 4 > 1)
        for (int i = 0, extra = (int)(count % 4); i < extra - 1 && filled < bytes; i++)
            out[filled++] = (unsigned char)(group << 6 * (4 - extra) >> (16 - 8 * i));
    return out;
}

static void encode(const unsigned char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 3) {
        uint32_t group = (uint32_t)data[i] << 16 | (i + 1 < bytes ? data[i + 1] << 8 : 0) | (i + 2 < bytes ? data[i + 2] : 0);
        putchar(DIGITS[group >> 18]);
        putchar(DIGITS[group >> 12 & 63]);
        putchar(i + 1 < bytes ? DIGITS[group >> 6 & 63] : '=');
        putchar(i + 2 < bytes ? DIGITS[group & 63] : '=');
    }
}

static int shape_of(const char *tensor, int64_t *shape)
{
    int rank = 0;
    const char *s = get(tensor, "shape");
    for (s = s ? space(s + 1) : "]"; *s && *s != ']' && rank < 4; s = space(s + strspn(s, ", "))) shape[rank++] = strtoll(s, (char **)&s, 10);
    return rank;
}

static void answer(const char *call)
{
    const char *x = get(get(call, "arrays"), "x"), *positions = get(get(call, "arrays"), "positions"), *parameters = get(call, "parameters");
    int64_t shape[4] = {0}, where[4] = {0};
    if (!is(get(call, "operation"), "rope.rotate") || shape_of(x, shape) != 4 || !is(get(parameters, "direction"), "positive")) {
        printf("{\"unsupported\":\"this program turns four axes, forwards\"}");
        return;
    }
    size_t count = (size_t)(shape[0] * shape[1] * shape[2] * shape[3]);
    int batched = shape_of(positions, where) == 2;
    float *values = decode(get(x, "base64"), 4 * count);
    int64_t *at = decode(get(positions, "base64"), (size_t)(8 * (batched ? where[0] * where[1] : where[0])));
    rotate(values, at, shape, batched, strtod(get(parameters, "base"), NULL), is(get(parameters, "layout"), "half"));
    printf("{\"results\":{\"result\":{\"dtype\":\"float32\",\"shape\":[%lld,%lld,%lld,%lld],\"base64\":\"", (long long)shape[0],
           (long long)shape[1], (long long)shape[2], (long long)shape[3]);
    encode((const unsigned char *)values, 4 * count);
    printf("\"}}}");
    free(values);
    free(at);
}

int main(void)
{
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) > 0) {
        const char *identity = get(line, "id"), *calls = get(line, "calls");
        printf("{\"id\":%lld,", identity ? strtoll(identity, NULL, 10) : 0);
        if (is(get(line, "method"), "describe"))
            printf("\"protocol\":1,\"name\":\"c-rope\",\"version\":\"1\",\"implementations\":[{\"operation\":\"rope.rotate\","
                   "\"restrictions\":{\"layout\":[\"interleaved\",\"half\"],\"direction\":\"positive\"}}]}\n");
        else {
            printf("\"replies\":[");
            for (const char *s = calls ? space(calls + 1) : "]"; *s == '{'; s = space(s)) {
                answer(s);
                s = space(skip(s));
                if (*s == ',') putchar(*s++);
            }
            printf("]}\n");
        }
        fflush(stdout);
    }
    free(line);
    return 0;
}
