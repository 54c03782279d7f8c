//! Compiles functions in Cranelift's IR: chooses the register allocator and the instruction set for each function, and shares
//! equal outlined cold functions within a program.

use std::fmt::Write;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use clift_kir::Function;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir;
use cranelift_codegen::isa::CallConv;
use cranelift_module::{FuncId, ModuleError, ModuleReloc};
use rustc_hash::{FxHashMap, FxHasher};

use super::CraneliftBackend;
use super::allocator::use_single_pass_regalloc;
use super::cold::exchange;
use super::constants::PoolVectors;
use super::source::{listing, places};
use super::translate::Translated;
use super::widening_multiply::has_only_widening_multiplies;
use crate::BuildError;
use crate::codegen::code_memory::{CodeMemory, PlacedCode, describe};
use crate::codegen::data::ProgramData;
use crate::codegen::demote;
use crate::codegen::native::{DefinedFunction, MAX_FRAME, Session, frame_too_large};

/// The largest frame of a function that preserves all registers: for larger ones, Cranelift's loop that touches each page of the
/// frame uses a register without preserving it.
const MAX_PRESERVING_FRAME: u32 = 4 * 4096;

/// Compiles the functions of one program.
pub(super) struct CraneliftSession {
    backend: &'static CraneliftBackend,
    memory: CodeMemory,
    /// Outlined cold functions by hash.
    outlined: FxHashMap<u64, Vec<(ir::function::FunctionStencil, FuncId)>>,
    /// The constant pools of the functions.
    pools: Vec<PoolVectors>,
    context: Context,
    dump_clif: bool,
    dump_code: bool,
    log: String,
}

impl CraneliftSession {
    /// A session that logs Cranelift's IR and machine code if `dump` lists them.
    pub(super) fn new(backend: &'static CraneliftBackend, dump: &[String]) -> CraneliftSession {
        let dumps = |name: &str| dump.iter().any(|wanted| wanted == name);
        CraneliftSession {
            backend,
            memory: backend.code_memory(),
            outlined: FxHashMap::default(),
            pools: Vec::new(),
            context: Context::new(),
            dump_clif: dumps("clif"),
            dump_code: dumps("asm"),
            log: String::new(),
        }
    }

    /// Compiles an outlined cold function, or finds an equal one that has been compiled.
    fn outlined(&mut self, outlined: ir::Function) -> Result<FuncId, BuildError> {
        let mut hasher = FxHasher::default();
        outlined.stencil.hash(&mut hasher);
        let hash = hasher.finish();
        let known =
            self.outlined.get(&hash).and_then(|known| known.iter().find(|(known, _)| *known == outlined.stencil));
        if let Some(&(_, id)) = known {
            return Ok(id);
        }
        let stencil = outlined.stencil.clone();
        let (id, _) = self.compile("outlined cold code", outlined, &[], false)?;
        self.outlined.entry(hash).or_default().push((stencil, id));
        Ok(id)
    }

    /// Compiles a function. Also returns the size of its stack frame.
    fn compile(
        &mut self,
        name: &str,
        func: ir::Function,
        pool: &[u128],
        has_demoted: bool,
    ) -> Result<(FuncId, u32), BuildError> {
        self.context.func = func;
        // Cranelift's text is needed only where the listing cannot decode the code.
        self.context.set_disasm(self.dump_code && cfg!(not(target_arch = "x86_64")));
        if self.dump_clif {
            let _ = writeln!(self.log, "; clif {name}\n{}", self.context.func);
        }
        let isas = &self.backend.isas;
        let isa = if has_demoted {
            &isas.unoptimized
        } else if use_single_pass_regalloc(&mut self.context) {
            &isas.single_pass
        } else if has_only_widening_multiplies(&self.context.func) {
            &isas.widening
        } else {
            &isas.backtracking
        };
        let compiled = self.context.compile(&**isa, &mut ControlPlane::default()).map(|_| ());
        let compiled = compiled.map_err(|error| describe(ModuleError::Compilation(error.inner)));
        let defined = compiled.and_then(|()| {
            let Some(code) = self.context.compiled_code() else { unreachable!("broken invariant: no code") };
            let preserves_all = self.context.func.signature.call_conv == CallConv::PreserveAll;
            let most = if preserves_all { MAX_PRESERVING_FRAME } else { MAX_FRAME };
            let frame = code.buffer.frame_layout().map_or(0, |frame| frame.frame_to_fp_offset);
            if frame > most {
                return Err(frame_too_large(frame.into(), most));
            }
            let id = self.memory.declare(&self.context.func.signature)?;
            let places = places(code);
            if self.dump_code {
                let _ = writeln!(self.log, "; asm {name}\n{}", listing(code, &places, pool));
            }
            let relocs = code.buffer.relocs().iter();
            let relocs: Vec<_> =
                relocs.map(|reloc| ModuleReloc::from_mach_reloc(reloc, &self.context.func, id)).collect();
            let align = u64::from(code.buffer.alignment);
            self.memory.define(id, name, code.code_buffer(), align, &relocs, places).map(|()| (id, frame))
        });
        self.context.clear();
        defined
    }
}

impl Session for CraneliftSession {
    fn define(&mut self, name: &str, func: &Function, data: &ProgramData) -> Result<DefinedFunction, BuildError> {
        let has_demoted = demote::has_demoted(func, self.backend.caps.demotion);
        let Translated { mut func, outlined, pool } = self.backend.translate(func, data, true);
        for (number, outlined) in (0..).zip(outlined) {
            let id = self.outlined(outlined)?;
            exchange::bind_outlined(&mut func, number, id.as_u32());
        }
        let (id, frame) = self.compile(name, func, &pool, has_demoted)?;
        self.pools.push(pool);
        Ok(DefinedFunction { number: self.memory.add_entry(id), frame })
    }

    fn finish(self: Box<Self>, data: Arc<ProgramData>) -> Result<PlacedCode, BuildError> {
        self.memory.finish(data, Box::new(self.pools), self.log)
    }
}
