//! Kernel IR through the compiler: what comes out must be what the interpreter says.
//!
//! - every file of `jit/tests/files/kir`: `run` launches on each backend; `opt PASS...` prints each function after these
//!   passes, `loops` the group function of each kernel (golden text);
//! - every op: kernels of one op each, over operands at the edges of their ranges;
//! - random kernels.
//!
//! `cargo test -p clift-jit --test kir -- NAME` runs the tests whose name contains NAME; `CLIFT_BLESS=1` accepts golden text;
//! `CLIFT_FUZZ_SECONDS=N` makes random kernels for N seconds, and kernels of all samples of each op instead of some.
//! `CLIFT_FUZZ_SEED=N` repeats one random kernel.
#![allow(missing_docs, reason = "a test")]
#![allow(unsafe_code, reason = "compiled kernels are called")]

mod bitwise;
mod divisions;
mod extremes;
mod shuffles;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clift_jit::testing::launch;
use clift_jit::{BackendChoice, Options, passes, spmd};
use clift_kir::interp::Geometry;
use clift_kir::ops::OPS;
use clift_kir::testing::filetest::{Command, FileTest, files};
use clift_kir::testing::generate::{self, Shape};
use clift_kir::testing::run::{self, Arg, Fill, RunCase};
use clift_kir::testing::samples::{Rng, Sample, samples};
use clift_kir::{Module, Type, verify};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/kir");
    let paths = files(&root).unwrap_or_else(|e| panic!("{e}"));
    let mut trials: Vec<Trial> = paths
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            Trial::test(name, move || {
                let file = FileTest::load(&path)?;
                for command in file.commands() {
                    run_command(&file, &command)?;
                }
                Ok(())
            })
        })
        .collect();
    for info in OPS {
        let mut list: Vec<Sample> = samples(info.op).into_iter().filter(Sample::is_closed).collect();
        if fuzz_seconds().is_none() {
            // Some of each op, spread over types and immediates.
            let step = list.len().div_ceil(SAMPLES);
            list = list.into_iter().step_by(step.max(1)).collect();
        }
        if !list.is_empty() {
            trials.push(Trial::test(format!("op {}", info.name), move || Ok(list.iter().try_for_each(op)?)));
        }
    }
    trials.push(Trial::test("shuffles", || Ok(shuffles::all()?)));
    trials.push(Trial::test("extremes", || Ok(extremes::all()?)));
    trials.push(Trial::test("bitwise expressions", || Ok(bitwise::all()?)));
    trials.push(Trial::test("divisions", || Ok(divisions::all(fuzz_seconds().is_some())?)));
    for part in 0..4 {
        trials.push(Trial::test(format!("random kernels {part}"), move || Ok(random_kernels(part)?)));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Kernels per op when there is no time to build all.
const SAMPLES: usize = 16;

/// How long to look for more than the usual: `CLIFT_FUZZ_SECONDS`.
fn fuzz_seconds() -> Option<u64> {
    std::env::var("CLIFT_FUZZ_SECONDS").ok().and_then(|seconds| seconds.parse().ok())
}

/// Runs a command of a file; those of the kernel IR's own tests are not repeated.
fn run_command(file: &FileTest, command: &Command) -> Result<(), Failed> {
    match command.name.as_str() {
        // Those of other tests; machine code for given targets is looked at where the backend is.
        "cat" | "verify" | "code" => Ok(()),
        "run" => Ok(run::check_file(file, &file.module()?, &mut |module, case| {
            if !case.faults.is_empty() {
                return Ok(Vec::new());
            }
            let one = |how| launch::execute(module, case, how).map(|result| (how.name.to_owned(), result));
            launch::ways().filter(|how| how.suits(module, case)).map(one).collect()
        })?),
        "opt" => Ok(opt(file, &command.args)?),
        "loops" => Ok(loops(file)?),
        other => Err(format!("{}: unknown command `{other}`", file.path.display()).into()),
    }
}

/// Passes by name over every function; `canonical` and `clean` stand for the pipeline's lists, `inline` for the inliner.
fn opt(file: &FileTest, names: &[String]) -> Result<(), String> {
    let mut module = file.module()?;
    for name in names {
        let list: Vec<&str> = match name.as_str() {
            "inline" => {
                passes::inline(&mut module).map_err(|e| e.to_string())?;
                continue;
            }
            "canonical" => passes::canonical(),
            "clean" => passes::CLEAN.to_vec(),
            name if passes::pass(name).is_some() => vec![name],
            name => return Err(format!("{}: there is no pass `{name}`", file.path.display())),
        };
        for id in module.funcs.keys().collect::<Vec<_>>() {
            if module.funcs[id].layout.entry().is_some() {
                passes::run(&mut module.funcs[id], &module.globals, &list, &mut |_, _| ());
            }
        }
    }
    verify::module(&module).map_err(|e| format!("{}: after passes: {e}\n{module}", file.path.display()))?;
    file.check_golden(&functions(&module))
}

/// Functions only, with their numbers: variables and kernels stay as they are.
fn functions(module: &Module) -> String {
    let only = Module { funcs: module.funcs.clone(), ..Module::default() };
    only.to_string()
}

fn loops(file: &FileTest) -> Result<(), String> {
    let module = file.module()?;
    let mut text = String::new();
    for kernel in &module.kernels {
        let options = Options { width: Some(1), ..Options::default() };
        let made = spmd::group_functions(&module, kernel, &options, &clift_jit::target::machine::Machine::COMMON, true)
            .map_err(|e| e.to_string())?;
        let made = made.general.ok_or("no function for any work-group")?;
        verify::function(&module, &made.func).map_err(|e| format!("{e}\n{}", made.func))?;
        text += &made.func.to_string();
    }
    file.check_golden(&text)
}

/// A kernel of one op on each backend.
fn op(sample: &Sample) -> Result<(), String> {
    const ITEMS: usize = 40;
    let module = sample.kernel();
    let operands = sample.operands(ITEMS, &mut Rng::new(sample.op as u64));
    let input = Fill::Repeat(operands.iter().map(|&byte| byte.into()).collect());
    let args = vec![
        (0, Arg::Buffer { ty: Type::I8, count: operands.len(), fill: input }),
        (8, Arg::Buffer { ty: Type::I8, count: ITEMS * 32, fill: Fill::Repeat(vec![0]) }),
    ];
    let mut case = RunCase::new("sample", Geometry::linear(ITEMS as u64, 16), args).in_order_of_seed(0);
    let wanted = run::interpret(&module, &case)?.remove(0).1;
    case.check(&wanted)?;
    case.expected.clear();
    let ty = sample.stored_result();
    for how in launch::ways().filter(|how| how.backend != BackendChoice::Interp) {
        let found = launch::execute(&module, &case, how).map_err(|e| format!("{}: {e}\n{module}", how.name))?;
        let buffer = |result: &run::RunResult| {
            let bytes = result.buffers.iter().find(|(at, _)| *at == 8).map(|(_, bytes)| bytes.clone());
            bytes.unwrap_or_default()
        };
        let (wanted, found) = (buffer(&wanted), buffer(&found));
        for (item, (wanted, found)) in wanted.chunks_exact(32).zip(found.chunks_exact(32)).enumerate() {
            let size = ty.bytes() as usize;
            let (mut wanted, mut found) = (wanted[..size].to_vec(), found[..size].to_vec());
            if sample.ignores_zero_sign() {
                forget_zero_signs(ty, &mut wanted);
                forget_zero_signs(ty, &mut found);
            }
            let stride = sample.stride() as usize;
            run::compare(ty, &wanted, &found).map_err(|e| {
                let operands = &operands[item * stride..(item + 1) * stride];
                format!("{}: operands {operands:02x?}: {e}\n{module}", how.name)
            })?;
        }
    }
    Ok(())
}

/// A kernel on each backend, against the interpreter.
fn on_each_backend(module: &Module, mut case: RunCase) -> Result<(), String> {
    verify::module(module).map_err(|e| format!("{e}\n{module}"))?;
    generate::expect_interpreted(module, &mut case)?;
    for how in launch::ways().filter(|how| how.backend != BackendChoice::Interp) {
        let outcome = launch::execute(module, &case, how).and_then(|result| case.check(&result));
        outcome.map_err(|e| format!("{}: {e}\n{module}", how.name))?;
    }
    Ok(())
}

/// Makes all zeros positive.
fn forget_zero_signs(ty: Type, bytes: &mut [u8]) {
    for lane in bytes.chunks_exact_mut(ty.elem.bytes() as usize) {
        if let Some((last, rest)) = lane.split_last_mut()
            && *last == 0x80
            && rest.iter().all(|&byte| byte == 0)
        {
            *last = 0;
        }
    }
}

/// Random kernels on each backend, for a second or as long as asked.
fn random_kernels(part: u64) -> Result<(), String> {
    let first_seed: Option<u64> = std::env::var("CLIFT_FUZZ_SEED").ok().and_then(|s| s.parse().ok());
    let time = Duration::from_millis(fuzz_seconds().map_or(700, |seconds| seconds * 1000));
    let start = Instant::now();
    let mut seed = first_seed.unwrap_or(part << 32);
    while start.elapsed() < time {
        seed += u64::from(first_seed.is_none());
        let mut rng = Rng::new(seed);
        let shape = Shape {
            size: [4, 12, 40, 100][rng.below(4)],
            control: rng.below(4) > 0,
            barriers: rng.below(2) > 0,
            slots: rng.below(3) > 0,
        };
        let (module, mut case) = generate::kernel(seed, shape);
        verify::module(&module).map_err(|e| format!("seed {seed}: {e}\n{module}"))?;
        generate::expect_interpreted(&module, &mut case).map_err(|e| format!("seed {seed}: {e}\n{module}"))?;
        for how in launch::ways().filter(|how| how.suits(&module, &case)) {
            let result = launch::execute(&module, &case, how);
            let outcome = result.and_then(|result| case.check(&result));
            outcome.map_err(|e| format!("seed {seed} (CLIFT_FUZZ_SEED), {}: {e}\n{module}\n{case:?}", how.name))?;
        }
        if first_seed.is_some() {
            break;
        }
    }
    Ok(())
}
