use hyper::Request;

use super::*;
use crate::browser::AccessToken;

const TOKEN: &str = "07070707070707070707070707070707";

/// A run that remembers what it was asked.
#[derive(Default)]
struct Recorder {
    asked: Vec<Value>,
    has_ended: bool,
}

impl RunLink for &Mutex<Recorder> {
    fn ask(&mut self, request: &RunRequest) -> Result<Value, RunLinkError> {
        let request = json!(request);
        let mut run = self.lock().expect("no panic");
        if run.has_ended {
            return Err(RunLinkError::Ended);
        }
        run.asked.push(request.clone());
        match request["do"].as_str() {
            Some("status") => Ok(json!({ "t": 3.0, "links": [{ "name": "a/b" }] })),
            Some("samples") => Ok(json!({ "samples": [{ "t": 2.5, "link": "a/b" }] })),
            Some("scenario") => Ok(json!({ "scenario": "format = 1\n" })),
            _ if request["change"]["rate"] == "fast" => {
                Err(RunLinkError::Refused("rate=fast: write a rate".to_owned()))
            }
            _ => Ok(json!({ "ok": true, "at": 3.0 })),
        }
    }
}

fn dashboard(run: &Mutex<Recorder>) -> Dashboard<&Mutex<Recorder>> {
    Dashboard::new("of/fice \"1\"", run, Guard::new(AccessToken::new([7; 16]), 4000), "n0")
}

fn ask(of: &Dashboard<&Mutex<Recorder>>, method: &str, path: &str, body: &str) -> (u16, String) {
    let response = respond(of, method, path, body);
    let text = String::from_utf8(response.body().to_vec()).expect("text");
    (response.status().as_u16(), text)
}

fn respond(
    of: &Dashboard<&Mutex<Recorder>>,
    method: &str,
    path: &str,
    body: &str,
) -> Response<Bytes> {
    let request = Request::builder().method(method).uri(format!("/{TOKEN}/{path}"));
    let request =
        request.header("host", "127.0.0.1:4000").header("content-type", "application/json");
    of.answer(&request.body(Bytes::copy_from_slice(body.as_bytes())).expect("a request"))
}

#[test]
fn the_page_gets_what_is_new_and_exports_all_that_was_seen() {
    let run = Mutex::default();
    let page = dashboard(&run);
    let (status, text) = ask(&page, "GET", "view", "");
    let view: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(
        (status, &view["status"], &view["name"]),
        (200, &Value::Null, &json!("of/fice \"1\""))
    );
    page.look();
    page.look();
    let asked = run.lock().expect("no panic").asked.clone();
    assert_eq!(asked[1]["since"], 0.0);
    assert_eq!(asked[3]["since"], 2.5);
    let (_, text) = ask(&page, "GET", "view?since=2.4", "");
    let view: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(view["status"]["t"], 3.0);
    assert_eq!(view["samples"].as_array().map(Vec::len), Some(2));
    assert!(ask(&page, "GET", "view?since=2.5", "").1.contains("\"samples\":[]"));
    let csv = respond(&page, "GET", "seen.csv", "");
    assert_eq!(csv.headers()[CONTENT_DISPOSITION], "attachment; filename=\"of_fice__1_.csv\"");
    assert_eq!(csv.body().iter().filter(|byte| **byte == b'\n').count(), 3);
    let seen: Value = serde_json::from_str(&ask(&page, "GET", "seen.json", "").1).expect("JSON");
    assert_eq!((&seen["status"]["t"], &seen["samples"][1]["t"]), (&json!(3.0), &json!(2.5)));
    assert_eq!(ask(&page, "GET", "scenario.toml", ""), (200, "format = 1\n".to_owned()));
}

