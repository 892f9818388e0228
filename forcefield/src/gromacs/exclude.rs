//! Pairs of atoms at most a given number of bonds apart.

use std::collections::HashMap;

/// All pairs i < j whose shortest path over `links` has at most `depth` steps.
pub(super) fn neighbours(n_atoms: usize, links: &[[u32; 2]], depth: usize) -> Vec<[u32; 2]> {
    let mut partners = vec![Vec::new(); n_atoms];
    for &[i, j] in links {
        partners[i as usize].push(j);
        partners[j as usize].push(i);
    }
    let mut pairs = Vec::new();
    let mut distance: HashMap<u32, usize> = HashMap::new();
    for start in 0..n_atoms as u32 {
        distance.clear();
        distance.insert(start, 0);
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(i) = queue.pop_front() {
            let d = distance[&i];
            if i > start {
                pairs.push([start, i]);
            }
            if d < depth {
                for &j in &partners[i as usize] {
                    distance.entry(j).or_insert_with(|| {
                        queue.push_back(j);
                        d + 1
                    });
                }
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::neighbours;

    #[test]
    fn ring_of_six() {
        let ring: Vec<[u32; 2]> = (0..6).map(|i| [i, (i + 1) % 6]).collect();
        assert_eq!(neighbours(6, &ring, 0).len(), 0);
        assert_eq!(neighbours(6, &ring, 1).len(), 6);
        assert_eq!(neighbours(6, &ring, 2).len(), 12);
        // Every atom has one opposite atom: all 15 pairs.
        assert_eq!(neighbours(6, &ring, 3).len(), 15);
        assert_eq!(neighbours(7, &ring, 9).len(), 15);
    }
}
