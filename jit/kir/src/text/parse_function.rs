//! Reading functions: blocks, instructions and their immediates.

use cranelift_entity::EntityRef;
use rustc_hash::FxHashMap;

use super::lexer::Token;
use super::literal::{read_int, read_lane};
use super::parser::{Parser, Result1};
use crate::dfg::ConstData;
use crate::entities::{Block, Inst, Slot, Value};
use crate::function::{Function, InlinedCall, Loc, SlotData, Stage};
use crate::inst::{
    AtomicInfo, AtomicOp, BarrierInfo, BlockCall, Convert, FloatCond, FpFlags, GroupInfo, ImageDims, ImageFlags,
    ImageInfo, Imm, InstData, IntCond, MemInfo, MemOrder, MemScope, Operands, Rounding, SpaceSet, SwitchData,
    WrapFlags,
};
use crate::libfn::LibFn;
use crate::ops::{ImmKind, Opcode};
use crate::types::Type;

/// Reads a function after its keyword: its number if it has one, and the function.
pub(super) fn read_function(p: &mut Parser<'_>) -> Result1<(Option<u32>, Function)> {
    let number = p.accept_id('f');
    let name = p.string()?;
    let stage = p.row(&Stage::ALL, "a stage")?;
    let mut returns = Vec::new();
    if p.accept(Token::Arrow) {
        returns.push(p.ty()?);
        while p.accept(Token::Comma) {
            returns.push(p.ty()?);
        }
    }
    let mut reader = Reader::new(Function::new(name, &returns));
    reader.func.stage = stage;
    p.expect(Token::OpenBody)?;
    p.end_of_line()?;
    loop {
        p.skip_lines();
        if p.accept(Token::CloseBody) {
            break;
        } else if p.accept_word("noalias") {
            let offset = p.int("the offset of an argument")?;
            reader.func.noalias_args.push(offset);
            p.end_of_line()?;
        } else if p.accept_word("inlined") {
            let callee = p.string()?;
            let loc = loc(p)?;
            reader.func.inlined_calls.push(InlinedCall { callee, loc });
            p.end_of_line()?;
        } else if p.accept_word("slot") {
            reader.slot(p)?;
        } else if let Some(block) = p.accept_id('b') {
            reader.block(p, block)?;
        } else {
            reader.inst(p)?;
        }
    }
    p.end_of_line()?;
    reader.resolve(p)?;
    Ok((number, reader.func))
}

/// Reads a position, if there is one.
fn loc(p: &mut Parser<'_>) -> Result1<Loc> {
    let mut loc = Loc::default();
    if p.accept(Token::At) {
        loc.word = p.int("a word offset")?;
        p.expect(Token::Colon)?;
        loc.line = p.int("a line")?;
        p.expect(Token::Colon)?;
        loc.column = p.int("a column")?;
        if p.accept(Token::Colon) {
            loc.call = p.int("the number of an inlined call")?;
        }
    }
    Ok(loc)
}

/// A function being read. Until [`Reader::resolve`], operands and targets hold the numbers of the text.
struct Reader {
    func: Function,
    current: Option<Block>,
    values: FxHashMap<u32, Value>,
    blocks: FxHashMap<u32, Block>,
    /// Instructions in order, with the places of their operands, targets and cases in the text.
    insts: Vec<(Inst, Places)>,
}

/// Byte offsets of what is looked up later, in the order of [`crate::DataFlowGraph::map_uses`] and `targets`.
#[derive(Default)]
struct Places {
    uses: Vec<usize>,
    targets: Vec<usize>,
    cases: Vec<(i128, usize)>,
    slot: usize,
}

/// What is defined at the left of `=` or in a parameter list.
struct Definition {
    number: u32,
    at: usize,
    name: Option<String>,
    ty: Type,
}

impl Reader {
    fn new(func: Function) -> Reader {
        Reader { func, current: None, values: FxHashMap::default(), blocks: FxHashMap::default(), insts: Vec::new() }
    }

    fn slot(&mut self, p: &mut Parser<'_>) -> Result1<()> {
        let at = p.at();
        let number = p.id('s', "a slot")?;
        if number as usize != self.func.slots.len() {
            return Err(p.error_at(at, format!("slots are numbered in order: s{} comes next", self.func.slots.len())));
        }
        p.keyword("size")?;
        let size = p.int("a size")?;
        p.keyword("align")?;
        let align = p.int("an alignment")?;
        self.func.slots.push(SlotData { size, align });
        p.end_of_line()
    }

