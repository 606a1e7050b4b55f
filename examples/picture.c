/* Sends a picture over SAP: its header precise, its pixels approximate.
 *
 *   cc -o picture examples/picture.c $(pkg-config --cflags --libs sap)
 *   picture send FILE ADDRESS PORT      FILE is a PPM (P6), as cameras' tools write it
 *   picture receive FILE [PORT]         writes what arrived, damaged pixels and all
 *
 * A message of pixels begins with its offset in the picture, which is protected; the rest arrives as
 * it is. Where a message was lost, the picture stays black. */
#include <sap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OFFSET = 4, PIXELS = 1000, LONGEST = 65536, MOST = 1 << 28 };

static int fail(const char *what, sap_sock_t *sock) {
    fprintf(stderr, "picture: %s: %s\n", what, sap_strerror(sock));
    return 1;
}

/* The length of a PPM's header, or 0. */
static size_t header_of(const char *text, size_t *width, size_t *height) {
    int length = 0;
    if (sscanf(text, "P6 %zu %zu %*u%n", width, height, &length) != 2 || !length) return 0;
    if (!*width || !*height || *width > MOST / 3 / *height) return 0;
    return (size_t)length + 1;
}

static int send_picture(const char *path, const char *address, const char *port) {
    FILE *file = fopen(path, "rb");
    char start[64] = {0};
    size_t width, height;
    if (!file) return perror(path), 1;
    size_t got = fread(start, 1, sizeof start - 1, file), header = header_of(start, &width, &height);
    if (!got || !header) return fprintf(stderr, "%s is no PPM of the kind P6\n", path), 1;
    fseek(file, (long)header, SEEK_SET);

    sap_sock_t *sock = sap_socket();
    if (sap_connect(sock, address, (uint16_t)atoi(port))) return fail("connect", sock);
    if (sap_send(sock, start, header) < 0) return fail("send", sock);
    sap_set_mode(sock, SAP_APPROX, OFFSET);
    unsigned char message[OFFSET + PIXELS];
    for (uint32_t at = 0; (got = fread(message + OFFSET, 1, PIXELS, file)) > 0; at += PIXELS) {
        for (int i = 0; i < OFFSET; i++) message[i] = (unsigned char)(at >> (24 - 8 * i));
        if (sap_send(sock, message, OFFSET + got) < 0) return fail("send", sock);
    }
    fclose(file);
    if (sap_send_fin(sock)) return fail("send", sock);
    sap_close(sock);
    return 0;
}

static int receive_picture(const char *path, const char *port) {
    sap_sock_t *listener = sap_socket();
    if (sap_bind(listener, NULL, (uint16_t)atoi(port))) return fail("bind", listener);
    printf("port %u\n", (unsigned)sap_port(listener));
    fflush(stdout);
    sap_sock_t *sock = sap_accept(listener);
    if (!sock) return fail("accept", listener);

    char start[64] = {0};
    size_t header = 0, width = 0, height = 0, arrived = 0;
    /* The pixels stand in a buffer that grows: they may overtake the header. */
    unsigned char *pixels = NULL;
    size_t room = 0;
    for (;;) {
        static unsigned char message[LONGEST];
        struct sap_info info;
        long got = sap_recv(sock, message, sizeof message, &info);
        if (got < 0) return fail("receive", sock);
        if (got == 0 && sap_is_finished(sock)) break;
        /* What is longer than the buffer is none of ours. */
        if (info.length > sizeof message) continue;
        if (info.kind == SAP_KIND_PRECISE && got < (long)sizeof start) {
            memcpy(start, message, (size_t)got);
            start[got] = 0;
            header = header_of(start, &width, &height);
            if (header > (size_t)got) header = 0;
        } else if (got > OFFSET) {
            size_t at = 0, length = (size_t)got - OFFSET;
            for (int i = 0; i < OFFSET; i++) at = at << 8 | message[i];
            if (at + length > MOST) continue;
            if (at + length > room) {
                size_t more = 2 * (at + length);
                unsigned char *larger = realloc(pixels, more);
                if (!larger) return fprintf(stderr, "no memory\n"), 1;
                memset(larger + room, 0, more - room);
                pixels = larger, room = more;
            }
            memcpy(pixels + at, message + OFFSET, length);
            arrived += length;
        }
    }
    FILE *file = header ? fopen(path, "wb") : NULL;
    if (!file) return fprintf(stderr, "%s: no picture came, or it cannot be written\n", path), 1;
    fwrite(start, 1, header, file);
    for (size_t at = 0; at < 3 * width * height; at++) fputc(at < room ? pixels[at] : 0, file);
    if (fclose(file)) return perror(path), 1;
    printf("%zu of %zu bytes of pixels arrived\n", arrived, 3 * width * height);
    free(pixels);
    sap_close(sock);
    sap_close(listener);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 5 && !strcmp(argv[1], "send")) return send_picture(argv[2], argv[3], argv[4]);
    if ((argc == 3 || argc == 4) && !strcmp(argv[1], "receive"))
        return receive_picture(argv[2], argc == 4 ? argv[3] : "0");
    fprintf(stderr, "usage: picture send FILE ADDRESS PORT\n       picture receive FILE [PORT]\n");
    return 2;
}
