//! The system's own calls: those that the functions here stand before, and bare ones.

use core::ffi::CStr;
use core::mem::size_of;
use core::sync::atomic::{AtomicPtr, Ordering};

use libc::{c_int, c_long, c_uint, c_void, msghdr, sockaddr, socklen_t, ssize_t};

/// Finds the function that would have been called without this library.
pub(crate) fn find_next(name: &CStr, known: &AtomicPtr<c_void>) -> *mut c_void {
    let mut found = known.load(Ordering::Relaxed);
    if found.is_null() {
        // SAFETY: the name ends with a zero.
        found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        if found.is_null() {
            // A program that calls a function which the system does not have was never linked.
            std::process::abort();
        }
        known.store(found, Ordering::Relaxed);
    }
    found
}

/// Returns the system's function of a name, as a type.
macro_rules! next {
    ($name:ident: $type:ty) => {{
        static KNOWN: core::sync::atomic::AtomicPtr<libc::c_void> =
            core::sync::atomic::AtomicPtr::new(core::ptr::null_mut());
        const NAME: &str = concat!(stringify!($name), "\0");
        let name = core::ffi::CStr::from_bytes_with_nul(NAME.as_bytes()).unwrap_or_default();
        let found = $crate::system::find_next(name, &KNOWN);
        // SAFETY: the system's function of this name has this type.
        unsafe { core::mem::transmute::<*mut libc::c_void, $type>(found) }
    }};
}
pub(crate) use next;

/// Fails as calls of the system do: with -1 and a number.
pub(crate) fn fail(number: c_int) -> c_int {
    // SAFETY: each thread has its own number, which nothing else refers to.
    unsafe { *libc::__errno_location() = number };
    -1
}

/// Returns the number of the last failure.
pub(crate) fn last() -> c_int {
    // SAFETY: as above.
    unsafe { *libc::__errno_location() }
}

pub(crate) fn socket(family: c_int, kind: c_int, protocol: c_int) -> c_int {
    let next = next!(socket: unsafe extern "C" fn(c_int, c_int, c_int) -> c_int);
    // SAFETY: it takes numbers alone.
    unsafe { next(family, kind, protocol) }
}

pub(crate) fn close(fd: c_int) -> c_int {
    let next = next!(close: unsafe extern "C" fn(c_int) -> c_int);
    // SAFETY: it takes a number alone; whoever calls this owns the descriptor.
    unsafe { next(fd) }
}

pub(crate) fn dup(fd: c_int) -> c_int {
    let next = next!(dup: unsafe extern "C" fn(c_int) -> c_int);
    // SAFETY: it takes a number alone.
    unsafe { next(fd) }
}

/// `dup2` without flags, `dup3` with.
pub(crate) fn dup3(old: c_int, new: c_int, flags: Option<c_int>) -> c_int {
    if let Some(flags) = flags {
        let next = next!(dup3: unsafe extern "C" fn(c_int, c_int, c_int) -> c_int);
        // SAFETY: it takes numbers alone.
        return unsafe { next(old, new, flags) };
    }
    let next = next!(dup2: unsafe extern "C" fn(c_int, c_int) -> c_int);
    // SAFETY: it takes numbers alone.
    unsafe { next(old, new) }
}

pub(crate) fn fcntl(fd: c_int, command: c_int, argument: c_long) -> c_int {
    let next = next!(fcntl: unsafe extern "C" fn(c_int, c_int, c_long) -> c_int);
    // SAFETY: commands on sockets take numbers, or pointers for which the program vouches.
    unsafe { next(fd, command, argument) }
}

pub(crate) fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    // SAFETY: it takes numbers alone.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) as c_int }
}

pub(crate) fn ioctl(fd: c_int, request: libc::c_ulong, argument: *mut c_void) -> c_int {
    // SAFETY: the program vouches for its argument.
    unsafe { libc::syscall(libc::SYS_ioctl, fd, request, argument) as c_int }
}

pub(crate) fn bind(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: the system checks the address and only reads it.
    unsafe { libc::syscall(libc::SYS_bind, fd, address, len) as c_int }
}

pub(crate) fn connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: the system checks the address and only reads it.
    unsafe { libc::syscall(libc::SYS_connect, fd, address, len) as c_int }
}

/// `getsockname`, or `getpeername`.
pub(crate) fn name(fd: c_int, of_peer: bool, address: *mut sockaddr, len: *mut socklen_t) -> c_int {
    let call = if of_peer { libc::SYS_getpeername } else { libc::SYS_getsockname };
    // SAFETY: the system checks the pointers and writes as much as `len` allows.
    unsafe { libc::syscall(call, fd, address, len) as c_int }
}

pub(crate) fn set(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    // SAFETY: the system checks the pointer and only reads.
    unsafe { libc::syscall(libc::SYS_setsockopt, fd, level, name, value, len) as c_int }
}

/// Sets an option that is a number.
pub(crate) fn set_number(fd: c_int, level: c_int, name: c_int, value: c_int) -> c_int {
    set(fd, level, name, (&raw const value).cast(), size_of::<c_int>() as socklen_t)
}

pub(crate) fn get(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    // SAFETY: the system checks the pointers and writes as much as `len` allows.
    unsafe { libc::syscall(libc::SYS_getsockopt, fd, level, name, value, len) as c_int }
}

/// Sends one buffer; the address may be null.
pub(crate) fn sendto(
    fd: c_int,
    data: &[u8],
    flags: c_int,
    to: *const c_void,
    to_len: socklen_t,
) -> ssize_t {
    let pointer = data.as_ptr();
    let len = data.len();
    // SAFETY: the system checks the pointers and only reads.
    unsafe { libc::syscall(libc::SYS_sendto, fd, pointer, len, flags, to, to_len) as ssize_t }
}

/// Receives into one buffer; the address may be null. Threads can be cancelled here, so that it is
/// the system's function and no bare call.
pub(crate) fn recvfrom(
    fd: c_int,
    data: &mut [u8],
    flags: c_int,
    from: *mut sockaddr,
    from_len: *mut socklen_t,
) -> ssize_t {
    type Next = unsafe extern "C-unwind" fn(
        c_int,
        *mut c_void,
        usize,
        c_int,
        *mut sockaddr,
        *mut socklen_t,
    ) -> ssize_t;
    let next = next!(recvfrom: Next);
    // SAFETY: the system writes as much as the lengths allow.
    unsafe { next(fd, data.as_mut_ptr().cast(), data.len(), flags, from, from_len) }
}

pub(crate) fn sendmsg(fd: c_int, message: &msghdr, flags: c_int) -> ssize_t {
    // SAFETY: the system checks the pointers and only reads.
    unsafe { libc::syscall(libc::SYS_sendmsg, fd, &raw const *message, flags) as ssize_t }
}

pub(crate) fn recvmsg(fd: c_int, message: &mut msghdr, flags: c_int) -> ssize_t {
    let next = next!(recvmsg: unsafe extern "C-unwind" fn(c_int, *mut msghdr, c_int) -> ssize_t);
    // SAFETY: the message leads to buffers that its maker has lent for the call.
    unsafe { next(fd, message, flags) }
}
