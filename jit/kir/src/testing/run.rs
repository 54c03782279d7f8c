//! Launches described by directives of a [`FileTest`]:
//!
//! ```text
//! ; run: saxpy global 16,4 local 4,2 offset 1,0 sub_group 4 seed 7
//! ; arg 0: buffer f32[64] = iota
//! ; arg 8: f32 = 2.5
//! ; arg 16: local 256
//! ; expect 0: [0.0, 2.5, 5.0, ...]
//! ; fault: race
//! ; print: "%d\n" i32 5
//! ```
//!
//! Lines after a `run` belong to it. An argument's number is its offset in the argument block. Buffers are filled by
//! `= 7` (one value), `= iota` (0, 1, 2...), `= range 5 3` (5, 8, 11...), `= [1, 2, 3]` (these, repeated), or `= undef`; `expect`
//! takes the same forms for the whole buffer. `fault` lines name all the kinds of faults there must be; such a launch is for the
//! interpreter alone. Without `seed`, a launch is run in several orders of its work-items, all of which must give the same.
//! A kernel at stage *looped* is called once per group.

use std::fmt::Write as _;

use super::filetest::{Directive, FileTest, blessing};
use crate::entities::Func;
use crate::function::Stage;
use crate::interp::{
    FaultKind, Geometry, GlobalAddresses, GroupLaunch, Interleave, InterpError, InterpOptions, Interpreter, Lanes,
    Memory, Observer, Outcome, PreparedModule, PrintfCall, SimMemory, SimOptions, load_globals, read_c_string,
};
use crate::module::Module;
use crate::text::literal::{read_lane, write_lane, write_string};
use crate::types::{Space, Type};
use crate::verify::LOOPED_PARAMS;

/// A launch and what must come of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunCase {
    /// The kernel's name.
    pub kernel: String,
    /// Sizes.
    pub geometry: Geometry,
    /// Arguments with their offsets.
    pub args: Vec<(u32, Arg)>,
    /// Buffers after the run: offset of the argument, content, line of the directive.
    pub expected: Vec<(u32, Fill, usize)>,
    /// Kinds of faults.
    pub faults: Vec<FaultKind>,
    /// Calls of `printf` in order, when work-items run in ascending order; `None` says nothing.
    pub prints: Option<Vec<String>>,
    /// `get_max_sub_group_size`.
    pub sub_group_size: u32,
    /// The only order in which to run work-items.
    pub seed: Option<u64>,
}

/// An argument.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A buffer of a number of lanes.
    Buffer {
        /// Type of its elements.
        ty: Type,
        /// How many.
        count: usize,
        /// First content.
        fill: Fill,
    },
    /// A plain value.
    Value(Lanes),
    /// Local memory of a number of bytes.
    Local(u64),
}

/// Content of a buffer, in lanes of its type.
#[derive(Clone, Debug, PartialEq)]
pub enum Fill {
    /// Nothing ever written.
    Undefined,
    /// These lanes, repeated to the end.
    Repeat(Vec<u64>),
    /// A number and what each lane has more than the one before.
    Range(i64, i64),
}

impl Fill {
    /// The bytes of `count` elements; zero when undefined.
    pub fn bytes(&self, ty: Type, count: usize) -> Vec<u8> {
        let size = ty.elem.bytes() as usize;
        let mut bytes = Vec::new();
        for i in 0..count * ty.lanes() as usize {
            let bits = match self {
                Fill::Undefined => 0,
                Fill::Repeat(lanes) => lanes[i % lanes.len()],
                Fill::Range(start, step) => {
                    let number = start.wrapping_add(step.wrapping_mul(i as i64));
                    if ty.is_float() {
                        let nearest = crate::inst::Rounding::NearestEven;
                        crate::eval::convert::round_f64(ty.elem, number as f64, nearest)
                    } else {
                        number as u64
                    }
                }
            };
            bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
        }
        bytes
    }
}

/// What came of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunResult {
    /// Buffers by offset of their argument.
    pub buffers: Vec<(u32, Vec<u8>)>,
    /// Faults with their text.
    pub faults: Vec<(FaultKind, String)>,
    /// Calls of `printf`; `None` when the executor does not know.
    pub prints: Option<Vec<String>>,
}

impl RunCase {
    /// A launch of which nothing is expected yet, in any order of work-items.
    pub fn new(kernel: &str, geometry: Geometry, args: Vec<(u32, Arg)>) -> RunCase {
        RunCase {
            kernel: kernel.to_owned(),
            geometry,
            args,
            expected: Vec::new(),
            faults: Vec::new(),
            prints: None,
            sub_group_size: 1,
            seed: None,
        }
    }

