//! Codes over slices, without time: they turn bytes into more bytes, and damaged bytes back.
//!
//! [`ReedSolomon`] corrects symbol errors and erasures in blocks of up to 255 bytes. The same bytes
//! come out whichever instructions the processor has; the fastest are chosen at run time.
//! [`ConvolutionalCode`], [`Puncturing`], [`SymbolInterleaver`] and [`Viterbi`] are the chain of
//! 802.11a/g; [`tch_f96`] is that of GSM's data channel at 9.6 kb/s. [`PacketEncoder`] and
//! [`PacketDecoder`] code across packets: in blocks, or in a sliding window. [`copies`] makes the
//! right bytes of damaged copies of them, [`votes`] by how sure each byte is.
//!
//! ```
//! use windfall_fec::ReedSolomon;
//!
//! let code = ReedSolomon::new(32).unwrap(); // RS(255, 223): corrects 16 symbols
//! let mut block = b"still good to eat".to_vec();
//! let data = block.len();
//! block.resize(data + 32, 0);
//! code.encode(&mut block).unwrap();
//!
//! block[3] ^= 0x40; // damaged
//! block[9] = 0;
//! let corrected = code.decode(&mut block, &[]).unwrap();
//! assert_eq!((corrected.errors, &block[..data]), (2, &b"still good to eat"[..]));
//! ```

mod convolutional;
pub mod copies;
mod field;
mod interleaver;
mod lanes;
mod packets;
mod reed_solomon;
pub mod tch_f96;
mod viterbi;
pub mod votes;

pub use convolutional::{ConvolutionalCode, Puncturing, Redundancy};
pub use field::{Field, FieldError};
pub use interleaver::SymbolInterleaver;
pub use lanes::Instructions;
pub use packets::{Cover, MOST_COVERED, Made, PacketDecoder, PacketEncoder};
pub use reed_solomon::{BlockError, CodeError, Corrected, Parameters, ReedSolomon, Uncorrectable};
pub use viterbi::Viterbi;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
