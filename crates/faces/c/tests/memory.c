/* Without memory, sap_socket returns NULL. */
#include <sap.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(void)
{
    struct rlimit limit = {64 << 20, 64 << 20};
    void **taken = NULL;
    if (setrlimit(RLIMIT_AS, &limit))
        return 1;
    for (size_t size = 32 << 20; size >= 16; size /= 2)
        for (void **block; (block = malloc(size)); taken = block)
            *block = taken;
    if (sap_socket())
        return 2;
    while (taken) {
        void **block = taken;
        taken = *block;
        free(block);
    }
    sap_sock_t *sock = sap_socket();
    if (!sock)
        return 3;
    sap_close(sock);
    puts("no memory, no socket");
    return 0;
}
