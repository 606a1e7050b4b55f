//! Tables as Parquet files: flat columns, plain values, one group of rows, no compression.
//!
//! That is all that tables of sweeps and series need, and every reader of Parquet reads it. The
//! metadata are Thrift's compact protocol, by the definitions of parquet-format 2.11
//! (`parquet.thrift`).

/// The bytes at both ends of a file.
const MAGIC: &[u8; 4] = b"PAR1";
/// The writer that a file names.
const CREATED_BY: &str = "windfall";

/// A column with its name and its values, as many as there are rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ParquetColumn {
    /// The name of the column.
    pub name: String,
    /// The values of its rows.
    pub values: Values,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// The values are texts.
    Text(Vec<String>),
    /// The values are whole numbers.
    Whole(Vec<u64>),
    /// Numbers, some of which may be absent.
    Numbers(Vec<Option<f64>>),
}

/// The place of a column in the file.
struct Chunk<'a> {
    column: &'a ParquetColumn,
    start: usize,
    len: usize,
}

/// Returns a file with these columns.
#[must_use]
pub fn file(columns: &[ParquetColumn]) -> Vec<u8> {
    let rows = columns.first().map_or(0, |column| column.values.len());
    let mut bytes = MAGIC.to_vec();
    let mut chunks = Vec::with_capacity(columns.len());
    for column in columns {
        let start = bytes.len();
        bytes.extend(page(&column.values));
        chunks.push(Chunk { column, start, len: bytes.len() - start });
    }
    let metadata = metadata(&chunks, rows);
    bytes.extend(&metadata);
    bytes.extend((metadata.len() as u32).to_le_bytes());
    bytes.extend(MAGIC);
    bytes
}

impl Values {
    fn len(&self) -> usize {
        match self {
            Self::Text(values) => values.len(),
            Self::Whole(values) => values.len(),
            Self::Numbers(values) => values.len(),
        }
    }

    /// The physical type: INT64, DOUBLE, BYTE_ARRAY.
    const fn physical(&self) -> i64 {
        match self {
            Self::Whole(_) => 2,
            Self::Numbers(_) => 5,
            Self::Text(_) => 6,
        }
    }

    /// The type that is meant: UTF8, UINT_64.
    const fn meant(&self) -> Option<i64> {
        match self {
            Self::Text(_) => Some(0),
            Self::Whole(_) => Some(14),
            Self::Numbers(_) => None,
        }
    }

    const fn may_lack(&self) -> bool {
        matches!(self, Self::Numbers(_))
    }

    /// The values as a page holds them: which are there, where some may not be, and those that are.
    fn plain(&self) -> Vec<u8> {
        match self {
            Self::Text(values) => {
                let one =
                    |text: &String| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
                values.iter().flat_map(one).collect()
            }
            Self::Whole(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::Numbers(values) => {
                let levels = levels(values);
                let mut bytes = (levels.len() as u32).to_le_bytes().to_vec();
                bytes.extend(levels);
                bytes.extend(values.iter().flatten().flat_map(|value| value.to_le_bytes()));
                bytes
            }
        }
    }
}

/// The levels of the values, 1 for each that is there, as runs of equal ones.
fn levels(values: &[Option<f64>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for run in values.chunk_by(|one, next| one.is_some() == next.is_some()) {
        varint(&mut bytes, (run.len() as u64) << 1);
        bytes.push(u8::from(run[0].is_some()));
    }
    bytes
}

/// A data page with its header.
fn page(values: &Values) -> Vec<u8> {
    let plain = values.plain();
    let len = plain.len() as i64;
    let mut header = Struct::default();
    header.int(1, I32, 0);
    header.int(2, I32, len);
    header.int(3, I32, len);
    let mut of_data = Struct::default();
    of_data.int(1, I32, values.len() as i64);
    of_data.int(2, I32, PLAIN);
    of_data.int(3, I32, RLE);
    of_data.int(4, I32, RLE);
    header.inner(5, of_data);
    [header.ended(), plain].concat()
}

/// The description of the file behind its pages.
fn metadata(chunks: &[Chunk<'_>], rows: usize) -> Vec<u8> {
    let mut root = Struct::default();
    root.text(4, "table");
    root.int(5, I32, chunks.len() as i64);
    let schema = chunks.iter().map(|chunk| {
        let values = &chunk.column.values;
        let mut element = Struct::default();
        element.int(1, I32, values.physical());
        element.int(3, I32, i64::from(values.may_lack()));
        element.text(4, &chunk.column.name);
        if let Some(meant) = values.meant() {
            element.int(6, I32, meant);
        }
        element.ended()
    });
    let schema: Vec<_> = core::iter::once(root.ended()).chain(schema).collect();
    let columns: Vec<_> = chunks.iter().map(|chunk| column_chunk(chunk, rows)).collect();
    let mut group = Struct::default();
    group.list(1, STRUCT, &columns);
    group.int(2, I64, chunks.iter().map(|chunk| chunk.len as i64).sum());
    group.int(3, I64, rows as i64);
    let mut file = Struct::default();
    file.int(1, I32, 1);
    file.list(2, STRUCT, &schema);
    file.int(3, I64, rows as i64);
    file.list(4, STRUCT, &[group.ended()]);
    file.text(6, CREATED_BY);
    file.ended()
}

fn column_chunk(chunk: &Chunk<'_>, rows: usize) -> Vec<u8> {
    let mut path = Vec::new();
    text(&mut path, &chunk.column.name);
    let encodings = [PLAIN, RLE].map(|encoding| {
        let mut bytes = Vec::new();
        varint(&mut bytes, zigzag(encoding));
        bytes
    });
    let mut data = Struct::default();
    data.int(1, I32, chunk.column.values.physical());
    data.list(2, I32, &encodings);
    data.list(3, BINARY, &[path]);
    data.int(4, I32, 0);
    data.int(5, I64, rows as i64);
    data.int(6, I64, chunk.len as i64);
    data.int(7, I64, chunk.len as i64);
    data.int(9, I64, chunk.start as i64);
    let mut column = Struct::default();
    column.int(2, I64, chunk.start as i64);
    column.inner(3, data);
    column.ended()
}

/// Encodings of values and levels.
const PLAIN: i64 = 0;
const RLE: i64 = 3;
/// Types of the compact protocol.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct of the compact protocol; fields are added in the order of their numbers.
#[derive(Default)]
struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    /// The header of a field: numbers are at most 15 apart here.
    fn field(&mut self, number: u8, kind: u8) {
        self.bytes.push(((number - self.last) << 4) | kind);
        self.last = number;
    }

    fn int(&mut self, number: u8, kind: u8, value: i64) {
        self.field(number, kind);
        varint(&mut self.bytes, zigzag(value));
    }

    fn text(&mut self, number: u8, value: &str) {
        self.field(number, BINARY);
        text(&mut self.bytes, value);
    }

    fn inner(&mut self, number: u8, value: Self) {
        self.field(number, STRUCT);
        self.bytes.extend(value.ended());
    }

    fn list(&mut self, number: u8, kind: u8, items: &[Vec<u8>]) {
        self.field(number, LIST);
        match items.len() {
            len @ 0..15 => self.bytes.push(((len as u8) << 4) | kind),
            len => {
                self.bytes.push(0xf0 | kind);
                varint(&mut self.bytes, len as u64);
            }
        }
        self.bytes.extend(items.iter().flatten());
    }

    fn ended(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn text(bytes: &mut Vec<u8>, value: &str) {
    varint(bytes, value.len() as u64);
    bytes.extend(value.as_bytes());
}

const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

#[cfg(test)]
mod tests;
