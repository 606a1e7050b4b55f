/* Sends the readings of a sensor to a receiver, which adds them up. */
#include <sap.h>
#include <stdio.h>

int main(void) {
    sap_sock_t *listener = sap_socket();
    sap_sock_t *sender = sap_socket();
    sap_bind(listener, "127.0.0.1", 0);
    sap_connect(sender, "127.0.0.1", sap_port(listener));
    sap_sock_t *receiver = sap_accept(listener);
    sap_set_mode(sender, SAP_APPROX, 0);
    int sum = 0, reading = 0;
    for (int i = 1; i <= 10; i++)
        sap_send(sender, &i, sizeof i);
    for (int i = 1; i <= 10; i++) {
        sap_recv(receiver, &reading, sizeof reading, NULL);
        sum += reading;
    }
    printf("%d\n", sum);
    sap_close(sender);
    sap_close(receiver);
    sap_close(listener);
    return 0;
}
