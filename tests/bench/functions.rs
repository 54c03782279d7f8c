//! Results per second of the mathematical built-in functions, in float and double: `--functions`.
//!
//! A row is a function with the ranges of its operands. The kernel is generated here: each work-item calls the function at
//! [`CALLS`] places, so that memory and launches have little effect. Results are not checked: accuracy is tested by the
//! conformance tests.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use opencl3::device::Device;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::children::Nursery;
use crate::drivers::Driver;
use crate::report::{Clock, number};
use crate::throughput::{self, Input, Outcome, Task, Times};
use crate::work::{Random, Work, args};

/// Calls per work-item.
const CALLS: usize = 16;
/// Work-items.
const ITEMS: usize = 32 << 10;

/// The operands of a function after the first one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// None.
    One,
    /// A second operand.
    Two,
    /// A second operand, and a constant.
    Three,
    /// An `int`.
    WithInt,
    /// None; the result is an `int`.
    GivesInt,
    /// A pointer to a second result.
    Place,
    /// A pointer to an `int`.
    IntPlace,
    /// A second operand, and a pointer to an `int`.
    TwoIntPlace,
}

/// A function.
pub(crate) struct Function {
    name: &'static str,
    form: Form,
    /// Range of the first operand.
    first: (f64, f64),
    /// Range of the second operand.
    second: (f64, f64),
}

const fn one(name: &'static str, low: f64, high: f64) -> Function {
    Function { name, form: Form::One, first: (low, high), second: (0.0, 1.0) }
}

const fn more(name: &'static str, form: Form, first: (f64, f64), second: (f64, f64)) -> Function {
    Function { name, form, first, second }
}

/// The functions.
pub(crate) const FUNCTIONS: &[Function] = &[
    one("sin", -10.0, 10.0),
    one("cos", -10.0, 10.0),
    one("tan", -10.0, 10.0),
    more("sincos", Form::Place, (-10.0, 10.0), (0.0, 1.0)),
    one("sinpi", -10.0, 10.0),
    one("cospi", -10.0, 10.0),
    one("tanpi", -10.0, 10.0),
    one("asin", -1.0, 1.0),
    one("acos", -1.0, 1.0),
    one("atan", -10.0, 10.0),
    more("atan2", Form::Two, (-3.0, 3.0), (-3.0, 3.0)),
    one("asinpi", -1.0, 1.0),
    one("acospi", -1.0, 1.0),
    one("atanpi", -10.0, 10.0),
    more("atan2pi", Form::Two, (-3.0, 3.0), (-3.0, 3.0)),
    one("sinh", -10.0, 10.0),
    one("cosh", -10.0, 10.0),
    one("tanh", -5.0, 5.0),
    one("asinh", -10.0, 10.0),
    one("acosh", 1.0, 10.0),
    one("atanh", -1.0, 1.0),
    one("exp", -20.0, 20.0),
    one("exp2", -20.0, 20.0),
    one("exp10", -20.0, 20.0),
    one("expm1", -5.0, 5.0),
    one("log", 0.01, 100.0),
    one("log2", 0.01, 100.0),
    one("log10", 0.01, 100.0),
    one("log1p", -0.9, 10.0),
    more("pow", Form::Two, (0.01, 20.0), (-5.0, 5.0)),
    more("powr", Form::Two, (0.01, 20.0), (-5.0, 5.0)),
    more("pown", Form::WithInt, (-10.0, 10.0), (-5.0, 5.0)),
    more("rootn", Form::WithInt, (0.01, 20.0), (1.0, 8.0)),
    one("sqrt", 0.0, 100.0),
    one("rsqrt", 0.01, 100.0),
    one("cbrt", -100.0, 100.0),
    more("hypot", Form::Two, (-10.0, 10.0), (-10.0, 10.0)),
    one("erf", -4.0, 4.0),
    one("erfc", -4.0, 8.0),
    one("tgamma", 0.1, 10.0),
    one("lgamma", 0.1, 20.0),
    more("lgamma_r", Form::IntPlace, (0.1, 20.0), (0.0, 1.0)),
    more("fmod", Form::Two, (-100.0, 100.0), (0.5, 5.0)),
    more("remainder", Form::Two, (-100.0, 100.0), (0.5, 5.0)),
    more("remquo", Form::TwoIntPlace, (-100.0, 100.0), (0.5, 5.0)),
    more("fdim", Form::Two, (-10.0, 10.0), (-10.0, 10.0)),
    more("fma", Form::Three, (-10.0, 10.0), (-10.0, 10.0)),
    more("fmax", Form::Two, (-10.0, 10.0), (-10.0, 10.0)),
    more("fmin", Form::Two, (-10.0, 10.0), (-10.0, 10.0)),
    more("maxmag", Form::Two, (-10.0, 10.0), (-10.0, 10.0)),
    more("minmag", Form::Two, (-10.0, 10.0), (-10.0, 10.0)),
    more("fract", Form::Place, (-10.0, 10.0), (0.0, 1.0)),
    more("modf", Form::Place, (-10.0, 10.0), (0.0, 1.0)),
    more("frexp", Form::IntPlace, (-100.0, 100.0), (0.0, 1.0)),
    more("ldexp", Form::WithInt, (-10.0, 10.0), (-20.0, 20.0)),
    more("ilogb", Form::GivesInt, (0.01, 100.0), (0.0, 1.0)),
    one("logb", 0.01, 100.0),
    more("nextafter", Form::Two, (-10.0, 10.0), (-10.0, 10.0)),
    one("ceil", -10.0, 10.0),
    one("floor", -10.0, 10.0),
    one("rint", -10.0, 10.0),
    one("round", -10.0, 10.0),
    one("trunc", -10.0, 10.0),
];

