/* Functions of a library in C, as people write and bring them. */
#include <math.h>
#include <stdint.h>

void rotate(float *x, const int64_t *positions, int batch, int heads, int tokens, int width, float base) {
    for (long row = 0; row < (long)batch * heads * tokens; row++)
        for (int pair = 0; pair < width / 2; pair++) {
            double angle = positions[row % tokens] * pow(base, -2.0 * pair / width);
            float *at = x + row * width + 2 * pair, a = at[0], b = at[1];
            at[0] = (float)(a * cos(angle) - b * sin(angle));
            at[1] = (float)(a * sin(angle) + b * cos(angle));
        }
}

void apply(float *out, const float *x, const float *cosines, const float *sines, int batch, int heads, int tokens, int width) {
    for (long row = 0; row < (long)batch * heads * tokens; row++)
        for (int pair = 0, half = width / 2; pair < half; pair++) {
            float c = cosines[row % tokens * half + pair], s = sines[row % tokens * half + pair];
            float a = x[row * width + pair], b = x[row * width + half + pair];
            out[row * width + pair] = a * c - b * s;
            out[row * width + half + pair] = a * s + b * c;
        }
}

void bias(float *out, int heads, int queries, int keys) {
    for (int head = 0; head < heads; head++)
        for (int query = 0; query < queries; query++)
            for (int key = 0; key < keys; key++)
                *out++ = (float)(exp2(-8.0 * (head + 1) / heads) * (key - query));
}

void encode(float *out, int tokens, int width) {
    for (int token = 0; token < tokens; token++)
        for (int channel = 0; channel < width; channel++) {
            double angle = token * pow(10000.0, -(channel - channel % 2) / (double)width);
            *out++ = (float)(channel % 2 ? cos(angle) : sin(angle));
        }
}

void frequencies(float *out, int width, float base) {
    for (int pair = 0; pair < width / 2; pair++)
        out[pair] = (float)pow(base, -2.0 * pair / width);
}
