//! The law of memory: what a machine holds is charged, and bounded by what it has received.
//!
//! Those who send little must not make a machine take much, whatever they announce.

/// The bytes that a machine may take for its own tables, whatever has arrived.
const FREE: usize = 64 << 10;
/// The bytes that it may hold for each byte that has arrived: a message of no bytes takes a place
/// in a queue, and a few bytes may be missing of a message whose other bytes have arrived. The
/// headers of IP and UDP, which take as many bytes as the least datagrams, are not counted.
const MOST: usize = 32;

/// The memory of a machine at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// The bytes that have arrived.
    pub received: usize,
    /// The bytes of the heap that it takes more than before the first of them.
    pub held: usize,
    /// The bytes that it says it holds.
    pub charged: usize,
    /// The bytes that it may hold in any case.
    pub limit: usize,
}

impl Memory {
    /// Checks the law.
    ///
    /// # Panics
    /// If the machine holds more than it charges, than its limit, or than so little that has
    /// arrived permits.
    pub fn check(self, kind: &str) {
        let Self { received, held, charged, limit } = self;
        let for_received = FREE + MOST * received;
        assert!(held <= for_received, "{kind}: {held} bytes held for {received} received");
        assert!(held <= FREE + charged, "{kind}: {held} bytes held, and {charged} charged");
        assert!(charged <= limit, "{kind}: {charged} bytes charged, of {limit}");
    }
}