/// A precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Precision {
    Float,
    Double,
}

impl Precision {
    const ALL: [Self; 2] = [Self::Float, Self::Double];

    fn name(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Double => "double",
        }
    }
}

impl Function {
    /// Its name in OpenCL C.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    fn source(&self, precision: Precision) -> String {
        let name = self.name;
        let body = match self.form {
            Form::One => format!("return {name}(x);"),
            Form::Two => format!("return {name}(x, y);"),
            Form::Three => format!("return {name}(x, y, (T)0.75);"),
            Form::WithInt => format!("return {name}(x, n);"),
            Form::GivesInt => format!("return (T){name}(x);"),
            Form::Place => format!("T more; T result = {name}(x, &more); return result + more;"),
            Form::IntPlace => format!("int more; T result = {name}(x, &more); return result + (T)more;"),
            Form::TwoIntPlace => format!("int more; T result = {name}(x, y, &more); return result + (T)more;"),
        };
        format!(
            "typedef {type} T;\n\
             T called(T x, T y, int n) {{ {body} }}\n\
             kernel void measure(global const T *first, global const T *second, global const int *whole, global T *out)\n\
             {{\n    int i = get_global_id(0);\n    T x = first[i], y = second[i], sum = 0;\n    int n = whole[i];\n    \
             for (int k = 0; k < {CALLS}; ++k) {{\n        sum += called(x, y, n);\n        x += (T){step:e};\n    }}\n    \
             out[i] = sum;\n}}\n",
            type = precision.name(),
            step = (self.first.1 - self.first.0) / (4 * CALLS) as f64,
        )
    }

    fn work(&self, precision: Precision) -> Work {
        let mut work = Work::default();
        let mut random = Random::new(70);
        // The steps take the first operand a quarter of the way.
        let (low, high) = self.first;
        let mut numbers = |low: f64, high: f64| random.floats(ITEMS, low as f32, high as f32);
        let first = numbers(low, high - (high - low) / 4.0);
        let second = numbers(self.second.0, self.second.1);
        let whole: Vec<i32> = second.iter().map(|&y| y as i32).collect();
        let mut input = |values: &[f32]| match precision {
            Precision::Float => work.input(values),
            Precision::Double => work.input(&values.iter().copied().map(f64::from).collect::<Vec<_>>()),
        };
        let (first, second) = (input(&first), input(&second));
        let whole = work.input(&whole);
        let out = work.scratch::<f64>(ITEMS);
        work.launch("measure", args![first, second, whole, out], &[ITEMS], &[64]);
        work
    }
}

/// The result of a child: one function on one device, in both precisions.
pub(crate) fn run(function: &Function, budget: Duration, device: &Device) -> BTreeMap<Precision, Outcome> {
    let task = Task { budget, verify: false, binary: false };
    let measure = |precision| {
        let outcome =
            throughput::measure(Input::Source(&function.source(precision)), function.work(precision), &task, device);
        (precision, outcome)
    };
    Precision::ALL.map(measure).into_iter().collect()
}

/// Best results per second, in millions, by driver and precision; or the error.
type ByDriver = BTreeMap<(String, Precision), Result<f64, String>>;

