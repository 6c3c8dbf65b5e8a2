//! Picks the next token from logits: fixed order of stages, ties by id, draws by seed and
//! position only (`docs/determinism.md`, last section).

use recinto_kernels::math;
use zeroize::Zeroize;

use crate::options::Options;

/// The working memory of sampling; one a reply.
pub(crate) struct Sampler {
    options: Options,
    seed: u64,
    candidates: Vec<(u32, f32)>,
    recent: Vec<u32>,
}

impl Sampler {
    pub fn new(options: &Options, seed: u64) -> Sampler {
        Sampler { options: options.clone(), seed, candidates: Vec::new(), recent: Vec::new() }
    }

    /// The next token after `history`, for the token that will stand at `position`.
    pub fn pick(&mut self, logits: &mut [f32], history: &[u32], position: usize) -> u32 {
        self.adjust(logits, history);
        if self.options.temperature == 0.0 {
            return greedy(logits);
        }
        self.gather(logits);
        self.cut();
        let draw = uniform(self.seed, position as u64);
        self.draw(draw)
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
                let factor = if *logit > 0.0 { 1.0 / o.repeat_penalty } else { o.repeat_penalty };
                *logit *= factor;
                *logit -= o.presence_penalty + o.frequency_penalty * run.len() as f32;
            }
        }
        for (id, bias) in &o.logit_bias {
            if let Some(logit) = logits.get_mut(*id as usize) {
                *logit += bias;
            }
        }
    }

    /// The candidates, likeliest first, as many as the stages can need.
    fn gather(&mut self, logits: &[f32]) {
        let temperature = self.options.temperature;
        self.candidates.clear();
        self.candidates
            .extend(logits.iter().enumerate().map(|(id, logit)| (id as u32, logit / temperature)));
        let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        let k = self.options.top_k;
        if k > 0 && k < self.candidates.len() {
            self.candidates.select_nth_unstable_by(k - 1, order);
            self.candidates.truncate(k);
        }
        self.candidates.sort_unstable_by(order);
    }

    /// Turns logits into weights relative to the likeliest, then applies top-p and min-p.
    fn cut(&mut self) {
        let best = self.candidates.first().map_or(0.0, |c| c.1);
        for candidate in &mut self.candidates {
            candidate.1 = math::exp(candidate.1 - best);
        }
        if self.options.top_p < 1.0 {
            let total: f64 = self.candidates.iter().map(|c| f64::from(c.1)).sum();
            let wanted = f64::from(self.options.top_p) * total;
            let mut sum = 0.0;
            let mut keep = 0;
            for candidate in &self.candidates {
                sum += f64::from(candidate.1);
                keep += 1;
                if sum >= wanted {
                    break;
                }
            }
            self.candidates.truncate(keep);
        }
        let least = self.options.min_p;
        let keep = self.candidates.partition_point(|c| c.1 >= least).max(1);
        self.candidates.truncate(keep);
    }

    fn draw(&self, draw: f64) -> u32 {
        let total: f64 = self.candidates.iter().map(|c| f64::from(c.1)).sum();
        let mut left = draw * total;
        for (id, weight) in &self.candidates {
            left -= f64::from(*weight);
            if left < 0.0 {
                return *id;
            }
        }
        // Rounding can leave a crumb: the last candidate that has any weight takes it.
        let last = self.candidates.iter().rev().find(|c| c.1 > 0.0);
        last.or(self.candidates.first()).map_or(0, |c| c.0)
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
pub(crate) fn greedy(logits: &[f32]) -> u32 {
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
    // The standard library's hash keys come from the system's random source.
    RandomState::new().build_hasher().finish()
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
    fn the_same_seed_and_position_give_the_same_draw() {
        assert_eq!(uniform(3, 4), uniform(3, 4));
        assert_ne!(uniform(3, 4), uniform(3, 5));
        assert_ne!(uniform(3, 4), uniform(4, 4));
    }
}