    fn block(&mut self, p: &mut Parser<'_>, number: u32) -> Result1<()> {
        let block = self.func.append_block();
        if self.blocks.insert(number, block).is_some() {
            return Err(p.error(format!("b{number} is defined twice")));
        }
        self.current = Some(block);
        if p.accept_word("cold") {
            self.func.layout.set_cold(block);
        }
        if p.accept(Token::Open) {
            for param in definitions(p)? {
                let value = self.func.dfg.append_param(block, param.ty);
                self.define(p, param, value)?;
            }
            p.expect(Token::Close)?;
        }
        p.expect(Token::Colon)?;
        p.end_of_line()
    }

    fn define(&mut self, p: &Parser<'_>, definition: Definition, value: Value) -> Result1<()> {
        if self.values.insert(definition.number, value).is_some() {
            return Err(p.error_at(definition.at, format!("v{} is defined twice", definition.number)));
        }
        if let Some(name) = definition.name {
            self.func.names.insert(value, name);
        }
        Ok(())
    }

    fn inst(&mut self, p: &mut Parser<'_>) -> Result1<()> {
        let mut results = Vec::new();
        if p.peek() == Token::Word && p.peek_text().starts_with('v') && Opcode::from_name(p.peek_text()).is_none() {
            results = definitions(p)?;
            p.expect(Token::Equals)?;
        }
        let Some(op) = Opcode::from_name(p.peek_text()) else {
            return Err(p.expected("an instruction, a block or `}`"));
        };
        let Some(block) = self.current else { return Err(p.expected("a block (`b0:`)")) };
        p.take();

        let mut places = Places::default();
        let kind = op.info().imm;
        let imm = self.imm(p, op, kind, results.first().map(|r| r.ty), &mut places)?;
        let mut args = Operands::new();
        while let Some(value) = accept_value(p, &mut places) {
            args.push(value);
            if !p.accept(Token::Comma) {
                break;
            }
            // A comma after the operands of a terminator leads to its targets.
            if p.peek() != Token::Word || !p.peek_text().starts_with('v') {
                if matches!(kind, ImmKind::Jump | ImmKind::Branch | ImmKind::Switch) {
                    break;
                }
                return Err(p.expected("a value"));
            }
        }
        let imm = match kind {
            ImmKind::Jump => Imm::Jump(block_call(p, &mut places)?),
            ImmKind::Branch => {
                let then = block_call(p, &mut places)?;
                p.expect(Token::Comma)?;
                Imm::Branch(Box::new([then, block_call(p, &mut places)?]))
            }
            ImmKind::Switch => Imm::Switch(Box::new(switch(p, &mut places)?)),
            ImmKind::None
            | ImmKind::Const
            | ImmKind::IntCond
            | ImmKind::FloatCond
            | ImmKind::Fp
            | ImmKind::Wrap
            | ImmKind::Convert
            | ImmKind::Lane
            | ImmKind::Lanes
            | ImmKind::Addr
            | ImmKind::Mem
            | ImmKind::Atomic
            | ImmKind::Reduce
            | ImmKind::Group
            | ImmKind::Slot
            | ImmKind::Global
            | ImmKind::Dim
            | ImmKind::Offset
            | ImmKind::Space
            | ImmKind::Image
            | ImmKind::Lib
            | ImmKind::Func
            | ImmKind::Barrier => imm,
        };
        let loc = loc(p)?;
        p.end_of_line()?;

        let types: Vec<Type> = results.iter().map(|r| r.ty).collect();
        let inst = self.func.dfg.make_inst(InstData { op, args, imm }, &types);
        self.func.locs[inst] = loc;
        self.func.layout.append_inst(block, inst);
        for (i, result) in results.into_iter().enumerate() {
            let value = self.func.dfg.results(inst)[i];
            self.define(p, result, value)?;
        }
        self.insts.push((inst, places));
        Ok(())
    }