    /// The same in one order of work-items.
    pub fn in_order_of_seed(self, seed: u64) -> RunCase {
        RunCase { seed: Some(seed), ..self }
    }

    /// The launches that a file describes.
    ///
    /// # Errors
    /// What is wrong with a directive, in words.
    pub fn parse_all(file: &FileTest) -> Result<Vec<RunCase>, String> {
        let mut cases: Vec<RunCase> = Vec::new();
        for d in &file.directives {
            let add = match (d.key.as_str(), cases.last_mut()) {
                ("run", _) => RunCase::parse(&d.value).map(|case| cases.push(case)),
                ("arg" | "expect" | "fault" | "print", Some(case)) => case.add(d),
                ("arg" | "expect" | "fault" | "print", None) => Err("no `; run:` line before this one".to_owned()),
                _ => Ok(()),
            };
            add.map_err(|e| format!("{}:{}: {e}", file.path.display(), d.line + 1))?;
        }
        Ok(cases)
    }

    /// Reads what follows `; run:`.
    fn parse(text: &str) -> Result<RunCase, String> {
        let mut words = text.split_whitespace();
        let kernel = words.next().ok_or("a kernel's name is missing")?;
        let mut geometry = Geometry { work_dim: 0, global_size: [1; 3], global_offset: [0; 3], local_size: [1; 3] };
        let mut case = RunCase::new(kernel, geometry, Vec::new());
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("`{word}` needs a value"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("`{value}` is not a number"));
            match word {
                "global" => {
                    geometry.work_dim = value.split(',').count() as u32;
                    triple(value, &mut geometry.global_size)?;
                }
                "local" => triple(value, &mut geometry.local_size)?,
                "offset" => triple(value, &mut geometry.global_offset)?,
                "sub_group" => case.sub_group_size = number()? as u32,
                "seed" => case.seed = Some(number()?),
                _ => return Err(format!("unknown word `{word}` (known: global, local, offset, sub_group, seed)")),
            }
        }
        if geometry.work_dim == 0 {
            return Err("`global` is missing".to_owned());
        }
        case.geometry = geometry;
        Ok(case)
    }

    fn add(&mut self, d: &Directive) -> Result<(), String> {
        let number = || d.number.ok_or_else(|| format!("`{}` needs an argument's offset", d.key));
        match d.key.as_str() {
            "arg" => self.args.push((number()?, parse_arg(&d.value)?)),
            "expect" => {
                let offset = number()?;
                let ty = self.buffer(offset).ok_or_else(|| format!("there is no buffer at {offset}"))?.0;
                // Empty: to be blessed.
                let fill = if d.value.is_empty() { Fill::Undefined } else { parse_fill(ty, &d.value)? };
                self.expected.push((offset, fill, d.line));
            }
            "fault" => {
                let kind = FaultKind::ALL.iter().find(|(_, name)| *name == d.value);
                let names = || FaultKind::ALL.map(|(_, name)| name).join(", ");
                self.faults.push(kind.ok_or_else(|| format!("no such fault (known: {})", names()))?.0);
            }
            _ => self.prints.get_or_insert_default().push(d.value.clone()),
        }
        Ok(())
    }

    /// Type and count of the buffer at an offset.
    pub fn buffer(&self, offset: u32) -> Option<(Type, usize)> {
        self.args.iter().find_map(|(at, arg)| match arg {
            Arg::Buffer { ty, count, .. } if *at == offset => Some((*ty, *count)),
            Arg::Buffer { .. } | Arg::Value(_) | Arg::Local(_) => None,
        })
    }

    /// Compares what came of the launch with what must.
    ///
    /// # Errors
    /// The differences.
    pub fn check(&self, result: &RunResult) -> Result<(), String> {
        self.check_faults(result)?;
        for (offset, fill, _) in &self.expected {
            let Some((ty, count)) = self.buffer(*offset) else { continue };
            let wanted = fill.bytes(ty, count);
            let found =
                result.buffers.iter().find(|(at, _)| at == offset).map(|(_, bytes)| &**bytes).unwrap_or_default();
            compare(ty, &wanted, found).map_err(|e| format!("buffer {offset}: {e}"))?;
        }
        if let (Some(wanted), Some(found)) = (&self.prints, &result.prints)
            && wanted != found
        {
            return Err(format!("expected prints {wanted:#?}, found {found:#?}"));
        }
        Ok(())
    }

    fn check_faults(&self, result: &RunResult) -> Result<(), String> {
        let mut kinds: Vec<FaultKind> = result.faults.iter().map(|(kind, _)| *kind).collect();
        kinds.dedup();
        let (wanted, found) = (sorted(&self.faults), sorted(&kinds));
        if wanted != found {
            let texts: Vec<&str> = result.faults.iter().map(|(_, text)| text.as_str()).collect();
            return Err(format!("expected faults {wanted:?}, found {found:?}: {texts:#?}"));
        }
        Ok(())
    }
}

