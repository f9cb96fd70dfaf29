//! A started program that cannot outlive its owner, leave a zombie or block on a full pipe.

use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use super::program::{MediaError, Program};
use crate::progress::Progress;

/// At least so much of the end of standard error is kept.
const STDERR_BYTES: usize = 16 * 1024;
/// Time between two checks of a running program.
const POLL: Duration = Duration::from_millis(10);

/// A running program. Dropping it ends the program.
pub struct Running {
    program: Program,
    child: Child,
    stderr: Option<JoinHandle<Vec<u8>>>,
}

impl Running {
    /// Starts the program. Standard error is always read; standard output is a pipe that somebody
    /// must read: see [`Self::stream`] and [`Self::capture`].
    pub fn start(program: Program, mut command: Command) -> Result<Self, MediaError> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| program.not_started(e))?;
        let stderr = child.stderr.take().map(|pipe| std::thread::spawn(move || tail(pipe)));
        Ok(Self { program, child, stderr })
    }

    /// Starts ffmpeg and gives its standard output as a stream.
    pub fn stream(
        command: Command,
        buffer_bytes: usize,
    ) -> Result<(Self, BufReader<ChildStdout>), MediaError> {
        let mut running = Self::start(Program::Ffmpeg, command)?;
        let stdout = running.child.stdout.take().ok_or_else(|| {
            Program::Ffmpeg.not_started(io::Error::from(io::ErrorKind::BrokenPipe))
        })?;
        Ok((running, BufReader::with_capacity(buffer_bytes, stdout)))
    }

    /// The program's standard input, once, if the command made it a pipe.
    pub fn stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Waits for the end, or ends the program when the work is asked to stop.
    pub fn finish(self, progress: &dyn Progress) -> Result<(), MediaError> {
        let program = self.program;
        match self.finish_with_stderr(progress)? {
            (true, _) => Ok(()),
            (false, stderr) => Err(program.failed(&stderr)),
        }
    }

    /// Waits for the end; whether it succeeded, and the end of its standard error.
    pub fn finish_with_stderr(
        mut self,
        progress: &dyn Progress,
    ) -> Result<(bool, Vec<u8>), MediaError> {
        let status = self.wait(progress)?;
        let stderr = self.stderr.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        // A Ctrl-C reaches the program too: then its exit status means nothing.
        progress.check()?;
        Ok((status.success(), stderr))
    }

    /// Runs to the end and returns what was written to standard output.
    pub fn capture(mut self, progress: &dyn Progress) -> Result<Vec<u8>, MediaError> {
        let reader = self.child.stdout.take().map(|mut pipe| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                pipe.read_to_end(&mut bytes).map(|_| bytes)
            })
        });
        let program = self.program;
        self.finish(progress)?;
        let read = reader.and_then(|reader| reader.join().ok()).unwrap_or_else(|| Ok(Vec::new()));
        read.map_err(|source| MediaError::NotStarted { program, source })
    }

    fn wait(&mut self, progress: &dyn Progress) -> Result<ExitStatus, MediaError> {
        loop {
            let status = self.child.try_wait().map_err(|e| self.program.not_started(e))?;
            if let Some(status) = status {
                return Ok(status);
            }
            progress.check()?;
            std::thread::sleep(POLL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only for a program that has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a program to its end and returns what it wrote to standard output.
pub fn run(
    program: Program,
    command: Command,
    progress: &dyn Progress,
) -> Result<Vec<u8>, MediaError> {
    Running::start(program, command)?.capture(progress)
}

/// The path as a URL, so that ffmpeg takes no name for an option, a protocol or a pattern.
pub fn url(path: &Path) -> std::ffi::OsString {
    let mut url = std::ffi::OsString::from("file:");
    url.push(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    url
}

fn tail(mut pipe: impl Read) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => return kept,
            Ok(n) => kept.extend_from_slice(chunk.get(..n).unwrap_or_default()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return kept,
        }
        if kept.len() > 2 * STDERR_BYTES {
            kept.drain(..kept.len() - STDERR_BYTES);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::progress::Silent;

    /// Asks to stop after being looked at a few times.
    struct Impatient(AtomicU32);

    impl Progress for Impatient {
        fn stopped(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) > 3
        }
    }

    fn endless() -> Command {
        let mut command = Program::Ffmpeg.command();
        command.args(["-v", "quiet", "-f", "lavfi", "-i", "testsrc", "-f", "rawvideo", "-"]);
        command
    }

    #[test]
    fn stops_an_endless_program_when_asked() {
        let stopped = run(Program::Ffmpeg, endless(), &Impatient(AtomicU32::new(0)));
        assert!(matches!(stopped, Err(MediaError::Stopped(_))), "{stopped:?}");
    }

    #[test]
    fn dropping_ends_the_program() {
        let running = Running::start(Program::Ffmpeg, endless()).unwrap();
        let process = format!("/proc/{}", running.child.id());
        assert!(Path::new(&process).exists());
        drop(running);
        assert!(!Path::new(&process).exists());
    }

    #[test]
    fn a_loud_program_does_not_block_and_says_why_it_failed() {
        let mut command = Program::Ffmpeg.command();
        command.args([
            "-v",
            "trace",
            "-f",
            "lavfi",
            "-i",
            "testsrc=d=2",
            "-f",
            "no-such-format",
            "-",
        ]);
        let failed = run(Program::Ffmpeg, command, &Silent).unwrap_err().to_string();
        assert!(failed.contains("no-such-format"), "{failed}");
    }

    #[test]
    fn odd_names_become_urls_that_mean_only_themselves() {
        assert_eq!(url(Path::new("/a/-i %d'\n.mp4")), "file:/a/-i %d'\n.mp4");
    }
}
