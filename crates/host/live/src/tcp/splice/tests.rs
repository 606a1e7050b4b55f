use std::io::Read as _;
use std::net::{TcpListener, TcpStream};

use super::*;

const SOCKET: SocketId = SocketId(1);

/// A splice to a program, and the socket of that program.
fn splice() -> (Splice, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let end = End::connect(listener.local_addr().expect("bound")).expect("a socket");
    let (program, _) = listener.accept().expect("it connects");
    (Splice::new(end, true), program)
}

/// Moves what can be moved now.
fn move_all(splice: &mut Splice) -> io::Result<()> {
    while splice.step(Instant::START, SOCKET, &mut Vec::new())?.is_some() {}
    Ok(())
}

/// Waits until the splice has the number of undelivered bytes.
fn reaches(splice: &Splice, undelivered: u64) -> bool {
    (0..1_000_000).any(|_| splice.undelivered() == undelivered)
}

#[test]
fn what_the_kernel_of_a_program_did_not_take_is_undelivered() {
    let (mut splice, program) = splice();
    // More than the buffers of both sockets hold.
    const LEN: usize = 30_000_000;
    splice.take(vec![1; LEN].into());
    move_all(&mut splice).expect("the program is there");
    let undelivered = splice.undelivered();
    assert!(undelivered > splice.waiting as u64, "the socket holds some: {undelivered}");
    drop(program);
    assert!(move_all(&mut splice).is_err() || splice.end.take_error().is_some());
    assert!(splice.undelivered() > splice.waiting as u64, "a reset delivers nothing");
}

#[test]
fn a_fin_is_no_undelivered_byte() {
    let (mut splice, mut program) = splice();
    splice.take(vec![1; 1000].into());
    splice.peer_finished = true;
    move_all(&mut splice).expect("the program is there");
    assert!(splice.told && reaches(&splice, 0));
    let mut all = Vec::new();
    program.read_to_end(&mut all).expect("all and the end");
    assert_eq!(all.len(), 1000);
}

#[test]
fn what_comes_for_a_program_that_has_closed_is_undelivered_to_the_byte() {
    let (mut splice, program) = splice();
    drop(program);
    while !splice.finished {
        move_all(&mut splice).expect("it has closed in order");
    }
    splice.take(vec![1; 520].into());
    splice.peer_finished = true;
    move_all(&mut splice).expect("the socket takes it");
    assert!(splice.is_over() && reaches(&splice, 520), "{}", splice.undelivered());
    assert!((0..1_000_000).any(|_| splice.end.take_error().is_some()));
    assert_eq!(splice.undelivered(), 520);
}

#[test]
fn a_connection_that_was_refused_holds_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let mut splice = Splice::new(End::connect(address).expect("a socket"), true);
    assert!((0..1_000_000).any(|_| move_all(&mut splice).is_err()));
    assert_eq!(splice.undelivered(), 0);
}
