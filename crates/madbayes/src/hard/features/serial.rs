//! One pass of BP-means as the paper has it: row after row, every bit once, and a new feature at once for a row whose
//! residual costs more than it (Broderick 2013, Alg. 1).

use super::core::Core;
use super::search::Search;

impl Search<'_> {
    /// The components are frozen but for the new ones, which later rows may use; then they are solved for. How many rows
    /// changed.
    pub fn paper_pass(&self, core: &mut Core) -> usize {
        let n = self.products.n_rows;
        let frozen = core.frozen();
        // G with room for new features, and C column after column.
        let mut gram: Vec<Vec<f64>> = frozen.gram.chunks(core.k().max(1)).map(<[f64]>::to_vec).collect();
        let mut along: Vec<Vec<f64>> = frozen.along.chunks(n).map(<[f64]>::to_vec).collect();
        let mut rows = core.rows().to_vec();
        for row in 0..n {
            let mut slope: Vec<f64> = along.iter().map(|c| -c[row]).collect();
            let mut word = rows[row];
            for i in (0..gram.len()).filter(|i| word >> i & 1 == 1) {
                slope.iter_mut().zip(&gram[i]).for_each(|(s, g)| *s += g);
            }
            for bit in 0..gram.len() {
                let step = if word >> bit & 1 == 1 { -1.0 } else { 1.0 };
                if 2.0 * step * slope[bit] + gram[bit][bit] < -1e-12 * gram[bit][bit] {
                    word ^= 1 << bit;
                    slope.iter_mut().zip(&gram[bit]).for_each(|(s, g)| *s += step * g);
                }
            }
            // |x - zA|^2 = |x|^2 + z'(g - c), g = G z - c.
            let own: f64 = (0..gram.len()).filter(|i| word >> i & 1 == 1).map(|i| slope[i] - along[i][row]).sum();
            let square = self.products.squares[row] + own;
            if square > self.goal.penalty() && gram.len() < self.cap() {
                // The residual a = x - zA: a'x_m = S_nm - z C_m, a A_k' = -g_k.
                let mut products = self.products.row(row).into_owned();
                for i in (0..gram.len()).filter(|i| word >> i & 1 == 1) {
                    products.iter_mut().zip(&along[i]).for_each(|(p, c)| *p -= c);
                }
                gram.iter_mut().zip(&slope).for_each(|(g, s)| g.push(-s));
                word |= 1 << gram.len();
                gram.push(slope.iter().map(|s| -s).chain([square]).collect());
                along.push(products);
            }
            rows[row] = word;
        }
        let changed = rows.iter().zip(core.rows()).filter(|(a, b)| a != b).count();
        if changed > 0 {
            *core = Core::of_rows(rows, gram.len(), self.products);
        }
        changed
    }
}
