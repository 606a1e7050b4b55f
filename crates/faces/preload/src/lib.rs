//! A library to preload: UDP-Lite sockets for programs on a kernel that has none.
//!
//! It stands before the system's calls of the same names. A socket that a program opens with the
//! protocol of UDP-Lite is one of UDP or a raw one below, and what is sent and received through it
//! gets and loses the header of UDP-Lite on the way. Every descriptor is a real one, so that
//! `poll`, `select` and `epoll` need nothing. Calls on all other descriptors go on to the system.
#![expect(unsafe_code, reason = "it takes the places of functions in C")]

mod address;
mod choose;
mod lite;
mod options;
mod receive;
mod send;
mod system;
mod table;

use core::ptr::{null, null_mut};

use libc::{
    c_int, c_long, c_uint, c_void, iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t,
    timespec,
};

use crate::system::{fail, next};

/// Pointers as the functions of the system take them.
type Input = *const c_void;
type Output = *mut c_void;
type Peer = *const sockaddr;
type Address = *mut sockaddr;
type Length = *mut socklen_t;

/// Defines a function of the system: what it does on sockets of UDP-Lite, and the system's own on
/// all others. A thread that is cancelled while it waits unwinds from there.
macro_rules! interpose {
    ($(
        fn $name:ident($fd:ident $(, $arg:ident: $type:ty)*) -> $result:ty =
            |$lite:ident| $own:expr;
    )*) => {
        $(
            /// The system's function of this name.
            ///
            /// # Safety
            /// As of the system's.
            #[unsafe(no_mangle)]
            pub unsafe extern "C-unwind" fn $name($fd: c_int $(, $arg: $type)*) -> $result {
                if let Some($lite) = table::find($fd) {
                    return $own;
                }
                let next = next!($name: unsafe extern "C-unwind" fn(c_int $(, $type)*) -> $result);
                // SAFETY: the caller's promises are those that the system's function needs.
                unsafe { next($fd $(, $arg)*) }
            }
        )*
    };
}

interpose! {
    fn bind(fd, address: *const sockaddr, len: socklen_t) -> c_int =
        |lite| address::bind(fd, lite, address, len);
    fn connect(fd, address: *const sockaddr, len: socklen_t) -> c_int =
        |lite| address::connect(fd, lite, address, len);
    fn getsockname(fd, address: Address, len: Length) -> c_int =
        |lite| address::name(fd, lite, address, len);
    fn getpeername(fd, address: Address, len: Length) -> c_int =
        |lite| address::peer_name(fd, lite, address, len);
    fn setsockopt(fd, level: c_int, name: c_int, value: Input, len: socklen_t) -> c_int =
        |lite| options::set(fd, lite, level, name, value, len);
    fn getsockopt(fd, level: c_int, name: c_int, value: Output, len: Length) -> c_int =
        |lite| options::get(fd, lite, level, name, value, len);
    fn send(fd, data: Input, len: size_t, flags: c_int) -> ssize_t =
        |lite| send::buffer(fd, lite, data, len, flags, null(), 0);
    fn sendto(fd, data: Input, len: size_t, flags: c_int, to: Peer, n: socklen_t) -> ssize_t =
        |lite| send::buffer(fd, lite, data, len, flags, to, n);
    fn sendmsg(fd, message: *const msghdr, flags: c_int) -> ssize_t =
        |lite| send::message(fd, lite, message, flags);
    fn sendmmsg(fd, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int =
        |lite| send::messages(fd, lite, messages, count, flags);
    fn write(fd, data: Input, len: size_t) -> ssize_t =
        |lite| send::buffer(fd, lite, data, len, 0, null(), 0);
    fn writev(fd, slices: *const iovec, count: c_int) -> ssize_t =
        |lite| send::slices(fd, lite, slices, count);
    fn recv(fd, data: Output, len: size_t, flags: c_int) -> ssize_t =
        |lite| receive::buffer(fd, lite, data, len, flags, null_mut(), null_mut());
    fn recvfrom(fd, data: Output, len: size_t, flags: c_int, from: Address, n: Length) -> ssize_t =
        |lite| receive::buffer(fd, lite, data, len, flags, from, n);
    fn __recv_chk(fd, data: Output, len: size_t, _room: size_t, flags: c_int) -> ssize_t =
        |lite| receive::buffer(fd, lite, data, len, flags, null_mut(), null_mut());
    fn __recvfrom_chk(
        fd, data: Output, len: size_t, _room: size_t, flags: c_int, from: Address, n: Length
    ) -> ssize_t = |lite| receive::buffer(fd, lite, data, len, flags, from, n);
    fn recvmsg(fd, message: *mut msghdr, flags: c_int) -> ssize_t =
        |lite| receive::message(fd, lite, message, flags);
    fn recvmmsg(
        fd, messages: *mut mmsghdr, count: c_uint, flags: c_int, _timeout: *mut timespec
    ) -> c_int = |lite| receive::messages(fd, lite, messages, count, flags);
    fn read(fd, data: Output, len: size_t) -> ssize_t =
        |lite| receive::buffer(fd, lite, data, len, 0, null_mut(), null_mut());
    fn __read_chk(fd, data: Output, len: size_t, _room: size_t) -> ssize_t =
        |lite| receive::buffer(fd, lite, data, len, 0, null_mut(), null_mut());
    fn readv(fd, slices: *const iovec, count: c_int) -> ssize_t =
        |lite| receive::slices(fd, lite, slices, count);
    fn ioctl(fd, request: libc::c_ulong, argument: *mut c_void) -> c_int =
        |lite| options::ioctl(fd, lite, request, argument);
    fn close(fd) -> c_int = |_lite| {
        table::forget(fd);
        system::close(fd)
    };
    fn dup(fd) -> c_int = |lite| table::share(lite, system::dup(fd));
    fn fcntl(fd, command: c_int, argument: c_long) -> c_int =
        |lite| duplicate(lite, command, system::fcntl(fd, command, argument));
    fn fcntl64(fd, command: c_int, argument: c_long) -> c_int =
        |lite| duplicate(lite, command, system::fcntl(fd, command, argument));
}

/// Remembers the descriptor that a command of `fcntl` may have made.
fn duplicate(lite: &'static lite::Lite, command: c_int, result: c_int) -> c_int {
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => table::share(lite, result),
        _ => result,
    }
}