#[test]
fn a_page_changes_links_and_faults_and_nothing_else() {
    let run = Mutex::default();
    let page = dashboard(&run);
    let (status, text) = ask(&page, "POST", "set", r#"{"change": {"uplink": {"loss": "5%"}}}"#);
    assert_eq!(status, 200, "{text}");
    assert_eq!(ask(&page, "POST", "set", r#"{"fault": "far:80 reset"}"#).0, 200);
    let asked = run.lock().expect("no panic").asked.clone();
    assert_eq!(asked[0], json!({"do": "set", "change": {"uplink": {"loss": "5%"}}}));
    assert_eq!(asked[1], json!({"do": "fault", "fault": "far:80 reset"}));
    let (status, text) = ask(&page, "POST", "set", r#"{"change": {"rate": "fast"}}"#);
    assert_eq!((status, text.as_str()), (422, r#"{"error":"rate=fast: write a rate"}"#));
    for body in ["", "[]", "{}", r#"{"do": "end"}"#, r#"{"change": 1}"#, r#"{"fault": {}}"#] {
        assert_eq!(ask(&page, "POST", "set", body).0, 400, "{body}");
    }
    assert_eq!(ask(&page, "GET", "set", "").0, 404);
    assert_eq!(ask(&page, "POST", "end", "{}").0, 404);
    assert_eq!(ask(&page, "PUT", "set", "{}").0, 405);
    assert_eq!(run.lock().expect("no panic").asked.len(), 3);
    let rows: Value = serde_json::from_str(&ask(&page, "GET", "settings", "").1).expect("JSON");
    let names: Vec<_> = rows.as_array().into_iter().flatten().map(|it| &it["name"]).collect();
    assert!(names.contains(&&json!("rate")) && names.contains(&&json!("loss")), "{names:?}");
    assert!(!names.contains(&&json!("queue")));
}

#[test]
fn a_run_that_has_ended_stays_on_the_page_and_browsers_are_told_what_they_may() {
    let run = Mutex::default();
    let page = dashboard(&run);
    page.look();
    run.lock().expect("no panic").has_ended = true;
    page.look();
    let (_, text) = ask(&page, "GET", "view?since=0", "");
    let view: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&view["ended"], &view["status"]["t"]), (&json!(true), &json!(3.0)));
    assert_eq!(view["samples"][0]["t"], 2.5);
    assert_eq!(ask(&page, "POST", "set", r#"{"fault": "far:80 none"}"#).0, 410);
    let response = respond(&page, "GET", "", "");
    let policy = response.headers()[CONTENT_SECURITY_POLICY].to_str().expect("text");
    assert!(policy.contains("script-src 'nonce-n0'") && policy.contains("frame-ancestors 'none'"));
    assert_eq!(response.headers()[REFERRER_POLICY], "no-referrer");
    assert_eq!(response.headers()[CACHE_CONTROL], "no-store");
    let refused = page.answer(&Request::new(Bytes::new()));
    assert_eq!(refused.status(), 403);
    assert_eq!(refused.headers()[X_FRAME_OPTIONS], "DENY");
}

#[test]
fn a_member_that_stands_twice_is_refused_wherever_it_stands() {
    let run = Mutex::default();
    let page = dashboard(&run);
    for (body, said) in [
        (r#"{"change":{"loss":"1%"},"change":{"loss":"2%"}}"#, "change"),
        (r#"{"change":{"loss":"1%","loss":"2%"}}"#, "loss"),
        (r#"{"change":{"uplink":{"ber":"0","ber":"1e-5"}}}"#, "ber"),
        (r#"{"fault":"far:80 reset 1s","fault":"far:81 reset 1s"}"#, "fault"),
    ] {
        let (status, text) = ask(&page, "POST", "set", body);
        assert!(status == 400 && text.contains(said) && text.contains("is given twice"), "{text}");
    }
    // An unknown member is refused too.
    let other = r#"{"change":{"loss":"1%"},"link":"a/b"}"#;
    assert_eq!(ask(&page, "POST", "set", other).0, 400);
    assert!(run.lock().expect("no panic").asked.is_empty());
}