fn sorted(kinds: &[FaultKind]) -> Vec<&'static str> {
    let name = |kind: &FaultKind| FaultKind::ALL.iter().find(|(k, _)| k == kind).map_or("", |(_, name)| name);
    let mut names: Vec<_> = kinds.iter().map(name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Compares two buffers lane by lane; all NaNs are equal.
///
/// # Errors
/// The first lane that differs, and how many do.
pub fn compare(ty: Type, wanted: &[u8], found: &[u8]) -> Result<(), String> {
    if wanted.len() != found.len() {
        return Err(format!("{} bytes, not {}", found.len(), wanted.len()));
    }
    let (wanted, found) = (lanes_of(ty, wanted), lanes_of(ty, found));
    let nan = |bits: u64| ty.is_float() && crate::eval::float::to_f64(ty.elem, bits).is_nan();
    let differ = |(w, f): &(&u64, &u64)| w != f && !(nan(**w) && nan(**f));
    let wrong = wanted.iter().zip(&found).filter(differ).count();
    let first = wanted.iter().zip(&found).enumerate().find(|(_, pair)| differ(pair));
    let Some((i, (&w, &f))) = first else { return Ok(()) };
    let text = |bits: u64| {
        let mut text = String::new();
        let _ = write_lane(&mut text, ty.elem, bits);
        text
    };
    Err(format!("{wrong} of {} lanes differ, the first is {i}: expected {}, found {}", wanted.len(), text(w), text(f)))
}

fn lanes_of(ty: Type, bytes: &[u8]) -> Vec<u64> {
    let lane = |chunk: &[u8]| chunk.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
    bytes.chunks_exact(ty.elem.bytes() as usize).map(lane).collect()
}

/// One, two or three numbers with commas.
fn triple(text: &str, place: &mut [u64; 3]) -> Result<(), String> {
    let numbers: Result<Vec<u64>, _> = text.split(',').map(str::parse).collect();
    let numbers = numbers.map_err(|_| format!("`{text}` are not numbers"))?;
    if numbers.len() > 3 {
        return Err(format!("`{text}` has more than three dimensions"));
    }
    place[..numbers.len()].copy_from_slice(&numbers);
    Ok(())
}

fn parse_arg(text: &str) -> Result<Arg, String> {
    if let Some(bytes) = text.strip_prefix("local ") {
        return Ok(Arg::Local(bytes.trim().parse().map_err(|_| format!("`{bytes}` is not a number of bytes"))?));
    }
    let (head, value) = text.split_once('=').ok_or("`= value` is missing")?;
    let (head, value) = (head.trim(), value.trim());
    let parse_type = |text: &str| text.parse::<Type>().map_err(|e| e.to_string());
    if let Some(buffer) = head.strip_prefix("buffer ") {
        let (ty, count) = buffer.trim().split_once('[').ok_or("a buffer is `buffer f32[64]`")?;
        let count = count.strip_suffix(']').and_then(|n| n.parse().ok()).ok_or("a buffer is `buffer f32[64]`")?;
        let ty = parse_type(ty)?;
        let fill = if value == "undef" { Fill::Undefined } else { parse_fill(ty, value)? };
        return Ok(Arg::Buffer { ty, count, fill });
    }
    let ty = parse_type(head)?;
    match parse_fill(ty, value)? {
        Fill::Repeat(lanes) => {
            let bits = (0..ty.lanes() as usize).map(|i| lanes[i % lanes.len()]).collect();
            Ok(Arg::Value(Lanes { ty, bits }))
        }
        Fill::Undefined | Fill::Range(..) => Err("an argument needs a value".to_owned()),
    }
}

fn parse_fill(ty: Type, text: &str) -> Result<Fill, String> {
    let lane = |text: &str| {
        let text = text.trim();
        // Whole numbers may stand for floats.
        read_lane(ty.elem, text).ok_or_else(|| format!("`{text}` is not of type {}", ty.elem))
    };
    if text == "iota" {
        return Ok(Fill::Range(0, 1));
    }
    if let Some(range) = text.strip_prefix("range ") {
        let numbers: Result<Vec<i64>, _> = range.split_whitespace().map(str::parse).collect();
        return match numbers.as_deref() {
            Ok([start, step]) => Ok(Fill::Range(*start, *step)),
            _ => Err("a range is `range START STEP`".to_owned()),
        };
    }
    if let Some(list) = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
        return Ok(Fill::Repeat(list.split(',').map(lane).collect::<Result<_, _>>()?));
    }
    Ok(Fill::Repeat(vec![lane(text)?]))
}

