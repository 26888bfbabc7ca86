//! Fenced blocks as CommonMark has them: a line in, the fence that it opens out, and where the block ends.
//! The closing fence is at least as long as the opening one; the end of the text closes a block too.

/// How a block was opened.
pub(super) struct Fence<'t> {
    mark: char,
    count: usize,
    pub(super) language: &'t str,
}

impl<'t> Fence<'t> {
    /// The fence that a line opens, if it does.
    pub(super) fn open(line: &'t str) -> Option<Self> {
        let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
        let info = line.trim_start_matches(mark);
        let count = line.len() - info.len();
        let is_fence = count >= 3 && !(mark == '`' && info.contains('`'));
        let language = info.split_whitespace().next().unwrap_or_default();
        is_fence.then_some(Self { mark, count, language })
    }

    /// Bytes up to the end of the closing line, if the next line with text is that; the end of the text
    /// closes a block too.
    pub(super) fn closes(&self, rest: &str) -> Option<usize> {
        let space = rest.len() - rest.trim_start().len();
        let line = rest.get(space..)?.split('\n').next().unwrap_or_default();
        let closes = line.is_empty() || (rest.get(..space)?.contains('\n') && self.is_end(line));
        closes.then_some(space + line.len())
    }

    fn is_end(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.count && line.chars().all(|c| c == self.mark)
    }

    /// Bytes to the end of the block.
    pub(super) fn length(&self, rest: &str) -> usize {
        let mut length = 0;
        for line in rest.split_inclusive('\n') {
            length += line.len();
            if self.is_end(line) {
                break;
            }
        }
        length
    }
}
