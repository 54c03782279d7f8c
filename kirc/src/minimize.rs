//! Smaller inputs with the same fault.
//!
//! Pieces of the input (instructions of a SPIR-V module, lines of kernel IR) are left out or replaced by simpler ones, as long
//! as a command says that the fault is still there: first many at once, then one by one, until nothing can be left out any
//! more. What is malformed is not shown to the command, unless the input is malformed itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clift_jit::{ModuleInput, Options, spirv};
use clift_kir::{text, verify};
use rspirv::grammar::{INSTRUCTION_TABLE, OperandKind};
use rspirv::spirv::Op;

use crate::input;

/// Words of the header of a SPIR-V module.
const HEADER_WORDS: usize = 5;

/// How the command is asked.
pub(crate) struct Question<'a> {
    /// The command and its arguments; the file is appended. Its status is 0 if the file has the fault.
    pub(crate) command: &'a [String],
    /// A command that takes longer has not found the fault.
    pub(crate) limit: Duration,
}

/// Writes a smaller file with the fault of `file`. Returns the numbers of pieces before and after.
pub(crate) fn minimize(file: &Path, output: &Path, question: &Question<'_>) -> Result<(usize, usize)> {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("spv") => {
            let words = input::words(file)?;
            ensure!(words.len() > HEADER_WORDS, "{}: shorter than a header", file.display());
            let (header, rest) = words.split_at(HEADER_WORDS);
            reduce(&SpirV { header: header.to_vec() }, split(rest)?, output, question)
        }
        Some("kir") => {
            let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
            reduce(&KernelIr, text.lines().map(str::to_owned).collect(), output, question)
        }
        _ => bail!("{}: neither SPIR-V (.spv) nor kernel IR (.kir)", file.display()),
    }
}

/// A kind of input.
trait Form {
    type Piece: Clone;
    /// The content of a file with these pieces.
    fn bytes(&self, pieces: &[Self::Piece]) -> Vec<u8>;
    fn is_well_formed(&self, pieces: &[Self::Piece]) -> bool;
    /// What may stand in a piece's place.
    fn simpler(&self, piece: &Self::Piece) -> Vec<Self::Piece>;
}

struct SpirV {
    header: Vec<u32>,
}

impl SpirV {
    fn words(&self, pieces: &[Vec<u32>]) -> Vec<u32> {
        self.header.iter().chain(pieces.iter().flatten()).copied().collect()
    }
}

impl Form for SpirV {
    type Piece = Vec<u32>;

    fn bytes(&self, pieces: &[Vec<u32>]) -> Vec<u8> {
        self.words(pieces).into_iter().flat_map(u32::to_le_bytes).collect()
    }

    fn is_well_formed(&self, pieces: &[Vec<u32>]) -> bool {
        spirv::import(&[ModuleInput::new(&self.words(pieces))], &Options::default()).is_ok()
    }

