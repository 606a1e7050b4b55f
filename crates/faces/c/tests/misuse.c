/* Calls that cannot take effect fail at once: options that are set too late, impossible addresses,
 * messages that no path carries, and a missing socket. */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <sap.h>
#include <stdio.h>
#include <sys/mman.h>

#define REFUSED(call, number)                                              \
    do {                                                                   \
        errno = 0;                                                         \
        if ((call) != -1 || errno != (number)) {                           \
            fprintf(stderr, "%s: errno %d, not %d\n", #call, errno, number); \
            return 1;                                                      \
        }                                                                  \
    } while (0)

int main(void)
{
    static const uint8_t key[32] = {1};
    size_t vast = (size_t)1 << 40;
    sap_sock_t *here = sap_socket(), *there = sap_socket(), *accepted;

    REFUSED(sap_set_key(NULL, key), EINVAL);
    REFUSED(sap_send(NULL, "a", 1), EINVAL);
    REFUSED(sap_connect(here, NULL, 1), EINVAL);
    REFUSED(sap_connect(here, "127.0.0.1", 0), EINVAL);
    REFUSED(sap_connect(here, "a..b", 1), ENXIO);
    /* A failed connect does not prevent a key. */
    if (sap_set_key(here, key) || sap_set_key(here, NULL))
        return 2;

    if (sap_bind(there, "127.0.0.1", 0) || sap_connect(here, "127.0.0.1", sap_port(there)))
        return 3;
    REFUSED(sap_set_key(there, key), EINVAL);
    REFUSED(sap_set_profile(there, SAP_PAPER), EINVAL);
    REFUSED(sap_set_carrier(there, "udp"), EINVAL);
    if (!(accepted = sap_accept(there)))
        return 4;
    REFUSED(sap_set_key(accepted, key), EISCONN);
    REFUSED(sap_set_linger(here, -1), EINVAL);
    REFUSED(sap_set_ranges(here, &(struct sap_range){5, 4}, 1), EINVAL);
    REFUSED(sap_set_ranges(here, NULL, 1), EINVAL);
    if (sap_accept(here) || errno != EINVAL || sap_recv_message(there, NULL) || errno != ENOTCONN)
        return 6;
    REFUSED(sap_set_key(here, key), EISCONN);
    REFUSED(sap_set_profile(here, SAP_PAPER), EISCONN);
    REFUSED(sap_set_carrier(here, "udp"), EISCONN);

    /* It must fail before it is copied. */
    void *data = mmap(NULL, vast, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return 5;
    REFUSED(sap_send(here, data, vast), EMSGSIZE);
    sap_close(here);
    sap_close(accepted);
    sap_close(there);
    puts("refused at once");
    return 0;
}
