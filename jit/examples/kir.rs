//! Compiles kernels written as kernel IR, at whatever stage they are, and runs the launches their file describes: for work on
//! code generation.
//!
//! ```text
//! cargo run --release -p clift-jit --example kir -- FILE.kir [--width N] [--dump STAGE]... [--times N]
//! ```
//!
//! `--times` runs each launch that often and gives the fastest, and the time of a build.
#![allow(unsafe_code, reason = "compiled kernels are called")]

#[path = "../tests/kir/native.rs"]
#[allow(dead_code, reason = "shared with the file tests")]
mod native;

use std::path::Path;
use std::time::Instant;

use clift_jit::Options;
use clift_kir::testing::filetest::FileTest;
use clift_kir::testing::run::RunCase;

fn main() {
    if let Err(message) = run() {
        eprintln!("{message}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), String> {
    let (mut options, mut path, mut times) = (Options::default(), None, 0u32);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--times" => times = value()?.parse().map_err(|error| format!("--times: {error}"))?,
            "--dump" => options.dump.push(value()?),
            "--width" => options.width = Some(value()?.parse().map_err(|error| format!("--width: {error}"))?),
            _ => path = Some(arg),
        }
    }
    let path = path.ok_or("usage: kir FILE.kir [--width N] [--dump STAGE]... [--times N]")?;
    let file = FileTest::load(Path::new(&path))?;
    let module = file.module()?;
    let program = native::make(module.clone(), &options)?;
    print!("{}", program.log);
    if times == 0 {
        return Ok(());
    }
    let fastest = |work: &mut dyn FnMut() -> Result<(), String>| {
        let mut best = None;
        for _ in 0..times {
            let started = Instant::now();
            work()?;
            let took = started.elapsed();
            best = Some(best.map_or(took, |best| took.min(best)));
        }
        Ok::<_, String>(best.unwrap_or_default())
    };
    let quiet = Options { dump: Vec::new(), ..options };
    let built = fastest(&mut || native::make(module.clone(), &quiet).map(|_| ()))?;
    println!("build: {built:?}");
    for case in RunCase::parse_all(&file)? {
        let kernel = program.kernels.iter().find(|k| k.name == case.kernel);
        let kernel = kernel.ok_or_else(|| format!("there is no kernel `{}`", case.kernel))?;
        let mut launch = native::Launch::new(kernel, &case)?;
        let took = fastest(&mut || {
            launch.run(u64::MAX);
            Ok(())
        })?;
        let items: u64 = case.geometry.global_size.iter().product();
        println!("{}: {took:?}, {:.3} ns an item", case.kernel, took.as_nanos() as f64 / items as f64);
    }
    Ok(())
}
