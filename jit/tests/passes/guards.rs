//! Loops over work-items that a guard sends away.

use arbitrary::{Result, Unstructured};
use clift_kir::{BlockCall, Imm, IntCond, MemInfo, Module, Opcode, Type, Value};

use super::{CONDITIONS, Generator, check, compare, generate, results};

impl Generator<'_, '_, '_> {
    /// A loop over work-items as the stage *looped* has them, whose guard compares what grows with the counter with a bound:
    /// near to where it wraps, or not, in one or several lanes, with other terms.
    pub(super) fn guarded(&mut self, depth: u32) -> Result<()> {
        let step = *self.u.choose(&[1, 4])?;
        let [head, body, latch, exit] = std::array::from_fn(|_| self.b.func.append_block());
        let i = self.b.func.dfg.append_param(head, Type::I64);
        let v = self.value()?;
        let mask = self.b.iconst(Type::I32, 31);
        let limit = self.b.int2(Opcode::And, v, mask);
        let limit = self.b.cast(Opcode::Zext, limit, Type::I64);
        let start = *self.u.choose(&[0, 0, 3])?;
        let start = self.b.iconst(Type::I64, start);
        let base = if self.u.arbitrary()? {
            self.value()?
        } else {
            self.b.iconst(Type::I32, *self.u.choose(&[0, 5, -8, 0x7fff_fff8, 0x1fff_fff0])?)
        };
        let bound = if self.u.arbitrary()? {
            self.value()?
        } else {
            let distance = self.b.iconst(Type::I32, self.u.int_in_range(-2..=20)?);
            self.b.int2(Opcode::Iadd, base, distance)
        };
        let (x, y) = (self.value()?, self.value()?);
        let other = self.b.icmp(*self.u.choose(&CONDITIONS)?, x, y);
        self.b.jump(head, &[start]);
        self.b.switch_to(head);
        let narrow = self.b.cast(Opcode::Itrunc, i, Type::I32);
        let at = self.b.int2(Opcode::Iadd, narrow, base);
        let (mut a, mut b) = (at, bound);
        match self.u.int_in_range(0..=3)? {
            0 => {
                let lanes: Vec<Value> = (0..4).map(|lane| self.b.iconst(Type::I32, lane)).collect();
                let lanes = self.b.vec(&lanes);
                let first = self.b.splat(a, 4);
                (a, b) = (self.b.int2(Opcode::Iadd, first, lanes), self.b.splat(b, 4));
            }
            1 => {
                let op = *self.u.choose(&[Opcode::Sext, Opcode::Zext])?;
                (a, b) = (self.b.cast(op, a, Type::I64), self.b.cast(op, b, Type::I64));
            }
            _ => {}
        }
        if self.u.arbitrary()? {
            (a, b) = (b, a);
        }
        let mut cond = self.b.icmp(*self.u.choose(&CONDITIONS)?, a, b);
        if self.b.ty(cond).is_vector() {
            let op = *self.u.choose(&[Opcode::Any, Opcode::All])?;
            cond = self.b.value(op, &[cond], Imm::None, Type::B1);
        }
        if self.u.arbitrary()? {
            cond = self.b.int2(*self.u.choose(&[Opcode::And, Opcode::Or, Opcode::Xor])?, cond, other);
        }
        if self.u.arbitrary()? {
            // Mostly the last lane's, or the next work-item's.
            let distance = self.b.iconst(Type::I32, *self.u.choose(&[0, 0, 0, 1, 3, -1])?);
            let further = self.b.int2(Opcode::Iadd, at, distance);
            let second = self.b.icmp(*self.u.choose(&CONDITIONS)?, further, bound);
            cond = self.b.int2(*self.u.choose(&[Opcode::And, Opcode::Or, Opcode::Xor])?, cond, second);
        }
        let mut targets = [BlockCall::new(body, &[]), BlockCall::new(latch, &[])];
        if self.u.ratio(1, 3)? {
            targets.reverse();
        }
        let [then, otherwise] = targets;
        self.b.branch(cond, then, otherwise);
        self.b.switch_to(body);
        let known = self.pool.len();
        self.pool.extend([narrow, at]);
        // Rows of work-items are loops around others.
        if self.u.ratio(2, 3)? && depth > 0 {
            self.guarded(depth - 1)?;
        } else if depth > 1 {
            self.body(depth - 1)?;
        } else {
            self.count(at);
        }
        self.pool.truncate(known);
        self.b.jump(latch, &[]);
        self.b.switch_to(latch);
        let by = self.b.iconst(Type::I64, step);
        let next = self.b.int2(Opcode::Iadd, i, by);
        let more = self.b.icmp(IntCond::Ult, next, limit);
        self.b.branch(more, BlockCall::new(head, &[next]), BlockCall::new(exit, &[]));
        self.b.switch_to(exit);
        Ok(())
    }

    /// Increments one of the words of a variable.
    fn count(&mut self, number: Value) {
        let base = self.b.slot_addr(self.slots[0]);
        let (mask, one) = (self.b.iconst(Type::I32, 7), self.b.iconst(Type::I32, 1));
        let index = self.b.int2(Opcode::And, number, mask);
        let index = self.b.cast(Opcode::Zext, index, Type::I64);
        let place = self.b.addr(base, Some(index), 4, 0);
        let count = self.b.load(Type::I32, place, MemInfo::aligned(4));
        let count = self.b.int2(Opcode::Iadd, count, one);
        self.b.store(place, count, MemInfo::aligned(4));
    }
}

/// One such loop, or one in another one, that counts.
fn guards(u: &mut Unstructured<'_>) -> Result<()> {
    let mut module = Module::default();
    let func = generate(u, "f", None, |g| g.guarded(1))?;
    let func = module.funcs.push(func);
    check(&module, "generated");
    let expected = results(&module, func);
    compare(&module, func, &["trim_loops", "unswitch", "simplify", "simplify_cfg"], &expected);
    Ok(())
}

#[test]
fn guarded_loops_keep_their_meaning() {
    arbtest::arbtest(guards).budget_ms(3000).size_max(256);
}
