//! Imports SPIR-V files and says what became of each: `import [--print] [--link] FILE...`. With `--link` the files are one
//! program; with `--print` the kernel IR is shown.

use std::process::ExitCode;

use clift_jit::{Input, Options, spirv};

fn words(path: &str) -> Result<Vec<u32>, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    Ok(bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect())
}

fn import(paths: &[String], print: bool) -> Result<(), String> {
    let modules = paths.iter().map(|path| words(path)).collect::<Result<Vec<_>, _>>()?;
    let inputs: Vec<_> = modules.iter().map(|words| Input::new(words)).collect();
    let options = Options { arg_info: true, ..Options::default() };
    let imported = spirv::import(&inputs, &options).map_err(|error| error.to_string())?;
    clift_kir::verify::module(&imported.module).map_err(|errors| format!("not well-formed: {errors}"))?;
    if print {
        println!("{}", imported.module);
        imported.kernels.iter().for_each(|kernel| println!("; {kernel:?}"));
    }
    Ok(())
}

fn main() -> ExitCode {
    let (flags, paths): (Vec<_>, Vec<_>) = std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let print = flags.iter().any(|flag| flag == "--print");
    let programs: Vec<&[String]> =
        if flags.iter().any(|flag| flag == "--link") { vec![&paths] } else { paths.chunks(1).collect() };
    let mut failed = 0;
    for program in &programs {
        if let Err(reason) = import(program, print) {
            failed += 1;
            println!("{}: {reason}", program.join(" "));
        }
    }
    println!("{} of {} imported", programs.len() - failed, programs.len());
    ExitCode::from(u8::from(failed > 0))
}
