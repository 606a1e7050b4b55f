//! Ends of PPP against each other and against another implementation.

mod answers;
mod pair;
mod slirp;
