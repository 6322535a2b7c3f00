//! Small sources of each language, and hostile ones.

use super::language::ALL;
use super::language::Language::{self, *};
use super::outline::{DefinitionKind, Outline};
use std::time::{Duration, Instant};

fn outline(text: &str, language: Language) -> Outline {
    Outline::of(text.as_bytes(), language, true)
}

/// Checks that the definitions are these, as `label owner.name first-last`.
fn has(text: &str, language: Language, wanted: &[&str]) {
    let found: Vec<String> = outline(text, language)
        .definitions
        .iter()
        .map(|d| format!("{} {}-{}", super::file_report::title(d), d.line, d.end_line))
        .collect();
    assert_eq!(found, wanted, "{language:?}");
}

fn imports(text: &str, language: Language, wanted: &[&str]) {
    let found: Vec<String> = outline(text, language)
        .imports
        .iter()
        .map(|(line, text)| format!("{line} {text}"))
        .collect();
    assert_eq!(found, wanted, "{language:?}");
}

#[test]
fn rust() {
    let text = r##"
use std::{fmt,
    io};
extern crate alloc;
mod other;
pub struct Unit;
struct Pair<T: Fn(u8) -> u8>(T);
enum Kind { A { fn_: u8 }, B }
impl<'a, T> fmt::Display for Pair<&'a [T]>
where T: Clone {
    fn fmt(&self) -> String {
        let text = "fn not_this() {"; // fn nor_this() {
        format!("{text}")
    }
}
pub(crate) trait Shape { fn area(&self) -> f64; fn twice(&self) -> f64 { 2.0 } }
pub const unsafe extern "C" fn raw<const N: usize>(f: fn(u8) -> u8) {}
macro_rules! each { ($name:ident) => { fn $name() {} } }
mod inner { async fn deep() { fn deeper() {} } }
type Alias<T> = Vec<T>;
"##;
    has(
        text,
        Rust,
        &[
            "struct Unit 6-6",
            "struct Pair 7-7",
            "enum Kind 8-8",
            "impl Pair 9-15",
            "fn Pair.fmt 11-14",
            "trait Shape 16-16",
            "fn Shape.area 16-16",
            "fn Shape.twice 16-16",
            "fn raw 17-17",
            "macro each 18-18",
            "mod inner 19-19",
            "fn inner.deep 19-19",
            "fn deep.deeper 19-19",
            "type Alias 20-20",
        ],
    );
    imports(
        text,
        Rust,
        &[
            "2 use std::{fmt, io}",
            "4 extern crate alloc",
            "5 mod other",
        ],
    );
}

#[test]
fn python() {
    let text = "
import os, sys
from a.b import (c,
    d)
class A(Base):
    '''def no(): pass'''
    x = 'class B:'
    async def one(self,
            y={'a': 1}):
        def inner():
            return 1

        return inner()
    # def not_this():

    @property
    def two(self): return (
1)

def three[T](x): pass
defined = classes = 1
if x:
    def four(): pass
";
    has(
        text,
        Python,
        &[
            "class A 5-18",
            "def A.one 8-13",
            "def one.inner 10-11",
            "def A.two 17-18",
            "def three 20-20",
            "def four 23-23",
        ],
    );
    imports(
        text,
        Python,
        &["2 import os, sys", "3 from a.b import (c, d)"],
    );
}

