//! From words to instructions: checks the header and the shape of the instruction stream, then runs rspirv's parser.
//!
//! A walk over the stream prepares it for the parser. It checks that each word count stays inside the module, removes
//! instructions without semantics (source text), and rewrites `OpSpecConstantOp` as the instruction that it wraps, so that the
//! grammar's operand rules apply to it. It also records each instruction's word offset, which the parser does not keep. The
//! semantics of instructions are not checked here.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rspirv::binary::{Consumer, DecodeError, ParseAction, ParseState, Parser};
use rspirv::dr;
use rspirv::grammar::{INSTRUCTION_TABLE as CORE, OperandKind};
use rspirv::spirv::{Decoration, MAGIC_NUMBER, Op};

use crate::{ImportError, SPIRV_VERSIONS};

/// Largest id bound accepted: SPIR-V's universal limit.
const MAX_BOUND: u32 = 0x3f_ffff + 1;
/// Words before the first instruction.
const HEADER_WORDS: usize = 5;

/// Why an instruction cannot be imported, before its position is attached.
#[derive(Clone, Debug)]
pub(crate) struct InstError {
    unsupported: bool,
    reason: String,
}

impl InstError {
    /// The module violates a rule of SPIR-V.
    pub(crate) fn malformed(reason: impl Into<String>) -> InstError {
        InstError { unsupported: false, reason: reason.into() }
    }

    /// The module is valid but needs a feature that is not implemented.
    pub(crate) fn unsupported(reason: impl Into<String>) -> InstError {
        InstError { unsupported: true, reason: reason.into() }
    }

    /// The error at an instruction.
    pub(crate) fn at(self, inst: &Inst) -> ImportError {
        self.at_word(inst.word, inst.name())
    }

    /// The error at a word offset.
    pub(crate) fn at_word(self, word: usize, instruction: String) -> ImportError {
        let InstError { unsupported, reason } = self;
        if unsupported {
            ImportError::Unsupported { word, instruction, reason }
        } else {
            ImportError::Malformed { word, instruction, reason }
        }
    }
}

/// One instruction with its position.
#[derive(Clone, Debug)]
pub(crate) struct Inst {
    /// Word offset in the module.
    pub(crate) word: usize,
    /// Whether it was wrapped in an `OpSpecConstantOp`.
    pub(crate) spec_op: bool,
    /// The instruction.
    pub(crate) dr: dr::Instruction,
}

impl Inst {
    /// Its opcode; for an `OpSpecConstantOp` the opcode that it wraps.
    pub(crate) fn op(&self) -> Op {
        self.dr.class.opcode
    }

    /// Its name for messages.
    pub(crate) fn name(&self) -> String {
        if self.spec_op {
            format!("OpSpecConstantOp {}", self.dr.class.opname)
        } else {
            format!("Op{}", self.dr.class.opname)
        }
    }

    /// The result id.
    pub(crate) fn result(&self) -> Result<u32, InstError> {
        self.dr.result_id.ok_or_else(|| InstError::malformed("the result id is missing"))
    }

    /// The result type's id.
    pub(crate) fn result_type(&self) -> Result<u32, InstError> {
        self.dr.result_type.ok_or_else(|| InstError::malformed("the result type is missing"))
    }

    /// Number of operands.
    pub(crate) fn len(&self) -> usize {
        self.dr.operands.len()
    }

    /// Any operand.
    pub(crate) fn operand(&self, index: usize) -> Result<&dr::Operand, InstError> {
        self.dr.operands.get(index).ok_or_else(|| InstError::malformed(format!("operand {index} is missing")))
    }

    /// An operand that is an id.
    pub(crate) fn id(&self, index: usize) -> Result<u32, InstError> {
        self.operand(index)?.id_ref_any().ok_or_else(|| InstError::malformed(format!("operand {index} is not an id")))
    }

    /// The ids from an operand on; all operands from there must be ids.
    pub(crate) fn ids_from(&self, index: usize) -> Result<Vec<u32>, InstError> {
        (index..self.len()).map(|i| self.id(i)).collect()
    }

