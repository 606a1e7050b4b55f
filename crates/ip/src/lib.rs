//! Forwarding, fragments, ICMP and path MTU.
