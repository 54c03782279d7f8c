//! Accuracy of the OpenCL.std functions, as machine code: sweeps over arguments against a reference of higher precision, within
//! the bound of the function's row in the builtin table.
//!
//! Functions of floats are compared with doubles; functions of doubles with the host's C library, whose own error (below one unit
//! in the last place for what is tested here) is added to the bound. `CLIFT_ULP` chooses arguments:
//!
//! - unset: edge cases and some 10^5 others;
//! - `all`: every float, for functions of one float;
//! - a number: that many times the usual arguments.
//!
//! Set, it also prints the largest error of each function. `cargo xtask ulp` does that with optimized code.

mod inputs;
mod native;
mod reference;

use clift_jit::builtins::table::{Accuracy, accuracy};
use clift_kir::Elem;
use libtest_mimic::{Arguments, Failed, Trial};

use inputs::{Batches, Effort};
use native::Compiled;
use reference::{FUNCTIONS, Function, WITHIN_ONE};

fn main() {
    let mut args = Arguments::from_args();
    let effort = Effort::from_environment();
    if effort != Effort::Quick {
        args.nocapture = true;
    }
    let trials = FUNCTIONS.iter().flat_map(|function| {
        let elems = if function.doubles { &[Elem::F32, Elem::F64][..] } else { &[Elem::F32] };
        elems
            .iter()
            .map(move |&elem| Trial::test(format!("{}_{elem}", function.name()), move || sweep(function, elem, effort)))
    });
    let documented = Trial::test("documented", documented);
    libtest_mimic::run(&args, trials.chain([documented]).collect()).exit();
}

/// The worst case met.
struct Worst {
    error: f64,
    what: String,
}

fn sweep(function: &Function, elem: Elem, effort: Effort) -> Result<(), Failed> {
    let bound = bound(function, elem);
    let packs = Compiled::new(function, elem, None)?;
    let scalar = Compiled::new(function, elem, Some(1))?;
    let mut worst = Worst { error: 0.0, what: String::new() };
    let mut failures = Vec::new();
    for (number, batch) in Batches::new(function, elem, effort).enumerate() {
        let results = packs.run(&batch);
        if number < 4 && scalar.run(&batch) != results {
            return Err("packs and single work-items differ".into());
        }
        for (i, &bits) in results.iter().enumerate() {
            let (x, y) = (batch.x[i], batch.y.get(i).copied().unwrap_or(0));
            if !function.in_domain(elem, x) {
                continue;
            }
            if WITHIN_ONE.contains(&function.op) && value(elem, bits).abs() > 1.0 {
                let call = describe(elem, x, y, function);
                return Err(format!("{call}: got {}, which is beyond one", show(elem, bits)).into());
            }
            let expected = function.expected(elem, x, y);
            let error = error(elem, bits, expected, function.least(elem, x), function.flushes);
            if error > worst.error || error > bound {
                let what =
                    format!("{}: got {}, expected {expected:e}", describe(elem, x, y, function), show(elem, bits));
                if error > bound && failures.len() < 20 {
                    failures.push(format!("{what}: {error:.3} ulp"));
                }
                if error > worst.error {
                    worst = Worst { error, what };
                }
            }
        }
    }
    if effort != Effort::Quick {
        println!("{:>10} {elem}: {:.3} ulp of {bound} at {}", function.name(), worst.error, worst.what);
    }
    if failures.is_empty() {
        return Ok(());
    }
    Err(format!("more than {bound} ulp, at worst {:.3}:\n  {}", worst.error, failures.join("\n  ")).into())
}

