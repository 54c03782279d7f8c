//! Operations lane by lane: so many that they are loops over the lanes, with masks and without.

use super::cases::{kernel, run};

/// As many as are copied for each lane, and more: atomics on the work-item's own words, some of them only for some lanes.
#[test]
fn atomics_in_loops_over_the_lanes() {
    for count in [3, 160] {
        let mut body = String::new();
        let mut last = "v1".to_owned();
        for i in 1..=count {
            let (value, next) = (format!("v{i}07"), format!("v{i}09"));
            let word = 4 * (i % 8);
            body += &format!(
                "    v{i}00: i32 = const {i}
    v{i}01: ptr(global) = addr disp {word} v0
    v{i}02: i32 = xor v{i}00, {last}
    v{i}03: i32 = and v{i}02, v2
    v{i}04: b1 = icmp ult v{i}03, v{i}00
    v{i}05: i32 = atomic_rmw add relaxed device v{i}01, v{i}02
    branch v{i}04, b{i}0, b{i}1(v{i}05)
b{i}0:
    v{i}06: i32 = atomic_cmpxchg relaxed device v{i}01, v{i}05, v{i}00
    {value}: i32 = iadd v{i}06, {last}
    jump b{i}1({value})
b{i}1(v{i}08: i32):
    {next}: i32 = iadd v{i}08, v{i}00
",
            );
            last = next;
        }
        run(&kernel(&format!("{body}    store align 4 v0, {last}\n    ret\n")));
    }
}
