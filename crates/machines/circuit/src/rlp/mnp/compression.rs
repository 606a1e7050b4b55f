//! Compression after MNP class 5: runs of equal characters, and codes that get shorter for
//! characters that come often.
//!
//! A character is coded by its place in a list ordered by frequency: three bits say how many bits
//! of place follow. After three equal characters the number of further ones follows as a character.
//! At the end of what there is to send a code of its own fills the octet.

/// The longest number of further equal characters.
const RUN: u8 = 250;
/// Equal characters before a number.
const EQUAL: u8 = 3;
/// Frequencies are halved when one comes to this.
const MOST: u16 = 255;
/// Bits of the length of a code, and the longest code.
const HEAD: u32 = 3;
const LONGEST: u32 = 7;
/// The place that the end of the codes shares with the last character: one bit more tells them
/// apart.
const LAST: u8 = 127;

/// The list of characters by frequency, the same at both ends.
#[derive(Clone, Debug)]
struct Frequencies {
    order: [u8; 256],
    place: [u8; 256],
    counts: [u16; 256],
}

impl Default for Frequencies {
    fn default() -> Self {
        let order = core::array::from_fn(|it| it as u8);
        Self { order, place: order, counts: [0; 256] }
    }
}

impl Frequencies {
    /// Counts a character, and moves it before those that came less often.
    fn count(&mut self, character: u8) {
        let at = self.place[usize::from(character)];
        let count = self.counts[usize::from(at)] + 1;
        let before = self.counts[..usize::from(at)].iter().position(|other| *other < count);
        let to = before.unwrap_or(usize::from(at)) as u8;
        let other = self.order[usize::from(to)];
        self.counts[usize::from(at)] = self.counts[usize::from(to)];
        self.counts[usize::from(to)] = count;
        self.order.swap(usize::from(to), usize::from(at));
        self.place[usize::from(other)] = at;
        self.place[usize::from(character)] = to;
        if count >= MOST {
            self.counts.iter_mut().for_each(|count| *count /= 2);
        }
    }
}

/// The character that repeats, and how often it has come.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    character: u8,
    count: u8,
}

impl Run {
    /// Takes note of a character that was coded; `true` if a number follows.
    fn note(&mut self, character: u8) -> bool {
        if self.count == 0 || self.character != character {
            *self = Self { character, count: 0 };
        }
        self.count += 1;
        self.count == EQUAL
    }
}

/// The codes of the characters sent.
#[derive(Clone, Debug, Default)]
pub(super) struct Compressor {
    frequencies: Frequencies,
    run: Run,
    bits: u32,
    held: u32,
}

impl Compressor {
    /// Returns the codes of characters, up to a whole octet.
    pub(super) fn take(&mut self, characters: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut rest = characters;
        while let Some((&character, after)) = rest.split_first() {
            rest = after;
            self.code(character, &mut out);
            if self.run.note(character) {
                let more = rest.iter().take(RUN.into()).take_while(|it| **it == character).count();
                rest = &rest[more..];
                self.code(more as u8, &mut out);
                self.run = Run::default();
            }
        }
        if !characters.is_empty() {
            self.put(HEAD, LONGEST, &mut out);
            self.put(LONGEST, LAST.into(), &mut out);
            self.put(1, 1, &mut out);
            let open = self.held % 8;
            if open > 0 {
                self.put(8 - open, 0, &mut out);
            }
        }
        out
    }

    fn code(&mut self, character: u8, out: &mut Vec<u8>) {
        let place = u32::from(self.frequencies.place[usize::from(character)]);
        let (head, bits) = match place {
            0 | 1 => (0, 1),
            _ => (place.ilog2(), place.ilog2()),
        };
        let low = if place < 2 { place } else { place - (1 << head) };
        self.put(HEAD, head, out);
        self.put(bits, low, out);
        if head == LONGEST && low == u32::from(LAST) {
            self.put(1, 0, out);
        }
        self.frequencies.count(character);
    }

    /// Appends bits, the least significant first.
    fn put(&mut self, count: u32, value: u32, out: &mut Vec<u8>) {
        self.bits |= value << self.held;
        self.held += count;
        while self.held >= 8 {
            out.push(self.bits as u8);
            self.bits >>= 8;
            self.held -= 8;
        }
    }
}

/// The characters of the codes received.
#[derive(Clone, Debug, Default)]
pub(super) struct Decompressor {
    frequencies: Frequencies,
    run: Run,
    is_number: bool,
    bits: u64,
    held: u32,
}

impl Decompressor {
    /// Appends the characters of codes to `out`.
    pub(super) fn take(&mut self, coded: &[u8], out: &mut Vec<u8>) {
        for octet in coded {
            self.bits |= u64::from(*octet) << self.held;
            self.held += 8;
            while self.take_code(out) {}
        }
    }

    /// Takes a code, if all of it is there.
    fn take_code(&mut self, out: &mut Vec<u8>) -> bool {
        let field = |from: u32, count: u32| (self.bits >> from) as u32 & ((1 << count) - 1);
        if self.held < HEAD {
            return false;
        }
        let head = field(0, HEAD);
        let bits = head.max(1);
        if self.held < HEAD + bits {
            return false;
        }
        let low = field(HEAD, bits);
        let place = if head == 0 { low } else { low + (1 << head) };
        let mut used = HEAD + bits;
        if head == LONGEST && low == u32::from(LAST) {
            if self.held < used + 1 {
                return false;
            }
            let is_end = field(used, 1) == 1;
            used += 1;
            if is_end {
                // The rest of the octet is filled.
                self.drop_bits(used + (self.held - used) % 8);
                return true;
            }
        }
        self.drop_bits(used);
        let character = self.frequencies.order[place as usize];
        self.frequencies.count(character);
        if core::mem::take(&mut self.is_number) {
            out.extend(core::iter::repeat_n(self.run.character, character.into()));
            self.run = Run::default();
        } else {
            out.push(character);
            self.is_number = self.run.note(character);
        }
        true
    }

    fn drop_bits(&mut self, count: u32) {
        self.bits = self.bits.checked_shr(count).unwrap_or(0);
        self.held -= count;
    }
}
