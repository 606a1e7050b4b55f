//! Ends of PPP against each other and against another implementation.

mod pair;
mod slirp;
