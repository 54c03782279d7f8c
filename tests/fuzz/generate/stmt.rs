//! Statements: declarations, assignments to parts of variables, control flow, calls with pointers, and collective operations.

use super::types::{Elem, Ty, UINT};
use super::{Generator, Kind, MEM_WORDS, Var};

/// A construct that statements may leave.
#[derive(Clone)]
pub(super) enum Enclosing {
    /// A loop, and whether work-items execute it together.
    Loop {
        uniform: bool,
    },
    Switch {
        uniform: bool,
    },
    /// A block whose end has a label.
    Label {
        name: String,
        uniform: bool,
    },
}

impl Enclosing {
    fn is_uniform(&self) -> bool {
        match self {
            Self::Loop { uniform } | Self::Switch { uniform } | Self::Label { uniform, .. } => *uniform,
        }
    }
}

/// Nesting of constructs.
const DEEPEST: u32 = 4;
/// Parts of the atomic words that only one function changes, so that the order has no effect.
const ATOMICS: [(&str, u32); 6] =
    [("atomic_and", 0), ("atomic_add", 1), ("atomic_min", 2), ("atomic_max", 3), ("atomic_xor", 5), ("atomic_or", 7)];

impl Generator {
    /// Some statements.
    pub(super) fn statements(&mut self, depth: u32) {
        for _ in 0..self.rng.u32(1..6) {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u32) {
        let deeper = depth < DEEPEST;
        match self.rng.u32(..63) {
            0..=4 => self.declaration(),
            5..=7 if deeper => self.branch(depth),
            8..=10 if deeper => self.repeat(depth),
            11 | 12 if deeper => self.switch(depth),
            13 if deeper => self.labelled(depth),
            14..=16 => self.leave(),
            17 | 18 => self.procedure_call(),
            19..=21 if self.barriers && self.together => self.exchange(),
            22 => self.atomic(),
            23 => self.vector_memory(),
            24 => self.half_memory(),
            25 => self.selected_pointer(),
            26 => self.out_parameters(),
            27 if self.modern && self.together && self.barriers => self.collective(),
            31 | 32 if self.sub_groups && self.together => self.sub_group(),
            33 if self.sub_groups && self.in_kernel() => self.part_of_sub_group(),
            28 => self.copy_record(),
            34 | 35 => self.small_array(),
            40..=51 => self.surface_statement(),
            52..=56 => self.memory_statement(),
            57..=60 => self.pattern(),
            61 | 62 if self.barriers && self.together && self.in_kernel() => self.group_pattern(),
            29 | 30 if self.in_kernel() => {
                let fits = |var: &Var| var.name != "in" && var.name.starts_with(['v', 'i']);
                if let Some(var) = self.choose(fits) {
                    self.mix(&var.name, var.kind);
                }
            }
            _ => self.assignment(),
        }
    }

    /// Whether the kernel's own variables can be used.
    pub(super) fn in_kernel(&self) -> bool {
        self.scopes.iter().flatten().any(|var| var.name == "gid")
    }

    /// An expression whose value may be assigned: floats stay moderate.
    pub(super) fn assigned(&mut self, ty: Ty, depth: u32) -> String {
        let value = self.expr(ty, depth);
        if ty.elem.is_float() { format!("s_{}({value})", ty.name()) } else { value }
    }

    /// As [`Self::assigned`], the same for all work-items.
    pub(super) fn uniform(&mut self, ty: Ty, depth: u32) -> String {
        let before = std::mem::replace(&mut self.only_uniform, true);
        let calls = std::mem::replace(&mut self.calls_left, 0);
        let value = self.assigned(ty, depth);
        (self.only_uniform, self.calls_left) = (before, calls);
        value
    }

    /// A new variable.
    pub(super) fn declaration(&mut self) {
        let name = self.fresh("v");
        match self.rng.u32(..8) {
            0 => {
                let (of, len) = (self.ty(), [2, 4, 8, 8][self.rng.usize(..4)]);
                let values: Vec<String> = (0..len).map(|_| self.assigned(of, 1)).collect();
                let volatile = if self.rng.u32(..12) == 0 { "volatile " } else { "" };
                self.line(format!("{volatile}{} {name}[{len}] = {{{}}};", of.name(), values.join(", ")));
                // A pointer to it must not lose the qualifier: procedures do not get it.
                let name = if volatile.is_empty() { name } else { format!("({name})") };
                self.declare(&name, Kind::Array { of, len }, true, false);
            }
            1 if !self.records.is_empty() && self.rng.u32(..3) == 0 => {
                let (record, len) = (self.rng.usize(..self.records.len()), [2, 4][self.rng.usize(..2)]);
                let values: Vec<String> = (0..len).map(|_| self.record_value(record)).collect();
                self.line(format!("R{record} {name}[{len}] = {{{}}};", values.join(", ")));
                self.declare(&name, Kind::Records { record, len }, true, false);
            }
            1 if !self.records.is_empty() => {
                let record = self.rng.usize(..self.records.len());
                let value = self.record_value(record);
                self.line(format!("R{record} {name} = {value};"));
                self.declare(&name, Kind::Record(record), true, false);
            }
            2 if self.together => {
                let ty = Ty::scalar(self.int());
                let value = self.uniform(ty, 2);
                self.line(format!("const {} {name} = {value};", ty.name()));
                self.declare(&name, Kind::Value(ty), false, true);
            }
            _ => {
                let ty = self.ty();
                let value = self.assigned(ty, 3);
                self.line(format!("{} {name} = {value};", ty.name()));
                self.declare(&name, Kind::Value(ty), true, false);
            }
        }
    }

    /// An initializer with a value for every member.
    fn record_value(&mut self, record: usize) -> String {
        let record = self.records[record].clone();
        // The first member of a union is as large as all of it.
        let count = if record.is_union { 1 } else { record.members.len() };
        let values: Vec<String> = record.members[..count]
            .iter()
            .map(|member| match member.kind {
                Kind::Value(ty) => self.assigned(ty, 1),
                Kind::Array { of, len } => {
                    let values: Vec<String> = (0..len).map(|_| self.assigned(of, 1)).collect();
                    format!("{{{}}}", values.join(", "))
                }
                Kind::Record(inner) => self.record_value(inner),
                Kind::Records { record, len } => {
                    let values: Vec<String> = (0..len).map(|_| self.record_value(record)).collect();
                    format!("{{{}}}", values.join(", "))
                }
            })
            .collect();
        format!("{{{}}}", values.join(", "))
    }

    /// A place that can be assigned to.
    fn place(&mut self) -> Option<(String, Ty)> {
        let var = self.choose(|var| var.mutable)?;
        Some(match var.kind {
            Kind::Value(ty) => (var.name, ty),
            Kind::Array { of, len } => {
                let index = self.index(len, 1);
                (format!("{}[{index}]", var.name), of)
            }
            Kind::Record(record) => self.member(record, &var.name),
            Kind::Records { record, len } => {
                let index = self.index(len, 1);
                self.member(record, &format!("{}[{index}]", var.name))
            }
        })
    }

    pub(super) fn assignment(&mut self) {
        let Some((mut path, mut ty)) = self.place() else { return };
        // Components of vectors, in any order.
        if ty.is_vector() && self.rng.u32(..3) == 0 {
            match self.rng.u32(..3) {
                0 if ty.lanes != 3 => {
                    ty.lanes /= 2;
                    path = format!("{path}.{}", ["lo", "hi", "even", "odd"][self.rng.usize(..4)]);
                }
                1 if ty.lanes >= 3 => {
                    let mut components: Vec<char> = "xyzw".chars().take(ty.lanes.min(4) as usize).collect();
                    self.rng.shuffle(&mut components);
                    components.truncate(self.rng.usize(2..components.len()));
                    ty.lanes = components.len() as u32;
                    path = format!("{path}.{}", components.into_iter().collect::<String>());
                }
                _ => {
                    path = format!("{path}.s{:x}", self.rng.u32(..ty.lanes));
                    ty.lanes = 1;
                }
            }
        }
        let wraps = !ty.elem.is_signed() && !ty.elem.is_float();
        // `ushort *= ushort` is a product of signed numbers.
        let small = ty.elem.bits() < 32 && !ty.is_vector();
        if wraps && self.rng.u32(..3) == 0 {
            let op = ["+", "-", "^", "&", "|", "*", "<<", ">>"][self.rng.usize(..if small { 5 } else { 8 })];
            let value = self.expr(ty, 2);
            self.line(format!("{path} {op}= {value};"));
        } else if wraps && !ty.is_vector() && self.rng.u32(..6) == 0 {
            let text = if self.rng.bool() { format!("{path}++;") } else { format!("--{path};") };
            self.line(text);
        } else {
            let value = self.assigned(ty, 4);
            self.line(format!("{path} = {value};"));
        }
    }

    /// Statements that work-items go through together only if `uniform`.
    fn inside(&mut self, depth: u32, uniform: bool, around: Option<Enclosing>) {
        let before = self.together;
        self.together &= uniform;
        let pushed = around.is_some();
        self.flow.extend(around);
        self.statements(depth + 1);
        if pushed {
            self.flow.pop();
        }
        self.together = before;
    }

    /// A condition, and whether it is uniform.
    fn test(&mut self) -> (String, bool) {
        if self.together && self.rng.u32(..3) != 0 {
            let before = std::mem::replace(&mut self.only_uniform, true);
            let calls = std::mem::replace(&mut self.calls_left, 0);
            let text = self.condition(2);
            (self.only_uniform, self.calls_left) = (before, calls);
            return (text, true);
        }
        (self.condition(3), false)
    }

    fn branch(&mut self, depth: u32) {
        let (test, uniform) = self.test();
        let both = self.rng.bool();
        self.block(&format!("if ({test})"), if both { "} else {" } else { "}" }, |g| g.inside(depth, uniform, None));
        if both {
            self.indent += 1;
            self.scopes.push(Vec::new());
            self.inside(depth, uniform, None);
            self.scopes.pop();
            self.indent -= 1;
            self.line("}");
        }
    }

    /// A loop of a few iterations.
    fn repeat(&mut self, depth: u32) {
        let i = self.fresh("i");
        let uniform = self.together && self.rng.u32(..3) != 0;
        let mask = if depth == 0 { 7 } else { 3 };
        let bound = match (self.rng.u32(..3), uniform) {
            (0, _) => self.rng.u32(1..6).to_string(),
            (_, true) => format!("(({}) & {mask})", self.uniform(UINT, 1)),
            (_, false) => format!("(({}) & {mask})", self.expr(UINT, 2)),
        };
        let around = Some(Enclosing::Loop { uniform });
        let unroll = ["", "", "", "#pragma unroll", "__attribute__((opencl_unroll_hint(2)))"][self.rng.usize(..5)];
        let form = self.rng.u32(..4);
        if !unroll.is_empty() && form < 2 {
            self.line(unroll);
        }
        let (elem, head, tail) = match form {
            0 => (Elem::I32, format!("for (int {i} = 0; {i} < (int){bound}; ++{i})"), "}".to_owned()),
            1 => (Elem::U8, format!("for (uchar {i} = {bound}; {i} > 0; --{i})"), "}".to_owned()),
            2 => {
                self.line(format!("uint {i} = {bound};"));
                (Elem::U32, format!("while ({i}-- > 0)"), "}".to_owned())
            }
            _ => {
                self.line(format!("uint {i} = 0;"));
                (Elem::U32, "do".to_owned(), format!("}} while (++{i} < {bound});"))
            }
        };
        self.block(&head, &tail, |g| {
            g.declare(&i, Kind::Value(Ty::scalar(elem)), false, uniform);
            g.inside(depth, uniform, around);
        });
    }

    fn switch(&mut self, depth: u32) {
        let uniform = self.together && self.rng.bool();
        let elem = [Elem::U32, Elem::I32, Elem::U64, Elem::U8, Elem::I16][self.rng.usize(..5)];
        let selector = if uniform { self.uniform(Ty::scalar(elem), 2) } else { self.expr(Ty::scalar(elem), 2) };
        let most = [6, 6, 6, 20][self.rng.usize(..4)];
        let cases = self.rng.u32(2..most);
        let mask = cases.next_power_of_two() - 1;
        let step = [1, 1, 1, 37][self.rng.usize(..4)];
        let default = self.rng.u32(..cases * 2);
        self.block(&format!("switch ((int)(({selector}) & {mask}) * {step})"), "}", |g| {
            for case in 0..cases {
                if case == default {
                    g.line("default:");
                } else {
                    g.line(format!("case {}:", case * step));
                }
                let falls = g.rng.u32(..4) == 0;
                g.block("", if falls { "}" } else { "} break;" }, |g| {
                    if cases < 8 || g.rng.u32(..3) == 0 {
                        g.inside(depth, uniform, Some(Enclosing::Switch { uniform }));
                    } else {
                        g.assignment();
                    }
                });
            }
        });
    }

    /// A block that statements may leave for its end.
    fn labelled(&mut self, depth: u32) {
        let uniform = self.together && self.rng.bool();
        let name = self.fresh("end");
        let around = Enclosing::Label { name: name.clone(), uniform };
        self.block("", "}", |g| g.inside(depth, uniform, Some(around)));
        self.line(format!("{name}:;"));
    }

    /// `break`, `continue`, `goto`, `return`.
    fn leave(&mut self) {
        let (test, uniform) = self.test();
        // If all work-items of a construct execute it together, they leave it together.
        let allowed = |around: &Enclosing| !around.is_uniform() || (uniform && self.together);
        let (mut breaks, mut continues) = (true, true);
        let mut ways = Vec::new();
        for around in self.flow.iter().rev() {
            if !allowed(around) {
                break;
            }
            match around {
                Enclosing::Loop { .. } => {
                    ways.extend(breaks.then(|| "break;".to_owned()));
                    ways.extend(continues.then(|| "continue;".to_owned()));
                    (breaks, continues) = (false, false);
                }
                Enclosing::Switch { .. } => {
                    ways.extend(breaks.then(|| "break;".to_owned()));
                    breaks = false;
                }
                Enclosing::Label { name, .. } => ways.push(format!("goto {name};")),
            }
        }
        // Work-items may return while others continue, unless others wait for them.
        if !self.barriers && self.in_kernel() {
            ways.push("{ out[gid] = h; return; }".to_owned());
        }
        if let Some(result) = self.result {
            let value = self.assigned(result, 2);
            ways.push(format!("return {value};"));
        }
        if ways.is_empty() {
            return self.assignment();
        }
        let way = &ways[self.rng.usize(..ways.len())];
        let text = format!("if ({test}) {way}");
        self.line(text);
    }

    fn procedure_call(&mut self) {
        if self.procedures.is_empty() || self.result.is_some() || self.scopes.len() < 2 {
            return self.assignment();
        }
        let procedure = self.procedures[self.rng.usize(..self.procedures.len())].clone();
        let wanted = |var: &Var, record: usize| matches!(var.kind, Kind::Record(of) if of == record);
        let array = match procedure.space {
            "private " => {
                let fits = |var: &Var| {
                    var.name.starts_with('v')
                        && matches!(var.kind, Kind::Array { of, len } if of == procedure.of && len == procedure.len)
                };
                match self.choose(fits) {
                    Some(var) => var.name,
                    None => {
                        let name = self.fresh("v");
                        let value = self.assigned(procedure.of, 1);
                        self.line(format!("{} {name}[{}] = {{{value}}};", procedure.of.name(), procedure.len));
                        self.declare(&name, Kind::Array { of: procedure.of, len: procedure.len }, true, false);
                        name
                    }
                }
            }
            "" if self.rng.bool() || !self.in_kernel() => {
                let name = self.fresh("v");
                let value = self.assigned(UINT, 1);
                self.line(format!("uint {name}[{MEM_WORDS}] = {{{value}}};"));
                self.declare(&name, Kind::Array { of: UINT, len: MEM_WORDS as u32 }, true, false);
                if self.in_kernel() && self.rng.bool() {
                    format!("({} ? (uint *){name} : (uint *)mem)", self.condition(1))
                } else {
                    name
                }
            }
            _ if self.in_kernel() => "mem".to_owned(),
            _ => return self.assignment(),
        };
        let value = self.expr(UINT, 2);
        let second = match procedure.record {
            None => String::new(),
            Some(record) => match self.choose(|var| var.mutable && wanted(var, record)) {
                Some(var) => format!(", &{}", var.name),
                None => return self.assignment(),
            },
        };
        self.line(format!("{}({array}, {value}{second});", procedure.name));
    }

    /// Work-items exchange values through local memory.
    fn exchange(&mut self) {
        let (array, elem) = self.exchanges[self.rng.usize(..self.exchanges.len())].clone();
        let ty = Ty::scalar(elem);
        let value = self.assigned(ty, 2);
        let name = self.fresh("v");
        self.line(format!("{array}[lid] = {value};"));
        let flags = ["CLK_LOCAL_MEM_FENCE", "CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE"][self.rng.usize(..2)];
        self.line(format!("barrier({flags});"));
        let from = match self.rng.u32(..4) {
            0 => "items - 1 - lid".to_owned(),
            1 => "0".to_owned(),
            2 => format!("({}) % items", self.expr(UINT, 2)),
            _ => format!("(lid + {}) % items", self.rng.u32(1..9)),
        };
        self.line(format!("{} {name} = {array}[{from}];", ty.name()));
        self.line("barrier(CLK_LOCAL_MEM_FENCE);");
        self.declare(&name, Kind::Value(ty), true, false);
    }

    /// An atomic function whose order has no effect.
    fn atomic(&mut self) {
        if !self.in_kernel() {
            return self.assignment();
        }
        let (function, cell) = ATOMICS[self.rng.usize(..ATOMICS.len())];
        let memory = if self.barriers && self.rng.bool() { "cells" } else { "atoms" };
        let (test, value) = (self.condition(1), self.expr(UINT, 2));
        self.line(format!("if ({test}) {function}(&{memory}[{cell}], {value});"));
    }

    /// `vload` and `vstore` on private arrays and on the work-item's part of memory.
    fn vector_memory(&mut self) {
        let Some(var) = self
            .choose(|var| matches!(var.kind, Kind::Array { of, .. } if of.lanes == 1) && !var.name.starts_with('('))
        else {
            return self.assignment();
        };
        let Kind::Array { of, len } = var.kind else { return };
        let lanes = [2, 3, 4, 8, 16][self.rng.usize(..5)];
        if lanes > len {
            return self.assignment();
        }
        // From any element that leaves room for the vector.
        let start = if len.is_multiple_of(lanes) && self.rng.bool() {
            let part = self.expr(UINT, 1);
            format!("({part}) % {}, {}", len / lanes, var.name)
        } else {
            let first = self.expr(UINT, 1);
            format!("0, {} + ({first}) % {}", var.name, len - lanes + 1)
        };
        let ty = Ty { elem: of.elem, lanes };
        if var.mutable && self.rng.bool() {
            let value = self.assigned(ty, 2);
            self.line(format!("vstore{lanes}({value}, {start});"));
        } else {
            let name = self.fresh("v");
            self.line(format!("{} {name} = vload{lanes}({start});", ty.name()));
            self.declare(&name, Kind::Value(ty), true, false);
        }
    }

    fn half_memory(&mut self) {
        if !self.in_kernel() {
            return self.assignment();
        }
        let lanes = [1, 2, 3, 4, 8][self.rng.usize(..5)];
        let suffix = if lanes == 1 { String::new() } else { lanes.to_string() };
        let ty = Ty { elem: Elem::F32, lanes };
        let index = format!("({}) % {}", self.expr(UINT, 1), 16 / lanes.next_power_of_two());
        if self.rng.bool() {
            let mode = ["", "_rte", "_rtz", "_rtp", "_rtn"][self.rng.usize(..5)];
            let value = self.assigned(ty, 2);
            self.line(format!("vstore_half{suffix}{mode}({value}, {index}, halves);"));
        } else {
            let name = self.fresh("v");
            let function = if lanes == 3 { "vload_half3" } else { &format!("vload_half{suffix}") };
            self.line(format!("{} {name} = s_{}({function}({index}, halves));", ty.name(), ty.name()));
            self.declare(&name, Kind::Value(ty), true, false);
        }
    }

    /// A small private array: filled, then used by loops with constant bounds that may depend on outer counters, by updates at
    /// the work-item's own index, or by divisions that work-items share.
    fn small_array(&mut self) {
        let len = self.rng.u32(2..11);
        let of = Ty { elem: [Elem::U8, Elem::I16, Elem::I32, Elem::U32, Elem::U64][self.rng.usize(..5)], lanes: 1 };
        let (ty, a) = (of.name(), self.fresh("v"));
        let seed = self.expr(UINT, 2);
        self.line(format!("{ty} {a}[{len}];"));
        self.line(format!("for (int ai = 0; ai < {len}; ai++) {a}[ai] = ({ty})(({seed}) * (uint)(ai * 7 + 1));"));
        for _ in 0..self.rng.u32(1..4) {
            let index = format!("({}) % {len}", self.expr(UINT, 2));
            let value = format!("({ty})({})", self.expr(UINT, 2));
            let test = self.condition(2);
            let line = match self.rng.u32(..8) {
                0 => format!(
                    "for (int ai = 0; ai < {len} - 1; ai++) for (int aj = ai + 1; aj < {len}; aj++) \
                     {{ {ty} s = {a}[ai], t = {a}[aj]; {a}[ai] = min(s, t); {a}[aj] = max(s, t); }}"
                ),
                1 => format!(
                    "for (int ai = {len} - 1; ai >= 0; ai--) for (int aj = 0; aj <= ai; aj++) \
                     for (int ak = aj; ak < ai; ak++) {a}[ai] = ({ty})((uint){a}[ai] + (uint){a}[ak] * (uint){a}[aj]);"
                ),
                2 => format!(
                    "for (int ai = 0; ai < {len}; ai++) {a}[ai] = ({ty})((~{a}[(ai + 1) % {len}] & {a}[(ai + 2) % {len}]) ^ {a}[ai]);"
                ),
                3 => format!("for (int ai = 0; ai < {len}; ai++) {a}[({a}[ai] & 255) % {len}] ^= {value};"),
                4 => format!("if ({test}) {a}[{index}] ^= {value};"),
                5 => format!(
                    "for (int ai = 0; ai < 3; ai++) {{ {a}[({index} + ai) % {len}] = ({ty})({value} ^ 5); if ({test}) {a}[{index}] |= ({ty})1; }}"
                ),
                6 => format!(
                    "for (int ai = 1; ai < 5; ai++) {a}[ai % {len}] = ({ty})({a}[{index}] / ({ty})ai + {a}[0] % ({ty})(ai * 5));"
                ),
                _ => format!(
                    "for (int ai = 0; ai + 1 < {len}; ai++) {{ int m = ai; \
                     for (int aj = ai + 1; aj < {len}; aj++) if ({a}[aj] < {a}[m]) m = aj; \
                     {ty} s = {a}[ai]; {a}[ai] = {a}[m]; {a}[m] = s; }}"
                ),
            };
            self.line(line);
        }
        self.declare(&a, Kind::Array { of, len }, true, false);
    }

    /// A pointer to one of two private arrays, or of two elements.
    fn selected_pointer(&mut self) {
        let arrays = |var: &Var| matches!(var.kind, Kind::Array { .. }) && var.name.starts_with('v');
        let Some(one) = self.choose(arrays) else { return self.assignment() };
        let Kind::Array { of, len } = one.kind else { return };
        let same = |var: &Var| arrays(var) && matches!(var.kind, Kind::Array { of: o, len: l } if o == of && l >= len);
        let Some(other) = self.choose(same) else { return };
        let name = self.fresh("q");
        let test = self.condition(2);
        self.line(format!("private {} *{name} = {test} ? {} : {};", of.name(), one.name, other.name));
        self.declare(&name, Kind::Array { of, len }, true, false);
    }

    /// Functions with a second result behind a pointer.
    fn out_parameters(&mut self) {
        let lanes = self.lanes();
        let ty = Ty { elem: self.float(), lanes };
        let name = ty.name();
        let (a, b) = (self.fresh("v"), self.fresh("v"));
        let value = self.assigned(ty, 2);
        match self.rng.u32(..3) {
            0 => {
                let second = ty.with(Elem::I32);
                self.line(format!("{} {b}; {name} {a} = frexp({value}, &{b});", second.name()));
                self.declare(&b, Kind::Value(second), true, false);
            }
            1 => {
                self.line(format!("{name} {b}; {name} {a} = modf({value}, &{b});"));
                self.declare(&b, Kind::Value(ty), true, false);
            }
            _ => {
                self.line(format!("{name} {b}; {name} {a} = fract({value}, &{b});"));
                self.declare(&b, Kind::Value(ty), true, false);
            }
        }
        self.line(format!("{a} = s_{name}({a});"));
        self.declare(&a, Kind::Value(ty), true, false);
    }

    /// Functions of work-groups.
    fn collective(&mut self) {
        let elem = [Elem::U32, Elem::I32, Elem::U64, Elem::I64][self.rng.usize(..4)];
        let ty = Ty::scalar(elem);
        let name = self.fresh("v");
        let value = self.expr(ty, 2);
        let unsigned = elem.unsigned().name();
        let text = match self.rng.u32(..6) {
            0 => format!("work_group_reduce_add(({unsigned})({value}))"),
            1 => format!("work_group_scan_inclusive_max({value})"),
            2 => format!("work_group_scan_exclusive_add(({unsigned})({value}))"),
            3 => format!("work_group_reduce_min({value})"),
            4 => format!("work_group_any({})", self.condition(1)),
            _ => format!("work_group_all({})", self.condition(1)),
        };
        self.line(format!("{} {name} = {text};", ty.name()));
        self.declare(&name, Kind::Value(ty), true, false);
    }

    /// Functions of whole sub-groups.
    fn sub_group(&mut self) {
        let name = self.fresh("v");
        let ty = Ty::scalar(if self.rng.u32(..4) == 0 { self.float() } else { self.int() });
        let value = self.assigned(ty, 2);
        let index = self.expr(UINT, 1);
        let wide = matches!(ty.elem.bits(), 32 | 64) && !ty.elem.is_float();
        let sum = if ty.elem.is_signed() { "max" } else { "add" };
        let text = match self.rng.u32(..10) {
            0 | 1 if wide => format!("sub_group_reduce_{sum}({value})"),
            2 if wide => format!("sub_group_scan_exclusive_{sum}({value})"),
            3 if wide => format!("sub_group_scan_inclusive_min({value})"),
            4 => format!("sub_group_broadcast({value}, 0)"),
            5 => format!("({})sub_group_ballot({}).s{}", ty.name(), self.condition(1), self.rng.u32(..2)),
            6 => format!("sub_group_any({})", self.condition(1)),
            7 => format!("sub_group_all({})", self.condition(1)),
            _ => format!("sub_group_shuffle({value}, ({index}) % get_sub_group_size())"),
        };
        self.line(format!("{} {name} = {text};", ty.name()));
        self.declare(&name, Kind::Value(ty), true, false);
    }

    /// Functions of the active work-items of a sub-group.
    fn part_of_sub_group(&mut self) {
        let elem = [Elem::U32, Elem::I32, Elem::U8, Elem::I16, Elem::U64][self.rng.usize(..5)];
        let ty = Ty::scalar(elem);
        let name = self.fresh("v");
        let (value, test) = (self.expr(ty, 2), self.condition(2));
        let sum = if elem.is_signed() { "min" } else { "add" };
        let text = match self.rng.u32(..6) {
            0 => format!("sub_group_non_uniform_reduce_{sum}({value})"),
            1 => format!("sub_group_non_uniform_scan_inclusive_{sum}({value})"),
            2 => format!("sub_group_non_uniform_scan_exclusive_xor({value})"),
            3 => format!("sub_group_broadcast_first({value})"),
            4 => format!("sub_group_ballot_bit_count(sub_group_ballot({}))", self.condition(1)),
            _ => format!("sub_group_non_uniform_all_equal({value})"),
        };
        let other = self.expr(ty, 1);
        self.line(format!("{} {name} = {other};", ty.name()));
        self.line(format!("if ({test}) {name} = {text};"));
        self.declare(&name, Kind::Value(ty), true, false);
    }

    /// A structure variable, or an element of an array of such: the place and the structure's number.
    fn whole_record(&mut self, wanted: Option<usize>) -> Option<(String, usize)> {
        let fits = |var: &Var| match var.kind {
            Kind::Record(record) | Kind::Records { record, .. } => wanted.is_none_or(|wanted| wanted == record),
            Kind::Value(_) | Kind::Array { .. } => false,
        };
        let var = self.choose(|var| var.mutable && fits(var))?;
        match var.kind {
            Kind::Records { record, len } => Some((format!("{}[{}]", var.name, self.index(len, 1)), record)),
            Kind::Record(record) => Some((var.name, record)),
            Kind::Value(_) | Kind::Array { .. } => None,
        }
    }

    /// Structures as a whole: assigned, selected, and behind selected pointers.
    fn copy_record(&mut self) {
        let Some((to, record)) = self.whole_record(None) else { return self.assignment() };
        let Some((from, _)) = self.whole_record(Some(record)) else { return };
        let test = self.condition(1);
        match self.rng.u32(..4) {
            0 => self.line(format!("{to} = {from};")),
            1 => self.line(format!("if ({test}) {to} = {from};")),
            2 => {
                let name = self.fresh("q");
                self.line(format!("private R{record} *{name} = {test} ? &{to} : &{from};"));
                self.declare(&format!("(*{name})"), Kind::Record(record), true, false);
            }
            _ => {
                let name = self.fresh("w");
                self.line(format!("R{record} {name} = {test} ? {to} : {from};"));
                self.declare(&name, Kind::Record(record), true, false);
            }
        }
    }

    /// Mixes every variable in scope into the result.
    pub(super) fn mix_everything(&mut self) {
        let vars: Vec<Var> = self.scopes.last().cloned().unwrap_or_default();
        for var in vars {
            if var.name != "in" {
                self.mix(&var.name, var.kind);
            }
        }
    }

    fn mix(&mut self, path: &str, kind: Kind) {
        match kind {
            Kind::Value(ty) if ty.is_vector() => {
                for i in 0..ty.lanes {
                    self.mix(&format!("{path}.s{i:x}"), Kind::Value(Ty::scalar(ty.elem)));
                }
            }
            Kind::Value(Ty { elem: Elem::F32, .. }) => self.line(format!("mix1(&h, as_uint({path}));")),
            Kind::Value(Ty { elem: Elem::F64, .. }) => self.line(format!("mix1(&h, as_ulong({path}));")),
            Kind::Value(_) => self.line(format!("mix1(&h, (ulong)({path}));")),
            Kind::Array { of, len } => {
                for i in 0..len {
                    self.mix(&format!("{path}[{i}]"), Kind::Value(of));
                }
            }
            Kind::Records { record, len } => {
                for i in 0..len {
                    self.mix(&format!("{path}[{i}]"), Kind::Record(record));
                }
            }
            Kind::Record(record) => {
                // All members of a union show the same bytes.
                let record = self.records[record].clone();
                let count = if record.is_union { 1 } else { record.members.len() };
                for member in &record.members[..count] {
                    self.mix(&format!("{path}.{}", member.name), member.kind);
                }
            }
        }
    }
}
