//! Accesses to images as kernel IR, specialized for the formats and samplers of a launch.
//!
//! `image_read` and `image_write` are independent of the image's format and the sampler, which are only known at the launch. The
//! kernel is specialized for those of the launch ([`Facts`]): [`expand()`] replaces each access by plain kir, so that sampling is
//! vectorized with the kernel, and accesses at consecutive coordinates become contiguous loads:
//!
//! - `coordinates.rs`: from coordinates to elements, by addressing and filter mode;
//! - `texel.rs`: conversion between the bits of an element and a colour, by the format's layout; `grouped.rs`: elements that
//!   share bytes;
//! - `sample.rs`: reads; `store.rs`: writes.
//!
//! If an access may refer to several images (because a compiler merged two accesses), there is code for each of their formats,
//! selected by the descriptor at run time.
//!
//! Coordinates outside the image never access memory outside it: reads are clamped, writes are dropped.
//!
//! Not here: the list of formats and the descriptors ([`clift_include::image`]).

mod coordinates;
mod grouped;
mod sample;
mod store;
mod texel;

use std::mem::offset_of;

use clift_include::image::{Addressing, ArgFact, Format, ImageDescriptor, Sampler};
use clift_kir::dfg::ValueDef;
use clift_kir::inst::{ImageInfo, MemInfo};
use clift_kir::{Block, BlockCall, Builder, Function, Imm, Inst, Module, Opcode, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::program::{ArgInfo, ArgKind};

/// The known properties of a kernel's image and sampler arguments, by their offsets in the argument block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Facts(pub(crate) Vec<(u32, ArgFact)>);

/// The properties of an image for which code is specialized.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ImageKind {
    format: Format,
    mipmapped: bool,
}

impl ImageKind {
    /// The properties that are assumed of an unknown image.
    const DEFAULT: ImageKind = ImageKind { format: Format::RGBA8, mipmapped: false };
}

impl Facts {
    /// Typical arguments: images with byte components, samplers without filtering.
    pub(crate) fn default_for(args: &[ArgInfo]) -> Facts {
        let fact = |arg: &ArgInfo| match arg.kind {
            ArgKind::Image { .. } => {
                Some(ArgFact::Image { format: ImageKind::DEFAULT.format, mipmapped: ImageKind::DEFAULT.mipmapped })
            }
            ArgKind::Sampler => Some(ArgFact::Sampler(Sampler::new(false, Addressing::ClampToEdge, false).modes())),
            ArgKind::Value
            | ArgKind::GlobalPointer
            | ArgKind::ConstantPointer
            | ArgKind::LocalPointer { .. }
            | ArgKind::Pipe
            | ArgKind::Queue => None,
        };
        Facts(args.iter().filter_map(|arg| Some((arg.slot.offset, fact(arg)?))).collect())
    }

    fn images(&self) -> SmallVec<[ImageKind; 4]> {
        self.0.iter().filter_map(|(_, fact)| image(fact)).collect()
    }

    fn samplers(&self) -> SmallVec<[Sampler; 4]> {
        self.0.iter().filter_map(|(_, fact)| sampler(fact)).collect()
    }

    fn of(&self, offset: u32) -> Option<&ArgFact> {
        self.0.iter().find(|(at, _)| *at == offset).map(|(_, fact)| fact)
    }
}

fn image(fact: &ArgFact) -> Option<ImageKind> {
    match *fact {
        ArgFact::Image { format, mipmapped } => Some(ImageKind { format, mipmapped }),
        ArgFact::Sampler(_) => None,
    }
}

fn sampler(fact: &ArgFact) -> Option<Sampler> {
    match *fact {
        ArgFact::Image { .. } => None,
        ArgFact::Sampler(sampler) => Some(sampler.modes()),
    }
}

/// Whether a kernel of a module accesses images.
pub(crate) fn has_accesses_in(module: &Module) -> bool {
    module.kernels.iter().any(|kernel| has_accesses(&module.funcs[kernel.func]))
}

/// Whether a function accesses images.
pub(crate) fn has_accesses(func: &Function) -> bool {
    let accesses = |&inst: &Inst| is_access(func.dfg.inst(inst).op);
    func.layout.blocks().iter().any(|&block| func.layout.insts(block).iter().any(accesses))
}

fn is_access(op: Opcode) -> bool {
    [Opcode::ImageRead, Opcode::ImageWrite].contains(&op)
}