    /// A literal number of one word.
    pub(crate) fn literal(&self, index: usize) -> Result<u32, InstError> {
        let (dr::Operand::LiteralBit32(value) | dr::Operand::LiteralExtInstInteger(value)) = self.operand(index)?
        else {
            return Err(InstError::malformed(format!("operand {index} is not a literal number")));
        };
        Ok(*value)
    }

    /// The literal numbers from an operand on.
    pub(crate) fn literals_from(&self, index: usize) -> Result<Vec<u32>, InstError> {
        (index..self.len()).map(|i| self.literal(i)).collect()
    }

    /// A literal string.
    pub(crate) fn string(&self, index: usize) -> Result<&str, InstError> {
        let dr::Operand::LiteralString(text) = self.operand(index)? else {
            return Err(InstError::malformed(format!("operand {index} is not a string")));
        };
        Ok(text)
    }
}

/// A module's instructions.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    /// SPIR-V version (major, minor).
    pub(crate) version: (u8, u8),
    /// Number of the tool that made the module.
    pub(crate) generator: u32,
    /// The instructions in order, without those that have no semantics.
    pub(crate) insts: Vec<Inst>,
}

/// Parses a module's words.
///
/// # Errors
/// [`ImportError`] when they are not SPIR-V of a supported version, or an instruction does not follow the grammar.
pub(crate) fn parse(words: &[u32]) -> Result<Parsed, ImportError> {
    let (version, bound) = header(words)?;
    let Walked { words: cleaned, places } = walk(words)?;
    let mut collector = Collector { insts: Vec::with_capacity(places.len()) };
    let bytes: Vec<u8> = cleaned.iter().flat_map(|word| word.to_le_bytes()).collect();
    // The parser has panicked on broken input; the walk above removes the known cause.
    let outcome = catch_unwind(AssertUnwindSafe(|| Parser::new(&bytes, &mut collector).parse()));
    let mut drs = collector.insts;
    let failed = |reason: InstError| {
        let place = places.get(drs.len());
        let (word, opcode) = place.map_or((words.len(), None), |p| (p.word, Some(p.opcode)));
        reason.at_word(word, opcode.map_or_else(|| "module".to_owned(), opcode_name))
    };
    match outcome {
        Ok(Ok(())) => {}
        Ok(Err(state)) => return Err(failed(parse_error(&state))),
        Err(_) => return Err(failed(InstError::malformed("operands cannot be read"))),
    }
    if drs.len() != places.len() {
        return Err(failed(InstError::malformed("operands cannot be read")));
    }
    let insts = drs
        .drain(..)
        .zip(&places)
        .map(|(dr, place)| Inst { word: place.word, spec_op: place.spec_op, dr })
        .collect::<Vec<_>>();
    for inst in &insts {
        check_ids(inst, bound).map_err(|error| error.at(inst))?;
    }
    Ok(Parsed { version, generator: words[2] >> 16, insts })
}

/// Checks that ids are below the bound and not 0.
fn check_ids(inst: &Inst, bound: u32) -> Result<(), InstError> {
    // Operands of extended instructions may be literals, which the parser reads as ids; `ops/misc.rs` checks them.
    let checked = if matches!(inst.op(), Op::ExtInst) { 1 } else { inst.dr.operands.len() };
    let used = inst.dr.operands.iter().take(checked).filter_map(dr::Operand::id_ref_any);
    for id in used.chain(inst.dr.result_id).chain(inst.dr.result_type) {
        if id == 0 || id >= bound {
            return Err(InstError::malformed(format!("id {id} is out of bounds (bound {bound})")));
        }
    }
    Ok(())
}

/// The text form of an opcode.
fn opcode_name(opcode: u16) -> String {
    match CORE.lookup_opcode(opcode.into()) {
        Some(class) => format!("Op{}", class.opname),
        None => format!("opcode {opcode}"),
    }
}

