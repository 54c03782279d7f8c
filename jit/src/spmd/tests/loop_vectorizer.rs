//! Loops whose iterations become lanes: generated countable loops with counters of all kinds, accesses that depend on one
//! another or do not, conditions, inner loops and reductions give what they give iteration by iteration.

use std::fmt::Write;

use clift_kir::Module;
use clift_kir::interp::Geometry;

use super::cases::parse;
use super::generate::Rng;
use super::harness::Launch;
use crate::Options;
use crate::options::BackendChoice;
use crate::spmd::transform::loop_vectorizer::{self, LoopOutcome, Obstacle};
use crate::spmd::transform::rolled_loops;
use crate::target::machine::Machine;

/// Words of each of the two buffers. Indices are around the middle.
const WORDS: u64 = 1024;
const MIDDLE: u64 = WORDS / 2;

/// Text of a kernel in the making.
struct Text<'r> {
    rng: &'r mut Rng,
    text: String,
    values: u32,
    blocks: u32,
}

impl Text<'_> {
    /// Defines a value.
    fn define(&mut self, ty: &str, what: &str) -> String {
        self.values += 1;
        let name = format!("v{}", self.values);
        writeln!(self.text, "    {name}: {ty} = {what}").expect("text");
        name
    }

    fn line(&mut self, what: &str) {
        writeln!(self.text, "    {what}").expect("text");
    }

    fn fresh(&mut self) -> String {
        self.values += 1;
        format!("v{}", self.values)
    }

    fn block(&mut self) -> u32 {
        self.blocks += 1;
        self.blocks
    }

    fn begin(&mut self, block: u32, params: &str) {
        writeln!(self.text, "b{block}{params}:").expect("text");
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.rng.below(one_in) == 0
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.rng.below(from.len() as u64) as usize]
    }

    /// The address of an element of a buffer near its middle: a multiple of the counter away.
    fn address(&mut self, counter: &Counter) -> (String, u32) {
        let buffer = self.rng.below(2) as u32;
        let param = match counter.ty {
            "i8" | "i16" => self.define("i32", &format!("{} {}", counter.extension(), counter.param)),
            _ => counter.param.clone(),
        };
        let index = match counter.ty {
            "i64" => param,
            _ if self.chance(2) => {
                let by = self.rng.below(5) as i64 - 2;
                let constant = self.define("i32", &format!("const {by}"));
                let flags = if counter.signed && self.rng.below(3) > 0 { " nsw" } else { "" };
                let sum = self.define("i32", &format!("iadd{flags} {param}, {constant}"));
                let extension = if flags.is_empty() && !counter.signed { "sext" } else { counter.extension() };
                self.define("i64", &format!("{extension} {sum}"))
            }
            _ => self.define("i64", &format!("{} {param}", counter.extension())),
        };
        let scale = [4, 4, 4, 8, 12, 0][self.rng.below(6) as usize];
        let disp = 4 * (MIDDLE as i64 + self.rng.below(5) as i64 - 2);
        (self.define("ptr(global)", &format!("addr scale {scale} disp {disp} v{buffer}, {index}")), buffer + 1)
    }

    fn load(&mut self, counter: &Counter) -> String {
        let (address, class) = self.address(counter);
        self.define("i32", &format!("load align 4 alias {class} {address}"))
    }

    fn store(&mut self, counter: &Counter, value: &str) {
        let (address, class) = self.address(counter);
        self.line(&format!("store align 4 alias {class} {address}, {value}"));
    }

    fn operation(&mut self, a: &str, b: &str) -> String {
        let op = self.pick(&["iadd", "isub", "imul", "xor", "smin", "umax", "and"]);
        self.define("i32", &format!("{op} {a}, {b}"))
    }
}

/// The counter of a loop.
struct Counter {
    param: String,
    ty: &'static str,
    /// Whether its growth promises not to wrap as a signed number.
    signed: bool,
}

impl Counter {
    fn extension(&self) -> &'static str {
        if self.signed { "sext" } else { "zext" }
    }
}

/// The op of a reduction, and what may also combine with it.
const REDUCTIONS: [&[&str]; 6] = [&["iadd", "isub"], &["xor"], &["smin"], &["umax"], &["and"], &["imul"]];

