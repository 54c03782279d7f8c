//! The sites of a kernel's checks, and what is known of the objects they access.

use clift_include::check::{
    ArgBounds, ArgName, CallSite, CheckKind, KernelChecks, Position, Site, SiteKind, SiteObject,
};
use clift_kir::{Function, Global, GlobalData, Imm, InlinedCall, Loc, Slot, Value};
use cranelift_entity::PrimaryMap;
use rustc_hash::FxHashMap;

use super::provenance::Object;
use crate::program::{ArgInfo, ArgKind};

/// Bytes of the bounds of an argument in the argument block.
const BOUNDS_BYTES: u32 = 16;

/// How the size of an object is known.
#[derive(Clone, Copy, Debug)]
pub(super) enum Size {
    /// When the kernel is compiled.
    Constant(u64),
    /// When it is launched: the bounds are at this offset of the argument block.
    Bounds(u32),
}

/// How an access is checked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Check {
    /// It cannot leave its object, or its object is the driver's.
    None,
    /// Against an object: its number for [`SiteObject`]s, its size, and where the object begins, seen from its address.
    Object(Object, Size, u64),
    /// By looking up the address.
    Lookup,
}

/// Collects the sites of a kernel.
pub(super) struct Sites<'a> {
    pub(super) checks: KernelChecks,
    args: &'a [ArgInfo],
    pub(super) globals: &'a mut PrimaryMap<Global, GlobalData>,
    /// The numbers of the sites.
    numbers: FxHashMap<Site, usize>,
    /// The names of the function's private variables, when they have been asked for.
    slot_names: Option<FxHashMap<Slot, String>>,
    /// The end of the argument block.
    end: u32,
}