/// The table of `docs/guide/conformance.md` has these bounds. `CLIFT_BLESS=1` writes it.
fn documented() -> Result<(), Failed> {
    const BEGIN: &str = "<!-- errors: made by a test -->\n";
    const END: &str = "<!-- end of errors -->";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guide/conformance.md");
    let text = std::fs::read_to_string(&path)?;
    let (head, rest) = text.split_once(BEGIN).ok_or("no marker of the table")?;
    let (_, tail) = rest.split_once(END).ok_or("no end of the table")?;
    let mut table = String::from("| function | float | double |\n|---|---|---|\n");
    for function in FUNCTIONS {
        let float = bound(function, Elem::F32);
        let double = match (function.doubles, accuracy(function.op)) {
            (true, Accuracy::Ulp(double, _, _)) => double.to_string(),
            (true, Accuracy::Exact) => "0.5".to_owned(),
            (true, Accuracy::Any) => function.open.to_string(),
            (false, _) => String::new(),
        };
        table += &format!("| `{}` | {float} | {double} |\n", function.name());
    }
    let made = format!("{head}{BEGIN}\n{table}\n{END}{tail}");
    if std::env::var_os("CLIFT_BLESS").is_some() {
        std::fs::write(&path, made)?;
    } else if made != text {
        return Err("docs/guide/conformance.md has other bounds: cargo xtask bless -p clift-jit documented".into());
    }
    Ok(())
}

/// What may be.
fn bound(function: &Function, elem: Elem) -> f64 {
    match (accuracy(function.op), elem) {
        // Correctly rounded.
        (Accuracy::Exact, _) => 0.5,
        // Plus the reference's own error.
        (Accuracy::Ulp(bound, _, _), Elem::F64) => f64::from(bound) + 0.5,
        (Accuracy::Ulp(_, bound, _), _) => f64::from(bound),
        (Accuracy::Any, _) => function.open,
    }
}

fn value(elem: Elem, bits: u64) -> f64 {
    if elem == Elem::F64 { f64::from_bits(bits) } else { f64::from(f32::from_bits(bits as u32)) }
}

/// Distance of a result from the exact one, in units of the last place of the latter, or of `at_least` if that is more;
/// infinite for the wrong kind of value.
fn error(elem: Elem, bits: u64, expected: f64, at_least: f64, flushes: bool) -> f64 {
    let got = value(elem, bits);
    if expected.is_nan() || got.is_nan() {
        return if expected.is_nan() && got.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let (least, digits, limit) = if elem == Elem::F64 { (-1022, 52, 1024) } else { (-126, 23, 128) };
    let overflow = if elem == Elem::F64 { f64::INFINITY } else { f64::from(f32::MAX) + 2f64.powi(103) };
    // A float that is just not large enough to overflow is as far off as it is.
    let close = elem == Elem::F32 && expected.is_finite() && got.is_finite();
    if expected.abs() >= overflow && !close {
        // The reference for doubles may overflow where the function just does not.
        let greatest = elem == Elem::F64 && got.abs() == f64::MAX;
        let fits = (got.is_infinite() || greatest) && got.is_sign_negative() == expected.is_sign_negative();
        return if fits { 0.0 } else { f64::INFINITY };
    }
    if expected == 0.0 {
        // A prescribed zero has a prescribed sign; a reference that underflowed has it as well.
        let same = got == 0.0 && got.is_sign_negative() == expected.is_sign_negative();
        return if same { 0.0 } else { f64::INFINITY };
    }
    if flushes && got == 0.0 && expected.abs() < 2f64.powi(least) {
        return 0.0;
    }
    let exponent = expected.abs().max(at_least).log2().floor() as i32;
    // In two steps: the unit may be subnormal.
    let unit = exponent.max(least) - digits;
    let got = if got.is_infinite() && elem == Elem::F32 { 2f64.powi(limit).copysign(got) } else { got };
    let difference = if got.is_infinite() {
        // A double that overflowed: how far below the limit the exact value is.
        (f64::MAX.copysign(got) - expected).abs() + 2f64.powi(limit - 1 - digits)
    } else {
        (got - expected).abs()
    };
    let (half, rest) = (unit / 2, unit - unit / 2);
    difference / 2f64.powi(half) / 2f64.powi(rest)
}

fn show(elem: Elem, bits: u64) -> String {
    format!("{:e} ({bits:#x})", value(elem, bits))
}

fn describe(elem: Elem, x: u64, y: u64, function: &Function) -> String {
    match function.operands() {
        reference::Operands::One => show(elem, x),
        reference::Operands::Two => format!("{}, {}", show(elem, x), show(elem, y)),
        reference::Operands::WithInt => format!("{}, {}", show(elem, x), y as u32 as i32),
    }
}
