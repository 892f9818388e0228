//! What is summed over frames where MBAR connects all pH values: the numbers of one row of [`RingSums`](crate::analysis::bootstrap::RingSums), by name.

/// Sums over frames of one series; `N` is a number and `S` a list of numbers, to be read or to be added to.
pub(super) struct FrameSums<N, S> {
    /// Number of frames.
    pub frames: N,
    /// Sum of p of each pH: of the chances that a frame is of that pH.
    pub chances: S,
    /// Sum of x of each state at each pH, `[state · pH + pH]`: of the weights that the frames in this state have at that pH.
    pub everywhere: S,
}

/// How many numbers a row has, for so many pH values and states.
pub(super) fn width(n_ph: usize, states: usize) -> usize {
    1 + n_ph + states * n_ph
}

impl<'a> FrameSums<&'a mut f64, &'a mut [f64]> {
    /// The sums in a row, to be added to.
    ///
    /// # Panics
    /// If the row has fewer numbers than [`width`].
    pub fn of_row_mut(row: &'a mut [f64], n_ph: usize) -> Self {
        let (frames, rest) = row.split_at_mut(1);
        let (chances, everywhere) = rest.split_at_mut(n_ph);
        Self { frames: &mut frames[0], chances, everywhere }
    }
}

impl<'a> FrameSums<f64, &'a [f64]> {
    /// The sums in a row.
    ///
    /// # Panics
    /// If the row has fewer numbers than [`width`].
    pub fn of_row(row: &'a [f64], n_ph: usize) -> Self {
        let (frames, rest) = row.split_at(1);
        let (chances, everywhere) = rest.split_at(n_ph);
        Self { frames: frames[0], chances, everywhere }
    }
}
