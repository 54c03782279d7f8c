//! Shuffles of vectors of all lengths and elements, from one source and from two.

use clift_kir::{Elem, MemInfo, Type};

use super::{KernelBuilder, compile};

const LANES: [u32; 6] = [2, 4, 8, 16, 32, 64];

/// Several selections of lanes.
fn ways(from: u32, to: u32, random: &mut fastrand::Rng) -> Vec<Vec<u8>> {
    let mut any = |below: u32| -> Vec<u8> { (0..to).map(|_| (random.u64(..) % u64::from(below)) as u8).collect() };
    let both = any(2 * from);
    let first = any(from);
    let second = any(from).into_iter().map(|lane| lane + from as u8).collect();
    let backwards = (0..to).map(|lane| (from - 1 - lane % from) as u8).collect();
    let alternating = (0..to).map(|lane| ((lane / 2 + lane % 2 * from) % (2 * from)) as u8).collect();
    vec![both, first, second, backwards, alternating]
}

fn check(elem: Elem) {
    let mut random = fastrand::Rng::with_seed(u64::from(elem.bits()));
    let bytes = elem.bytes();
    let longest = (512 / elem.bits()).min(Type::MAX_LANES);
    let lanes = || LANES.into_iter().filter(move |&lanes| lanes <= longest);
    let sources: [Vec<u8>; 2] = [0, 1].map(|_| (0..64).map(|_| random.u64(..) as u8).collect());
    let mut kernel = KernelBuilder::new("shuffles");
    let pointers = [0, 1, 2].map(|index| kernel.pointer(index));
    let mut wanted: Vec<u8> = Vec::new();
    for from in lanes() {
        for to in lanes() {
            for way in ways(from, to, &mut random) {
                let mut at = kernel.at();
                let ty = Type::vector(elem, from);
                let [a, b] = [0, 1].map(|source| at.load(ty, pointers[source], MemInfo::aligned(1)));
                let shuffled = at.shuffle(a, b, &way);
                let place = at.addr(pointers[2], None, 1, wanted.len() as i64);
                at.store(place, shuffled, MemInfo::aligned(1));
                for lane in way {
                    let (source, lane) = (u32::from(lane) / from, u32::from(lane) % from);
                    let first = (lane * bytes) as usize;
                    wanted.extend(&sources[source as usize][first..first + bytes as usize]);
                }
            }
        }
    }
    let func = kernel.finish();
    for compiled in compile(&func) {
        let mut got = vec![0; wanted.len()];
        let words = [sources[0].as_ptr() as u64, sources[1].as_ptr() as u64, got.as_mut_ptr() as u64];
        compiled.call(&words, 0, 1);
        let different = got.iter().zip(&wanted).position(|(got, wanted)| got != wanted);
        assert_eq!(different, None, "{}: {elem:?}", compiled.backend);
    }
}

#[test]
fn bytes() {
    check(Elem::I8);
}

#[test]
fn words() {
    [Elem::I16, Elem::I32, Elem::I64, Elem::F32, Elem::F64].into_iter().for_each(check);
}
