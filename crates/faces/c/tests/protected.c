/* An array in parts, whose numbers keep sign and size whatever happens to the rest of each part. */
#include "check.h"
#include <errno.h>
#include <math.h>
#include <sap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000, HEAD = 80 };

static const char header[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000,)}";

int main(void)
{
    static unsigned char file[HEAD + 4 * COUNT];
    float values[COUNT], arrived[COUNT];
    size_t len, exact, missing, damaged, i;
    memset(file, ' ', HEAD);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = HEAD - 10;
    file[9] = 0;
    memcpy(file + 10, header, strlen(header));
    for (i = 0; i < COUNT; i++) values[i] = ((float)i - 500.5f) * 0.37f;
    memcpy(file + HEAD, values, sizeof values);

    sap_parts_t *parts = sap_protect(file, sizeof file, 500);
    CHECK(parts && sap_parts_count(parts) > 8);
    sap_restorer_t *clean = sap_restorer(), *bad = sap_restorer();
    for (i = 0; i < sap_parts_count(parts); i++) {
        const unsigned char *part = sap_parts_get(parts, i, &len, &exact);
        unsigned char copy[500];
        CHECK(part && len <= 500 && exact <= len && (exact == len) == (i == 0));
        CHECK(!sap_restorer_push(clean, part, len));
        memcpy(copy, part, len);
        for (size_t at = exact; at < len; at++) copy[at] ^= 0xff;
        CHECK(!sap_restorer_push(bad, copy, len));
    }
    const unsigned char *back = sap_restorer_file(clean, &len, &missing, &damaged);
    CHECK(back && len == sizeof file && !missing && !damaged && !memcmp(back, file, len));
    back = sap_restorer_file(bad, &len, NULL, &damaged);
    CHECK(back && len == sizeof file && damaged == sap_parts_count(parts) - 1);
    memcpy(arrived, back + HEAD, sizeof arrived);
    for (i = 0; i < COUNT; i++) CHECK(fabsf(arrived[i] - values[i]) <= fabsf(values[i]) / 128);
    CHECK(memcmp(arrived, values, sizeof values));

    /* The head alone, which says that there are 400 MB of numbers: none of them arrived. */
    const unsigned char *first = sap_parts_get(parts, 0, &len, NULL);
    unsigned char head[500];
    memcpy(head, first, len);
    memcpy(head + 32 + 4, "\0\0\0\0\x17\xd7\x84\0", 8);
    sap_restorer_t *promised = sap_restorer();
    errno = 0;
    CHECK(!sap_restorer_push(promised, head, len));
    CHECK(!sap_restorer_file(promised, NULL, NULL, NULL) && errno == EINVAL);
    sap_restorer_free(promised);

    errno = 0;
    CHECK(!sap_protect("text", 4, 500) && errno == EINVAL);
    CHECK(strstr(sap_strerror(NULL), "it is no file that can be protected"));
    CHECK(!sap_protect(file, sizeof file, 9) && strstr(sap_strerror(NULL), "parts of 9 bytes"));
    CHECK(!sap_parts_get(parts, 1000, NULL, NULL));
    CHECK(sap_restorer_push(bad, "no part", 7) == -1);
    CHECK(!strstr(sap_strerror(NULL), "parts of 9 bytes"));
    CHECK(sap_restorer_push(NULL, "no part", 7) == -1);
    CHECK(strstr(sap_strerror(NULL), "there is no receiver of parts"));
    CHECK(!sap_restorer_file(NULL, NULL, NULL, NULL) && sap_parts_count(NULL) == 0);
    sap_restorer_free(clean);
    sap_restorer_free(bad);
    sap_parts_free(parts);
    sap_parts_free(NULL);
    puts("restored");
    return 0;
}