/// Checks the header; version and id bound.
fn header(words: &[u32]) -> Result<((u8, u8), u32), ImportError> {
    let bad = |word, reason: String| Err(InstError::malformed(reason).at_word(word, "header".to_owned()));
    let [magic, version, _generator, bound, schema, ..] = *words else {
        return bad(words.len(), format!("{} words are too few for a header", words.len()));
    };
    if magic == MAGIC_NUMBER.swap_bytes() {
        return bad(0, "the words are in the wrong byte order".to_owned());
    }
    if magic != MAGIC_NUMBER {
        return bad(0, format!("magic number {magic:#010x} instead of {MAGIC_NUMBER:#010x}"));
    }
    let [_, major, minor, _] = version.to_be_bytes();
    if version & 0xff00_00ff != 0 || !SPIRV_VERSIONS.contains(&(major, minor)) {
        return bad(1, format!("version word {version:#010x} is not a supported version"));
    }
    if bound == 0 || bound > MAX_BOUND {
        return bad(3, format!("id bound {bound} is out of range"));
    }
    if schema != 0 {
        return bad(4, format!("instruction schema {schema} is not defined"));
    }
    Ok(((major, minor), bound))
}

/// Original position of an instruction of the cleaned stream.
struct InstPlace {
    word: usize,
    opcode: u16,
    spec_op: bool,
}

struct Walked {
    words: Vec<u32>,
    places: Vec<InstPlace>,
}

/// Opcodes that the parser's grammar lacks, and equivalent instructions: `OpPoisonKHR` and `OpFreezeKHR`
/// (`SPV_KHR_poison_freeze`). In kir an undefined value is the same at all its uses, so freezing it is a copy.
const SYNONYMS: [(u16, Op); 2] = [(5158, Op::Undef), (5159, Op::CopyObject)];
/// The capability that enables them, and their execution mode.
const POISON_FREEZE: u32 = 5156;
const POISON_FREEZE_MODE: u32 = 5157;

/// Walks the stream and prepares it for the parser.
fn walk(words: &[u32]) -> Result<Walked, ImportError> {
    let mut out = Vec::with_capacity(words.len());
    out.extend_from_slice(&words[..HEADER_WORDS]);
    let mut places = Vec::new();
    let mut at = HEADER_WORDS;
    while at < words.len() {
        let (count, opcode) = ((words[at] >> 16) as usize, words[at] as u16);
        let bad = |error: InstError| error.at_word(at, opcode_name(opcode));
        if count == 0 {
            return Err(bad(InstError::malformed("the word count is 0")));
        }
        let Some(inst) = words.get(at..at + count) else {
            let left = words.len() - at;
            return Err(bad(InstError::malformed(format!(
                "the instruction has {count} words, but the module has only {left} more"
            ))));
        };
        if matches!(inst, [first, POISON_FREEZE] if *first as u16 == Op::Capability as u16)
            || matches!(inst, [first, _, POISON_FREEZE_MODE] if *first as u16 == Op::ExecutionMode as u16)
        {
            at += count;
            continue;
        }
        let mut spec_op = false;
        let start = out.len();
        if let Some(&(_, same)) = SYNONYMS.iter().find(|&&(number, _)| number == opcode) {
            out.push(inst[0] & 0xffff_0000 | same as u32);
            out.extend_from_slice(&inst[1..]);
        } else {
            let Some(class) = CORE.lookup_opcode(opcode.into()) else {
                return Err(bad(InstError::unsupported("unknown opcode")));
            };
            #[expect(clippy::wildcard_enum_match_arm, reason = "all other instructions are taken as they are")]
            match class.opcode {
                Op::Nop | Op::SourceContinued | Op::Source | Op::SourceExtension | Op::ModuleProcessed => {
                    at += count;
                    continue;
                }
                Op::Decorate if is_internal_linkage(inst) => {
                    at += count;
                    continue;
                }
                Op::SpecConstantOp => {
                    unwrap_spec_op(inst, &mut out).map_err(bad)?;
                    spec_op = true;
                }
                // LLVM's back end appends the type once more for each further use of a null event.
                Op::ConstantNull if matches!(inst, [_, ty, _, again @ ..] if again.iter().all(|word| word == ty)) => {
                    out.extend_from_slice(&[3 << 16 | u32::from(opcode), inst[1], inst[2]]);
                }
                _ => out.extend_from_slice(inst),
            }
        }
        let opcode = out[start] as u16;
        if let Some(class) = CORE.lookup_opcode(opcode.into()) {
            repair_strings(class.operands.iter().map(|operand| operand.kind), &mut out[start..]);
        }
        places.push(InstPlace { word: at, opcode, spec_op });
        at += count;
    }
    Ok(Walked { words: out, places })
}

