//! Fuzzes the import: modules of `jit/tests/files/spirv`, damaged in ways a parser does not expect, for a second.
//! `CLIFT_FUZZ_MS` says how long instead, `CLIFT_FUZZ_SEEDS` names a directory of modules to damage. A module that takes long,
//! or makes the import panic, fails the test with the seed that `ARBTEST_SEED` repeats.
#![allow(missing_docs, reason = "a test")]

mod body;
mod launches;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use arbitrary::{Result, Unstructured};
use clift_kir::testing::filetest::{self, FileTest};
use clift_kir::testing::generate::{self, Shape};
use clift_kir::testing::run::RunCase;

/// What no damaged module may take, in a debug build on a busy machine.
const LIMIT: Duration = Duration::from_secs(5);
/// What compiling one may take.
const COMPILE_LIMIT: Duration = Duration::from_secs(60);
/// Words before the first instruction.
const HEADER: usize = 5;

#[test]
fn damaged_modules() {
    damaged(LIMIT, body::import);
}

/// Modules that the import accepts are compiled.
#[test]
fn damaged_modules_become_code() {
    damaged(COMPILE_LIMIT, body::compile);
}

/// Launches of modules that the import accepts have the same results as the interpreter's. Only if `CLIFT_FUZZ_MS` says for how
/// long: a difference may take many modules to find, so that it would be found in an unrelated run of all tests.
#[test]
fn damaged_modules_compute_the_same() {
    if std::env::var_os("CLIFT_FUZZ_MS").is_some() {
        damaged(COMPILE_LIMIT, launches::run);
    }
}

/// The same for kernel IR: random kernels and the launches of the compiler's test files, in which operands, constants and
/// operations have been exchanged.
#[test]
fn damaged_kernel_ir_computes_the_same() {
    if std::env::var_os("CLIFT_FUZZ_MS").is_none() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/kir/run");
    let paths = filetest::files(&folder).expect("the files of jit/tests/files/kir");
    let files = paths.iter().map(|path| FileTest::load(path).expect("a test file"));
    let files: Vec<_> = files.map(|file| (RunCase::parse_all(&file).expect("its launches"), file.text)).collect();
    arbtest::arbtest(|u| {
        let (cases, mut text) = if u.arbitrary()? {
            u.choose(&files)?.clone()
        } else {
            let (module, case) = generate::kernel(u.arbitrary()?, Shape::all(u.int_in_range(5..=60)?));
            (vec![case], module.to_string())
        };
        for _ in 0..u.int_in_range(0..=3)? {
            text = exchange(u, &text)?;
        }
        launches::run_text(&text, &cases);
        Ok(())
    })
    .budget_ms(std::env::var("CLIFT_FUZZ_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(1000));
}

/// Replaces an operand, a constant or an operation of an instruction by that of another one. What it says of types and memory
/// stays.
fn exchange(u: &mut Unstructured<'_>, text: &str) -> Result<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let is_inst = |line: &String| line.starts_with("    ") && line.contains(" = ");
    let insts: Vec<usize> = (0..lines.len()).filter(|&at| is_inst(&lines[at])).collect();
    if insts.is_empty() {
        return Ok(text.to_owned());
    }
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let (at, other) = (*u.choose(&insts)?, *u.choose(&insts)?);
    let (mut changed, from) = (words(&lines[at]), words(&lines[other]));
    // Four spaces, the result with its type, `=`, the operation, what it says, and operands.
    let operation = changed.iter().position(|word| word == "=").map_or(0, |equals| equals + 1);
    let of_other = from.iter().position(|word| word == "=").map_or(0, |equals| equals + 1);
    let class = |word: &str| (word.starts_with('v'), word.trim_end_matches(',').parse::<i64>().is_ok());
    // Arguments stay: at other places of the argument block there are addresses.
    let is_arg = changed[operation] == "arg" || from[of_other] == "arg";
    if u.ratio(1, 3)? {
        if !is_arg {
            changed[operation].clone_from(&from[of_other]);
        }
    } else if changed.len() > operation + 1 {
        let place = u.int_in_range(operation + 1..=changed.len() - 1)?;
        let fits = |word: &&String| class(word) == class(&changed[place]) && class(word) != (false, false);
        let choices: Vec<&String> = from[of_other..].iter().filter(fits).collect();
        // Numbers are those of constants only: other ones say where memory is, and how it is aligned.
        if !choices.is_empty() && (changed[place].starts_with('v') || changed[operation] == "const") {
            let comma = if changed[place].ends_with(',') { "," } else { "" };
            changed[place] = format!("{}{comma}", u.choose(&choices)?.trim_end_matches(','));
        }
    }
    lines[at] = changed.join(" ");
    Ok(lines.join("\n"))
}

/// Damages modules, and hands them to `body`, which may take `limit`.
fn damaged(limit: Duration, body: impl Fn(&[u32])) {
    let seeds = seeds();
    assert!(seeds.len() > 20, "the modules of jit/tests/files/spirv are missing");
    let budget = std::env::var("CLIFT_FUZZ_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(1000);
    let mut test = arbtest::arbtest(|u| {
        let mut words = u.choose(&seeds)?.clone();
        let meaning = u.ratio(3, 4)?;
        for _ in 0..u.int_in_range(1..=4)? {
            if meaning { distort(u, &mut words)? } else { damage(u, &mut words)? }
        }
        let start = Instant::now();
        body(&words);
        let took = start.elapsed();
        assert!(took < limit, "took {took:?}");
        Ok(())
    })
    .budget_ms(budget);
    if let Some(seed) = std::env::var("ARBTEST_SEED").ok().and_then(|seed| parse_seed(&seed)) {
        test = test.seed(seed);
    }
    drop(test);
}

fn parse_seed(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
}

/// Valid modules to start from.
fn seeds() -> Vec<Vec<u32>> {
    fn collect(dir: &Path, paths: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                collect(&path, paths);
            } else if path.extension().is_some_and(|extension| extension == "spv") {
                paths.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/spirv");
    collect(&std::env::var_os("CLIFT_FUZZ_SEEDS").map_or(own, PathBuf::from), &mut paths);
    paths.sort();
    let words = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.chunks_exact(4).map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]])).collect()
    };
    paths.iter().map(words).collect()
}

