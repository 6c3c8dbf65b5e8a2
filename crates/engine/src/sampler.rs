//! Picks the next token from logits: fixed order of stages, ties by id, draws by seed and
//! position only (`docs/determinism.md`, last section).

use recinto_kernels::math;
use zeroize::Zeroize;

use crate::options::Options;

/// The working memory of sampling; one a reply.
pub(crate) struct Sampler {
    options: Options,
    seed: u64,
    /// Ids with their logits over the temperature.
    candidates: Vec<(u32, f32)>,
    /// How many of the first candidates are in order.
    ordered: usize,
    best: f32,
    recent: Vec<u32>,
}

impl Sampler {
    pub fn new(options: &Options, seed: u64) -> Sampler {
        Sampler {
            options: options.clone(),
            seed,
            candidates: Vec::new(),
            ordered: 0,
            best: 0.0,
            recent: Vec::new(),
        }
    }

    /// The next token after `history`, for the token that will stand at `position`.
    pub fn pick(&mut self, logits: &mut [f32], history: &[u32], position: usize) -> u32 {
        self.adjust(logits, history);
        if self.options.temperature == 0.0 {
            return greedy(logits);
        }
        self.gather(logits);
        let mass = self.cut();
        self.draw(uniform(self.seed, position as u64) * mass)
    }

    /// Penalties on recent tokens, then biases.
    fn adjust(&mut self, logits: &mut [f32], history: &[u32]) {
        let o = &self.options;
        let penalised =
            o.repeat_penalty != 1.0 || o.presence_penalty != 0.0 || o.frequency_penalty != 0.0;
        if penalised {
            self.recent.clear();
            let last = history.len().saturating_sub(o.repeat_last_n);
            self.recent.extend_from_slice(&history[last..]);
            self.recent.sort_unstable();
            for run in self.recent.chunk_by(|a, b| a == b) {
                let Some(logit) = logits.get_mut(run[0] as usize) else { continue };
                if *logit > 0.0 {
                    *logit /= o.repeat_penalty;
                } else {
                    *logit *= o.repeat_penalty;
                }
                *logit -= o.presence_penalty + o.frequency_penalty * run.len() as f32;
            }
        }
        for (id, bias) in &o.logit_bias {
            if let Some(logit) = logits.get_mut(*id as usize) {
                *logit += bias;
            }
        }
    }

    /// The candidates after temperature and top-k.
    fn gather(&mut self, logits: &[f32]) {
        let temperature = self.options.temperature;
        self.candidates.clear();
        self.candidates
            .extend(logits.iter().enumerate().map(|(id, logit)| (id as u32, logit / temperature)));
        self.ordered = 0;
        self.best = logits.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b)) / temperature;
        let k = self.options.top_k;
        if k > 0 && k < self.candidates.len() {
            self.order(k);
            self.candidates.truncate(k);
        }
    }

    /// Brings at least the `n` likeliest candidates to the front, in order; of equals the lower
    /// id first. Sorting a whole vocabulary for each token would cost more than a small model.
    fn order(&mut self, n: usize) {
        let n = n.min(self.candidates.len());
        if n <= self.ordered {
            return;
        }
        let by = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        let rest = &mut self.candidates[self.ordered..];
        let part = n - self.ordered;
        if part < rest.len() {
            rest.select_nth_unstable_by(part - 1, by);
        }
        rest[..part].sort_unstable_by(by);
        self.ordered = n;
    }

    /// Weight of the candidate that is `index` places from the likeliest, whose weight is 1.
    fn weight(&mut self, index: usize) -> f32 {
        if index >= self.ordered {
            self.order((index + 1).next_power_of_two().max(64));
        }
        math::exp(self.candidates[index].1 - self.best)
    }

    /// Applies top-p, then min-p; the sum of the weights that are left.
    fn cut(&mut self) -> f64 {
        let weights = self.candidates.iter().map(|c| f64::from(math::exp(c.1 - self.best)));
        let total: f64 = weights.sum();
        let (top_p, min_p) = (self.options.top_p, self.options.min_p);
        if top_p >= 1.0 && min_p <= 0.0 {
            return total;
        }
        let wanted = if top_p < 1.0 { f64::from(top_p) * total } else { f64::INFINITY };
        let (mut mass, mut keep) = (0.0, 0);
        while keep < self.candidates.len() && mass < wanted {
            let weight = self.weight(keep);
            if keep > 0 && weight < min_p {
                break;
            }
            mass += f64::from(weight);
            keep += 1;
        }
        self.candidates.truncate(keep.max(1));
        mass
    }

    /// The candidate at which the weights, likeliest first, add up to more than `at`.
    fn draw(&mut self, at: f64) -> u32 {
        let mut left = at;
        let mut last = 0;
        for index in 0..self.candidates.len() {
            let weight = self.weight(index);
            if weight > 0.0 {
                last = index;
            } else if index > 0 {
                break;
            }
            left -= f64::from(weight);
            if left < 0.0 {
                break;
            }
        }
        // Rounding can leave a crumb: the last candidate that has any weight takes it.
        self.candidates.get(last).map_or(0, |c| c.0)
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.recent.zeroize();
        for candidate in &mut self.candidates {
            *candidate = (0, 0.0);
        }
    }
}

/// The likeliest token; of equals the lower id.
pub fn greedy(logits: &[f32]) -> u32 {
    let mut best = 0;
    for (id, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = id;
        }
    }
    best as u32
}