/// A kernel with one loop, and perhaps one in it.
fn generated(rng: &mut Rng) -> Module {
    let mut t = Text { rng, text: String::new(), values: 20, blocks: 0 };
    let ty = ["i32", "i32", "i32", "i64", "i16", "i8"][t.rng.below(6) as usize];
    let signed = t.chance(2);
    let step: i64 = [1, 1, 1, -1, 2, 3, -2][t.rng.below(7) as usize];
    let loaded = t.chance(2);
    // What is loaded is 0 to 63.
    let start = match loaded {
        true if ty == "i32" => "v5".to_owned(),
        true if ty == "i64" => "v6".to_owned(),
        true => t.define(ty, "itrunc v5"),
        false => {
            let constant = if step > 0 { t.rng.below(3) } else { 40 + t.rng.below(3) };
            t.define(ty, &format!("const {constant}"))
        }
    };
    let limit = match t.rng.below(3) {
        0 => {
            let constant = if step > 0 { 30 + t.rng.below(40) } else { t.rng.below(9) };
            t.define(ty, &format!("const {constant}"))
        }
        _ if ty == "i32" => "v7".to_owned(),
        _ if ty == "i64" => "v8".to_owned(),
        _ => t.define(ty, "itrunc v7"),
    };
    let step_value = t.define(ty, &format!("const {step}"));
    let one = t.define("i32", "const 1");
    let zero = t.define("i32", "const 0");
    let own = t.define("i32", "load align 4 alias 3 v2");
    // The loop is entered if it has an iteration.
    let (header, exit) = (t.block(), t.block());
    let conds: &[&str] = match (step > 0, signed) {
        (true, true) => &["slt", "sle", "ne"],
        (true, false) => &["ult", "ule", "ne"],
        (false, true) => &["sgt", "sge", "ne"],
        (false, false) => &["sgt", "ne"],
    };
    let cond = t.pick(conds);
    let cond = if cond == "ne" && step.abs() != 1 { conds[0] } else { cond };
    let guard = match cond {
        "ne" if step > 0 => "ult",
        "ne" => "ugt",
        other => other,
    };
    let guard = t.define("b1", &format!("icmp {guard} {start}, {limit}"));
    let reduces = REDUCTIONS[t.rng.below(6) as usize];
    t.line(&format!("branch {guard}, b{header}({start}, {own}, {zero}), b{exit}({start}, {own}, {own})"));
    let counter = Counter { param: t.fresh(), ty, signed };
    let (sum, second) = (t.fresh(), t.fresh());
    t.begin(header, &format!("({}: {ty}, {sum}: i32, {second}: i32)", counter.param));
    let mut last = t.load(&counter);
    let mut next_sum = sum.clone();
    for _ in 0..1 + t.rng.below(4) {
        match t.rng.below(8) {
            0 => {
                let value = t.load(&counter);
                last = t.operation(&last, &value);
            }
            1 | 2 => {
                let value = t.operation(&last, &second);
                t.store(&counter, &value);
            }
            3 => {
                let op = t.pick(reduces);
                next_sum = t.define("i32", &format!("{op} {next_sum}, {last}"));
            }
            4 => {
                // Only some iterations.
                let (then, join) = (t.block(), t.block());
                let bit = t.define("i32", &format!("and {last}, {one}"));
                let odd = t.define("b1", &format!("icmp ne {bit}, {zero}"));
                t.line(&format!("branch {odd}, b{then}, b{join}({next_sum}, {last})"));
                t.begin(then, "");
                let value = t.load(&counter);
                let value = t.operation(&value, &last);
                if t.chance(2) {
                    t.store(&counter, &value);
                }
                let op = t.pick(reduces);
                let more = t.define("i32", &format!("{op} {next_sum}, {value}"));
                t.line(&format!("jump b{join}({more}, {value})"));
                let params = (t.fresh(), t.fresh());
                t.begin(join, &format!("({}: i32, {}: i32)", params.0, params.1));
                (next_sum, last) = params;
            }
            5 => {
                // An inner loop, whose trip count may depend on the iteration.
                let (inner, after) = (t.block(), t.block());
                let bound = if t.chance(2) { own.clone() } else { last.clone() };
                let three = t.define("i32", "const 3");
                let bound = t.define("i32", &format!("and {bound}, {three}"));
                t.line(&format!("jump b{inner}({zero}, {next_sum}, {last})"));
                let [i, total, value] = [t.fresh(), t.fresh(), t.fresh()];
                t.begin(inner, &format!("({i}: i32, {total}: i32, {value}: i32)"));
                let loaded = t.load(&counter);
                let op = t.pick(reduces);
                let more = t.define("i32", &format!("{op} {total}, {loaded}"));
                let other = t.operation(&value, &loaded);
                let next = t.define("i32", &format!("iadd nsw {i}, {one}"));
                let again = t.define("b1", &format!("icmp slt {next}, {bound}"));
                t.line(&format!("branch {again}, b{inner}({next}, {more}, {other}), b{after}"));
                t.begin(after, "");
                (next_sum, last) = (more, other);
            }
            6 => {
                // Some iterations begin again.
                let (then, join) = (t.block(), t.block());
                let condition = t.define("b1", &format!("icmp eq {last}, {second}"));
                t.line(&format!("branch {condition}, b{then}, b{join}({next_sum})"));
                t.begin(then, "");
                let again = if t.chance(2) { own.clone() } else { next_sum };
                t.line(&format!("jump b{join}({again})"));
                next_sum = t.fresh();
                t.begin(join, &format!("({next_sum}: i32)"));
            }
            _ => {
                let condition = t.define("b1", &format!("icmp sgt {last}, {second}"));
                let op = t.pick(reduces);
                let more = t.define("i32", &format!("{op} {next_sum}, {last}"));
                next_sum = t.define("i32", &format!("select {condition}, {more}, {next_sum}"));
            }
        }
    }
    if t.chance(2) {
        t.store(&counter, &last);
    }
    let three = t.define("i32", "const 3");
    let next_second = t.define("i32", &format!("iadd {second}, {three}"));
    let flags = if signed { " nsw" } else { "" };
    let next = t.define(ty, &format!("iadd{flags} {}, {step_value}", counter.param));
    let compared = if t.chance(4) { &counter.param } else { &next };
    let again = t.define("b1", &format!("icmp {cond} {compared}, {limit}"));
    // What the last iteration leaves is used in some kernels.
    let left = [&next_sum, &last, &second, &next_second][t.rng.below(4) as usize];
    let sum_out = if next_sum == sum { &zero } else { &next_sum };
    let end = if t.chance(2) { &next } else { &counter.param };
    t.line(&format!("branch {again}, b{header}({next}, {next_sum}, {next_second}), b{exit}({end}, {sum_out}, {left})"));
    let [end, total, left] = [t.fresh(), t.fresh(), t.fresh()];
    t.begin(exit, &format!("({end}: {ty}, {total}: i32, {left}: i32)"));
    let end = match ty {
        "i32" => end,
        "i64" => t.define("i32", &format!("itrunc {end}")),
        _ => t.define("i32", &format!("sext {end}")),
    };
    for (number, value) in [end, total, left].iter().enumerate() {
        let at = t.define("ptr(global)", &format!("addr disp {} v2", 4 * (number + 1)));
        t.line(&format!("store align 4 alias 3 {at}, {value}"));
    }
    t.line("ret");
    parse(&format!(
        r#"
function f0 "loop" canonical {{
    noalias 0
    noalias 8
    noalias 16
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v2: ptr(global) = arg 16
    v5: i32 = arg 32
    v6: i64 = zext v5
    v7: i32 = arg 36
    v8: i64 = zext v7
{}
}}
kernel f0 args 48
"#,
        t.text
    ))
}