/// Executes a launch in all the ways an executor knows: a name and a result for each.
pub type Executor<'e> = dyn FnMut(&Module, &RunCase) -> Result<Vec<(String, RunResult)>, String> + 'e;

/// Runs all launches of a file and checks what comes of them; stores it when blessing.
///
/// # Errors
/// What is wrong with the file, or what differs.
pub fn check_file(file: &FileTest, module: &Module, executor: &mut Executor<'_>) -> Result<(), String> {
    let cases = RunCase::parse_all(file)?;
    if cases.is_empty() {
        return Err(format!("{}: no `; run:` line", file.path.display()));
    }
    let mut blessed = Vec::new();
    for case in &cases {
        let results = executor(module, case).map_err(|e| format!("{}: {e}", file.path.display()))?;
        for (how, result) in &results {
            let Err(message) = case.check(result) else { continue };
            if !blessing() || case.check_faults(result).is_err() {
                let hint = "To accept what came out: CLIFT_BLESS=1 and the same test again";
                return Err(format!("{}: {} ({how}): {message}\n{hint}", file.path.display(), case.kernel));
            }
            for (offset, _, line) in &case.expected {
                let Some((ty, _)) = case.buffer(*offset) else { continue };
                if let Some((_, bytes)) = result.buffers.iter().find(|(at, _)| at == offset) {
                    blessed.push((*line, list(ty, bytes)));
                }
            }
        }
    }
    if blessed.is_empty() { Ok(()) } else { file.bless_directives(&blessed) }
}

fn list(ty: Type, bytes: &[u8]) -> String {
    let mut text = String::from("[");
    for (i, bits) in lanes_of(ty, bytes).into_iter().enumerate() {
        text.push_str(if i > 0 { ", " } else { "" });
        let _ = write_lane(&mut text, ty.elem, bits);
    }
    text + "]"
}

/// Keeps what is printed.
#[derive(Default)]
struct Prints(Vec<String>);

impl Observer for Prints {
    fn printf(&mut self, memory: &mut dyn Memory, call: &PrintfCall) -> i32 {
        let mut text = String::new();
        let format = read_c_string(memory, call.format, 4096);
        let _ = write_string(&mut text, &String::from_utf8_lossy(&format));
        for (i, Lanes { ty, bits }) in call.values.iter().enumerate() {
            let _ = write!(text, "{} {ty} ", if i > 0 { "," } else { "" });
            let bytes: Vec<u8> =
                bits.iter().flat_map(|b| b.to_le_bytes()[..ty.elem.bytes() as usize].to_vec()).collect();
            let lanes = list(*ty, &bytes);
            text.push_str(if ty.is_vector() { &lanes } else { &lanes[1..lanes.len() - 1] });
        }
        self.0.push(text);
        0
    }
}

/// The interpreter as executor: in several orders of work-items.
///
/// # Errors
/// When a run cannot be made.
pub fn interpret(module: &Module, case: &RunCase) -> Result<Vec<(String, RunResult)>, String> {
    let orders = match case.seed {
        Some(seed) => vec![(seed, Interleave::Barriers)],
        None if !case.faults.is_empty() => vec![(0, Interleave::Barriers)],
        None => vec![
            (0, Interleave::Barriers),
            (1, Interleave::Barriers),
            (0, Interleave::Accesses),
            (2, Interleave::Accesses),
        ],
    };
    let mut results = Vec::new();
    for (seed, interleave) in orders {
        let options =
            InterpOptions { seed, interleave, sub_group_size: case.sub_group_size, ..InterpOptions::default() };
        let mut result = interpret_once(module, case, &options)?;
        if (seed, interleave) != (0, Interleave::Barriers) {
            result.prints = None;
        }
        results.push((format!("interpreter, seed {seed}, {interleave:?}"), result));
    }
    Ok(results)
}

