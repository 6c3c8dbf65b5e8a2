//! More options than can be asked at once: rounds of groups, or a shortlist. Plans only; the asking
//! is done by whoever has a model.

/// A tournament: options meet in groups, the first of each group go on, until one group is left.
///
/// The last group's distribution is over its own options only. Of the others nothing is known but
/// that they lost, so no number is given for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tournament {
    group: usize,
    keep: usize,
    groups: Vec<Vec<usize>>,
    rounds: usize,
}

impl Tournament {
    /// Options 0..`options`, in groups of at most `group`, of which the first `keep` go on.
    /// `None` unless there are options, and 1 ≤ `keep` < `group`.
    pub fn new(options: usize, group: usize, keep: usize) -> Option<Tournament> {
        let sound = options > 0 && keep >= 1 && keep < group;
        let all: Vec<usize> = (0..options).collect();
        sound.then(|| Tournament { group, keep, groups: even(&all, group), rounds: 1 })
    }

    /// The groups of this round: indexes of options, each group a question of its own.
    pub fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }

    /// Whether this round is the last one.
    pub fn is_final(&self) -> bool {
        self.groups.len() == 1
    }

    /// The round, counted from 1.
    pub fn round(&self) -> usize {
        self.rounds
    }

    /// Goes to the next round by each group's probabilities, in the order of [`Self::groups`].
    /// `false`, and nothing changes, in the last round and for distributions that do not fit or
    /// hold something that is no number: nobody wins by a fault.
    pub fn advance(&mut self, distributions: &[Vec<f64>]) -> bool {
        let fits = |(group, p): (&Vec<usize>, &Vec<f64>)| {
            group.len() == p.len() && p.iter().all(|p| !p.is_nan())
        };
        let all = self.groups.len() == distributions.len();
        if self.is_final() || !all || !self.groups.iter().zip(distributions).all(fits) {
            return false;
        }
        let mut on: Vec<usize> = Vec::new();
        for (group, p) in self.groups.iter().zip(distributions) {
            // A group that is as small as what goes on would never shrink.
            let keep = self.keep.min(group.len().saturating_sub(1)).max(1);
            on.extend(shortlist(p, keep).into_iter().map(|at| group[at]));
        }
        on.sort_unstable();
        self.groups = even(&on, self.group);
        self.rounds += 1;
        true
    }
}

/// As few groups as possible, of sizes that differ by one at most.
fn even(options: &[usize], group: usize) -> Vec<Vec<usize>> {
    let groups = options.len().div_ceil(group);
    let mut from = 0;
    (0..groups)
        .map(|i| {
            let to = from + options.len() / groups + usize::from(i < options.len() % groups);
            let part = options[from..to].to_vec();
            from = to;
            part
        })
        .collect()
}

/// The indexes of the `keep` largest scores, in their declared order; the first of equals.
/// Scores that are not numbers come last.
pub fn shortlist(scores: &[f64], keep: usize) -> Vec<usize> {
    let rank = |at: &usize| if scores[*at].is_nan() { f64::NEG_INFINITY } else { scores[*at] };
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    order.truncate(keep);
    order.sort_unstable();
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a tournament where option `best` is the likeliest in every group it is in.
    fn play(options: usize, group: usize, keep: usize, best: usize) -> (usize, usize, usize) {
        let mut plan = Tournament::new(options, group, keep).unwrap();
        let mut asked = 0;
        loop {
            asked += plan.groups().len();
            assert!(plan.groups().iter().all(|g| g.len() <= group));
            let p: Vec<Vec<f64>> = plan
                .groups()
                .iter()
                .map(|g| g.iter().map(|k| if *k == best { 0.9 } else { 0.1 }).collect())
                .collect();
            if plan.is_final() {
                let first = crate::readout::first_largest(&p[0]).unwrap();
                return (plan.groups()[0][first], plan.round(), asked);
            }
            assert!(plan.advance(&p));
        }
    }

    #[test]
    fn the_best_wins_wherever_it_stands() {
        // Two rounds up to 256 options in groups of 16.
        assert_eq!(play(256, 16, 1, 200), (200, 2, 17));
        assert_eq!(play(257, 16, 1, 256), (256, 3, 17 + 2 + 1));
        assert_eq!(play(16, 16, 1, 3), (3, 1, 1));
        for (options, group, keep) in [(1, 2, 1), (300, 16, 1), (1000, 16, 3), (17, 16, 15)] {
            for best in [0, options / 2, options - 1] {
                assert_eq!(play(options, group, keep, best).0, best, "{options} {group} {keep}");
            }
        }
    }

    #[test]
    fn groups_are_even() {
        let sizes = |n| {
            let plan = Tournament::new(n, 16, 1).unwrap();
            plan.groups().iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(sizes(17), [9, 8], "no group of one");
        assert_eq!(sizes(33), [11, 11, 11]);
    }

    #[test]
    fn nobody_wins_by_a_fault() {
        for (options, group, keep) in [(0, 16, 1), (5, 1, 1), (5, 4, 4), (5, 4, 0)] {
            assert!(Tournament::new(options, group, keep).is_none());
        }
        let mut plan = Tournament::new(4, 2, 1).unwrap();
        let before = plan.clone();
        for p in [vec![vec![0.5, 0.5]], vec![vec![0.5], vec![0.5]], vec![vec![0.5, f64::NAN]; 2]] {
            assert!(!plan.advance(&p));
            assert_eq!(plan, before);
        }
        assert!(plan.advance(&[vec![0.5, 0.5], vec![0.1, 0.9]]));
        assert_eq!(plan.groups(), [[0, 3]], "the first of equals");
        assert!(!plan.advance(&[vec![0.5, 0.5]]), "the last round");
        assert_eq!(shortlist(&[0.1, f64::NAN, 0.3, 0.3], 2), [2, 3]);
        assert_eq!(shortlist(&[f64::NAN, 0.0], 5), [0, 1]);
    }
}