/// One work-item that gets a start and a limit.
fn launch(rng: &mut Rng) -> Launch {
    let geometry = Geometry { work_dim: 1, global_size: [1; 3], global_offset: [0; 3], local_size: [1; 3] };
    let mut words = |n: u64| (0..n).flat_map(|_| (rng.below(64) as u32).to_le_bytes()).collect::<Vec<u8>>();
    let buffers = vec![words(WORDS), words(WORDS), words(8)];
    let mut rest = vec![0; 16];
    rest[..4].copy_from_slice(&(rng.below(64) as u32).to_le_bytes());
    rest[4..8].copy_from_slice(&(rng.below(64) as u32).to_le_bytes());
    Launch { geometry, buffers, local_bytes: 0, rest }
}

/// The first kernel of a module with its loops vectorized, if there are any.
fn vectorized(module: &Module, lanes: Option<u32>) -> Option<Module> {
    let options = Options { loop_lanes: lanes, backend: BackendChoice::Auto, ..Options::default() };
    let mut made = module.clone();
    let func = module.kernels[0].func;
    let vectorized = loop_vectorizer::run(&module.funcs[func], &module.globals, &options, &Machine::COMMON);
    made.funcs[func] = vectorized.changed?.func;
    clift_kir::verify::module(&made).unwrap_or_else(|e| panic!("{e}\n{module}\n{made}"));
    Some(made)
}