/// Starts of the instructions, as far as they can be followed.
fn instructions(words: &[u32]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut at = HEADER;
    while at < words.len() {
        starts.push(at);
        at += ((words[at] >> 16) as usize).max(1);
    }
    starts
}

/// An instruction's words.
fn instruction(u: &mut Unstructured<'_>, words: &[u32]) -> Result<std::ops::Range<usize>> {
    let starts = instructions(words);
    if starts.is_empty() {
        return Ok(0..0);
    }
    let start = *u.choose(&starts)?;
    Ok(start..(start + ((words[start] >> 16) as usize).max(1)).min(words.len()))
}

/// Damages a module in one way.
fn damage(u: &mut Unstructured<'_>, words: &mut Vec<u32>) -> Result<()> {
    if words.is_empty() {
        return Ok(());
    }
    let place = u.int_in_range(0..=words.len() - 1)?;
    match u.int_in_range(0..=11)? {
        // One bit.
        0 => words[place] ^= 1 << u.int_in_range(0..=31)?,
        // Any word.
        1 => words[place] = u.arbitrary()?,
        // A word that other code likes to get wrong.
        2 => words[place] = *u.choose(&[0, 1, 2, 3, 0x7fff_ffff, 0x8000_0000, u32::MAX, 0xffff, 64, 65])?,
        // A word from elsewhere: mostly another id.
        3..=5 => words[place] = *u.choose(words)?,
        // An operand of one instruction becomes a word from elsewhere; its first word stays.
        6 => {
            let range = instruction(u, words)?;
            if range.len() > 1 {
                let operand = u.int_in_range(range.start + 1..=range.end - 1)?;
                words[operand] = *u.choose(words)?;
            }
        }
        // The end is missing.
        7 => words.truncate(place),
        // An instruction is missing.
        8 => {
            let range = instruction(u, words)?;
            words.drain(range);
        }
        // An instruction stands somewhere else too.
        9 => {
            let copy = words[instruction(u, words)?].to_vec();
            let at = instruction(u, words)?.start;
            words.splice(at..at, copy);
        }
        // An instruction becomes another with the same operands.
        10 => {
            let (from, to) = (instruction(u, words)?, instruction(u, words)?);
            if !from.is_empty() && !to.is_empty() {
                words[to.start] = words[to.start] & 0xffff_0000 | words[from.start] & 0xffff;
            }
        }
        // An instruction gets longer or shorter.
        _ => {
            let range = instruction(u, words)?;
            if !range.is_empty() {
                words[range.start] = words[range.start].wrapping_add(*u.choose(&[0x1_0000, 0xffff_0000, 0x4_0000])?);
            }
        }
    }
    Ok(())
}

/// Changes what a module means and leaves its shape: what comes in is parsed, and found wrong later or not at all.
fn distort(u: &mut Unstructured<'_>, words: &mut Vec<u32>) -> Result<()> {
    let (range, other) = (code(u, words)?, code(u, words)?);
    if range.len() < 2 || other.len() < 2 {
        return Ok(());
    }
    let bound = words.get(3).copied().unwrap_or(1).clamp(1, 1 << 22);
    let operand = u.int_in_range(range.start + 1..=range.end - 1)?;
    let same = |words: &[u32]| words[range.start] == words[other.start];
    match u.int_in_range(0..=7)? {
        // Any id.
        0 | 1 => words[operand] = u.int_in_range(1..=bound)?,
        // An operand of some other instruction.
        2 | 3 => words[operand] = words[u.int_in_range(other.start + 1..=other.end - 1)?],
        // The operand in the same place of an instruction of the same kind.
        4 if same(words) => words[operand] = words[other.start + (operand - range.start)],
        // The opcode of another instruction of the same length.
        4 | 5 if range.len() == other.len() => words[range.start] = words[other.start],
        // Two instructions change places.
        6 if range.len() == other.len() => {
            for i in 0..range.len() {
                words.swap(range.start + i, other.start + i);
            }
        }
        // An instruction is missing.
        6 => drop(words.drain(range)),
        // A small number.
        _ => words[operand] = u.int_in_range(0..=70)?,
    }
    Ok(())
}

/// An instruction that is not there for debuggers only.
fn code(u: &mut Unstructured<'_>, words: &[u32]) -> Result<std::ops::Range<usize>> {
    let mut range = 0..0;
    for _ in 0..8 {
        range = instruction(u, words)?;
        let opcode = words.get(range.start).map_or(0, |word| word & 0xffff);
        // OpSource to OpMemberName, OpString, OpLine, OpCapability, OpDecorate.
        if !matches!(opcode, 2..=8 | 17 | 71) {
            break;
        }
    }
    Ok(range)
}
