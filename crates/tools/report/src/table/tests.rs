use super::*;

fn sample() -> Table {
    let mut table = Table::new(["link", "loss", "time"]);
    table.push(["without", "12.5 %", "9.25 s"]);
    table.push(["with local retransmission", "0 %"]);
    table
}

#[test]
fn text_aligns_columns_and_numbers() {
    let expected = "\
link                         loss    time
─────────────────────────  ──────  ──────
without                    12.5 %  9.25 s
with local retransmission     0 %
";
    assert_eq!(sample().to_text(), expected);
}

#[test]
fn csv_has_a_line_of_names_first_and_quotes_what_needs_it() {
    let mut table = Table::new(["name", "note"]);
    table.push(["a,b", "say \"x\""]);
    table.push(["#1", "plain"]);
    let expected = "\
name,note
\"a,b\",\"say \"\"x\"\"\"
\"#1\",plain
";
    assert_eq!(table.to_csv(), expected);
}

#[test]
fn html_escapes() {
    let mut table = Table::new(["<b>"]);
    table.push(["a & b"]);
    let html = table.to_html();
    assert!(html.contains("&lt;b&gt;") && html.contains("a &amp; b"), "{html}");
}

#[test]
fn where_there_is_no_number_people_see_a_dash_and_programs_what_they_read() {
    let mut table = Table::new(["gain"]);
    table.push(["0.5"]);
    table.push(["NaN"]);
    let html = table.to_html();
    assert!(html.contains("<td class=\"number\">–</td>") && !html.contains("NaN"), "{html}");
    assert!(table.to_csv().ends_with("0.5\nNaN\n"));
}

#[test]
fn an_empty_table_is_a_head() {
    assert_eq!(Table::new(["a"]).to_text(), "a\n─\n");
    assert_eq!(Table::default().to_text(), "\n\n");
}
