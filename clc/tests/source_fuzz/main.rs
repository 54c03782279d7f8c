//! Fuzzes the front end: sources of the repository and a few of its own, damaged, for a second each. `CLIFT_FUZZ_MS` says how
//! long instead, `CLIFT_FUZZ_SEEDS` names a directory of sources to damage. A source that takes long, or makes the front end
//! panic, fails the test with the seed that `ARBTEST_SEED` repeats.
#![allow(missing_docs, reason = "a test")]

mod body;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use arbitrary::{Result, Unstructured};

/// What no damaged source may take, in a debug build on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);

/// Texts to insert.
const PIECES: &[&str] = &[
    "#",
    "##",
    "#define ",
    "#undef ",
    "#if ",
    "#ifdef A\n",
    "#elif ",
    "#else\n",
    "#endif\n",
    "#include \"fuzz.h\"\n",
    "#line 7\n",
    "#pragma ",
    "_Pragma(\"unroll\")",
    "__VA_ARGS__",
    "__VA_OPT__(",
    "...",
    "(",
    ")",
    ",",
    "\\\n",
    "??/\n",
    "/*",
    "*/",
    "//",
    "\"",
    "'",
    "L\"x\"",
    "defined",
    "F(",
    "A",
    "A0",
    "__LINE__",
    "__COUNTER__",
    "__has_include(",
    "<fuzz.h>",
    "1u",
    "0x",
    "1e+",
    "-1",
    "/ 0",
    "% 0",
    "<< 64",
    "?",
    ":",
    "&&",
    "||",
    "\n",
    "\r",
    " ",
    "\t",
    "\u{e9}",
    "\\u00e9",
    "%:",
    "<:",
    "@",
    "$",
    "\0",
    "kernel void k(global int *p) {",
    "}",
    "{",
    "[",
    "]",
    ";",
    "int ",
    "float4 ",
    "struct s {",
    "typedef ",
    "for (;;) ",
    "return ",
    "if (",
    "switch (",
    "case 1:",
    "goto l;",
    "l:",
    "= {",
    ".x",
    "->",
    "sizeof(",
    "(int)",
    "__attribute__((",
    "local ",
    "^{",
];

/// Sources to damage, besides those of the repository.
const SOURCES: &[&str] = &[
    "#define F(x, ...) x ## 1 #x __VA_OPT__(a x) , ## __VA_ARGS__\n#define A F(A, B) A0\n#define A0 F\nA (1, 2) F(F(1), (2, 3))\n",
    "#if defined(A) || !defined B && (1 + 2 * 3 << 4 == 5 ? 6 : 7)\na\n#elif 'x' > 0x10u\nb\n#else\nc\n#endif\n",
    "#include \"fuzz.h\"\n#line 10 \"g\"\n__FILE__ __LINE__\n#pragma pack(push, 1)\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n",
    "kernel void k(global float4 *p, int n) {\n  #pragma unroll 4\n  for (int i = 0; i < n; ++i) p[i].xy += (float2)(i, 1.0f);\n}\n",
    "typedef struct { int a[3]; union { float f; uint u; }; } S;\nconstant S s = { { 1, 2 }, { 3.0f } };\n\
     int f(local S *s) { switch (s->a[0]) { case 1: return 2; default: break; } do { s->u++; } while (s->u < 3); return 1 ? 2 : 3; }\n",
];

fn run(seeds: &[Vec<u8>], body: fn(&[u8])) {
    assert!(seeds.len() > SOURCES.len(), "the sources of the benchmarks are missing");
    let budget = std::env::var("CLIFT_FUZZ_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(1000);
    let mut test = arbtest::arbtest(|u| {
        let mut source = u.choose(seeds)?.clone();
        for _ in 0..u.int_in_range(1..=8)? {
            damage(u, &mut source, seeds)?;
        }
        let start = Instant::now();
        body(&source);
        let took = start.elapsed();
        assert!(took < LIMIT, "took {took:?}:\n{}", String::from_utf8_lossy(&source));
        Ok(())
    })
    .budget_ms(budget);
    let seed = std::env::var("ARBTEST_SEED").ok();
    if let Some(seed) = seed.and_then(|seed| u64::from_str_radix(seed.trim_start_matches("0x"), 16).ok()) {
        test = test.seed(seed);
    }
    drop(test);
}

#[test]
fn damaged_sources_are_preprocessed() {
    run(&seeds(), body::preprocess);
}

#[test]
fn damaged_sources_are_compiled() {
    run(&seeds(), body::compile_source);
}

/// Sources to start from.
fn seeds() -> Vec<Vec<u8>> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/bench/kernels");
    let mut directories = vec![std::env::var_os("CLIFT_FUZZ_SEEDS").map_or(own, PathBuf::from)];
    let mut paths = Vec::new();
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "cl" || extension == "h") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let mut seeds: Vec<Vec<u8>> = SOURCES.iter().map(|text| text.as_bytes().to_vec()).collect();
    seeds.extend(paths.iter().filter_map(|path| std::fs::read(path).ok()).filter(|text| text.len() < 64 << 10));
    seeds
}

/// A range of bytes, short as a rule.
fn range(u: &mut Unstructured<'_>, source: &[u8]) -> Result<std::ops::Range<usize>> {
    let start = u.int_in_range(0..=source.len())?;
    let most = if u.ratio(1, 8)? { source.len() } else { 40 };
    let length = u.int_in_range(0..=most)?;
    Ok(start..(start + length).min(source.len()))
}

/// Damages a source in one way.
fn damage(u: &mut Unstructured<'_>, source: &mut Vec<u8>, seeds: &[Vec<u8>]) -> Result<()> {
    let range = range(u, source)?;
    match u.int_in_range(0..=6)? {
        // Any byte.
        0 if !source.is_empty() => {
            let at = range.start.min(source.len() - 1);
            source[at] = u.arbitrary()?;
        }
        // Something is missing.
        1 => drop(source.drain(range)),
        // Something is twice, or elsewhere.
        2 => {
            let piece = source[range].to_vec();
            let at = u.int_in_range(0..=source.len())?;
            source.splice(at..at, piece);
        }
        // A part of another source.
        3 => {
            let other = u.choose(seeds)?;
            let from = u.int_in_range(0..=other.len())?;
            let to = (from + u.int_in_range(0..=200)?).min(other.len());
            source.splice(range.start..range.start, other[from..to].iter().copied());
        }
        // Repeated.
        4 => {
            let piece = source[range.clone()].repeat(u.int_in_range(2..=40)?);
            source.splice(range.start..range.start, piece);
        }
        // Words that mean something.
        _ => {
            let mut text = String::new();
            for _ in 0..u.int_in_range(1..=4)? {
                text.push_str(u.choose(PIECES)?);
            }
            source.splice(range.start..range.start, text.into_bytes());
        }
    }
    source.truncate(256 << 10);
    Ok(())
}
