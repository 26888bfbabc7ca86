//! Files of `switchboard call`: read from the paths of the command line, and written to one folder,
//! never outside it and never over what is there unless that is asked for.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::{Failed, print};
use crate::call::is_file_name;
use crate::proto::tools::File;

/// The files of one call.
#[derive(Debug, Args)]
pub(super) struct Files {
    /// Sends a file to the tool: `NAME=PATH`, or a path whose last part is the name. Can be repeated.
    #[arg(long, value_name = "NAME=PATH")]
    file: Vec<String>,
    /// Asks for a file of this name. Can be repeated.
    #[arg(long, value_name = "NAME", requires = "out_dir")]
    pub(super) take: Vec<String>,
    /// The folder to which the files of the reply are written; it is made when it is not there.
    #[arg(long, value_name = "DIR")]
    out_dir: Option<PathBuf>,
    /// Replaces files that are in that folder already.
    #[arg(long, requires = "out_dir")]
    force: bool,
}

impl Files {
    /// Reads the files to send. Looks first whether what comes back could be written.
    pub(super) fn read(&self) -> Result<Vec<File>, Failed> {
        if let Some(folder) = &self.out_dir {
            fs::create_dir_all(folder).map_err(|error| wrong("make the folder", folder, &error))?;
            for name in &self.take {
                self.place(folder, name)?;
            }
        }
        self.file.iter().map(|given| read(given)).collect()
    }

    /// Where a file goes; an error when it may not go there.
    fn place(&self, folder: &Path, name: &str) -> Result<PathBuf, Failed> {
        if !is_file_name(name) {
            return Err(Failed::usage(format!("`{name}` is no name of a file")));
        }
        let path = folder.join(name);
        // A link that leads nowhere is there too.
        if !self.force && fs::symlink_metadata(&path).is_ok() {
            let message = format!("`{}` is there already; --force replaces it", path.display());
            return Err(Failed::usage(message));
        }
        Ok(path)
    }

    /// Writes the files of a reply.
    pub(super) fn write(&self, files: &[File]) -> Result<(), Failed> {
        let Some(folder) = &self.out_dir else {
            if !files.is_empty() {
                let count = files.len();
                print::error(&format!("{count} files came with the reply; --out-dir keeps them"));
            }
            return Ok(());
        };
        files.iter().try_for_each(|file| {
            let path = self.place(folder, &file.name)?;
            self.write_one(folder, &path, file).map_err(|error| {
                Failed::answer(format!("cannot write `{}`: {error}", path.display()))
            })
        })
    }

    /// A file that is replaced is whole at any time, and a link is replaced, not followed.
    fn write_one(&self, folder: &Path, path: &Path, file: &File) -> std::io::Result<()> {
        let draft = folder.join(format!(".{}.draft", file.name));
        let target = if self.force { &draft } else { path };
        if self.force
            && let Err(error) = fs::remove_file(&draft)
            && error.kind() != ErrorKind::NotFound
        {
            return Err(error);
        }
        let mut out = OpenOptions::new().write(true).create_new(true).open(target)?;
        out.write_all(&file.content)?;
        if self.force { fs::rename(&draft, path) } else { Ok(()) }
    }
}

fn read(given: &str) -> Result<File, Failed> {
    let (name, path) = match given.split_once('=') {
        Some((name, path)) => (name, Path::new(path)),
        None => {
            let path = Path::new(given);
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            (name, path)
        }
    };
    let content = fs::read(path).map_err(|error| wrong("read", path, &error))?;
    Ok(File { name: name.to_owned(), content: content.into(), ..File::default() })
}

fn wrong(what: &str, path: &Path, error: &std::io::Error) -> Failed {
    Failed::usage(format!("cannot {what} `{}`: {error}", path.display()))
}