    /// An immediate, except branch targets: those follow the operands.
    fn imm(
        &mut self,
        p: &mut Parser<'_>,
        op: Opcode,
        kind: ImmKind,
        result: Option<Type>,
        places: &mut Places,
    ) -> Result1<Imm> {
        Ok(match kind {
            ImmKind::None | ImmKind::Jump | ImmKind::Branch | ImmKind::Switch => Imm::None,
            ImmKind::Const => {
                let ty = result.ok_or_else(|| p.error("a constant needs a result (`v0: i32 = const 1`)"))?;
                Imm::Const(self.func.dfg.make_const(constant(p, ty)?))
            }
            ImmKind::IntCond => Imm::IntCond(p.row(&IntCond::ALL, "a condition")?),
            ImmKind::FloatCond => Imm::FloatCond(p.row(&FloatCond::ALL, "a condition")?, fp_flags(p)),
            ImmKind::Fp => Imm::Fp(fp_flags(p)),
            ImmKind::Wrap => {
                let mut flags = WrapFlags::empty();
                while let Some(flag) = p.accept_row(&WrapFlags::NAMES) {
                    flags |= flag;
                }
                flags.imm()
            }
            ImmKind::Convert => {
                let rounding = p.row(&Rounding::ALL, "a rounding mode")?;
                Imm::Convert(Convert { rounding, saturate: p.accept_word("sat") })
            }
            ImmKind::Lane => Imm::Lane(p.int("a lane number")?),
            ImmKind::Lanes => {
                let mut lanes = Vec::new();
                p.expect(Token::OpenList)?;
                while p.peek() != Token::CloseList {
                    lanes.push(p.int("a lane number")?);
                    if !p.accept(Token::Comma) {
                        break;
                    }
                }
                p.expect(Token::CloseList)?;
                Imm::Lanes(lanes.into())
            }
            ImmKind::Addr => {
                let scale = if p.accept_word("scale") { p.int("a scale")? } else { 1 };
                let disp = if p.accept_word("disp") { p.int("a displacement")? } else { 0 };
                Imm::Addr { scale, disp }
            }
            ImmKind::Mem => {
                p.keyword("align")?;
                let align = p.int("an alignment")?;
                let volatile = p.accept_word("volatile");
                let invariant = p.accept_word("invariant");
                let alias = if p.accept_word("alias") { p.int("an alias class")? } else { 0 };
                Imm::Mem(MemInfo { align, volatile, invariant, alias })
            }
            ImmKind::Atomic => {
                let operation = if op == Opcode::AtomicRmw {
                    p.row(&AtomicOp::ALL, "an operation")?
                } else {
                    p.accept_row(&AtomicOp::ALL).unwrap_or(AtomicOp::Xchg)
                };
                let order = p.row(&MemOrder::ALL, "a memory order")?;
                Imm::Atomic(AtomicInfo { op: operation, order, scope: p.row(&MemScope::ALL, "a scope")? })
            }
            ImmKind::Reduce => Imm::Reduce(p.row(&AtomicOp::ALL, "an operation")?),
            ImmKind::Group => {
                let scope = p.row(&MemScope::ALL, "a scope")?;
                let operation = p.row(&AtomicOp::ALL, "an operation")?;
                let cluster = if p.accept_word("cluster") { p.int("a number of work-items")? } else { 0 };
                Imm::Group(GroupInfo { scope, op: operation, cluster })
            }
            ImmKind::Slot => {
                places.slot = p.at();
                Imm::Slot(Slot::from_u32(p.id('s', "a slot")?))
            }
            ImmKind::Global => Imm::Global(p.global_ref()?),
            ImmKind::Dim => Imm::Dim(p.int("a dimension")?),
            ImmKind::Offset => Imm::Offset(p.int("an offset")?),
            ImmKind::Space => Imm::Space(p.space()?),
            ImmKind::Image => {
                let dims = p.row(&ImageDims::ALL, "dimensions")?;
                let mut has = ImageFlags::empty();
                while let Some(flag) = p.accept_row(&ImageFlags::NAMES) {
                    has |= flag;
                }
                Imm::Image(ImageInfo { dims, has })
            }
            ImmKind::Lib => {
                let function = LibFn::from_name(p.peek_text()).ok_or_else(|| p.expected("a library function"))?;
                p.take();
                Imm::Lib(function)
            }
            ImmKind::Func => Imm::Func(p.func_ref()?),
            ImmKind::Barrier => {
                let id: u32 = p.int("a barrier id")?;
                self.func.next_barrier = self.func.next_barrier.max(id.saturating_add(1));
                let execution = p.row(&MemScope::ALL, "a scope")?;
                let memory = p.row(&MemScope::ALL, "a scope")?;
                let mut spaces = SpaceSet::default();
                while let Some(space) = p.accept_row(&SpaceSet::NAMES) {
                    spaces |= space;
                }
                Imm::Barrier(BarrierInfo { id, execution, memory, spaces })
            }
        })
    }

    /// Replaces the numbers of the text by ids.
    fn resolve(&mut self, p: &Parser<'_>) -> Result1<()> {
        for (inst, places) in &std::mem::take(&mut self.insts) {
            let mut error = None;
            let mut place = places.uses.iter();
            self.func.dfg.map_uses(*inst, |number| {
                let at = place.next().copied().unwrap_or(0);
                *self.values.get(&number.as_u32()).unwrap_or_else(|| {
                    error.get_or_insert_with(|| p.error_at(at, format!("{number} is not defined")));
                    &number
                })
            });
            let mut place = places.targets.iter();
            for target in self.func.dfg.targets_mut(*inst) {
                let at = place.next().copied().unwrap_or(0);
                match self.blocks.get(&target.block.as_u32()) {
                    Some(&block) => target.block = block,
                    None => {
                        error.get_or_insert_with(|| p.error_at(at, format!("{} is not defined", target.block)));
                    }
                }
            }
            if let Imm::Slot(slot) = self.func.dfg.inst(*inst).imm
                && slot.index() >= self.func.slots.len()
            {
                error.get_or_insert_with(|| p.error_at(places.slot, format!("the function has no {slot}")));
            }
            if let Some(error) = error {
                return Err(error);
            }
            self.resolve_cases(p, *inst, places)?;
        }
        Ok(())
    }

