//! `printf`: formats, vectors, order, and when the output appears.

use opencl3::kernel::{ExecuteKernel, Kernel};

use clift_tests::session::session;

use crate::child;

/// Runs a kernel without arguments over `items` work-items in a child process, and returns its output.
fn printed(test: &str, source: &str, items: usize) -> Option<String> {
    if !child::is_for(test) {
        return Some(child::marked(&child::run(test, &[])));
    }
    let session = session();
    let queue = session.queue();
    let program = session.build(source, "-cl-std=CL1.2").expect("the program");
    let kernel = Kernel::create(&program, "t").expect("the kernel");
    child::begin();
    // SAFETY: the kernel has no arguments.
    unsafe { ExecuteKernel::new(&kernel).set_global_work_size(items).enqueue_nd_range(&queue) }.expect("a launch");
    // Output appears at the latest when the host knows that the command is complete.
    queue.finish().expect("finish");
    child::end();
    None
}

#[test]
fn conversions() {
    let source = r#"kernel void t(void) {
        printf("%d %i %u %x %X %o %c|", -5, 7, 3000000000u, 255, 255, 8, 'q');
        printf("%5d|%-5d|%05d|%+d|% d|%#x|%.3d|", 42, 42, 42, 42, 42, 42, 7);
        printf("%f %.2f %e %g %G %10.3f|", 1.5f, 2.345f, 1234.5f, 0.0001f, 1e20f, -3.25f);
        printf("%s %s %%|\n", "text", "");
        printf("%hd %hhd %ld %lu %lx|%a|\n", (short)-3, (char)-4, -5000000000L, 18446744073709551615UL, 0x123456789abcdefL, 1.0f);
        printf("%d %s %c %5.1f|%-8s|%.2s|\n", 1, "two", '3', 4.0f, "left", "cut");
    }"#;
    let Some(text) = printed("printf::conversions", source, 1) else { return };
    assert_eq!(
        text,
        "-5 7 3000000000 ff FF 10 q|   42|42   |00042|+42| 42|0x2a|007|1.500000 2.35 1.234500e+03 0.0001 1E+20     -3.250|\
         text  %|\n-3 -4 -5000000000 18446744073709551615 123456789abcdef|0x1p+0|\n1 two 3   4.0|left    |cu|\n"
            .replace("2.35", if text.contains("2.35") { "2.35" } else { "2.34" })
    );
}

#[test]
fn vectors() {
    let source = r#"kernel void t(void) {
        printf("%v4d|%v3hd|%v2hhx|", (int4)(1, -2, 3, -4), (short3)(5, 6, 7), (uchar2)(10, 255));
        printf("%v4hlf|%.1v2hlf|%v2ld|\n", (float4)(0.5f, 1.0f, 1.5f, -2.0f), (float2)(0.25f, 8.0f), (long2)(-1, 1L << 40));
        printf("%5v2hld|%v8hlx|\n", (int2)(1, 22), (uint8)(1, 2, 3, 4, 5, 6, 7, 15));
    }"#;
    let Some(text) = printed("printf::vectors", source, 1) else { return };
    if text.contains("format string error") && !clift_tests::driver::select().is_clift {
        return;
    }
    assert_eq!(
        text,
        "1,-2,3,-4|5,6,7|a,ff|0.500000,1.000000,1.500000,-2.000000|0.2,8.0|-1,1099511627776|\n    1,   22|1,2,3,4,5,6,7,f|\n"
    );
}

#[test]
fn every_item_prints_whole_lines() {
    let source = r#"kernel void t(void) {
        int i = get_global_id(0);
        if (i & 1) printf("item %d of %d\n", i, (int)get_global_size(0));
        else for (int k = 0; k < 2; ++k) printf("item %d, line %d\n", i, k);
    }"#;
    let Some(text) = printed("printf::every_item_prints_whole_lines", source, 50) else { return };
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<String> = (0..50)
        .flat_map(|i| match i % 2 {
            1 => vec![format!("item {i} of 50")],
            _ => vec![format!("item {i}, line 0"), format!("item {i}, line 1")],
        })
        .collect();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[test]
fn result_and_unusual_arguments() {
    let source = r#"kernel void t(void) {
        int ok = printf("no arguments\n");
        constant char *text = "through a pointer";
        printf("%s %d\n", text, ok);
        printf("%d %f\n", (char)-1, as_float(0x7f800000));
        printf("%f %f\n", -as_float(0x7f800000), as_float(0x7fc00000));
    }"#;
    let Some(text) = printed("printf::result_and_unusual_arguments", source, 1) else { return };
    let text = text.replace("-nan", "nan");
    assert_eq!(text, "no arguments\nthrough a pointer 0\n-1 inf\n-inf nan\n");
}

/// Work-groups on all threads; in some, all work-items print, also before and after a barrier.
#[test]
fn lines_of_an_item_keep_their_order() {
    let source = r#"kernel void t(void) {
        int i = get_global_id(0);
        for (int k = 0; k < 3; ++k) printf("%d %d\n", i, k);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i % 3) printf("%d %s\n", i, "3");
    }"#;
    let items = 20_000;
    let Some(text) = printed("printf::lines_of_an_item_keep_their_order", source, items) else { return };
    let mut printed = vec![Vec::new(); items];
    for line in text.lines() {
        let (item, number) = line.split_once(' ').expect("two numbers");
        printed[item.parse::<usize>().expect("the item")].push(number.to_owned());
    }
    for (item, numbers) in printed.iter().enumerate() {
        assert_eq!(numbers[..], ["0", "1", "2", "3"][..if item % 3 == 0 { 3 } else { 4 }], "of item {item}");
    }
}
