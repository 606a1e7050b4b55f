/* Both ends of an encrypted connection in one program: a precise message, an approximate one, and
 * the repair of a part of it. */
#include <poll.h>
#include <sap.h>
#include <stdio.h>
#include <string.h>

static int fail(const char *what, sap_sock_t *sock) {
    fprintf(stderr, "%s: %s\n", what, sap_strerror(sock));
    return 1;
}

int main(void) {
    sap_sock_t *here = sap_socket(), *listener = sap_socket();
    uint8_t key[32] = {1, 2, 3}; /* a real program reads it from a file of random bytes */
    sap_set_key(here, key);
    sap_set_key(listener, key);
    sap_set_timeout(listener, 30000);
    if (sap_bind(listener, "127.0.0.1", 0)) return fail("bind", listener);
    if (sap_connect(here, "127.0.0.1", sap_port(listener))) return fail("connect", here);
    sap_sock_t *there = sap_accept(listener);
    if (!there) return fail("accept", listener);

    if (sap_send(here, "exact", 5) != 5) return fail("send", here);
    sap_set_mode(here, SAP_APPROX, 2);
    if (sap_send(here, "about", 5) != 5) return fail("send", here);
    if (sap_send(here, "x", 1) != -1) return 2; /* two bytes of one cannot be protected */

    /* Another stream, which the first one does not block. */
    sap_set_mode(here, SAP_PRECISE, 0);
    sap_set_stream(here, 7);
    if (sap_send(here, "aside", 5) != 5) return fail("send", here);
    sap_set_stream(here, 0);

    int precise = 0, approximate = 0, repair = 0, aside = 0;
    for (;;) {
        char text[64];
        struct sap_info info;
        struct pollfd wait = {.fd = sap_fd(there), .events = POLLIN};
        if (poll(&wait, 1, 30000) != 1) return fail("poll", there);
        long len = sap_recv(there, text, sizeof text, &info);
        if (len < 0) return fail("recv", there);
        if (len == 0 && sap_is_finished(there)) break;
        const char *kinds[] = {"precise", "approximate", "repair"};
        printf("%s: %.*s\n", kinds[info.kind], (int)len, text);
        precise += info.kind == SAP_KIND_PRECISE && info.exact == 5 && !memcmp(text, "exact", 5);
        aside += info.stream == 7 && info.number == 0 && !memcmp(text, "aside", 5);
        if (info.kind == SAP_KIND_APPROX) {
            approximate += info.exact == 2 && !memcmp(text, "about", 5);
            if (sap_repair(there, info.number, 2, 5)) return fail("repair", there);
        }
        if (info.kind == SAP_KIND_REPAIR) {
            repair += len == 3 && !memcmp(text, "out", 3);
            if (sap_send_fin(here)) return fail("fin", here);
        }
    }
    sap_close(here);
    sap_close(there);
    sap_close(listener);
    return precise == 1 && approximate == 1 && repair == 1 && aside == 1 ? 0 : 3;
}
