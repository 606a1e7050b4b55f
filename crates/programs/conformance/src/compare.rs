//! What is compared of a segment that leaves.

use core::str::FromStr;

use windfall_files::packet_script::{OptionList, ScriptSegment, SegmentOption};
use windfall_wire_net::TcpFlags;

/// Parts of segments that are not compared, since RFCs leave them to the implementation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unchecked {
    /// The push flag.
    pub push: bool,
    /// Windows, and the shift of windows in the SYN.
    pub window: bool,
    /// All options of the header.
    pub options: bool,
}

/// A name that is no part of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPart(pub String);

impl FromStr for Unchecked {
    type Err = UnknownPart;

    /// Reads names with commas between them: `push`, `window`, `options`.
    fn from_str(text: &str) -> Result<Self, UnknownPart> {
        let mut unchecked = Self::default();
        for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match name {
                "push" => unchecked.push = true,
                "window" => unchecked.window = true,
                "options" => unchecked.options = true,
                _ => return Err(UnknownPart(name.to_owned())),
            }
        }
        Ok(unchecked)
    }
}

/// Names the parts in which a segment that left is not the one of the script.
pub(crate) fn differences(
    wanted: &ScriptSegment,
    found: &ScriptSegment,
    unchecked: Unchecked,
) -> Vec<&'static str> {
    let without = if unchecked.push { TcpFlags::PSH.0 } else { 0 };
    let window = |segment: &ScriptSegment| segment.window.map(u32::from);
    let urgent = |segment: &ScriptSegment| segment.urgent.map(u32::from);
    let ecn = |segment: &ScriptSegment| segment.ecn.map(u32::from);
    let same = [
        ("flags", wanted.flags & !without == found.flags & !without),
        ("sequence number", wanted.seq == found.seq),
        ("length", wanted.len == found.len),
        ("acknowledgment number", is_as_wanted(wanted.ack, found.ack)),
        ("window", unchecked.window || is_as_wanted(window(wanted), window(found))),
        ("urgent pointer", is_as_wanted(urgent(wanted), urgent(found))),
        ("ECN field", is_as_wanted(ecn(wanted), ecn(found))),
        ("options", unchecked.options || options_agree(wanted, found, unchecked)),
    ];
    same.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect()
}

/// Returns whether a value is the wanted one, or none is wanted.
fn is_as_wanted(wanted: Option<u32>, found: Option<u32>) -> bool {
    wanted.is_none() || wanted == found
}

/// Tells whether the options are the same in any order, padding aside.
fn options_agree(wanted: &ScriptSegment, found: &ScriptSegment, unchecked: Unchecked) -> bool {
    let (OptionList::These(wanted), OptionList::These(found)) = (&wanted.options, &found.options)
    else {
        return true;
    };
    let counts = |option: &&SegmentOption| match option {
        SegmentOption::Nop | SegmentOption::End => false,
        SegmentOption::Scale(_) => !unchecked.window,
        _ => true,
    };
    let sorted = |options: &[SegmentOption]| {
        let mut texts: Vec<_> = options.iter().filter(counts).map(ToString::to_string).collect();
        texts.sort();
        texts
    };
    sorted(wanted) == sorted(found)
}
