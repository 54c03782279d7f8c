//! Texts and packets of bytes, and short lists.

use crate::work::{Random, Tolerance, Work, args};

pub(super) fn insertion_sort() -> Work {
    const ITEMS: usize = 16 << 10;
    const LENGTH: usize = 24;
    let mut work = Work::default();
    let mut random = Random::new(40);
    let numbers: Vec<i32> = (0..LENGTH * ITEMS).map(|_| random.below(1000) as i32).collect();
    let input = work.input(&numbers);
    let output = work.output(LENGTH * ITEMS, Tolerance::EXACT, move || {
        let mut sorted = vec![0; LENGTH * ITEMS];
        for item in 0..ITEMS {
            let mut list: Vec<i32> = (0..LENGTH).map(|i| numbers[i * ITEMS + item]).collect();
            list.sort_unstable();
            list.iter().enumerate().for_each(|(i, &number)| sorted[i * ITEMS + item] = number);
        }
        sorted
    });
    work.launch("insertion_sort", args![input, output], &[ITEMS], &[64]);
    work
}

pub(super) fn word_search() -> Work {
    const PIECE: usize = 128;
    const PIECES: usize = 16 << 10;
    const WORD: &[u8] = b"banana";
    let mut work = Work::default();
    let mut random = Random::new(41);
    let text: Vec<u8> = (0..PIECE * PIECES).map(|_| b"abn"[random.below(3) as usize]).collect();
    let inputs = [work.input(&text), work.input(WORD)];
    let output = work.output(PIECES, Tolerance::EXACT, move || {
        let count = |piece: usize| {
            let starts = piece * PIECE..((piece + 1) * PIECE).min(text.len() - WORD.len() + 1);
            starts.filter(|&at| text[at..].starts_with(WORD)).count() as i32
        };
        (0..PIECES).map(count).collect()
    });
    let letters = WORD.len() as i32;
    let arguments = args![inputs[0], (PIECE * PIECES) as i32, inputs[1], letters, PIECE as i32, output];
    work.launch("word_search", arguments, &[PIECES], &[64]);
    work
}

/// The reversed polynomial of CRC-32.
const POLYNOMIAL: u32 = 0xedb8_8320;

pub(super) fn crc32() -> Work {
    const PACKETS: usize = 16 << 10;
    const LENGTH: usize = 200;
    let mut work = Work::default();
    let packets = Random::new(42).bytes(LENGTH * PACKETS);
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
    let table: Vec<u32> = (0..256).map(|byte| (0..8).fold(byte, |crc, _| step(crc))).collect();
    let inputs = [work.input(&packets), work.input(&table)];
    let output = work.output(PACKETS, Tolerance::EXACT, move || {
        // Bit by bit.
        let byte = |crc: u32, &byte: &u8| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc));
        packets.chunks(LENGTH).map(|packet| !packet.iter().fold(u32::MAX, byte)).collect()
    });
    work.launch("crc32", args![inputs[0], LENGTH as i32, inputs[1], output], &[PACKETS], &[64]);
    work
}

pub(super) fn base64() -> Work {
    const TRIPLES: usize = 512 << 10;
    let mut work = Work::default();
    let bytes = Random::new(43).bytes(3 * TRIPLES);
    let input = work.input(&bytes);
    let output = work.output(4 * TRIPLES, Tolerance::EXACT, move || {
        let letter = |six: u32| match six as u8 {
            six @ 0..26 => b'A' + six,
            six @ 26..52 => b'a' + six - 26,
            six @ 52..62 => b'0' + six - 52,
            62 => b'+',
            _ => b'/',
        };
        let letters = |&[a, b, c]: &[u8; 3]| {
            let bits = u32::from_be_bytes([0, a, b, c]);
            [18, 12, 6, 0].map(|shift| letter(bits >> shift & 63))
        };
        bytes.as_chunks().0.iter().flat_map(letters).collect::<Vec<u8>>()
    });
    work.launch("base64", args![input, output], &[TRIPLES], &[64]);
    work
}

pub(super) fn planes() -> Work {
    const PIXELS: usize = 2 << 20;
    let mut work = Work::default();
    let pixels = Random::new(44).bytes(3 * PIXELS);
    let input = work.input(&pixels);
    let outputs = [0, 1, 2].map(|channel| {
        let values: Vec<u8> = pixels.iter().skip(channel).step_by(3).copied().collect();
        let reference = move || values.iter().map(|&value| f32::from(value) / 255.0).collect::<Vec<f32>>();
        work.output(PIXELS, Tolerance::close(1e-6, 0.0), reference)
    });
    work.launch("planes", args![input, outputs[0], outputs[1], outputs[2]], &[PIXELS], &[64]);
    work
}