/// The system's function of this name; sockets of UDP-Lite begin here.
#[unsafe(no_mangle)]
pub extern "C" fn socket(family: c_int, kind: c_int, protocol: c_int) -> c_int {
    let is_lite = protocol == libc::IPPROTO_UDPLITE
        && matches!(family, libc::AF_INET | libc::AF_INET6)
        && kind & 0xf == libc::SOCK_DGRAM;
    if is_lite { choose::open(family, kind) } else { system::socket(family, kind, protocol) }
}

/// The system's function of this name; the descriptor that it overwrites is closed by it.
#[unsafe(no_mangle)]
pub extern "C" fn dup2(old: c_int, new: c_int) -> c_int {
    if old == new {
        return system::dup3(old, new, None);
    }
    overwrite(old, new, system::dup3(old, new, None))
}

/// The system's function of this name; the descriptor that it overwrites is closed by it.
#[unsafe(no_mangle)]
pub extern "C" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    overwrite(old, new, system::dup3(old, new, Some(flags)))
}

fn overwrite(old: c_int, new: c_int, result: c_int) -> c_int {
    if result < 0 {
        return result;
    }
    table::forget(new);
    match table::find(old) {
        Some(lite) => table::share(lite, result),
        None => result,
    }
}

/// The system's function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    // With a flag the descriptors stay open until another program begins.
    if flags == 0 {
        table::forget_range(first, last);
    }
    system::close_range(first, last, flags)
}

/// Splicing would pass the headers by: programs fall back to reading and writing.
///
/// # Safety
/// As of the system's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendfile(
    to: c_int,
    from: c_int,
    offset: *mut libc::off_t,
    count: size_t,
) -> ssize_t {
    if table::find(to).is_some() {
        return fail(libc::EINVAL) as ssize_t;
    }
    let next =
        next!(sendfile: unsafe extern "C" fn(c_int, c_int, *mut libc::off_t, size_t) -> ssize_t);
    // SAFETY: the caller's promises are those that the system's function needs.
    unsafe { next(to, from, offset, count) }
}
