use super::*;

const TWO: &str = "\
[[state]]
name = \"good\"
rules = [{ when = \"failed\", at-least = 2, of = 4, to = \"coded\" }]

[[state]]
name = \"coded\"
blocks = 3
parity = 26
retransmit = \"frame\"
last = \"strong\"
rules = [
  { when = \"tight\", symbols = 10, to = \"strong\" },
  { when = \"slack\", symbols = 2, at-least = 8, to = \"good\" },
]

[[state]]
name = \"strong\"
parity = 74
rules = [{ when = \"slack\", symbols = 13, at-least = 4, to = \"coded\" }]
";

fn parse(text: &str) -> Result<PolicyTable, String> {
    parse_policy("p.toml", text.as_bytes()).map_err(|error| error.to_string())
}

#[test]
fn a_table_is_what_its_file_says() {
    let plan = |blocks, level: usize, whole| Plan {
        blocks,
        level: Level::all().nth(level).expect("a level"),
        whole,
        uncoded: false,
    };
    let rule = |when, at_least, of, to| TableRule { when, at_least, of, to };
    let expected = vec![
        TableState {
            plan: plan(5, 0, false),
            last: None,
            rules: vec![rule(Sight::Failed, 2, 4, 1)],
        },
        TableState {
            plan: plan(3, 2, true),
            last: Some(2),
            rules: vec![rule(Sight::Tight(10), 1, 1, 2), rule(Sight::Slack(2), 8, 8, 0)],
        },
        TableState {
            plan: plan(5, 4, false),
            last: None,
            rules: vec![rule(Sight::Slack(13), 4, 4, 1)],
        },
    ];
    assert_eq!(parse(TWO), Ok(PolicyTable::new(expected).expect("a legal table")));
}

#[test]
fn errors_name_line_and_key() {
    let cases = [
        ("parity = 26", "parity = 27", "p.toml:8: parity 27: use one of 0, 13, 26, 50"),
        ("blocks = 3", "blocks = 6", "p.toml:7: state \"coded\", blocks: a frame has 1 to 5"),
        (
            "blocks = 3",
            "bloks = 3",
            "p.toml:7: unknown field `bloks`, expected one of `name`, `blocks`",
        ),
        (
            "blocks = 3",
            "blocks = \"x\"",
            "p.toml:7: blocks: invalid type: string \"x\": write a whole number from 0 to 255",
        ),
        (
            "parity = 26",
            "parity = nan",
            "p.toml:8: parity: invalid type: floating point `NaN`: write a whole number",
        ),
        ("blocks = 3", "uncoded = true", "p.toml:8: state \"coded\", parity: an uncoded frame"),
        (
            "blocks = 3\nparity = 26",
            "uncoded = true\nparity = 0",
            "p.toml:8: state \"coded\", parity",
        ),
        ("name = \"strong\"", "name = \"good\"", "p.toml:10: last \"strong\": there is no state"),
        ("\"frame\"", "\"all\"", "p.toml:9: unknown variant `all`, expected `blocks` or `frame`"),
        ("last = \"strong\"", "last = \"none\"", "p.toml:10: last \"none\": there is no state"),
        ("symbols = 10", "symbols = 14", "p.toml:12: state \"coded\", symbols: the parity of"),
        ("symbols = 10, ", "", "p.toml:12: tight and slack need a number"),
        ("\"tight\"", "\"bad\"", "p.toml:12: symbols are counted by tight and slack alone"),
        ("at-least = 2, of = 4", "at-least = 9, of = 4", "p.toml:3: state \"good\", at-least: "),
        ("at-least = 2, of = 4", "at-least = 0", "p.toml:3: state \"good\", at-least: use 1 to"),
        ("at-least = 2, of = 4", "at-least = 65", "p.toml:3: state \"good\", at-least: use 1 to"),
        ("blocks = 3", "uncoded = 3", "p.toml:7: uncoded: invalid type: integer `3`, expected a"),
        ("\"frame\"", "3", "p.toml:9: retransmit: it is no text: write one of its words"),
        ("\"failed\"", "3", "p.toml:3: when: it is no text: write one of its words"),
        ("to = \"coded\" }]\n\n", "to = 4 }]\n\n", "p.toml:3: to: invalid type: integer `4`"),
        ("of = 4", "of = 65", "p.toml:3: state \"good\", of: use 1 to 64"),
        ("to = \"coded\" }]\n\n", "to = \"good\" }]\n\n", "p.toml:3: state \"good\", to: a rule"),
        (
            "\"failed\"",
            "\"lots\"",
            "p.toml:3: unknown variant `lots`, expected one of `lost`, `cut`",
        ),
        (", to = \"coded\" }]\n\n", " }]\n\n", "p.toml:3: missing field `to`"),
    ];
    for (from, to, expected) in cases {
        let text = TWO.replacen(from, to, 1);
        assert_ne!(text, TWO, "{from}");
        let error = parse(&text).expect_err(to);
        assert!(error.starts_with(expected), "{to}: {error}");
    }
    let lost = format!("{TWO}[[state]]\nname = \"lost\"\n");
    let twice = format!("{TWO}[[state]]\nname = \"good\"\n");
    let expected = "p.toml:21: name \"good\": give each state one of its own";
    assert_eq!(parse(&twice).expect_err("two of one name"), expected);
    let expected = "p.toml:21: state \"lost\", name: no rule leads here from the first state";
    assert!(parse(&lost).expect_err("unreachable").starts_with(expected));
    assert!(parse("").expect_err("no state").contains("add [[state]]"));
    let long = "#".repeat(LONGEST + 1);
    assert!(parse(&long).expect_err("too long").contains("longer than"));
    let no_text = parse_policy("p.toml", &[0xff]).expect_err("no text").to_string();
    assert_eq!(no_text, "p.toml:1: it is no text");
}
