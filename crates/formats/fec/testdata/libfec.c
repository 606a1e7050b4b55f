/* Encodes or decodes blocks with Phil Karn's libfec, so that a test can compare.
 *
 * usage: libfec encode|decode POLYNOMIAL FIRST_ROOT STEP PARITY DATA < blocks > blocks
 *
 * Blocks of DATA + PARITY bytes lie one behind the other. To each decoded block a byte is added:
 * the corrected symbols, or 255 if there are too many wrong ones.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fec.h>

int main(int argc, char **argv)
{
    if (argc != 7) return 2;
    int parity = atoi(argv[5]), data = atoi(argv[6]);
    void *code = init_rs_char(8, atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), parity,
                              255 - parity - data);
    if (!code) return 3;
    unsigned char block[256];
    size_t length = data + parity;
    while (fread(block, 1, length, stdin) == length) {
        if (!strcmp(argv[1], "encode")) {
            encode_rs_char(code, block, block + data);
        } else {
            int corrected = decode_rs_char(code, block, NULL, 0);
            block[length++] = corrected < 0 ? 255 : corrected;
        }
        fwrite(block, 1, length, stdout);
        length = data + parity;
    }
    free_rs_char(code);
    return 0;
}
