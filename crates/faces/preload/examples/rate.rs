//! Counts the datagrams that a socket of UDP or UDP-Lite sends to another of the same program in a
//! second: `rate udp|udplite BYTES COVERAGE`.
#![expect(unsafe_code, reason = "sockets of UDP-Lite are opened by the system's own call")]
#![expect(clippy::disallowed_methods, reason = "it measures time")]

use std::net::UdpSocket;
use std::os::fd::FromRawFd;
use std::time::{Duration, Instant};

/// Datagrams that are on the way at once.
const BATCH: usize = 16;

fn open(protocol: i32, coverage: i32) -> UdpSocket {
    // SAFETY: it takes numbers alone.
    let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM, protocol) };
    assert!(fd >= 0, "{}", std::io::Error::last_os_error());
    if protocol == libc::IPPROTO_UDPLITE {
        let value = (&raw const coverage).cast();
        let len = size_of::<i32>() as u32;
        // SAFETY: the pointer leads to `len` bytes that live through the call.
        assert_eq!(unsafe { libc::setsockopt(fd, libc::IPPROTO_UDPLITE, 10, value, len) }, 0);
    }
    let mut address = std::mem::MaybeUninit::<libc::sockaddr_in>::zeroed();
    // SAFETY: all-zero bytes are a legal value of this plain structure.
    let address = unsafe { address.assume_init_mut() };
    address.sin_family = libc::AF_INET as u16;
    address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
    let len = size_of::<libc::sockaddr_in>() as u32;
    // SAFETY: the address lives through the call, which only reads it.
    assert_eq!(unsafe { libc::bind(fd, (&raw const *address).cast(), len) }, 0);
    // SAFETY: the descriptor was just opened and belongs to nothing else.
    unsafe { UdpSocket::from_raw_fd(fd) }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let protocol = if words[1] == "udplite" { libc::IPPROTO_UDPLITE } else { libc::IPPROTO_UDP };
    let [bytes, coverage] = [2, 3].map(|at| words[at].parse::<i32>().expect("a number"));
    let [from, to] = [open(protocol, coverage), open(protocol, coverage)];
    from.connect(to.local_addr().expect("bound")).expect("there is a route");
    let data = vec![7; bytes as usize];
    let mut buffer = vec![0; 1 << 16];
    let start = Instant::now();
    let mut count = 0;
    while start.elapsed() < Duration::from_secs(1) {
        for _ in 0..BATCH {
            from.send(&data).expect("sent");
        }
        for _ in 0..BATCH {
            assert_eq!(to.recv(&mut buffer).expect("received"), data.len());
        }
        count += BATCH;
    }
    println!("{:.0}", count as f64 / start.elapsed().as_secs_f64());
}