#[test]
fn generated_loops() {
    let mut rng = Rng::new(48);
    let mut found = 0;
    let kernels = if cfg!(debug_assertions) { 1_500 } else { 20_000 };
    let mut compared = 0;
    for seed in 0..kernels {
        let module = generated(&mut rng);
        let lanes = [4, 8, 16][rng.below(3) as usize];
        let Some(made) = vectorized(&module, Some(lanes)) else { continue };
        found += 1;
        for _ in 0..3 {
            let launch = launch(&mut rng);
            let [before, after] = [&module, &made].map(|module| launch.run_kernel(module, 1, 1));
            // A counter below zero, extended as an unsigned number, is far outside of the buffers.
            if !before.outcome.is_clean() {
                continue;
            }
            compared += 1;
            assert!(after.outcome.is_clean(), "{seed}: {:?}\n{module}\n{made}", after.outcome.faults);
            assert_eq!(before.buffers, after.buffers, "{seed}, {:?}\n{module}\n{made}", launch.rest);
        }
    }
    assert!(found > kernels / 8 && compared > 2 * found, "{found} of {kernels}, {compared} launches");
}

/// What became of the loops of a kernel that counts to 100 with `v10`, computes, and passes on `v20`.
fn outcomes(body: &str) -> Vec<LoopOutcome> {
    let module = parse(&format!(
        r#"
function f0 "loop" canonical {{
    noalias 0
    noalias 8
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v2: i64 = const 0
    v3: i64 = const 100
    v4: i64 = const 1
    v5: f32 = const 0.0
    jump b1(v2, v5)
b1(v10: i64, v11: f32):
    v12: ptr(global) = addr scale 4 v0, v10
    v13: ptr(global) = addr scale 4 v1, v10
    v14: f32 = load align 4 alias 1 v12
{body}
    v30: i64 = iadd nsw v10, v4
    v31: b1 = icmp slt v30, v3
    branch v31, b1(v30, v20), b2
b2:
    v40: ptr(global) = addr disp 400 v1
    store align 4 alias 2 v40, v20
    ret
}}
kernel f0 args 16
"#
    ));
    let options = Options::default();
    let func = &module.funcs[module.kernels[0].func];
    let made = loop_vectorizer::run(func, &module.globals, &options, &Machine::COMMON);
    made.outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

#[test]
fn what_keeps_iterations_from_being_executed_together() {
    let vectorized = |body: &str| matches!(outcomes(body)[..], [LoopOutcome::Vectorized(_)]);
    assert_eq!(
        outcomes("    v20: f32 = fadd v11, v14"),
        [LoopOutcome::Scalar(Obstacle::CarriedValue)],
        "order matters"
    );
    assert!(vectorized("    v20: f32 = fadd reassoc v11, v14"), "sums that may be reassociated");
    assert!(vectorized("    v20: f32 = fmax v11, v14"), "the order of maxima does not matter");
    assert!(vectorized("    v20: f32 = fmin nnan v14, v11"), "minima of numbers");
    let next = "    v20: f32 = fadd reassoc v11, v14\n    v15: ptr(global) = addr disp 4 v12\n    store align 4 alias 1 v15, v14";
    assert_eq!(
        outcomes(next),
        [LoopOutcome::Scalar(Obstacle::Memory)],
        "the next iteration loads what this one stores"
    );
    let same = "    v20: f32 = fadd reassoc v11, v14\n    v15: f32 = fmul v14, v14\n    store align 4 alias 1 v12, v15";
    assert!(vectorized(same), "in place");
    let beyond = "    v20: f32 = fadd reassoc v11, v14\n    v15: ptr(global) = addr disp 400 v12\n    store align 4 alias 1 v15, v14";
    assert!(vectorized(beyond), "more iterations apart than a pack has lanes");
}

/// `for (uchar i = 0; i < n; i++) *p++ = x;`, as simplification leaves it.
#[test]
fn bytes_count() {
    let module = parse(
        r#"
function f0 "fill" canonical {
b0:
    v0: ptr(global) = arg 0
    v1: i8 = arg 8
    v2: i8 = const 0
    v3: i8 = const 1
    v4: b1 = icmp ugt v1, v2
    branch v4, b1(v2, v0), b2
b1(v10: i8, v11: ptr(global)):
    store align 1 v11, v1
    v12: ptr(global) = addr disp 1 v11
    v13: i8 = iadd v10, v3
    v14: b1 = icmp ult v13, v1
    branch v14, b1(v13, v12), b2
b2:
    ret
}
kernel f0 args 16
"#,
    );
    let func = &module.funcs[module.kernels[0].func];
    let made = loop_vectorizer::run(func, &module.globals, &Options::default(), &Machine::COMMON);
    assert!(matches!(made.outcomes[..], [(_, LoopOutcome::Vectorized(_))]), "{:?}", made.outcomes);
}

/// What became of a loop over an array from where `v3` is to where `v5` is, both computed from the array of counters at `v1`.
fn outcome_between(bounds: &str) -> Vec<LoopOutcome> {
    let module = parse(&format!(
        r#"
function f0 "row" canonical {{
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v2: i64 = global_id 0
    v6: i64 = const 1
    v7: i32 = const 0
{bounds}
    v8: b1 = icmp slt v3, v5
    branch v8, b1(v3, v7), b2(v7)
b1(v10: i64, v11: i32):
    v12: ptr(global) = addr scale 4 v0, v10
    v13: i32 = load align 4 v12
    v14: i32 = iadd v11, v13
    v15: i64 = iadd nsw v10, v6
    v16: b1 = icmp slt v15, v5
    branch v16, b1(v15, v14), b2(v14)
b2(v20: i32):
    v21: ptr(global) = addr scale 4 v1, v2
    store align 4 v21, v20
    ret
}}
kernel f0 args 16
"#
    ));
    let func = &module.funcs[module.kernels[0].func];
    let made = loop_vectorizer::run(func, &module.globals, &Options::default(), &Machine::COMMON);
    made.outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

#[test]
fn rows_between_elements_of_an_array_are_short() {
    let rows = "    v30: ptr(global) = addr scale 8 v1, v2
    v31: ptr(global) = addr scale 8 disp 8 v1, v2
    v3: i64 = load align 8 v30
    v5: i64 = load align 8 v31";
    assert_eq!(outcome_between(rows), [LoopOutcome::Scalar(Obstacle::Cost)]);
    let one_length = "    v3: i64 = const 0\n    v5: i64 = load align 8 v1";
    assert!(matches!(outcome_between(one_length)[..], [LoopOutcome::Vectorized(_)]));
}

#[test]
fn loops_stay_whose_packs_are_faster_than_copies() {
    let machine = Machine { register_bits: 512, registers: 32, gathers: false, masked_store_bits: Some(8) };
    let stay = |iterations: u32| {
        let module = parse(&format!(
            r#"
function f0 "copies" imported {{
    noalias 0
    noalias 8
b0:
    v0: ptr(global) = arg 0
    v1: ptr(global) = arg 8
    v2: i64 = const 0
    v3: i64 = const {iterations}
    v4: i64 = const 1
    jump b1(v2)
b1(v10: i64):
    v12: ptr(global) = addr scale 4 v0, v10
    v13: ptr(global) = addr scale 4 v1, v10
    v14: i32 = load align 4 v12
    v15: i32 = load align 4 v13
    v16: i32 = imul v14, v15
    v17: b1 = icmp slt v16, v14
    branch v17, b2, b3
b2:
    store align 4 v13, v16
    jump b3
b3:
    v30: i64 = iadd nsw v10, v4
    v31: b1 = icmp slt v30, v3
    branch v31, b1(v30), b4
b4:
    ret
}}
kernel f0 args 16
"#
        ));
        let func = &module.funcs[module.kernels[0].func];
        !rolled_loops::run(func, &module.globals, &Options::default(), &machine).is_empty()
    };
    assert!(stay(32));
    assert!(!stay(4), "too few iterations");
    assert!(!stay(300), "would not be unrolled");
}
