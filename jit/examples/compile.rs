//! Compiles a SPIR-V module as the driver would and says what came of it: for work on the compiler.
//!
//! ```text
//! cargo run -p clift-jit --example compile -- kernel.spv [--repeat N] [--interp] [--width N] [--dump STAGE]...
//! ```

use std::time::Instant;

use clift_jit::{Backend, Input, Options};

fn main() {
    if let Err(message) = run() {
        eprintln!("{message}");
        std::process::exit(1);
    }
}

fn run() -> Result<(), String> {
    let mut options = Options { dump: vec!["vectorize".to_owned()], ..Options::default() };
    let mut path = None;
    let mut repeat = 1u32;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--interp" => options.backend = Backend::Interp,
            "--repeat" => repeat = value()?.parse().map_err(|error| format!("--repeat: {error}"))?,
            "--dump" => options.dump.push(value()?),
            "--width" => options.width = Some(value()?.parse().map_err(|error| format!("--width: {error}"))?),
            _ => path = Some(arg),
        }
    }
    let path = path.ok_or("usage: compile FILE.spv [--repeat N] [--interp] [--width N] [--dump STAGE]...")?;
    let bytes = std::fs::read(&path).map_err(|error| format!("{path}: {error}"))?;
    let words: Vec<u32> = bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect();
    let input = Input::new(&words);
    let mut times = Vec::new();
    for round in 0..repeat {
        let started = Instant::now();
        let program = clift_jit::compile(std::slice::from_ref(&input), &options).map_err(|error| error.to_string())?;
        times.push(started.elapsed());
        if round == 0 {
            print!("{}", program.log);
            for kernel in &program.kernels {
                println!("kernel {}: {:?}, barrier {}", kernel.name, kernel.resources, kernel.has_barrier);
            }
        }
    }
    times.sort();
    println!("first to slowest of {repeat}: fastest {:?}, median {:?}", times[0], times[times.len() / 2]);
    Ok(())
}