/// One run by the interpreter.
///
/// # Errors
/// When it cannot be made.
pub fn interpret_once(module: &Module, case: &RunCase, options: &InterpOptions) -> Result<RunResult, String> {
    let kernel = module.kernel(&case.kernel).ok_or_else(|| format!("there is no kernel `{}`", case.kernel))?;
    let mut memory = SimMemory::new(SimOptions::default());
    let globals = load_globals(module, &mut memory).map_err(|e| e.to_string())?;
    let mut args = vec![0u8; kernel.arg_block_bytes as usize];
    let mut buffers = Vec::new();
    let mut locals = Vec::new();
    for (offset, arg) in &case.args {
        let bytes = match arg {
            Arg::Buffer { ty, count, fill } => {
                let size = u64::from(ty.bytes()) * *count as u64;
                let address = memory.allocate(Space::Global, size, 128).map_err(|e| e.to_string())?;
                if *fill != Fill::Undefined {
                    memory.initialize(address, &fill.bytes(*ty, *count)).map_err(|e| e.to_string())?;
                }
                buffers.push((*offset, address));
                address.to_le_bytes().to_vec()
            }
            Arg::Value(Lanes { ty, bits }) => Fill::Repeat(bits.clone()).bytes(*ty, 1),
            Arg::Local(size) => {
                locals.push((*offset, *size));
                vec![0; 8]
            }
        };
        place(&mut args, *offset, &bytes)?;
    }
    let prepared = PreparedModule::new(module);
    let interpreter = Interpreter::new(module, &prepared);
    let mut prints = Prints::default();
    let mut result = RunResult::default();
    let looped = module.funcs[kernel.func].stage >= Stage::Looped;
    for group in case.geometry.groups() {
        let mut owned = Vec::new();
        for (offset, size) in &locals {
            let address = memory.allocate(Space::Local, *size, 128).map_err(|e| e.to_string())?;
            owned.push(address);
            place(&mut args, *offset, &address.to_le_bytes())?;
        }
        let launch = GroupLaunch { geometry: case.geometry, group, args: &args, local_base: 0 };
        let outcome = if looped {
            run_looped(&interpreter, kernel.func, &launch, &globals, options, &mut memory, &mut prints)
        } else {
            interpreter.run_group(kernel.func, &launch, &globals, options, &mut memory, &mut prints)
        };
        let outcome = outcome.map_err(|e| e.to_string())?;
        owned.into_iter().for_each(|address| memory.release(address));
        if outcome.out_of_fuel {
            return Err("out of fuel".to_owned());
        }
        result.faults.extend(outcome.faults.iter().map(|r| (r.fault.kind(), r.to_string())));
    }
    for (offset, address) in buffers {
        result.buffers.push((offset, memory.bytes(address).unwrap_or_default().to_vec()));
    }
    result.prints = Some(prints.0);
    Ok(result)
}

/// A run of one group by a looped kernel. Its context is all zero: such kernels take sizes as arguments.
fn run_looped(
    interpreter: &Interpreter<'_>,
    func: Func,
    launch: &GroupLaunch<'_>,
    globals: &GlobalAddresses,
    options: &InterpOptions,
    memory: &mut SimMemory,
    prints: &mut Prints,
) -> Result<Outcome, InterpError> {
    const CONTEXT_BYTES: usize = 512;
    let mut host = |bytes: &[u8]| {
        let address = memory.allocate(Space::Host, bytes.len() as u64, 128)?;
        memory.initialize(address, bytes)?;
        Ok::<_, InterpError>(address)
    };
    let (context, args) = (host(&[0; CONTEXT_BYTES])?, host(launch.args)?);
    let params = [context, args, launch.group[0], 1].into_iter().zip(LOOPED_PARAMS);
    let params: Vec<Lanes> = params.map(|(bits, ty)| Lanes { ty, bits: vec![bits] }).collect();
    let (outcome, _) = interpreter.run_function(func, &params, globals, options, memory, prints)?;
    memory.release(context);
    memory.release(args);
    memory.clear_history();
    Ok(outcome)
}

fn place(args: &mut [u8], offset: u32, bytes: &[u8]) -> Result<(), String> {
    let at = offset as usize;
    let place = args.get_mut(at..at + bytes.len());
    place.ok_or_else(|| format!("argument {offset} lies beyond the argument block"))?.copy_from_slice(bytes);
    Ok(())
}
