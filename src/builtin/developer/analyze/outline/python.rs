//! The recognizer for Python, whose blocks are indented.

use super::Findings;
use crate::developer::analyze::token_stream::TokenStream;

pub(super) fn read(code: &TokenStream<'_>) -> Findings {
    let mut findings = Findings::default();
    // The enclosing definitions, with their indentation.
    let mut around: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    while at < code.len() {
        if code.starts_line(at) {
            let indent = code.indent(at);
            while let Some(&(_, own)) = around.last().filter(|(_, own)| *own >= indent) {
                // The lines of a bracket or a string may have any indentation, but a statement may
                // not.
                let (found, _) = around.pop().unwrap_or((0, own));
                findings.found[found].to = at - 1;
            }
            statement(code, at, indent, &mut findings, &mut around);
        } else if code.mark(at - 1) == b';' {
            import(code, at, &mut findings);
        }
        at = code.skip(at);
    }
    let last = code.len().saturating_sub(1);
    for (found, _) in around {
        findings.found[found].to = last;
    }
    findings
}

fn statement(
    code: &TokenStream<'_>,
    at: usize,
    indent: usize,
    findings: &mut Findings,
    around: &mut Vec<(usize, usize)>,
) {
    let keyword = at + usize::from(code.word(at) == b"async");
    let label = match code.word(keyword) {
        b"def" => "def",
        b"class" => "class",
        _ => return import(code, at, findings),
    };
    let name = keyword + 1;
    let is_one_line = (at + 1..=name).all(|at| !code.starts_line(at));
    if !is_one_line || !code.is_word(name) || !matches!(code.mark(name + 1), b'(' | b':' | b'[') {
        return;
    }
    around.push((findings.found.len(), indent));
    findings.define(code, label, name, (at, name));
}

fn import(code: &TokenStream<'_>, at: usize, findings: &mut Findings) {
    let from = code.word(at) == b"from" && code.word(at - at.min(1)) != b"yield";
    if code.word(at) != b"import" && !from {
        return;
    }
    let mut end = at;
    loop {
        let next = code.skip(end);
        if next >= code.len() || code.starts_line(next) || code.mark(next) == b';' {
            let end = (next - 1).min(code.len() - 1);
            if end > at {
                findings.import(code, at, end);
            }
            return;
        }
        end = next;
    }
}
