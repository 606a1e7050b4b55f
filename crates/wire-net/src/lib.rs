//! Wire formats above the link: IP, ICMP, UDP, UDP-Lite and TCP over any bytes.
