//! A call by a modem, with the commands of paper 001, appendix C.

use std::fmt;

//= S1.29
/// The commands before a number is dialled: reset; 9600 b/s, asynchronous, without RLP; no error
/// correction; no compression; reports of both; the signal.
const COMMANDS: [&str; 7] =
    ["ATZ", "AT+CBST=7,0,0", "AT+ES=0,0,0", "AT+DS=0", "AT+ER=1", "AT+DR=1", "AT+CSQ"];
/// The longest line of an answer that is kept, in bytes.
const LONGEST: usize = 256;

/// A call, one command after another; it reads no clock.
#[derive(Clone, Debug)]
pub struct ModemCall {
    number: String,
    /// The command that was sent last, by its place; that behind the last dials.
    place: usize,
    unsent: Vec<u8>,
    line: Vec<u8>,
    signal: Option<u8>,
    outcome: Option<Result<String, ModemError>>,
}

/// The refusal of a modem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the modem answers {answer} to {command}")]
pub struct ModemError {
    /// The command that it refuses.
    pub command: String,
    /// The answer, such as `NO CARRIER`.
    pub answer: String,
}

impl ModemCall {
    /// A call of this number, which begins with [`take_line`](Self::take_line).
    ///
    /// # Errors
    /// If the number has anything but digits and `+*#,`.
    pub fn new(number: &str) -> Result<Self, String> {
        if number.is_empty()
            || !number.chars().all(|letter| letter.is_ascii_digit() || "+*#,".contains(letter))
        {
            return Err("a number has digits, +, *, # and commas for pauses".into());
        }
        let mut call = Self {
            number: number.to_owned(),
            place: 0,
            unsent: Vec::new(),
            line: Vec::new(),
            signal: None,
            outcome: None,
        };
        call.send();
        Ok(call)
    }

    /// Bytes for the modem.
    pub fn take_line(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.unsent)
    }

    /// Takes bytes of the modem, and returns how many of them belong to its answers: those behind
    /// `CONNECT` are the peer's.
    pub fn handle_line(&mut self, bytes: &[u8]) -> usize {
        for (place, byte) in bytes.iter().enumerate() {
            if self.outcome.is_some() {
                return place;
            }
            match byte {
                b'\r' | b'\n' => self.handle_answer(),
                _ if self.line.len() < LONGEST => self.line.push(*byte),
                _ => {}
            }
        }
        bytes.len()
    }

    /// The end of the call's setup: the answer, such as `CONNECT 9600`, or a refusal.
    #[must_use]
    pub fn outcome(&self) -> Option<&Result<String, ModemError>> {
        self.outcome.as_ref()
    }

    /// The strength that `AT+CSQ` told, 0 to 31, if the modem knows it.
    #[must_use]
    pub fn signal(&self) -> Option<u8> {
        self.signal
    }

    fn command(&self) -> String {
        match COMMANDS.get(self.place) {
            Some(command) => (*command).to_owned(),
            None => format!("ATDT{}", self.number),
        }
    }

    fn send(&mut self) {
        self.unsent.extend(self.command().bytes().chain([b'\r']));
    }

    fn handle_answer(&mut self) {
        let line = std::mem::take(&mut self.line);
        let answer = String::from_utf8_lossy(&line).trim().to_owned();
        let is_dialling = self.place == COMMANDS.len();
        if let Some(text) = answer.strip_prefix("+CSQ:") {
            let strength = text.split(',').next().and_then(|it| it.trim().parse().ok());
            self.signal = strength.filter(|strength| *strength <= 31);
        } else if answer == "OK" && !is_dialling {
            self.place += 1;
            self.send();
        } else if answer.starts_with("CONNECT") && is_dialling {
            self.outcome = Some(Ok(answer));
        } else if is_refusal(&answer) {
            self.outcome = Some(Err(ModemError { command: self.command(), answer }));
        }
    }
}

/// Tells a final answer that is no success (V.250, 5.7.1) from echoes and reports.
fn is_refusal(answer: &str) -> bool {
    let refusals = ["ERROR", "NO CARRIER", "NO DIALTONE", "NO DIAL TONE", "BUSY", "NO ANSWER"];
    refusals.contains(&answer) || answer.starts_with("+CME ERROR")
}

impl fmt::Display for ModemCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.signal {
            Some(signal) => {
                write!(f, "{}, signal {} dBm", self.number, -113 + 2 * i32::from(signal))
            }
            None => write!(f, "{}", self.number),
        }
    }
}

#[cfg(test)]
mod tests;
