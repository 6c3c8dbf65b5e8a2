//! Codebooks of IQ1, IQ2 and IQ3: the groups of numbers that an index stands for.
//!
//! A group is a word whose bytes are its numbers, the first one lowest.

mod sets;

/// IQ1_S and IQ1_M: −1, 0 and 1, times 8 and 16 more, so that an eighth can be added or taken off.
pub static IQ1: [u64; 2048] = groups(&sets::IQ1, &[8, 16, 24], 8);
/// IQ2_XXS.
pub static IQ2_XXS: [u64; 256] = groups(&sets::IQ2_XXS, IQ2, 8);
/// IQ2_XS.
pub static IQ2_XS: [u64; 512] = groups(&sets::IQ2_XS, IQ2, 8);
/// IQ2_S.
pub static IQ2_S: [u64; 1024] = groups(&sets::IQ2_S, IQ2, 8);
/// IQ3_XXS.
pub static IQ3_XXS: [u32; 256] =
    halves(groups(&sets::IQ3_XXS, &[4, 12, 20, 28, 36, 44, 52, 62], 4));
/// IQ3_S.
pub static IQ3_S: [u32; 512] = halves(groups(&sets::IQ3_S, &[1, 3, 5, 7, 9, 11, 13, 15], 4));

/// The numbers of all three of IQ2.
const IQ2: &[u8] = &[8, 25, 43];

/// The groups of a set, `many` numbers each, in ascending order of the number whose digits are
/// the places of a group's numbers, the first one lowest.
const fn groups<const COUNT: usize>(set: &[u64], numbers: &[u8], many: u32) -> [u64; COUNT] {
    let mut all = [0; COUNT];
    let (mut code, mut at) = (0, 0);
    while code < 64 * set.len() {
        if set[code / 64] >> (code % 64) & 1 == 1 {
            let (mut digits, mut i) = (code, 0);
            while i < many {
                all[at] |= (numbers[digits % numbers.len()] as u64) << (8 * i);
                digits /= numbers.len();
                i += 1;
            }
            at += 1;
        }
        code += 1;
    }
    assert!(at == COUNT, "a codebook is full");
    all
}

/// Groups of four.
const fn halves<const COUNT: usize>(words: [u64; COUNT]) -> [u32; COUNT] {
    let (mut all, mut i) = ([0; COUNT], 0);
    while i < COUNT {
        all[i] = words[i] as u32;
        i += 1;
    }
    all
}
