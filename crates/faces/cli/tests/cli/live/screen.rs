//! A terminal that understands as much as the status line of a run needs.

/// Rows of characters, what has scrolled out above them, and a cursor.
pub(crate) struct Screen {
    rows: Vec<String>,
    /// The lines that have scrolled out at the top.
    pub(crate) history: Vec<String>,
    row: usize,
    column: usize,
    saved: (usize, usize),
    /// The first and the last row that scroll.
    region: (usize, usize),
    /// Everything that the last row has ever shown at the end of a control sequence.
    pub(crate) bottoms: Vec<String>,
}

impl Screen {
    pub(crate) fn new(rows: usize) -> Self {
        Self {
            rows: vec![String::new(); rows],
            history: Vec::new(),
            row: 0,
            column: 0,
            saved: (0, 0),
            region: (0, rows - 1),
            bottoms: Vec::new(),
        }
    }

    /// Everything on it, from the oldest line in the history to the last that is not empty.
    pub(crate) fn lines(&self) -> Vec<String> {
        let all = self.history.iter().chain(&self.rows);
        let mut lines: Vec<String> = all.map(|line| line.trim_end().to_owned()).collect();
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    /// Shows what a program writes.
    pub(crate) fn show(&mut self, text: &str) {
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            match c {
                '\r' => self.column = 0,
                '\n' => self.index(),
                '\x1b' => match rest.next() {
                    Some('7') => self.saved = (self.row, self.column),
                    Some('8') => (self.row, self.column) = self.saved,
                    Some('D') => self.index(),
                    Some('[') => {
                        let is_end = |c: &char| c.is_ascii_alphabetic();
                        let mut sequence = String::new();
                        let end = loop {
                            let next = rest.next().expect("a whole sequence");
                            if is_end(&next) {
                                break next;
                            }
                            sequence.push(next);
                        };
                        self.control(&sequence, end);
                    }
                    other => panic!("escape {other:?}"),
                },
                c if c.is_control() => {}
                c => self.put(c),
            }
        }
    }

    fn put(&mut self, c: char) {
        let mut row: Vec<char> = self.rows[self.row].chars().collect();
        row.resize(row.len().max(self.column + 1), ' ');
        row[self.column] = c;
        self.rows[self.row] = row.into_iter().collect();
        self.column += 1;
    }

    /// Down by one row; at the end of the region it scrolls.
    fn index(&mut self) {
        if self.row == self.region.1 {
            let gone = self.rows.remove(self.region.0);
            self.rows.insert(self.region.1, String::new());
            if self.region.0 == 0 {
                self.history.push(gone);
            }
        } else if self.row + 1 < self.rows.len() {
            self.row += 1;
        }
    }

    fn control(&mut self, sequence: &str, end: char) {
        let number = |i: usize, default: usize| {
            let number = sequence.split(';').nth(i).and_then(|text| text.parse().ok());
            number.unwrap_or(default)
        };
        match end {
            'A' => self.row = self.row.saturating_sub(number(0, 1)),
            'H' => (self.row, self.column) = (number(0, 1) - 1, number(1, 1) - 1),
            'r' => {
                self.region = (number(0, 1) - 1, number(1, self.rows.len()) - 1);
                (self.row, self.column) = (0, 0);
            }
            'K' if sequence == "2" => self.rows[self.row].clear(),
            'J' if sequence.is_empty() => {
                self.rows[self.row].truncate(self.column);
                self.rows.iter_mut().skip(self.row + 1).for_each(String::clear);
            }
            // Colours and modes.
            'm' | 'h' | 'l' => {}
            _ => panic!("control sequence {sequence}{end}"),
        }
        self.bottoms.extend(self.rows.last().cloned());
        self.bottoms.dedup();
    }
}