/// Whether an instruction decorates with the linkage "internal", which means no linkage. Versions of the SPIR-V-LLVM translator
/// up to 15 write it for helper functions that they generate.
fn is_internal_linkage(decorate: &[u32]) -> bool {
    const INTERNAL: u32 = i32::MAX as u32 - 1;
    matches!(decorate, [_, _, kind, .., linkage] if *kind == Decoration::LinkageAttributes as u32 && *linkage == INTERNAL)
}

/// Appends the instruction that an `OpSpecConstantOp` wraps.
fn unwrap_spec_op(inst: &[u32], out: &mut Vec<u32>) -> Result<(), InstError> {
    let [first, result_type, result, opcode, operands @ ..] = inst else {
        return Err(InstError::malformed("operands are missing"));
    };
    let class = CORE.lookup_opcode(*opcode).ok_or_else(|| InstError::malformed(format!("unknown opcode {opcode}")))?;
    if !super::specialize::is_foldable(class.opcode) {
        return Err(InstError::malformed(format!("Op{} may not be used in OpSpecConstantOp", class.opname)));
    }
    let count = (first >> 16) - 1;
    out.extend_from_slice(&[count << 16 | opcode, *result_type, *result]);
    out.extend_from_slice(operands);
    Ok(())
}

/// Makes strings valid UTF-8, which the parser requires: replaces the bytes that are not ASCII by `?` in strings of other
/// encodings. Only the first string operand is repaired, which follows ids of one word each; no instruction has another one
/// that matters.
fn repair_strings(kinds: impl Iterator<Item = OperandKind>, inst: &mut [u32]) {
    let mut at = 1;
    for kind in kinds {
        #[expect(clippy::wildcard_enum_match_arm, reason = "all other operands are one word")]
        match kind {
            OperandKind::LiteralString => {
                let Some(text) = inst.get_mut(at..) else { return };
                let bytes: Vec<u8> = text.iter().flat_map(|word| word.to_le_bytes()).collect();
                let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
                if std::str::from_utf8(&bytes[..end]).is_err() {
                    let mut clean = bytes;
                    clean[..end].iter_mut().filter(|byte| !byte.is_ascii()).for_each(|byte| *byte = b'?');
                    for (word, bytes) in text.iter_mut().zip(clean.chunks_exact(4)) {
                        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                    }
                }
                return;
            }
            OperandKind::Decoration => return,
            _ => at += 1,
        }
    }
}

/// Translates an error of the parser. The positions in it refer to the cleaned stream and are dropped.
fn parse_error(state: &ParseState) -> InstError {
    match state {
        ParseState::OperandExpected(..) => InstError::malformed("operands are missing"),
        ParseState::OperandExceeded(..) => InstError::malformed("there are too many operands"),
        ParseState::WordCountZero(..) => InstError::malformed("the word count is 0"),
        ParseState::OpcodeUnknown(..) | ParseState::SpecConstantOpIntegerIncorrect(..) => {
            InstError::malformed("unknown opcode")
        }
        ParseState::TypeUnsupported(..) => InstError::unsupported("a literal of this width"),
        ParseState::OperandError(DecodeError::StreamExpected(_) | DecodeError::LimitReached(_)) => {
            InstError::malformed("operands are missing")
        }
        ParseState::OperandError(DecodeError::DecodeStringFailed(..)) => InstError::malformed("a string is not UTF-8"),
        ParseState::OperandError(unknown) => InstError::malformed(format!("unknown enumerant: {unknown:?}")),
        ParseState::HeaderIncomplete(_) | ParseState::HeaderIncorrect | ParseState::EndiannessUnsupported => {
            InstError::malformed("the header is invalid")
        }
        ParseState::Complete | ParseState::ConsumerStopRequested | ParseState::ConsumerError(_) => {
            unreachable!("broken invariant: the collector never stops the parser")
        }
    }
}

/// Collects the instructions that the parser reads.
struct Collector {
    insts: Vec<dr::Instruction>,
}

impl Consumer for Collector {
    fn initialize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn finalize(&mut self) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_header(&mut self, _: dr::ModuleHeader) -> ParseAction {
        ParseAction::Continue
    }

    fn consume_instruction(&mut self, inst: dr::Instruction) -> ParseAction {
        self.insts.push(inst);
        ParseAction::Continue
    }
}