/// The results of all functions.
pub(crate) struct Rates {
    drivers: Vec<Driver>,
    rows: Vec<(&'static Function, ByDriver)>,
}

/// Measures the functions, alternating between the drivers.
pub(crate) fn measure(
    drivers: Vec<Driver>,
    functions: &[&'static Function],
    (rounds, budget, limit): (usize, u64, Duration),
    clock: Clock,
) -> Result<Rates> {
    let nursery = Nursery::new()?;
    let mut rows = Vec::new();
    for &function in functions {
        eprintln!("{}", function.name);
        let mut best = ByDriver::new();
        for _ in 0..rounds {
            for driver in &drivers {
                let words = ["--function", function.name, "--budget", &budget.to_string()].map(str::to_owned);
                let outcomes: BTreeMap<Precision, Outcome> = match nursery.run(driver, &words, limit)? {
                    Ok(outcomes) => outcomes,
                    Err(failure) => {
                        let outcome = Outcome::from(failure);
                        Precision::ALL.into_iter().map(|precision| (precision, outcome.clone())).collect()
                    }
                };
                for (precision, outcome) in outcomes {
                    let rate = match outcome.times() {
                        Some(times) => Ok((ITEMS * CALLS) as f64 / millis(times, clock) / 1e3),
                        None => Err(format!("{}: {}", outcome.short(), outcome.message())),
                    };
                    let entry = best.entry((driver.name.clone(), precision)).or_insert_with(|| rate.clone());
                    if matches!((&*entry, &rate), (Ok(old), Ok(new)) if new > old) {
                        *entry = rate;
                    }
                }
            }
        }
        rows.push((function, best));
    }
    Ok(Rates { drivers, rows })
}

fn millis(times: &Times, clock: Clock) -> f64 {
    match clock {
        Clock::Wall => times.shortest,
        Clock::Processor => times.processor,
    }
}

impl Rates {
    fn rate(&self, row: usize, driver: &Driver, precision: Precision) -> Option<f64> {
        self.rows[row].1.get(&(driver.name.clone(), precision))?.as_ref().ok().copied()
    }

    /// Results of the first driver per result of a peer.
    fn ratio(&self, row: usize, peer: &Driver, precision: Precision) -> Option<f64> {
        Some(self.rate(row, &self.drivers[0], precision)? / self.rate(row, peer, precision)?)
    }

    /// Prints a table, geometric means, and the functions at which a peer is ahead.
    pub(crate) fn print(&self) {
        let peers = &self.drivers[1..];
        println!("Millions of results per second; x: times those of the peer");
        print!("{:10}", "function");
        for precision in Precision::ALL {
            print!(" | {:6}", precision.name());
            self.drivers.iter().for_each(|driver| print!(" {:>8}", driver.name));
            peers.iter().for_each(|peer| print!(" {:>8}", format!("x {}", peer.name)));
        }
        println!();
        for (row, (function, outcomes)) in self.rows.iter().enumerate() {
            print!("{:10}", function.name);
            for precision in Precision::ALL {
                print!(" | {:6}", "");
                for driver in &self.drivers {
                    print!(" {:>8}", self.rate(row, driver, precision).map_or("-".to_owned(), number));
                }
                for peer in peers {
                    print!(" {:>8}", self.ratio(row, peer, precision).map_or("-".to_owned(), number));
                }
            }
            println!();
            for ((driver, precision), rate) in outcomes {
                if let Err(message) = rate {
                    println!("  {driver}, {}: {message}", precision.name());
                }
            }
        }
        for peer in peers {
            for precision in Precision::ALL {
                let ratios: Vec<(&str, f64)> = (0..self.rows.len())
                    .filter_map(|row| Some((self.rows[row].0.name, self.ratio(row, peer, precision)?)))
                    .collect();
                if ratios.is_empty() {
                    continue;
                }
                let mean = (ratios.iter().map(|(_, ratio)| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
                let behind: Vec<String> = ratios
                    .iter()
                    .filter(|(_, ratio)| *ratio < 1.0)
                    .map(|(name, ratio)| format!("{name} {}", number(*ratio)))
                    .collect();
                let behind = if behind.is_empty() { "nowhere".to_owned() } else { behind.join(", ") };
                println!("{} of {}: mean {}; behind: {behind}", precision.name(), peer.name, number(mean));
            }
        }
    }

    /// All results, for other programs.
    pub(crate) fn json(&self) -> Value {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|(function, outcomes)| {
                let rates: Vec<Value> = outcomes
                    .iter()
                    .map(|((driver, precision), rate)| {
                        json!({"driver": driver, "precision": precision, "millions": rate.as_ref().ok(), "failure": rate.as_ref().err()})
                    })
                    .collect();
                json!({"function": function.name, "rates": rates})
            })
            .collect();
        json!({"drivers": self.drivers, "functions": rows})
    }
}