impl<'a> Sites<'a> {
    /// Continues a table.
    pub(super) fn new(
        checks: KernelChecks,
        args: &'a [ArgInfo],
        globals: &'a mut PrimaryMap<Global, GlobalData>,
        arg_block_bytes: u32,
    ) -> Sites<'a> {
        let numbers = checks.sites.iter().cloned().enumerate().map(|(number, site)| (site, number)).collect();
        Sites { checks, args, globals, numbers, slot_names: None, end: arg_block_bytes.next_multiple_of(8) }
    }

    /// Where the argument block contains the distance to the shadow of local memory.
    pub(super) fn local_shadow(&mut self) -> u32 {
        let end = &mut self.end;
        *self.checks.local_shadow.get_or_insert_with(|| {
            *end += 8;
            *end - 8
        })
    }

    /// Where the argument block says whether arguments share memory with those that the kernel writes. This requires the bounds
    /// of all.
    pub(super) fn shared(&mut self) -> u32 {
        for number in 0..self.args.len() {
            self.bounds(self.args[number].slot.offset);
            if let Some(bounds) = self.checks.bounds.iter_mut().find(|bounds| bounds.arg.index as usize == number) {
                bounds.written = self.args[number].written;
            }
        }
        let end = &mut self.end;
        *self.checks.shared.get_or_insert_with(|| {
            *end += 8;
            *end - 8
        })
    }

    /// Where so many more 64-bit numbers of the argument block are.
    pub(super) fn words(&mut self, count: u32) -> u32 {
        self.end += 8 * count;
        self.end - 8 * count
    }

    /// Whether the kernel writes the object behind an argument.
    pub(super) fn is_written(&self, offset: u32) -> bool {
        self.args.iter().all(|arg| arg.slot.offset != offset || arg.written)
    }

    /// Where the argument block contains the size of the object behind a pointer argument.
    pub(super) fn size_of_argument(&mut self, offset: u32) -> Option<u32> {
        let bounds = self.bounds(offset)?;
        Some(self.checks.bounds[bounds].offset + 8)
    }

    /// The size of the argument block with all bounds.
    pub(super) fn arg_block_bytes(&self) -> u32 {
        self.end
    }

    fn arg_name(&self, index: usize) -> ArgName {
        ArgName { index: index as u32, name: self.args[index].name.clone() }
    }

    /// The argument by value that contains an offset of the argument block.
    fn by_value(&self, offset: u32) -> Option<usize> {
        self.args.iter().position(|arg| {
            arg.kind == ArgKind::Value && (arg.slot.offset..arg.slot.offset + arg.slot.size).contains(&offset)
        })
    }

    /// The index of a pointer argument's bounds.
    fn bounds(&mut self, offset: u32) -> Option<usize> {
        if let Some(known) = self.checks.bounds.iter().position(|bounds| bounds.value == offset) {
            return Some(known);
        }
        let index = self.args.iter().position(|arg| arg.slot.offset == offset)?;
        match self.args[index].kind {
            ArgKind::GlobalPointer | ArgKind::ConstantPointer | ArgKind::LocalPointer { .. } => {}
            ArgKind::Value | ArgKind::Image { .. } | ArgKind::Sampler | ArgKind::Pipe | ArgKind::Queue => return None,
        }
        let is_local = matches!(self.args[index].kind, ArgKind::LocalPointer { .. });
        let (arg, written) = (self.arg_name(index), self.args[index].written);
        let bounds = ArgBounds { arg, value: offset, offset: self.end, is_local, written };
        self.end += BOUNDS_BYTES;
        self.checks.bounds.push(bounds);
        Some(self.checks.bounds.len() - 1)
    }

    /// Whether the driver itself made the object behind an argument.
    pub(super) fn is_of_driver(&self, offset: u32) -> bool {
        self.args.iter().any(|arg| {
            arg.slot.offset == offset
                && matches!(arg.kind, ArgKind::Image { .. } | ArgKind::Sampler | ArgKind::Pipe | ArgKind::Queue)
        })
    }

    /// How an access of `bytes` bytes (if that is constant), whose offset is between two numbers (if that is known), is checked.
    pub(super) fn check(
        &mut self,
        func: &Function,
        object: Option<Object>,
        reach: Option<(i128, i128)>,
        bytes: Option<u64>,
    ) -> Check {
        let Some(object) = object else { return Check::Lookup };
        let (size, start) = match object {
            Object::Argument(offset, _) => {
                if self.is_of_driver(offset) {
                    return Check::None;
                }
                match self.bounds(offset) {
                    Some(bounds) => (Size::Bounds(self.checks.bounds[bounds].offset), 0),
                    None => return Check::Lookup,
                }
            }
            Object::ByValue(offset) => match self.by_value(offset) {
                Some(index) => {
                    let slot = self.args[index].slot;
                    (Size::Constant(slot.size.into()), u64::from(offset - slot.offset))
                }
                None => return Check::None,
            },
            Object::Variable(global, _) => (Size::Constant(self.globals[global].size), 0),
            Object::Slot(slot) => (Size::Constant(func.slots[slot].size), 0),
        };
        if let (Size::Constant(size), Some((lowest, highest)), Some(bytes)) = (size, reach, bytes)
            && let Some(end) = highest.checked_add(i128::from(start) + i128::from(bytes))
            && lowest >= -i128::from(start)
            && end <= i128::from(size)
        {
            return Check::None;
        }
        Check::Object(object, size, start)
    }

    /// Adds a site and returns its number.
    pub(super) fn add(
        &mut self,
        func: &Function,
        check: CheckKind,
        kind: SiteKind,
        object: Option<Object>,
        loc: Loc,
    ) -> usize {
        let object = match object {
            None => SiteObject::Unknown,
            Some(Object::Argument(offset, _)) => match self.bounds(offset) {
                Some(bounds) => SiteObject::Argument(bounds),
                None => SiteObject::Unknown,
            },
            Some(Object::ByValue(offset)) => match self.by_value(offset) {
                Some(index) => SiteObject::ByValue(self.arg_name(index), self.args[index].slot.size.into()),
                None => SiteObject::None,
            },
            Some(Object::Variable(global, space)) => {
                let GlobalData { name, size, .. } = &self.globals[global];
                if let clift_kir::Space::Local = space {
                    SiteObject::Local(name.clone(), *size)
                } else {
                    SiteObject::Program(name.clone(), *size)
                }
            }
            Some(Object::Slot(slot)) => {
                let names = self.slot_names.get_or_insert_with(|| slot_names(func));
                SiteObject::Private(names.get(&slot).cloned(), func.slots[slot].size)
            }
        };
        let call =
            |call: &InlinedCall| CallSite { callee: call.callee.clone(), line: call.loc.line, column: call.loc.column };
        let calls = func.calls_of(loc).map(call).collect();
        let position = Position { word: loc.word, line: loc.line, column: loc.column, calls };
        let site = Site { check, kind, object, position };
        *self.numbers.entry(site).or_insert_with_key(|site| {
            self.checks.sites.push(site.clone());
            self.checks.sites.len() - 1
        })
    }
}

/// The names of private variables: those of their addresses, the first if there are several.
fn slot_names(func: &Function) -> FxHashMap<Slot, String> {
    let mut named: FxHashMap<Slot, (Value, &String)> = FxHashMap::default();
    for (&value, name) in &func.names {
        let Some(inst) = func.dfg.def_inst(value) else { continue };
        let Imm::Slot(slot) = func.dfg.inst(inst).imm else { continue };
        let first = named.entry(slot).or_insert((value, name));
        if value < first.0 {
            *first = (value, name);
        }
    }
    named.into_iter().map(|(slot, (_, name))| (slot, name.clone())).collect()
}
