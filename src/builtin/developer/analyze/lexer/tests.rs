use super::*;

/// The words and marks of a text, with `"` for strings and `#` for other literals.
fn words(text: &str, language: Language) -> String {
    let tokens = tokenize(text.as_bytes(), language);
    let shown = tokens.iter().map(|token| match token.kind {
        Kind::Word | Kind::Mark(_) => text[token.start as usize..token.end as usize].to_owned(),
        Kind::Text => "\"".to_owned(),
        Kind::Value => "#".to_owned(),
        Kind::Directive => "#line".to_owned(),
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn comments_are_left_out() {
    assert_eq!(words("a /* b /* c */ d */ e // f\ng", Rust), "a e g");
    assert_eq!(words("a /* b /* c */ d */ e", Java), "a d * / e");
    assert_eq!(words("a # b ' {\nc", Python), "a c");
    assert_eq!(words("a\n=begin\ndef x\n=end\nb\n__END__\nc", Ruby), "a b");
    assert_eq!(words("a /* b", C), "a");
}

#[test]
fn strings_hide_what_is_in_them() {
    assert_eq!(
        words(r####"f("fn a() {", r##"x"# "##, b'"', '{', 'a)"####, Rust),
        "f ( \" , \" , \" , # , # )"
    );
    assert_eq!(words("r#type r\"\\\" x", Rust), "type \" x");
    assert_eq!(
        words("'''a ' \" ''' b \"\"\"c\n\"\"\" rb'\\'' f\"{x!r}\"", Python),
        "\" b \" \" \""
    );
    assert_eq!(words("\"\"\"a \" \\\"\"\" b\"\"\" c", Java), "\" c");
    assert_eq!(words("\"\"\"a \\\"\"\" c", Kotlin), "\" c");
    assert_eq!(
        words("`a\\` \" b`", Go),
        "\" \" b`".trim_end_matches(" \" b`").to_owned() + " \""
    );
    assert_eq!(
        words("R\"x(a )\" b)x\" c L'\\'' u8\"d\" 1'000 e", Cpp),
        "\" c \" \" # e"
    );
    assert_eq!(words("##\"a \"# b\"## c", Swift), "\" c");
}

#[test]
fn code_in_strings_is_code() {
    assert_eq!(
        words("`a ${b(`c ${d} }`)} e` f", JavaScript),
        "\" b ( \" d \" ) \" f"
    );
    assert_eq!(
        words("\"a #{b('}') { c }} d\" e", Ruby),
        "\" b ( \" ) { c } \" e"
    );
    assert_eq!(words("\"a ${b(\"}\")} d\" e", Kotlin), "\" b ( \" ) \" e");
    assert_eq!(
        words("\"a \\(b(\")\")) d\" e #\"\\(x\"# f", Swift),
        "\" b ( \" ) \" e \" f"
    );
}

#[test]
fn a_slash_is_a_division_or_begins_an_expression() {
    assert_eq!(
        words("a = b / c / d; e(/[/'\"]{/g)", JavaScript),
        "a = b / c / d ; e ( # )"
    );
    assert_eq!(
        words("return /'/.test(x)", TypeScript),
        "return # . test ( x )"
    );
    assert_eq!(
        words("a / b\nputs /'/\nx =~ /\"{/", Ruby),
        "a / b puts \" x = ~ \""
    );
    assert_eq!(
        words("%w[a ' [b] c] x % y %q(d), ?', :\"e f\", :g?, $' h", Ruby),
        "\" x % y \" , # , \" , # , # h"
    );
}

#[test]
fn heredocs_begin_on_the_next_line() {
    let text = "a(<<~ONE, <<-'TWO') do\n  def x '\n  ONE\nTHREE\n  TWO\nb << c\n";
    assert_eq!(words(text, Ruby), "a ( \" , \" ) do b < < c");
}

#[test]
fn what_has_no_end_ends_with_the_line_or_the_text() {
    assert_eq!(words("'abc\ndef", Python), "\" def");
    assert_eq!(
        words("<p>Don't</p>\n{x}", JavaScript),
        "< p > Don \" t < / p > { x }"
    );
    assert_eq!(words("\"abc\nfn x", Rust), "\"");
    assert_eq!(words("`${`${", JavaScript), "\" \"");
    assert_eq!(words("\"a\\", C), "\"");
    assert_eq!(words("\"a\\", Swift), "\"");
    assert_eq!(words("<<~X", Ruby), "\"");
}

#[test]
fn lines_of_the_preprocessor_are_one_thing() {
    let text = "#define A(x) { \\\n  \"\n  #  include <a.h> /* \n */ b\nint c; // d \\\n";
    assert_eq!(words(text, C), "#line #line int c ;");
}

#[test]
fn any_bytes_can_be_cut() {
    let mut seed = 1_u32;
    let alphabet = b"'\"`#/*\\{}()[]$%<>~=:@?!rRbBfu8 \n\r\tEND0a\xc3\xff-_.";
    for round in 0..3_000 {
        let text: Vec<u8> = (0..round % 60)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                alphabet[(seed >> 16) as usize % alphabet.len()]
            })
            .collect();
        for language in super::super::language::ALL {
            let tokens = tokenize(&text, language);
            let sane = tokens
                .iter()
                .all(|t| t.start <= t.end && t.end as usize <= text.len());
            assert!(sane, "{language:?} {:?}", String::from_utf8_lossy(&text));
            super::super::outline::Outline::of(&text, language, true);
        }
    }
}
