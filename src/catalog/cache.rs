//! What was worked out of the policies folder before, kept on disk so that a start need not do it
//! again: bytes under a name and a key in, the same bytes out. It decides nothing: whoever recalls
//! something compares it with the files.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::digest::{of_bytes, of_text, short};

/// The first line of each file; another layout has another number.
const MAGIC: &str = "switchboard cache 1";
/// Largest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 30;

/// A folder of files that only this user may read, one for each name.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
    /// Names this very program: another one may read the same files otherwise.
    build: String,
}

impl Cache {
    /// Opens the folder, which is made with mode 0700. A folder of somebody else is refused.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let meta = fs::symlink_metadata(folder)?;
        if !meta.is_dir() || !is_private(&meta) {
            let message = "is not a folder that only this user may change";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        let program = fs::metadata("/proc/self/exe")?;
        let build = format!(
            "{} {} {} {}",
            env!("CARGO_PKG_VERSION"),
            program.len(),
            program.mtime(),
            program.mtime_nsec()
        );
        Ok(Self { folder: folder.to_path_buf(), build })
    }

    /// What was kept last under this name, if it was under this key. A file that is damaged, or that
    /// somebody else could have written, counts as none, and the log says so.
    pub fn recall(&self, name: &str, key: &str) -> Option<Vec<u8>> {
        match self.read(name, key) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                tracing::warn!(name, %error, "what the cache has cannot be used and is made again");
                None
            }
        }
    }

    /// Keeps bytes under a name and a key, in place of what is there. A failure is logged only.
    pub fn keep(&self, name: &str, key: &str, bytes: &[u8]) {
        if let Err(error) = self.write(name, key, bytes) {
            tracing::warn!(name, %error, "cannot be kept in the cache, so the next start is slower");
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let clean: String = name.chars().filter(|c| plain(*c)).take(64).collect();
        let mark = short(name, 8);
        self.folder.join(format!("{clean}-{mark}.cache"))
    }

    fn head(&self, key: &str, bytes: &[u8]) -> String {
        let key = of_text(&format!("{}\n{key}", self.build));
        format!("{MAGIC}\n{key}\n{}\n", of_bytes(bytes))
    }

    fn read(&self, name: &str, key: &str) -> io::Result<Option<Vec<u8>>> {
        let wrong = |message: &str| io::Error::new(io::ErrorKind::InvalidData, message);
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let mut file = OpenOptions::new().read(true).custom_flags(flags).open(self.path(name))?;
        let meta = file.metadata()?;
        if !meta.is_file() || !is_private(&meta) || meta.len() > MAX_BYTES {
            return Err(wrong("is not a file that only this user may change"));
        }
        let mut whole = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or_default());
        file.read_to_end(&mut whole)?;
        let lines = whole.splitn(4, |byte| *byte == b'\n').map(<[u8]>::len);
        let start = lines.take(3).map(|length| length + 1).sum::<usize>();
        let (Some(head), Some(bytes)) = (whole.get(..start), whole.get(start..)) else {
            return Err(wrong("is cut off"));
        };
        let wanted = self.head(key, bytes);
        if head == wanted.as_bytes() {
            return Ok(Some(whole.split_off(start)));
        }
        let line = |text: &[u8], at: usize| {
            text.split(|byte| *byte == b'\n').nth(at).unwrap_or_default().to_vec()
        };
        // Another key is no damage: the files have changed.
        let stale = line(head, 1) != line(wanted.as_bytes(), 1);
        if stale {
            Ok(None)
        } else {
            Err(wrong("does not have the content that it was written with"))
        }
    }

    fn write(&self, name: &str, key: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(name);
        let new = self.folder.join(format!(".{}.new", std::process::id()));
        let written = self.write_new(&new, key, bytes).and_then(|()| fs::rename(&new, &path));
        if written.is_err() {
            fs::remove_file(&new).ok();
        }
        written
    }

    fn write_new(&self, path: &Path, key: &str, bytes: &[u8]) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(self.head(key, bytes).as_bytes())?;
        file.write_all(bytes)?;
        file.sync_data()
    }
}

/// Whether nobody but this user could have written it.
fn is_private(meta: &fs::Metadata) -> bool {
    meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0
}