/// Replaces all accesses to images by plain kir.
pub(crate) fn expand(func: &mut Function, facts: &Facts) {
    let origins = ArgOrigins::new(func);
    let mut results: FxHashMap<Value, Value> = FxHashMap::default();
    let mut work: Vec<Block> = func.layout.blocks().to_vec();
    while let Some(block) = work.pop() {
        let at = func.layout.insts(block).iter().position(|&inst| is_access(func.dfg.inst(inst).op));
        let Some(at) = at else { continue };
        let inst = func.layout.insts(block)[at];
        let rest = func.append_block();
        func.layout.split_off(block, at + 1, rest);
        func.layout.remove_inst(inst);
        let access = ImageAccess::new(func, inst);
        let images = origins.images(func, facts, access.image);
        let samplers = match access.sampler {
            Some(value) => origins.samplers(func, facts, value),
            None => SmallVec::from_slice(&[None]),
        };
        let loc = func.locs[inst];
        let old = func.dfg.results(inst).to_vec();
        let mut b = Builder::at_end(func, block);
        b.set_loc(loc);
        let colour = access.by_image(&mut b, &images, &samplers);
        b.jump(rest, &[]);
        results.extend(old.into_iter().zip(colour));
        work.push(rest);
    }
    let replaced = |mut value: Value| {
        while let Some(&new) = results.get(&value) {
            value = new;
        }
        value
    };
    for block in func.layout.blocks().to_vec() {
        for inst in func.layout.insts(block).to_vec() {
            func.dfg.map_uses(inst, replaced);
        }
    }
}

/// An access to an image.
#[derive(Clone, Copy)]
struct ImageAccess {
    info: ImageInfo,
    image: Value,
    /// `None` for reads without a sampler and for writes.
    sampler: Option<Value>,
    coordinates: Value,
    /// A float for reads, an integer for writes.
    level: Value,
    /// The colour that is written, or the type of the colour that is read.
    colour: Result<Value, Type>,
}

impl ImageAccess {
    fn new(func: &Function, inst: Inst) -> ImageAccess {
        let data = func.dfg.inst(inst);
        let Imm::Image(info) = data.imm else { unreachable!("broken invariant: {:?} with {:?}", data.op, data.imm) };
        let args = &data.args;
        if data.op == Opcode::ImageWrite {
            let colour = Ok(args[3]);
            return ImageAccess { info, image: args[0], sampler: None, coordinates: args[1], level: args[2], colour };
        }
        let sampled = info.has.contains(clift_kir::inst::ImageFlags::SAMPLER);
        let colour = Err(func.dfg.ty(func.dfg.result(inst)));
        let sampler = sampled.then_some(args[1]);
        ImageAccess { info, image: args[0], sampler, coordinates: args[2], level: args[3], colour }
    }

