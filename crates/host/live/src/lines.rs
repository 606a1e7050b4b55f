//! The output of a program beside the command, passed on line by line with a prefix.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

/// A line without an end is passed on as it is when it has become as long as this, in bytes.
const LONGEST: usize = 16 * 1024;

/// The reading end of a program's output.
#[derive(Debug)]
pub(crate) struct Lines {
    pipe: PipeReader,
    prefix: Vec<u8>,
    /// The beginning of a line whose end is still to come.
    rest: Vec<u8>,
}

impl Lines {
    /// Makes a pipe, and returns it with its end for the program.
    pub(crate) fn new(prefix: &str) -> io::Result<(Self, PipeWriter)> {
        let (pipe, end) = io::pipe()?;
        Ok((Self { pipe, prefix: prefix.as_bytes().to_vec(), rest: Vec::new() }, end))
    }

    /// Passes on the lines that have come, and blocks if none has; `false` when the program and its
    /// children have closed their end.
    pub(crate) fn pass_on(&mut self, out: &mut impl Write) -> bool {
        let mut bytes = [0; 4096];
        let length = match self.pipe.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return true,
            Ok(0) | Err(_) => {
                self.flush(out);
                return false;
            }
            Ok(length) => length,
        };
        let mut text = Vec::new();
        for line in bytes[..length].split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(line);
            if line.ends_with(b"\n") || self.rest.len() >= LONGEST {
                text.extend_from_slice(&self.prefix);
                text.append(&mut self.rest);
            }
        }
        // One call, so that lines of others do not come between; nothing misses what a closed
        // standard error does not take.
        let _ = out.write_all(&text);
        true
    }

    /// Passes on everything that has come already, the last line without its end included.
    pub(crate) fn drain(&mut self, out: &mut impl Write) {
        loop {
            let mut ready = [PollFd::new(self.pipe.as_fd(), PollFlags::POLLIN)];
            let has_more = poll(&mut ready, PollTimeout::ZERO).is_ok_and(|count| count > 0);
            if !has_more {
                return self.flush(out);
            }
            if !self.pass_on(out) {
                return;
            }
        }
    }

    fn flush(&mut self, out: &mut impl Write) {
        if !self.rest.is_empty() {
            let text = [&self.prefix[..], &self.rest, b"\n"].concat();
            self.rest.clear();
            let _ = out.write_all(&text);
        }
    }
}

impl AsFd for Lines {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_gets_the_prefix_once() {
        let (mut lines, mut end) = Lines::new("far: ").expect("a pipe");
        let mut out = Vec::new();
        end.write_all(b"one\ntw").expect("room");
        assert!(lines.pass_on(&mut out));
        assert_eq!(out, b"far: one\n");
        end.write_all(b"o\n\nthree").expect("room");
        assert!(lines.pass_on(&mut out));
        assert_eq!(out, b"far: one\nfar: two\nfar: \n");
        drop(end);
        lines.drain(&mut out);
        assert_eq!(out, b"far: one\nfar: two\nfar: \nfar: three\n");
    }

    #[test]
    fn a_line_without_an_end_is_not_kept_for_ever() {
        let (mut lines, mut end) = Lines::new("far: ").expect("a pipe");
        let mut out = Vec::new();
        end.write_all(&[b'x'; LONGEST]).expect("room");
        lines.drain(&mut out);
        assert_eq!(out.len(), LONGEST + "far: ".len());
    }
}
