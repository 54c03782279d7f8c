//! Records that are too long for one vector in packs of many lanes: vectors of four words, with and without masks.

use super::cases::kernel;
use super::generate::Rng;
use super::harness::{compare, make_all};
use super::launches;
use crate::spmd::workgroup::regions::Growth;
use crate::{Options, passes};

/// Exchanges the elements of a vector of four words in memory; those of neighbouring work-items are contiguous.
fn exchange(condition: &str) -> String {
    format!(
        "
    v10: ptr(global) = addr scale 16 v6, v5
    v12: i32 = const 1
{condition}
b1:
    v20: i32x4 = load align 4 v10
    v21: i32x4 = shuffle [3, 2, 1, 0] v20, v20
    v22: i32x4 = splat v1
    v23: i32x4 = iadd v21, v22
    store align 4 v10, v23
    jump b2
b2:
    ret"
    )
}

/// No access of packs with 32 lanes is scattered, and the results are those of single work-items.
fn check(condition: &str) {
    let module = kernel(&exchange(condition));
    compare("records", &module, &Options::default(), Growth::default(), &launches(&mut Rng::new(5), 16));
    let made = make_all(&module, &Options { width: Some(32), ..Options::default() }, Growth::default());
    assert!(made.report.accesses_runs(), "{}", made.report);
}

#[test]
fn of_all_lanes() {
    check("    jump b1");
}

#[test]
fn of_some_lanes() {
    check(
        "    v13: i32 = and v1, v12
    v14: i32 = const 0
    v15: b1 = icmp eq v13, v14
    branch v15, b1, b2",
    );
}

/// A kernel that reads and writes the fields of a record, one after the other, as a list says: for each access, whether it
/// stores, the byte, and whether it has two bytes instead of four.
fn accesses(fields: u32, list: &[(bool, u32, bool)]) -> String {
    let mut body = format!(
        "\n    v10: ptr(global) = addr scale {} v6, v5\n    v11: i32 = const 3\n    v20: i32 = iadd v1, v11",
        4 * fields
    );
    let mut last = 20;
    for (number, &(stores, byte, short)) in list.iter().enumerate() {
        let [at, value, result] = [0, 1, 2].map(|part| 30 + 4 * number as u32 + part);
        body += &format!("\n    v{at}: ptr(global) = addr scale {} disp {byte} v6, v5", 4 * fields);
        body += &match (stores, short) {
            (true, true) => format!("\n    v{value}: i16 = itrunc v{last}\n    store align 2 v{at}, v{value}"),
            (true, false) => format!("\n    store align 4 v{at}, v{last}"),
            (false, true) => {
                format!("\n    v{value}: i16 = load align 2 v{at}\n    v{}: i32 = zext v{value}", value + 2)
            }
            (false, false) => format!("\n    v{value}: i32 = load align 4 v{at}"),
        };
        if !stores {
            let loaded = if short { value + 2 } else { value };
            body += &format!("\n    v{result}: i32 = iadd v{last}, v{loaded}");
            last = result;
        }
    }
    body + &format!("\n    store align 4 v10, v{last}\n    ret")
}

/// Fields that are read after they have been written, in parts, and before: loads that move before stores to neighbours read the
/// same.
#[test]
fn generated_accesses_to_fields() {
    let mut rng = Rng::new(11);
    let mut changed = 0;
    for seed in 0..200 {
        let fields = 2 << (seed % 2);
        let list: Vec<(bool, u32, bool)> = (0..3 + rng.below(8))
            .map(|_| {
                let short = rng.below(4) == 0;
                let byte = if short { 2 * rng.below(2 * u64::from(fields)) } else { 4 * rng.below(fields.into()) };
                (rng.below(2) == 0, byte as u32, short)
            })
            .collect();
        let module = kernel(&accesses(fields, &list));
        let mut moved = module.clone();
        let func = moved.kernels[0].func;
        passes::run(&mut moved.funcs[func], &module.globals, &["neighbouring_loads"], &mut |_, _| ());
        changed += u32::from(moved.funcs[func].to_string() != module.funcs[func].to_string());
        let launches = launches(&mut rng, 3);
        for launch in &launches {
            let [before, after] = [&module, &moved].map(|module| launch.run_kernel(module, 1, 1).buffers);
            assert_eq!(before, after, "{seed}\n{module}\n{moved}");
        }
        compare(&format!("accesses {seed}"), &moved, &Options::default(), Growth::default(), &launches);
    }
    assert!(changed > 20, "{changed}");
}
