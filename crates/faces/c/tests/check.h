/* A test's condition: the function that it stands in returns 1 and says which line did not hold. */
#ifndef CHECK_H
#define CHECK_H
#include <stdio.h>

#define CHECK(holds)                                            \
    do {                                                        \
        if (!(holds)) {                                         \
            fprintf(stderr, "line %d: %s\n", __LINE__, #holds); \
            return 1;                                           \
        }                                                       \
    } while (0)

#endif
