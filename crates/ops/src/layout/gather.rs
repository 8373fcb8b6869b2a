//! Shared by `permute` and `take_along_axis`: elements picked along one axis of `a`.

use crate::{Args, Launch, LaunchInput, OpError, Source};
use cloakwork_ir::View;
use smallvec::SmallVec;

/// `a` and the indices over the result's shape; `a` stands still along the axis.
pub struct Gather {
    /// `a` with stride 0 along the axis.
    pub a: View,
    /// The indices, broadcast.
    pub indices: View,
    /// The stride of `a` along the axis.
    pub stride: i64,
    /// The size of `a` along the axis.
    pub size: u64,
}

impl Gather {
    /// One element-wise launch: out, a, indices.
    pub fn launch(self, args: &Args, indices: Source) -> Result<Launch, OpError> {
        let shape = self.a.shape.clone();
        let operands = [
            args.input("out")?,
            LaunchInput::View(args.source("a")?, self.a),
            LaunchInput::View(indices, self.indices),
        ];
        let mut launch = Launch::elementwise("gather", &shape, &operands)?;
        launch.params = SmallVec::from_slice(&[self.stride, self.size as i64]);
        Ok(launch)
    }

    /// Picks from row-major contents of so many words an element; `self` was made from row-major
    /// views.
    pub fn pick(&self, a: &[i64], parts: usize, indices: &[i64]) -> Vec<i64> {
        let size = self.size as i64;
        self.a
            .offsets()
            .zip(self.indices.offsets())
            .flat_map(|(base, at)| {
                let index = indices[at as usize];
                let index = if index < 0 { index + size } else { index };
                let place = (base + index * self.stride) as usize;
                a[place * parts..(place + 1) * parts].iter().copied()
            })
            .collect()
    }
}
