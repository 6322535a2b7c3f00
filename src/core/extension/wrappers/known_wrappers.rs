//! Programs that only start another one, with their options, as data.

use super::{Meaning, Options, Row, Syntax, Takes};
use Meaning::{Code, Harmless};
use Takes::{Nothing, Value};

/// What a program that only starts another one does with the words behind its options.
pub(super) enum Inner {
    /// So many operands, and the program.
    Program(usize),
    /// Variables and the program; or an option has the text that names them.
    Variables,
    /// A text, if there is an option for one.
    Shell,
    /// The command interpreter of Windows, whose options begin with `/`.
    Batch,
    /// An option names the module of Python that is the program.
    Module,
    /// A script of Node that is the program.
    Script,
    /// A package manager.
    Manager,
}

/// Programs that only start another one, by their names without a version.
pub(super) const WRAPPERS: &[(&str, &Options, Inner)] = &[
    ("env", &ENV, Inner::Variables),
    ("nice", &NICE, Inner::Program(0)),
    ("ionice", &IONICE, Inner::Program(0)),
    ("timeout", &TIMEOUT, Inner::Program(1)),
    ("stdbuf", &STDBUF, Inner::Program(0)),
    ("setsid", &SETSID, Inner::Program(0)),
    ("nohup time exec command call busybox toybox", &NO_OPTIONS, Inner::Program(0)),
    ("sh bash dash ash zsh ksh mksh fish csh tcsh", &SHELL, Inner::Shell),
    ("cmd", &NO_OPTIONS, Inner::Batch),
    ("python pythonw pypy py graalpy ipython", &PYTHON, Inner::Module),
    ("node nodejs", &NO_OPTIONS, Inner::Script),
    ("corepack", &NO_OPTIONS, Inner::Manager),
];

/// Not `-i`, by which the settings of launchers in variables are lost, nor `-C`, by which they get other ones.
const ENV: Options = Options {
    rows: &[&[
        Row(Nothing, Harmless, "v debug"),
        Row(Value, Harmless, "u unset"),
        Row(Value, Code, "S split-string"),
    ]],
    ..NO_OPTIONS
};

const NICE: Options = Options { rows: &[&[Row(Value, Harmless, "n adjustment")]], ..NO_OPTIONS };

const IONICE: Options = Options {
    rows: &[&[Row(Nothing, Harmless, "t ignore"), Row(Value, Harmless, "c class n classdata")]],
    ..NO_OPTIONS
};

const TIMEOUT: Options = Options {
    rows: &[&[
        Row(Nothing, Harmless, "f foreground p preserve-status v verbose"),
        Row(Value, Harmless, "k kill-after s signal"),
    ]],
    ..NO_OPTIONS
};

const STDBUF: Options = Options { rows: &[&[Row(Value, Harmless, "i input o output e error")]], ..NO_OPTIONS };

const SETSID: Options = Options { rows: &[&[Row(Nothing, Harmless, "c ctty f fork w wait")]], ..NO_OPTIONS };

const SHELL: Options = Options {
    rows: &[&[Row(Nothing, Harmless, "a e f l u v x login posix"), Row(Nothing, Code, "c")]],
    ..NO_OPTIONS
};

const PYTHON: Options = Options {
    rows: &[&[
        Row(Nothing, Harmless, "B E I O P S b d q s u v"),
        Row(Value, Harmless, "W X"),
        Row(Value, Code, "m"),
    ]],
    ..NO_OPTIONS
};

const NO_OPTIONS: Options = Options { syntax: Syntax::Plain, rows: &[] };