#[test]
fn javascript_and_typescript() {
    let text = r#"
import a, { b } from "x";
const fs = require('fs');
export * from './y';
export default async function* one() { return `function no() {${two(() => { 1 })}`; }
class A extends (class {}) { #p() {} static async q() { if (x) { call(); } } get r() { return 1 } s = () => 1 }
const t = async (x, y) => { return /function no() {/; };
exports.u = function () {};
const v = { w() { }, x: function () {}, y: z => z };
function tag() { return <p>Don't {it.map(i => <b>{i}</b>)}</p>; }
foo(1)
{ let block }
"#;
    let wanted = [
        "function one 5-5",
        "class A 6-6",
        "method A.p 6-6",
        "method A.q 6-6",
        "method A.r 6-6",
        "function A.s 6-6",
        "function t 7-7",
        "function u 8-8",
        "method w 9-9",
        "function x 9-9",
        "function y 9-9",
        "function tag 10-10",
    ];
    has(text, JavaScript, &wanted);
    imports(
        text,
        JavaScript,
        &[
            "2 import a, { b } from \"x\"",
            "3 require('fs')",
            "4 export * from './y'",
        ],
    );
    let text = r#"
import type { T } from "t";
export interface Shape<T> extends Base { area(x: number): { a: T }; cb: (x: T) => void }
type Union = { a: 1 } | "b";
declare function ambient(x: string): void
enum Color { Red = f(1) }
namespace N { export function inside<T extends { a: 1 }>(x: T): { b: T } { return x } }
abstract class B { private readonly x: number = g(2); constructor(private y: T) { super(); } abstract z(): void; opt?(): void }
const k: (x: number) => void = (x) => { };
function params(cb: (x: number) => void, d = 1): asserts d is 1 { }
"#;
    has(
        text,
        TypeScript,
        &[
            "interface Shape 3-3",
            "method Shape.area 3-3",
            "type Union 4-4",
            "function ambient 5-5",
            "enum Color 6-6",
            "namespace N 7-7",
            "function N.inside 7-7",
            "class B 8-8",
            "method B.constructor 8-8",
            "method B.z 8-8",
            "method B.opt 8-8",
            "function k 9-9",
            "function params 10-10",
        ],
    );
}

#[test]
fn go() {
    let text = "package p
import \"fmt\"
import (
    x \"a/b\"
    \"c\"
)
type (
    S struct { a func() }
    I interface { M(x int) error; ~int }
)
type N[T any] []T
func (s *S) Do(f func(int) int) (interface{}, error) {
    x := `func no() {`
    return func() {}, nil
}
func Gen[T any](x T) struct{ a int } { return nil }
func ext(x int)
func last() {}
";
    has(
        text,
        Go,
        &[
            "struct S 8-8",
            "interface I 9-9",
            "type N 11-11",
            "func S.Do 12-15",
            "func Gen 16-16",
            "func ext 17-17",
            "func last 18-18",
        ],
    );
    imports(text, Go, &["2 \"fmt\"", "4 x \"a/b\"", "5 \"c\""]);
}

#[test]
fn java() {
    let text = r#"
package p;
import static a.b.C.*;
@Deprecated
public final class A<T extends B> extends C implements D {
    int x = call(1); String s = "void no() {";
    A(int y) { super(y); }
    @Override public <K> Map<K, T> m(final K k, int[] z) throws E, F { return new G() { void anon() {} }; }
    abstract int n();
    enum Color { RED(1) , BLUE(2) { int f() { return 1; } }; Color(int i) {} }
    record P(int a) { P { check(a); } }
    interface I { default void q() { if (x) { y(); } } }
    @interface Note { int value() default 1; }
}
"#;
    has(
        text,
        Java,
        &[
            "class A 5-14",
            "method A.A 7-7",
            "method A.m 8-8",
            "method m.anon 8-8",
            "method A.n 9-9",
            "enum A.Color 10-10",
            "method Color.f 10-10",
            "method Color.Color 10-10",
            "record A.P 11-11",
            "interface A.I 12-12",
            "method I.q 12-12",
            "interface A.Note 13-13",
            "method Note.value 13-13",
        ],
    );
    imports(text, Java, &["3 import static a.b.C.*"]);
}

#[test]
fn kotlin_and_swift() {
    let text = r#"
import a.b.*
data class P(val x: Int = f(1), val y: String) : Base<Int>(x), I
sealed interface I { fun q(): Int }
object O { fun one() = listOf(1)
    .map { it } }
class C { companion object { const val Z = 1 } constructor(x: Int) : this() {} init { } }
fun <T> List<T>.ext(block: (T) -> Unit): Map<T, Int> { "${run { "fun no() {" }}" }
fun `with blanks`() {}
enum class E { A, B }
val k = P::class
typealias F = (Int) -> Unit
val o = object : I { override fun q() = 2 }
"#;
    has(
        text,
        Kotlin,
        &[
            "class P 3-3",
            "interface I 4-4",
            "fun I.q 4-4",
            "object O 5-6",
            "fun O.one 5-6",
            "class C 7-7",
            "object C.Companion 7-7",
            "fun List.ext 8-8",
            "fun with blanks 9-9",
            "enum E 10-10",
            "typealias F 12-12",
            "fun q 13-13",
        ],
    );
    imports(text, Kotlin, &["2 import a.b.*"]);
    let text = r##"
import Foundation
protocol Shape { func area() -> Double
    init?(x: Int) }
final class A<T>: B, C where T: D { class func make() {} deinit { } subscript(i: Int) -> T { x } }
extension A.B: E { static func == (l: A, r: A) -> Bool { #"func no() {"# != "\(f("}"))" } }
actor Counter { func go<T>(_ f: @escaping (T) -> Void) async throws -> [T] where T: X { A.init(1) } }
struct S { } ; enum E: Int { case a, b }
"##;
    has(
        text,
        Swift,
        &[
            "protocol Shape 3-4",
            "func Shape.area 3-3",
            "func Shape.init 4-4",
            "class A 5-5",
            "func A.make 5-5",
            "func A.deinit 5-5",
            "func A.subscript 5-5",
            "extension B 6-6",
            "func B.== 6-6",
            "actor Counter 7-7",
            "func Counter.go 7-7",
            "struct S 8-8",
            "enum E 8-8",
        ],
    );
    imports(text, Swift, &["2 import Foundation"]);
}

#[test]
fn ruby() {
    let text = r#"
require 'a'
require_relative "b/c"
module M::N
  class A < B
    def self.one(x) = x + 1
    def two?
      x = if y then 1 else 2 end
      return z if w
      while a do b end
      each do |i| puts "end #{i.map { |j| "def no" }}" end
      begin; 1; ensure; 2; end
    end
    def ==(o); end
    def name=(v)
      @name = v unless v.end
    end
    class << self
      def inner; <<~TEXT; end
        def no
      TEXT
    end
  end
end
def last(a, if: 1) a.class end
"#;
    has(
        text,
        Ruby,
        &[
            "module N 4-24",
            "class N.A 5-23",
            "def A.one 6-6",
            "def A.two? 7-13",
            "def A.== 14-14",
            "def A.name= 15-17",
            "def A.inner 19-19",
            "def last 25-25",
        ],
    );
    imports(text, Ruby, &["2 require 'a'", "3 require_relative \"b/c\""]);
}

#[test]
fn c_and_cpp() {
    let text = "
#include <stdio.h>
#define CALL(x) f(x) {
struct node { int (*cb)(int); struct node *next; };
typedef struct { int a; } Named;
enum { A, B };
static inline struct node *make(int (*f)(int), char *s) { return g(\"int no() {\"); }
int proto(int);
int table[] = { sizeof(int) };
#ifdef X
int either(int a) {
#else
int either(long a) {
#endif
  if (a) { return 1; }
}
#if 0
int never(void) { {
#endif
int old(a, b)
  int a; char *b;
{ return 0; }
EXPORT(int) exported(void) { return 1; }
int attr(void) __attribute__((noinline));
int last(void) { return 0; }
";
    has(
        text,
        C,
        &[
            "macro CALL 3-3",
            "struct node 4-4",
            "struct Named 5-5",
            "function make 7-7",
            "function either 11-16",
            "function old 20-22",
            "function exported 23-23",
            "function last 25-25",
        ],
    );
    imports(text, C, &["2 #include <stdio.h>"]);
    let text = "
namespace a::b {
template <class T, typename U = X<int>> class EXPORT C final : public D<T>, E {
 public:
  C(int x) : D<T>(x), y_{x} { f(); }
  ~C() override;
  bool operator==(const C& o) const noexcept { return true; }
  auto get() const -> std::vector<T> { return {}; }
  enum class Kind : int { P };
  T operator()(int) { return [&](int x) { return x; }(1); }
};
template <> int C<int>::outer<true>(int a) { return R\"(int no() {)\"; }
a::C::~C() {}
}
extern \"C\" { int plain(void) { return 1; } }
struct S s = { 1 };
";
    has(
        text,
        Cpp,
        &[
            "namespace b 2-14",
            "class b.C 3-11",
            "function C.C 5-5",
            "function C.operator== 7-7",
            "function C.get 8-8",
            "enum C.Kind 9-9",
            "function C.operator() 10-10",
            "function C.outer 12-12",
            "function C.~C 13-13",
            "function plain 15-15",
        ],
    );
}

#[test]
fn calls_know_their_function() {
    let text = "fn a() { b(); c::<u8>(1); d!(x); e.f(g) }\nfn b() {}\nstatic X: u8 = b();";
    let outline = outline(text, Rust);
    let found: Vec<_> = outline.calls.iter().map(|c| (c.name, c.within)).collect();
    let named = |name: &str| super::outline::Name::of(name.as_bytes());
    let wanted = [
        ("b", Some(0)),
        ("c", Some(0)),
        ("d", Some(0)),
        ("f", Some(0)),
        ("b", None),
    ];
    assert_eq!(found, wanted.map(|(name, within)| (named(name), within)));
    let counts = outline.counts();
    assert_eq!(counts, (2, 0));
    assert!(
        outline
            .definitions
            .iter()
            .all(|d| d.kind == DefinitionKind::Function)
    );
}

/// Checks that each language analyzes `text` in a short time and without a stack overflow.
fn survives(text: &str) {
    let started = Instant::now();
    for language in ALL {
        let outline = outline(text, language);
        assert!(outline.definitions.len() <= text.len());
    }
    // Generous for slow builds on busy machines; quadratic work would take hours.
    assert!(
        started.elapsed() < Duration::from_secs(90),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn nasty_texts_take_no_longer_than_others() {
    let deep = 100_000;
    survives(&("{".repeat(deep) + &"}".repeat(deep)));
    survives(&("(".repeat(deep) + &"}".repeat(deep)));
    let deep = 20_000;
    survives(&"`${".repeat(deep));
    survives(&"\"#{\"\\(".repeat(deep / 4));
    survives(&"fn f<(".repeat(deep / 4));
    survives(&"def f(\nclass A\n".repeat(deep / 20));
    survives(&"a<".repeat(deep));
    survives(&"=/[".repeat(deep));
    survives(&"'\\".repeat(deep));
    survives(&"/*".repeat(deep));
    survives(&"int f(int a) { return 1; } ".repeat(40_000));
    survives(&"#if 1\n{\n#else\n}\n".repeat(deep / 20));
    survives(&"<<~A ".repeat(deep / 4));
    survives(&"R\"(".repeat(deep / 4));
}

#[test]
fn the_description_of_the_tool_has_its_limits() {
    let tool: serde_json::Value = serde_json::from_str(include_str!("analyze.json")).unwrap();
    let properties = &tool["inputSchema"]["properties"];
    assert_eq!(properties["follow_depth"]["maximum"], super::MAX_FOLLOW);
    assert_eq!(properties["follow_depth"]["default"], super::FOLLOW);
    assert_eq!(properties["max_depth"]["default"], super::DEPTH);
}
