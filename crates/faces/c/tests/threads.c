/* One socket in several threads: the text of an error stays valid while other threads cause errors.
 * Then a length that exceeds all memory. */
#include <errno.h>
#include <pthread.h>
#include <sap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static sap_sock_t *sock;

static void *fail(void *mode)
{
    size_t letters = 0;
    for (int i = 0; i < 20000; i++) {
        sap_set_mode(sock, *(int *)mode, 0);
        letters += strlen(sap_strerror(sock));
    }
    return (void *)letters;
}

int main(void)
{
    pthread_t threads[4];
    int modes[4] = {2, 33333, 444444444, -5};
    sock = sap_socket();
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, fail, &modes[i]);
    for (int i = 0; i < 4; i++) {
        void *letters;
        pthread_join(threads[i], &letters);
        if (!letters)
            return 1;
    }
    sap_set_mode(sock, 7, 0);
    const char *text = sap_strerror(sock);
    sap_send(sock, text, 1);
    if (!strstr(text, "7 is neither"))
        return 2;
    if (sap_send(sock, text, (size_t)-1) != -1 || errno != EMSGSIZE)
        return 3;
    sap_close(sock);
    puts("texts stay, lengths are checked");
    return 0;
}