    /// Emits the access for each kind that the image may have.
    fn by_image(self, b: &mut Builder<'_>, kinds: &[ImageKind], samplers: &[Option<Sampler>]) -> Option<Value> {
        let keys: Vec<u64> = kinds.iter().map(|kind| key(kind.format)).collect();
        let select = |b: &mut Builder<'_>| {
            let mut number = |offset: usize| {
                let place = b.addr(self.image, None, 1, offset as i64);
                let number = b.load(Type::I32, place, DESCRIPTOR);
                b.int_resize(number, clift_kir::Elem::I64, false)
            };
            let order = number(offset_of!(ImageDescriptor, order));
            let data_type = number(offset_of!(ImageDescriptor, data_type));
            let high = b.iconst(Type::I64, 32);
            let order = b.int2(Opcode::Shl, order, high);
            b.int2(Opcode::Or, order, data_type)
        };
        self.cases(b, &keys, select, |b, i| self.by_sampler(b, kinds[i], samplers))
    }

    /// Emits the access for each of the modes that the sampler may have.
    fn by_sampler(self, b: &mut Builder<'_>, kind: ImageKind, samplers: &[Option<Sampler>]) -> Option<Value> {
        let keys: Vec<u64> = samplers.iter().map(|sampler| sampler.map_or(0, |sampler| sampler.0)).collect();
        let select = |b: &mut Builder<'_>| match self.sampler {
            Some(sampler) => {
                let modes = b.iconst(Type::I64, Sampler(u64::MAX).modes().0 as i64);
                b.int2(Opcode::And, sampler, modes)
            }
            None => b.iconst(Type::I64, 0),
        };
        self.cases(b, &keys, select, |b, i| self.emit(b, kind, samplers[i]))
    }

    /// Emits code for each case and a switch over them. The last case is the default; a single case needs no selector.
    fn cases(
        self,
        b: &mut Builder<'_>,
        keys: &[u64],
        select: impl FnOnce(&mut Builder<'_>) -> Value,
        mut case: impl FnMut(&mut Builder<'_>, usize) -> Option<Value>,
    ) -> Option<Value> {
        if keys.len() <= 1 {
            return case(b, 0);
        }
        let selector = select(b);
        let join = b.func.append_block();
        let blocks: Vec<Block> = keys.iter().map(|_| b.func.append_block()).collect();
        let (&default, others) = blocks.split_last()?;
        let cases = keys.iter().copied().zip(others.iter().map(|&block| BlockCall::new(block, &[]))).collect();
        b.switch(selector, cases, BlockCall::new(default, &[]));
        for (i, &block) in blocks.iter().enumerate() {
            b.switch_to(block);
            let colour = case(b, i);
            b.jump(join, colour.as_slice());
        }
        b.switch_to(join);
        self.colour.err().map(|ty| b.func.dfg.append_param(join, ty))
    }

    fn emit(self, b: &mut Builder<'_>, kind: ImageKind, sampler: Option<Sampler>) -> Option<Value> {
        let Some(layout) = kind.format.layout() else { unreachable!("broken invariant: {kind:?} is not supported") };
        match self.colour {
            Ok(colour) => {
                store::emit(b, self, kind, &layout, colour);
                None
            }
            Err(ty) => Some(sample::emit(b, self, kind, &layout, sampler, ty)),
        }
    }
}

/// A format as the key of a switch.
fn key(format: Format) -> u64 {
    u64::from(format.order) << 32 | u64::from(format.data_type)
}

/// The properties of loads from descriptors.
const DESCRIPTOR: MemInfo = MemInfo { align: 4, volatile: false, invariant: true, alias: 0 };

/// The origins of images and samplers.
struct ArgOrigins {
    /// The arguments passed to each block parameter.
    incoming: FxHashMap<Value, SmallVec<[Value; 2]>>,
}

impl ArgOrigins {
    fn new(func: &Function) -> ArgOrigins {
        let mut incoming: FxHashMap<Value, SmallVec<[Value; 2]>> = FxHashMap::default();
        for &block in func.layout.blocks() {
            let Some(terminator) = func.layout.terminator(block) else { continue };
            for call in func.dfg.targets(terminator) {
                for (&param, &arg) in func.dfg.params(call.block).iter().zip(&call.args) {
                    incoming.entry(param).or_default().push(arg);
                }
            }
        }
        ArgOrigins { incoming }
    }

    /// The kernel arguments and constants that a value may originate from; `None` if it may be anything else.
    fn of(&self, func: &Function, value: Value) -> Option<Vec<ArgOrigin>> {
        let mut seen = Vec::new();
        let mut work = vec![value];
        let mut found = Vec::new();
        while let Some(value) = work.pop() {
            if seen.contains(&value) {
                continue;
            }
            seen.push(value);
            match func.dfg.def(value) {
                ValueDef::Param(..) => work.extend(self.incoming.get(&value)?),
                ValueDef::Result(inst, _) => {
                    let data = func.dfg.inst(inst);
                    match (&data.imm, func.dfg.as_splat_bits(value)) {
                        (_, Some(bits)) => found.push(ArgOrigin::Constant(bits)),
                        (&Imm::Offset(offset), None) if data.op == Opcode::Arg => {
                            found.push(ArgOrigin::Argument(offset))
                        }
                        (_, None) if data.op == Opcode::Select => work.extend(&data.args[1..]),
                        _ => return None,
                    }
                }
            }
        }
        Some(found)
    }

    /// The kinds an image may have.
    fn images(&self, func: &Function, facts: &Facts, image_value: Value) -> SmallVec<[ImageKind; 4]> {
        let origins = self.of(func, image_value).unwrap_or_default();
        let known = origins.iter().map(|origin| match origin {
            ArgOrigin::Argument(offset) => facts.of(*offset).and_then(image),
            ArgOrigin::Constant(_) => None,
        });
        let kinds = known.collect::<Option<SmallVec<[ImageKind; 4]>>>().filter(|kinds| !kinds.is_empty());
        let mut kinds = kinds.unwrap_or_else(|| facts.images());
        unique(&mut kinds);
        if kinds.is_empty() {
            kinds.push(ImageKind::DEFAULT);
        }
        kinds
    }

    /// The modes a sampler may have.
    fn samplers(&self, func: &Function, facts: &Facts, value: Value) -> SmallVec<[Option<Sampler>; 4]> {
        let origins = self.of(func, value).unwrap_or_default();
        let known = origins.iter().map(|origin| match origin {
            ArgOrigin::Argument(offset) => facts.of(*offset).and_then(sampler),
            ArgOrigin::Constant(bits) => Some(Sampler(*bits).modes()),
        });
        let modes = known.collect::<Option<SmallVec<[Sampler; 4]>>>().filter(|modes| !modes.is_empty());
        let mut modes: SmallVec<[Option<Sampler>; 4]> =
            modes.unwrap_or_else(|| facts.samplers()).into_iter().map(Some).collect();
        unique(&mut modes);
        if modes.is_empty() {
            modes.push(Some(Sampler(0)));
        }
        modes
    }
}

/// The origin of a value.
#[derive(Clone, Copy, Debug)]
enum ArgOrigin {
    /// The kernel argument at an offset.
    Argument(u32),
    /// A constant.
    Constant(u64),
}

fn unique<T: PartialEq + Copy>(list: &mut SmallVec<[T; 4]>) {
    let mut kept: SmallVec<[T; 4]> = SmallVec::new();
    for &item in list.iter() {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    *list = kept;
}