    /// A value may be undefined, and a branch unconditional.
    fn simpler(&self, piece: &Vec<u32>) -> Vec<Vec<u32>> {
        const UNDEF: u32 = Op::Undef as u32;
        const BRANCH: u32 = Op::Branch as u32;
        const BRANCH_CONDITIONAL: u32 = Op::BranchConditional as u32;
        let &[first, ref operands @ ..] = &piece[..] else { return Vec::new() };
        let instruction =
            |opcode: u32, operands: &[u32]| [&[(operands.len() as u32 + 1) << 16 | opcode], operands].concat();
        match (first & 0xffff, operands) {
            (UNDEF, _) => Vec::new(),
            (BRANCH_CONDITIONAL, &[_, then, otherwise, ..]) => {
                vec![instruction(BRANCH, &[then]), instruction(BRANCH, &[otherwise])]
            }
            (opcode, &[ty, id, ..]) => {
                let known = INSTRUCTION_TABLE.lookup_opcode(opcode);
                let kinds = known.map(|known| known.operands.iter().map(|operand| operand.kind).collect::<Vec<_>>());
                match kinds.as_deref() {
                    Some([OperandKind::IdResultType, OperandKind::IdResult, ..]) => vec![instruction(UNDEF, &[ty, id])],
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }
}

/// The instructions of a module.
fn split(mut words: &[u32]) -> Result<Vec<Vec<u32>>> {
    let mut pieces = Vec::new();
    while let Some(&first) = words.first() {
        let count = (first >> 16) as usize;
        let (piece, rest) =
            words.split_at_checked(count.max(1)).ok_or_else(|| anyhow!("an instruction ends after the module"))?;
        pieces.push(piece.to_vec());
        words = rest;
    }
    Ok(pieces)
}

struct KernelIr;

impl Form for KernelIr {
    type Piece = String;

    fn bytes(&self, pieces: &[String]) -> Vec<u8> {
        pieces.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
    }

    fn is_well_formed(&self, pieces: &[String]) -> bool {
        text::parse_module(&pieces.join("\n")).is_ok_and(|module| verify::module(&module).is_ok())
    }

    /// A value may be undefined, and a branch unconditional.
    fn simpler(&self, line: &String) -> Vec<String> {
        if let Some((value, op)) = line.split_once(" = ")
            && !op.starts_with("undef")
            && !op.starts_with("const ")
        {
            return vec![format!("{value} = undef")];
        }
        if let Some((_, targets)) = line.trim().strip_prefix("branch ").and_then(|operands| operands.split_once(", ")) {
            // A target may have arguments: the second one begins with a block again.
            let second = targets
                .match_indices(", b")
                .map(|(at, _)| at)
                .find(|&at| targets[..at].matches('(').count() == targets[..at].matches(')').count());
            if let Some(at) = second {
                return vec![format!("    jump {}", &targets[..at]), format!("    jump {}", &targets[at + 2..])];
            }
        }
        Vec::new()
    }
}

/// Whether the command finds the fault in a file.
fn has_fault(path: &Path, question: &Question<'_>) -> Result<bool> {
    let [program, arguments @ ..] = question.command else { bail!("there is no command") };
    let mut child = Command::new(program)
        .args(arguments)
        .arg(path)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| program.clone())?;
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if started.elapsed() > question.limit {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn reduce<F: Form>(
    form: &F,
    mut pieces: Vec<F::Piece>,
    output: &Path,
    question: &Question<'_>,
) -> Result<(usize, usize)> {
    let before = pieces.len();
    // The command sees the name of the output, with its extension.
    let shows = |pieces: &[F::Piece]| {
        std::fs::write(output, form.bytes(pieces)).with_context(|| output.display().to_string())?;
        has_fault(output, question)
    };
    ensure!(shows(&pieces)?, "the command does not find the fault in the whole file");
    let well_formed = form.is_well_formed(&pieces);
    let holds = |pieces: &[F::Piece]| {
        Ok::<bool, anyhow::Error>((!well_formed || form.is_well_formed(pieces)) && shows(pieces)?)
    };
    let mut count = pieces.len().div_ceil(2).max(1);
    loop {
        let mut changed = false;
        // From the end: uses go before definitions.
        let mut end = pieces.len();
        while end > 0 {
            let start = end.saturating_sub(count);
            let mut fewer = pieces.clone();
            fewer.drain(start..end);
            if holds(&fewer)? {
                (pieces, changed) = (fewer, true);
            }
            end = start;
        }
        if count > 1 {
            count = count.div_ceil(2);
            continue;
        }
        for at in 0..pieces.len() {
            for simpler in form.simpler(&pieces[at]) {
                let old = std::mem::replace(&mut pieces[at], simpler);
                if holds(&pieces)? {
                    changed = true;
                    break;
                }
                pieces[at] = old;
            }
        }
        if !changed {
            break;
        }
    }
    std::fs::write(output, form.bytes(&pieces))?;
    Ok((before, pieces.len()))
}

/// Where the result goes by default: beside the input.
pub(crate) fn beside(file: &Path) -> PathBuf {
    let extension = file.extension().unwrap_or_default().to_string_lossy().into_owned();
    file.with_extension(format!("small.{extension}"))
}
