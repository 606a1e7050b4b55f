use std::io::Read;
use std::os::fd::OwnedFd;

use super::*;

/// A pipe with its reading end.
fn pair() -> (File, Pipe) {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    let file = File::from(OwnedFd::from(writer));
    (File::from(OwnedFd::from(reader)), Pipe::new(Arc::new(file)).expect("a pipe"))
}

#[test]
fn a_reader_that_is_behind_gets_everything_in_order() {
    let (mut reader, mut pipe) = pair();
    let sent: Vec<u8> = (0..600_000_u32).map(|at| (at / 3) as u8).collect();
    for part in sent.chunks(1000) {
        pipe.write_all(part).expect("there is room");
        pipe.flush().expect("it is open");
    }
    let reading = std::thread::spawn(move || {
        let mut read = Vec::new();
        reader.read_to_end(&mut read).map(|_| read)
    });
    pipe.finish().expect("it is read");
    drop(pipe);
    assert!(reading.join().expect("no panic").expect("it reads") == sent);
}

#[test]
fn a_reader_that_takes_nothing_stops_nothing() {
    let (_reader, mut pipe) = pair();
    let error = (0..1000).find_map(|_| pipe.write_all(&[7; 10_000]).err());
    assert!(error.is_some_and(|error| error.to_string().contains("reader")));
    assert!(pipe.waiting.len() <= ROOM);
    assert!(pipe.finish().is_err());
}

#[test]
fn a_reader_that_went_away_is_an_error() {
    let (reader, mut pipe) = pair();
    drop(reader);
    let written = pipe.write_all(b"x").and_then(|()| pipe.flush());
    assert_eq!(written.map_err(|error| error.kind()), Err(io::ErrorKind::BrokenPipe));
}
