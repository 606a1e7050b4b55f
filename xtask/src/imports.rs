//! The modules of a crate, and which of them name which: paths that begin in the crate.

use std::collections::{BTreeMap, BTreeSet};

use crate::rust::test_regions;
use crate::workspace::File;

/// A module: the segments of its path from the root of the crate.
pub(crate) type Module = Vec<String>;

/// A path that one module names, with the name under which a `use` brings it in.
#[derive(Debug, PartialEq, Eq)]
struct Named {
    segments: Vec<String>,
    alias: Option<String>,
}

/// The modules of one crate and what they import from one another.
#[derive(Debug, Default)]
pub(crate) struct Modules {
    names: BTreeMap<Module, Vec<Named>>,
}

impl Modules {
    /// Reads the library or program whose root file is `source`/`root` out of `files`.
    pub(crate) fn of(files: &[File], source: &str, root: &str) -> Self {
        let mut names = BTreeMap::new();
        for file in files.iter().filter(|file| file.is_rust() && !file.is_test()) {
            let Some(inside) = file.path.strip_prefix(source) else { continue };
            let Some(inside) = inside.strip_prefix('/') else { continue };
            let module = module_of(inside, root);
            names.insert(module, named(&without_tests(&file.code)));
        }
        Self { names }
    }

    /// The import cycles between siblings, each as the list of modules that it runs through.
    pub(crate) fn cycles(&self) -> Vec<Vec<String>> {
        let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (module, names) in &self.names {
            for name in names {
                let Some(target) = self.target(module, &name.segments, 0) else { continue };
                let common = module.iter().zip(&target).take_while(|(a, b)| a == b).count();
                // A module and its own children may know each other.
                if common < module.len() && common < target.len() {
                    let from = module[..=common].join("::");
                    edges.entry(from).or_default().insert(target[..=common].join("::"));
                }
            }
        }
        knots(&edges)
    }

    /// The module in which the thing that `segments` names, seen from `module`, stands.
    fn target(&self, module: &Module, segments: &[String], depth: u8) -> Option<Module> {
        let mut rest = segments;
        let mut at = match rest.first()?.as_str() {
            "crate" => Module::new(),
            "self" | "super" => module.clone(),
            local => {
                let mut child = module.clone();
                child.push(local.to_owned());
                if !self.names.contains_key(&child) {
                    return None;
                }
                rest = &rest[1..];
                child
            }
        };
        for segment in rest {
            match segment.as_str() {
                "crate" | "self" => {}
                "super" => {
                    at.pop()?;
                }
                name => {
                    at.push(name.to_owned());
                    if !self.names.contains_key(&at) {
                        at.pop();
                        return Some(self.exported(&at, name, depth).unwrap_or(at));
                    }
                }
            }
        }
        Some(at)
    }

    /// Finds the definition of a name that `module` imports.
    fn exported(&self, module: &Module, name: &str, depth: u8) -> Option<Module> {
        let names = self.names.get(module)?;
        let import = names.iter().find(|import| import.alias.as_deref() == Some(name))?;
        // Names that export each other in a circle do not compile, but are no reason to hang.
        if depth > 8 { None } else { self.target(module, &import.segments, depth + 1) }
    }
}

/// The module that a file holds, from its path inside the source folder.
fn module_of(inside: &str, root: &str) -> Module {
    if inside == root {
        return Module::new();
    }
    let path = inside.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').map(str::to_owned).collect()
}

fn without_tests(code: &str) -> String {
    let regions = test_regions(code);
    let lines = code.lines().enumerate();
    let kept = lines.filter(|(at, _)| !regions.iter().any(|region| region.contains(at)));
    kept.map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

/// Every path in blanked code that begins with `crate`, `self` or `super`, and every `use`.
fn named(code: &str) -> Vec<Named> {
    let tokens = tokens(code);
    let mut names = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let starts = match tokens[at] {
            "use" => true,
            "crate" | "self" | "super" => tokens.get(at + 1) == Some(&"::"),
            _ => false,
        };
        if starts {
            let import = tokens[at] == "use";
            at += usize::from(import);
            tree(&tokens, &mut at, &[], import, &mut names);
        } else {
            at += 1;
        }
    }
    names
}

/// Reads one tree of paths: `a::b::{c, d as e}`.
fn tree(tokens: &[&str], at: &mut usize, prefix: &[String], import: bool, out: &mut Vec<Named>) {
    let mut path = prefix.to_vec();
    while let Some(&token) = tokens.get(*at) {
        *at += 1;
        match token {
            "{" if import => {
                while tokens.get(*at).is_some_and(|token| *token != "}") {
                    tree(tokens, at, &path, true, out);
                    *at += usize::from(tokens.get(*at) == Some(&","));
                }
                *at += 1;
                return;
            }
            "*" => return out.push(Named { segments: path, alias: None }),
            _ => path.push(token.to_owned()),
        }
        if tokens.get(*at) != Some(&"::") {
            break;
        }
        *at += 1;
    }
    let mut alias = import.then(|| path.last().cloned().unwrap_or_default());
    if import && tokens.get(*at) == Some(&"as") {
        alias = tokens.get(*at + 1).map(|&token| token.to_owned());
        *at += 2;
    }
    out.push(Named { segments: path, alias });
}

/// Words, `::` and single other characters.
fn tokens(code: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = code;
    let mut tokens = Vec::new();
    while let Some(c) = rest.chars().next() {
        let length = if is_word(c) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            c.len_utf8()
        };
        if !c.is_whitespace() {
            tokens.push(&rest[..length]);
        }
        rest = &rest[length..];
    }
    tokens
}

/// The knots of a graph: nodes that reach each other, one list for each knot.
fn knots(edges: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached = |from: &String| {
        let mut seen = BTreeSet::new();
        let mut todo = vec![from];
        while let Some(node) = todo.pop() {
            for next in edges.get(node).into_iter().flatten() {
                if seen.insert(next.clone()) {
                    todo.push(next);
                }
            }
        }
        seen
    };
    let reach: BTreeMap<_, _> = edges.keys().map(|node| (node, reached(node))).collect();
    let mut knots = BTreeSet::new();
    for (node, seen) in &reach {
        if seen.contains(*node) {
            let back = |other: &&String| reach.get(other).is_some_and(|seen| seen.contains(*node));
            knots.insert(seen.iter().filter(back).cloned().collect::<Vec<_>>());
        }
    }
    knots.into_iter().collect()
}