/// A number in [0, 1) that depends on `seed` and `position` only: two rounds of the 64-bit
/// finaliser of SplitMix (Steele, Lea and Flood 2014), 53 bits kept.
fn uniform(seed: u64, position: u64) -> f64 {
    let step = |x: u64| {
        let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    let bits = step(step(seed) ^ position.wrapping_mul(0xd6e8_feb8_6659_fd93));
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A seed nobody chose, for a request without one.
pub(crate) fn fresh_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    // The standard library's hash keys come from the system's random source. Fifty-three bits
    // pass unchanged through every reader of JSON.
    RandomState::new().build_hasher().finish() >> 11
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pick(options: Options, logits: &[f32], history: &[u32]) -> u32 {
        let seed = options.seed.unwrap_or(1);
        Sampler::new(&options, seed).pick(&mut logits.to_vec(), history, history.len())
    }

    #[test]
    fn greedy_cases() {
        let cases: &[(&str, &[f32], u32)] = &[
            ("plain", &[0.1, 0.9, 0.3], 1),
            ("first of equals", &[0.5, 0.5], 0),
            ("negative", &[-3.0, -1.0, -2.0], 1),
            ("minus infinity", &[f32::NEG_INFINITY, -9.0], 1),
            ("equals in the middle", &[1.0, 3.0, 3.0, f32::NEG_INFINITY], 1),
        ];
        for (name, logits, want) in cases {
            assert_eq!(greedy(logits), *want, "{name}");
        }
    }

    #[test]
    fn stages() {
        let base = Options { seed: Some(7), ..Options::default() };
        let drawn = Options { temperature: 1.0, ..base.clone() };
        let case = |name, options: Options| Case { name, options, ..Case::default() };
        let cases = [
            case("top-k 1 is greedy", Options { top_k: 1, ..drawn.clone() }),
            case("tiny top-p is greedy", Options { top_p: 1e-6, ..drawn.clone() }),
            case("min-p 1 is greedy", Options { min_p: 1.0, ..drawn }),
            Case {
                history: &[1],
                want: 2,
                ..case("repeat penalty", Options { repeat_penalty: 2.0, ..base.clone() })
            },
            Case {
                logits: &[-1.5, -1.0],
                history: &[1],
                want: 0,
                ..case("repeat penalty, negative", Options { repeat_penalty: 2.0, ..base.clone() })
            },
            Case {
                history: &[1],
                want: 2,
                ..case("presence penalty", Options { presence_penalty: 1.5, ..base.clone() })
            },
            Case {
                history: &[1, 1],
                want: 2,
                ..case("frequency counts", Options { frequency_penalty: 0.6, ..base.clone() })
            },
            Case {
                want: 0,
                ..case("bias", Options { logit_bias: [(0, 9.0)].into(), ..base.clone() })
            },
            Case {
                history: &[1, 0],
                ..case("old tokens", Options { repeat_penalty: 9.0, repeat_last_n: 1, ..base })
            },
        ];
        for Case { name, options, logits, history, want } in cases {
            assert_eq!(pick(options, logits, history), want, "{name}");
        }
    }

    struct Case {
        name: &'static str,
        options: Options,
        logits: &'static [f32],
        history: &'static [u32],
        want: u32,
    }

    impl Default for Case {
        fn default() -> Case {
            let options = Options::default();
            Case { name: "", options, logits: &[1.0, 3.0, 2.0], history: &[], want: 1 }
        }
    }

    #[test]
    fn draws_follow_the_probabilities() {
        let logits = [0.0f32, 2.0f32.ln(), 5.0f32.ln()];
        let mut counts = [0; 3];
        let options = Options { temperature: 1.0, ..Options::default() };
        for seed in 0..8000 {
            let mut sampler = Sampler::new(&options, seed);
            counts[sampler.pick(&mut logits.to_vec(), &[], 3) as usize] += 1;
        }
        for (count, want) in counts.iter().zip([1000, 2000, 5000]) {
            assert!((*count as i64 - want).abs() < 200, "{counts:?}");
        }
    }

    #[test]
    fn ordering_by_parts_draws_what_a_full_sort_draws() {
        let logits: Vec<f32> =
            (0..5000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 20) as f32 / 512.0).collect();
        let options = Options { temperature: 1.0, ..Options::default() };
        let best = logits.iter().fold(f32::MIN, |a, b| a.max(*b));
        let mut sorted: Vec<(u32, f32)> =
            logits.iter().copied().enumerate().map(|(i, l)| (i as u32, l)).collect();
        let total: f64 = sorted.iter().map(|c| f64::from(math::exp(c.1 - best))).sum();
        sorted.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        for seed in 0..300 {
            let mut left = uniform(seed, 9) * total;
            let chosen = sorted.iter().find(|c| {
                left -= f64::from(math::exp(c.1 - best));
                left < 0.0
            });
            let mut sampler = Sampler::new(&options, seed);
            let got = sampler.pick(&mut logits.clone(), &[], 9);
            assert_eq!(Some(got), chosen.map(|c| c.0), "seed {seed}");
        }
    }

    #[test]
    fn the_same_seed_and_position_give_the_same_draw() {
        assert_eq!(uniform(3, 4), uniform(3, 4));
        assert_ne!(uniform(3, 4), uniform(3, 5));
        assert_ne!(uniform(3, 4), uniform(4, 4));
    }
}
