//! Pictures in buffers, as bytes.

use crate::work::{Random, Tolerance, Work, args};

pub(super) fn rgb_to_yuv() -> Work {
    const PIXELS: usize = 2 << 20;
    let mut work = Work::default();
    let pixels = Random::new(70).bytes(3 * PIXELS);
    let input = work.input(&pixels);
    let output = work.output(3 * PIXELS, Tolerance::EXACT, move || {
        let convert = |&[r, g, b]: &[u8; 3]| {
            let [r, g, b] = [r, g, b].map(i32::from);
            [
                ((66 * r + 129 * g + 25 * b + 128) >> 8) + 16,
                ((-38 * r - 74 * g + 112 * b + 128) >> 8) + 128,
                ((112 * r - 94 * g - 18 * b + 128) >> 8) + 128,
            ]
            .map(|component| component as u8)
        };
        pixels.as_chunks().0.iter().flat_map(convert).collect::<Vec<u8>>()
    });
    work.launch("rgb_to_yuv", args![input, output, PIXELS as i32], &[PIXELS], &[64]);
    work
}

pub(super) fn resize() -> Work {
    const FROM: [usize; 2] = [700, 500];
    const TO: [usize; 2] = [1024, 1024];
    let mut work = Work::default();
    let pixels = Random::new(71).bytes(4 * FROM[0] * FROM[1]);
    let input = work.input(&pixels);
    let output = work.output(4 * TO[0] * TO[1], Tolerance::EXACT, move || {
        let [width, height] = FROM;
        let mut resized = Vec::with_capacity(4 * TO[0] * TO[1]);
        for y in 0..TO[1] {
            let sy = y * (height - 1) * 256 / TO[1];
            for x in 0..TO[0] {
                let sx = x * (width - 1) * 256 / TO[0];
                let (wx, wy) = (sx & 255, sy & 255);
                resized.extend((0..4).map(|component| {
                    let at = |x: usize, y: usize| usize::from(pixels[4 * (y * width + x) + component]);
                    let row = |y: usize| at(sx >> 8, y) * (256 - wx) + at((sx >> 8) + 1, y) * wx;
                    ((row(sy >> 8) * (256 - wy) + row((sy >> 8) + 1) * wy) >> 16) as u8
                }));
            }
        }
        resized
    });
    work.launch("resize", args![input, output, FROM[0] as i32, FROM[1] as i32], &TO, &[16, 16]);
    work
}
