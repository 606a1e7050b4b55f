use super::*;

/// A modem that answers as the one of paper 001, appendix C, and echoes what it is told.
#[derive(Default)]
struct Modem {
    line: Vec<u8>,
    transcript: String,
}

impl Modem {
    fn answer(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut answers = Vec::new();
        for byte in bytes {
            answers.push(*byte);
            if *byte != b'\r' {
                self.line.push(*byte);
                continue;
            }
            let command = String::from_utf8(std::mem::take(&mut self.line)).expect("text");
            let answer = match command.as_str() {
                "ATZ" | "AT+CBST=7,0,0" | "AT+ES=0,0,0" | "AT+DS=0" | "AT+ER=1" | "AT+DR=1" => {
                    "\r\nOK\r\n"
                }
                "AT+CSQ" => "\r\n+CSQ: 16,99\r\n\r\nOK\r\n",
                "ATDT5551212" => "\r\n+ER: NONE\r\n\r\n+DR: NONE\r\n\r\nCONNECT 9600\r\n",
                "ATDT0" => "\r\nBUSY\r\n",
                _ => "\r\nERROR\r\n",
            };
            self.transcript += &format!("{command}{answer}");
            answers.extend(answer.bytes());
        }
        answers
    }
}

fn call(number: &str, behind: &[u8]) -> (ModemCall, Modem, Vec<u8>) {
    let mut call = ModemCall::new(number).expect("a number");
    let mut modem = Modem::default();
    let mut rest = Vec::new();
    for _ in 0..20 {
        let mut answer = modem.answer(&call.take_line());
        if modem.transcript.contains("CONNECT") {
            answer.extend(behind);
        }
        let taken = call.handle_line(&answer);
        rest.extend(&answer[taken..]);
        if call.outcome().is_some() {
            break;
        }
    }
    (call, modem, rest)
}

//= S1.29
#[test]
fn a_modem_is_asked_as_in_the_paper() {
    let (call, modem, rest) = call("5551212", b"~\xff}#");
    assert_eq!(call.outcome(), Some(&Ok("CONNECT 9600".to_owned())));
    assert_eq!(call.signal(), Some(16));
    assert_eq!(call.to_string(), "5551212, signal -81 dBm");
    // The end of its line, and what the peer says.
    assert_eq!(rest, b"\n~\xff}#");
    let commands: Vec<_> = modem.transcript.lines().filter(|line| line.starts_with("AT")).collect();
    let expected = [
        "ATZ",
        "AT+CBST=7,0,0",
        "AT+ES=0,0,0",
        "AT+DS=0",
        "AT+ER=1",
        "AT+DR=1",
        "AT+CSQ",
        "ATDT5551212",
    ];
    assert_eq!(commands, expected);
}

#[test]
fn a_modem_that_refuses_is_quoted() {
    let (call, ..) = call("0", b"");
    let error = call.outcome().expect("it answers").clone().expect_err("it is busy");
    assert_eq!(error.to_string(), "the modem answers BUSY to ATDT0");
}

#[test]
fn numbers_hold_no_commands() {
    for number in ["", "1;AT+CFUN=0", "1\rATZ", "call"] {
        assert!(ModemCall::new(number).is_err(), "{number}");
    }
}

proptest::proptest! {
    #[test]
    fn any_answer_is_survived(pieces: Vec<Vec<u8>>) {
        let mut call = ModemCall::new("1").expect("a number");
        for piece in pieces {
            let taken = call.handle_line(&piece);
            assert!(taken <= piece.len());
            call.take_line();
        }
    }
}