    /// Case values have the selector's type.
    fn resolve_cases(&mut self, p: &Parser<'_>, inst: Inst, places: &Places) -> Result1<()> {
        let selector = self.func.dfg.inst(inst).args.first().map(|&v| self.func.dfg.ty(v).elem);
        let elem = selector.filter(|e| e.is_int()).unwrap_or(crate::types::Elem::I64);
        if let Imm::Switch(data) = &mut self.func.dfg.inst_mut(inst).imm {
            for ((case, _), &(value, at)) in data.cases.iter_mut().zip(&places.cases) {
                if value < -(1i128 << (elem.bits() - 1)) || value >= 1i128 << elem.bits() {
                    return Err(p.error_at(at, format!("{value} does not fit {elem}")));
                }
                *case = value as u64 & elem.mask();
            }
        }
        Ok(())
    }
}

/// `v0: i32, v1 "name": f32x4`
fn definitions(p: &mut Parser<'_>) -> Result1<Vec<Definition>> {
    let mut list = Vec::new();
    loop {
        let at = p.at();
        let number = p.id('v', "a value")?;
        let name = if p.peek() == Token::Str { Some(p.string()?) } else { None };
        p.expect(Token::Colon)?;
        list.push(Definition { number, at, name, ty: p.ty()? });
        if !p.accept(Token::Comma) {
            return Ok(list);
        }
    }
}

fn accept_value(p: &mut Parser<'_>, places: &mut Places) -> Option<Value> {
    let at = p.at();
    let number = p.accept_id('v')?;
    places.uses.push(at);
    Some(Value::from_u32(number))
}

/// `b1` or `b1(v2, v3)`
fn block_call(p: &mut Parser<'_>, places: &mut Places) -> Result1<BlockCall> {
    places.targets.push(p.at());
    let block = Block::from_u32(p.id('b', "a block")?);
    let mut args = Operands::new();
    if p.accept(Token::Open) {
        loop {
            args.push(accept_value(p, places).ok_or_else(|| p.expected("a value"))?);
            if !p.accept(Token::Comma) {
                break;
            }
        }
        p.expect(Token::Close)?;
    }
    Ok(BlockCall { block, args })
}

/// `[1: b1, 2: b2(v3)], b4`
fn switch(p: &mut Parser<'_>, places: &mut Places) -> Result1<SwitchData> {
    let mut cases = Vec::new();
    p.expect(Token::OpenList)?;
    while p.peek() != Token::CloseList {
        let at = p.at();
        let value = read_int(p.peek_text()).ok_or_else(|| p.expected("a case value"))?;
        p.take();
        places.cases.push((value, at));
        p.expect(Token::Colon)?;
        cases.push((0, block_call(p, places)?));
        if !p.accept(Token::Comma) {
            break;
        }
    }
    p.expect(Token::CloseList)?;
    p.expect(Token::Comma)?;
    Ok(SwitchData { cases, default: block_call(p, places)? })
}

/// One lane for all, or a list of all lanes.
fn constant(p: &mut Parser<'_>, ty: Type) -> Result1<ConstData> {
    if !p.accept(Token::OpenList) {
        return Ok(ConstData::splat(ty, lane(p, ty)?));
    }
    let at = p.at();
    let mut lanes = vec![lane(p, ty)?];
    while p.accept(Token::Comma) {
        lanes.push(lane(p, ty)?);
    }
    if lanes.len() != ty.lanes() as usize {
        return Err(p.error_at(at, format!("{} lanes for {ty}", lanes.len())));
    }
    p.expect(Token::CloseList)?;
    Ok(ConstData::new(ty, &lanes))
}

fn lane(p: &mut Parser<'_>, ty: Type) -> Result1<u64> {
    let literal = matches!(p.peek(), Token::Number | Token::Word).then(|| read_lane(ty.elem, p.peek_text())).flatten();
    let bits = literal.ok_or_else(|| p.expected(format!("a constant of type {}", ty.elem)))?;
    p.take();
    Ok(bits)
}

fn fp_flags(p: &mut Parser<'_>) -> FpFlags {
    let mut flags = FpFlags::default();
    while let Some(flag) = p.accept_row(&FpFlags::NAMES) {
        flags |= flag;
    }
    flags
}
