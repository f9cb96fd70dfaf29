//! Programs that run. None outlives its owner, leaves a zombie or blocks on a full pipe, one whose output
//! we read never makes us wait for ever, and what reads a foreign file opens no other.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Result;
use super::program::{MediaError, Program};
use super::sandbox::{self, Access};
use crate::progress::{Progress, Silent};

impl Program {
    /// For how long it may write nothing; ffprobe must have ended by then. A download may wait.
    fn limit(self) -> Duration {
        match self {
            Self::Ffprobe => Duration::from_secs(60),
            Self::Ffmpeg | Self::EspeakNg | Self::Piper => Duration::from_secs(120),
            Self::Python3 | Self::YtDlp | Self::Shell => Duration::MAX,
        }
    }

    /// A command that starts it, with nothing on standard input.
    pub fn command(self) -> Command {
        let mut command = Command::new(self.file());
        command.stdin(Stdio::null());
        die_with_parent(&mut command);
        command
    }

    /// Runs it to its end and returns what it wrote to standard output.
    pub fn output<A: AsRef<OsStr>>(
        self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>> {
        Task::new(self).args(arguments).run(&Silent)
    }

    /// The first line of what it says of itself.
    pub fn version(self) -> Result<String> {
        let is_ffmpeg = matches!(self, Self::Ffmpeg | Self::Ffprobe);
        let flag = if is_ffmpeg { "-version" } else { "--version" };
        let text = self.output([flag])?;
        Ok(String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned())
    }
}

/// Ctrl-C is for us: we end our programs when nothing is lost. On Linux they also end when the thread
/// that started them does, even if it is killed.
fn die_with_parent(command: &mut Command) {
    command.process_group(0);
    #[cfg(target_os = "linux")]
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe {
        use rustix::process::{Signal, set_parent_process_death_signal};
        command.pre_exec(|| {
            set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from)
        });
    }
}

/// What a program whose output is kept whole may write: more than subtitles (50 MiB) may have.
const MAX_OUTPUT: usize = 64 << 20;

/// The containers that are read. None of them opens other files or addresses, as playlists do (HLS,
/// DASH, ffconcat, SDP), whatever a file's name says.
const CONTAINERS: &str = "mov,matroska,avi,mpegts,mpeg,mpegvideo,m4v,h264,hevc,av1,obu,ivf,mjpeg,flv,\
    asf,ogg,mxf,rm,nut,dv,wtv,gif,yuv4mpegpipe,wav,w64,mp3,aac,flac,aiff,caf,au,amr,ac3,eac3,dts,ape,\
    wv,tta";

/// A program to be started, with its arguments.
pub struct Task {
    program: Program,
    command: Command,
    limit: Duration,
    /// The first foreign file that it reads, for messages.
    input: Option<PathBuf>,
    access: Access,
}

impl Task {
    pub(super) fn new(program: Program) -> Self {
        let (command, limit) = (program.command(), program.limit());
        Self { program, command, limit, input: None, access: Access::default() }
    }

    pub fn ffmpeg() -> Self {
        Self::new(Program::Ffmpeg).args(["-v", "error", "-nostdin", "-y"])
    }

    pub fn ffprobe() -> Self {
        Self::new(Program::Ffprobe).args(["-v", "error"])
    }

    pub fn args<A: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.command.args(arguments);
        self
    }

    /// Reads a file that we did not write: one of [`CONTAINERS`], and nothing beside it.
    pub fn input(mut self, path: &Path) -> Self {
        self.input.get_or_insert_with(|| path.to_owned());
        let only = ["-protocol_whitelist", "file,pipe", "-format_whitelist", CONTAINERS, "-i"];
        self.command.args(only).arg(url(path));
        self.reads(path)
    }

    /// The name of a file of ours that is there, to be read or overwritten.
    pub fn file(mut self, path: &Path) -> Self {
        self.command.arg(url(path));
        self.access.write.push(path.to_owned());
        self
    }

    pub fn envs(mut self, variables: &[(&str, &OsStr)]) -> Self {
        self.command.envs(variables.iter().copied());
        self
    }

    /// Ends it after this time, whatever it writes.
    pub fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Runs it in a folder of ours, in which it may read everything.
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self.reads(folder)
    }

    /// Lets it use the graphics hardware.
    pub fn with_graphics(mut self) -> Self {
        self.access.graphics = true;
        self
    }

    /// Lets it read a file, or everything in a folder.
    pub fn reads(mut self, path: &Path) -> Self {
        self.access.read.push(path.to_owned());
        self
    }

    /// Starts it with pipes as standard input and output.
    pub fn start_with_input(mut self) -> Result<(Running, Option<ChildStdin>)> {
        self.command.stdin(Stdio::piped());
        let mut running = self.start()?;
        let stdin = running.child.stdin.take();
        Ok((running, stdin))
    }

    /// Starts it. Standard error is always read, standard output by the caller.
    pub fn start(mut self) -> Result<Running> {
        let Self { program, limit, .. } = self;
        sandbox::confine(&mut self.command, program, &self.access)
            .map_err(|e| program.io_error(e))?;
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.command.spawn().map_err(|e| program.io_error(e))?;
        let stderr = child.stderr.take().map(|pipe| std::thread::spawn(move || tail(pipe)));
        Ok(Running { program, child, stderr, started: Instant::now(), limit, input: self.input })
    }

    /// Runs it to its end and returns what it wrote to standard output.
    pub fn run(self, progress: &dyn Progress) -> Result<Vec<u8>> {
        let (output, ended) = self.run_to_end(progress)?;
        ended.map(|()| output)
    }

    /// The same for a program that does a part of its work even if it fails.
    pub fn run_to_end(self, progress: &dyn Progress) -> Result<(Vec<u8>, Result<()>)> {
        let mut running = self.start()?;
        let (mut output, mut chunk) = (Vec::new(), [0; 1 << 14]);
        loop {
            match running.read(&mut chunk, progress)? {
                0 => break,
                count => output.extend_from_slice(&chunk[..count]),
            }
            if output.len() > MAX_OUTPUT {
                let message = format!("it wrote more than {} MiB", MAX_OUTPUT >> 20);
                return Err(MediaError::Failed { program: running.program, message });
            }
        }
        Ok((output, running.finish(progress)))
    }
}

/// Time between two checks whether to stop.
const POLL: Duration = Duration::from_millis(10);

/// A running program. Dropping it ends the program.
pub struct Running {
    program: Program,
    child: Child,
    stderr: Option<JoinHandle<Vec<u8>>>,
    started: Instant,
    limit: Duration,
    input: Option<PathBuf>,
}

impl Running {
    /// Fills the buffer from standard output and returns how many bytes came; fewer than fit are the
    /// last ones.
    pub fn fill(&mut self, buffer: &mut [u8], progress: &dyn Progress) -> Result<usize> {
        let mut have = 0;
        while have < buffer.len() {
            match self.read(&mut buffer[have..], progress)? {
                0 => break,
                count => have += count,
            }
        }
        Ok(have)
    }

    /// Some bytes from standard output; none at its end.
    fn read(&mut self, buffer: &mut [u8], progress: &dyn Progress) -> Result<usize> {
        let since = self.since();
        loop {
            self.check(since, progress)?;
            let Some(stdout) = &mut self.child.stdout else { return Ok(0) };
            let interval = Timespec { tv_sec: 0, tv_nsec: POLL.as_nanos() as _ };
            let ready = poll(&mut [PollFd::new(&*stdout, PollFlags::IN)], Some(&interval));
            match ready {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return stdout.read(buffer).map_err(|e| self.program.io_error(e)),
                Err(error) => return Err(self.program.io_error(error.into())),
            }
        }
    }

    /// From when its limit counts.
    fn since(&self) -> Instant {
        let whole = matches!(self.program, Program::Ffprobe | Program::Shell);
        if whole { self.started } else { Instant::now() }
    }

    fn check(&self, since: Instant, progress: &dyn Progress) -> Result<()> {
        progress.check()?;
        match since.elapsed() > self.limit {
            true => Err(MediaError::TimedOut {
                program: self.program,
                input: self.input.clone(),
                seconds: self.limit.as_secs(),
            }),
            false => Ok(()),
        }
    }

    /// Waits for the end, or ends the program when the work is asked to stop.
    pub fn finish(self, progress: &dyn Progress) -> Result<()> {
        let program = self.program;
        match self.finish_with_stderr(progress)? {
            (true, stderr) if !has_lost_output(&stderr) => Ok(()),
            (_, stderr) if stderr.trim_ascii().is_empty() => {
                Err(MediaError::Failed { program, message: "it did not say why".into() })
            }
            (_, stderr) => Err(program.failed(&stderr)),
        }
    }

    /// Waits for the end; whether it succeeded, and the end of its standard error.
    pub fn finish_with_stderr(mut self, progress: &dyn Progress) -> Result<(bool, Vec<u8>)> {
        let since = self.since();
        let status = loop {
            match self.child.try_wait().map_err(|e| self.program.io_error(e))? {
                Some(status) => break status,
                None => self.check(since, progress)?,
            }
            std::thread::sleep(POLL);
        };
        let stderr = self.stderr.take().and_then(|reader| reader.join().ok()).unwrap_or_default();
        // If we were asked to stop meanwhile, that is the reason to give.
        progress.check()?;
        Ok((status.success(), stderr))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // What a shell has started is in its group. All fail only for a program that has ended already, which is what
        // is wanted.
        if let Ok(None) = self.child.try_wait() {
            let group = rustix::process::Pid::from_child(&self.child);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether ffmpeg could not write the end of its file: version 5 then reports success.
fn has_lost_output(stderr: &[u8]) -> bool {
    let text = String::from_utf8_lossy(stderr);
    ["Error writing trailer", "Error closing file"].iter().any(|said| text.contains(said))
}

/// The path as a URL, so that ffmpeg takes no name for an option, a protocol or a pattern.
fn url(path: &Path) -> OsString {
    let mut url = OsString::from("file:");
    url.push(std::path::absolute(path).unwrap_or_else(|_| path.to_owned()));
    url
}

/// At least the last 16 KiB of what comes.
fn tail(mut pipe: impl Read) -> Vec<u8> {
    const KEPT: usize = 16 * 1024;
    let (mut kept, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        match pipe.read(&mut chunk) {
            Ok(0) => return kept,
            Ok(count) => kept.extend_from_slice(&chunk[..count]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => return kept,
        }
        if kept.len() > 2 * KEPT {
            kept.drain(..kept.len() - KEPT);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    /// Asks to stop after being looked at a few times.
    struct Impatient(AtomicU32);

    impl Progress for Impatient {
        fn stopped(&self) -> bool {
            self.0.fetch_add(1, Ordering::Relaxed) > 3
        }
    }

    /// A program that writes nothing for an hour.
    fn silent(program: Program) -> Task {
        let mut command = Command::new("sleep");
        die_with_parent(command.arg("3600"));
        Task { command, limit: Duration::from_millis(100), ..Task::new(program) }
    }

    #[test]
    fn a_program_that_writes_nothing_is_ended() {
        for program in [Program::Ffmpeg, Program::Ffprobe] {
            let ended = silent(program).run(&Silent);
            assert!(matches!(ended, Err(MediaError::TimedOut { .. })), "{ended:?}");
            let ended = silent(program).start().unwrap().finish(&Silent);
            assert!(matches!(ended, Err(MediaError::TimedOut { .. })), "{ended:?}");
        }
        let mut endless = Task::new(Program::Ffprobe);
        endless.command = Command::new("sh");
        endless.command.args(["-c", "while :; do echo; done"]);
        endless.limit = Duration::from_millis(50);
        let ended = endless.run(&Silent).map(|output| output.len());
        assert!(matches!(ended, Err(MediaError::TimedOut { .. })), "{ended:?}");
    }

    #[test]
    fn a_program_that_writes_without_end_is_ended() {
        let endless = Task { command: Command::new("yes"), ..Task::new(Program::Ffmpeg) };
        let ended = endless.run(&Silent).map(|output| output.len());
        assert!(matches!(ended, Err(MediaError::Failed { .. })), "{ended:?}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_decodes_has_a_limit_of_memory() {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -d"]);
        let kilobytes = Task { command, ..Task::new(Program::Ffprobe) }.run(&Silent).unwrap();
        let kilobytes: u64 = String::from_utf8(kilobytes).unwrap().trim().parse().unwrap();
        assert!(kilobytes << 10 <= sandbox::MAX_MEMORY, "{kilobytes}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_program_dies_with_the_thread_that_started_it() {
        let task = Task { limit: Duration::from_secs(30), ..silent(Program::Ffmpeg) };
        let orphan = std::thread::spawn(|| task.start().unwrap()).join().unwrap();
        let ended = orphan.finish(&Silent);
        assert!(matches!(ended, Err(MediaError::Failed { .. })), "{ended:?}");
    }

    #[test]
    fn stops_a_program_when_asked() {
        let impatient = || Impatient(AtomicU32::new(0));
        let stopped = silent(Program::Ffmpeg).run(&impatient());
        assert!(matches!(stopped, Err(MediaError::Stopped(_))), "{stopped:?}");
        let stopped = silent(Program::Ffmpeg).start().unwrap().fill(&mut [0], &impatient());
        assert!(matches!(stopped, Err(MediaError::Stopped(_))), "{stopped:?}");
    }

    #[test]
    fn dropping_ends_the_program() {
        let running = silent(Program::Ffmpeg).start().unwrap();
        let process = format!("/proc/{}", running.child.id());
        assert!(Path::new(&process).exists());
        drop(running);
        assert!(!Path::new(&process).exists());
    }

    #[test]
    fn a_loud_program_does_not_block_and_says_why_it_failed() {
        let noise = "-v trace -f lavfi -i testsrc=d=2 -f no-such-format -";
        let failed = Program::Ffmpeg.output(noise.split(' ')).unwrap_err().to_string();
        assert!(failed.contains("no-such-format"), "{failed}");
    }

    #[test]
    fn a_file_without_its_end_is_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("full.mov");
        std::os::unix::fs::symlink("/dev/full", &link).unwrap();
        let task = Task::ffmpeg().args("-f lavfi -i testsrc2=s=64x64:d=1 -f nut".split(' '));
        let failed = task.file(&link).run(&Silent);
        assert!(matches!(failed, Err(MediaError::DiskFull { .. })), "{failed:?}");
    }

    #[test]
    fn odd_names_become_urls_that_mean_only_themselves() {
        assert_eq!(url(Path::new("/a/-i %d'\n.mp4")), "file:/a/-i %d'\n.mp4");
    }

    /// A second of sound in `name`, made by ffmpeg.
    fn sound(folder: &Path, name: &str) -> PathBuf {
        let path = folder.join(name);
        std::fs::write(&path, "").unwrap();
        let task = Task::ffmpeg().args("-f lavfi -i sine=d=1 -f wav".split(' '));
        task.file(&path).run(&Silent).unwrap();
        path
    }

    #[test]
    #[allow(clippy::print_stderr)]
    fn in_the_sandbox_only_named_files_are_opened() {
        if let Some(why) = sandbox::missing(Program::Ffmpeg) {
            return eprintln!("skipped: no sandbox, {why}");
        }
        let folder = tempfile::tempdir().unwrap();
        let sibling = sound(folder.path(), "sibling.wav");
        let list = folder.path().join("list.txt");
        std::fs::write(&list, "ffconcat version 1.0\nfile sibling.wav\n").unwrap();
        let listed = |task: Task| {
            let task = task.args(["-f", "concat", "-i"]).args([&list]).reads(&list);
            task.args(["-f", "null", "-"]).run(&Silent)
        };
        let refused = listed(Task::ffmpeg()).unwrap_err().to_string();
        assert!(refused.contains("Permission denied"), "{refused}");
        listed(Task::ffmpeg().reads(&sibling)).unwrap();

        let copy = |task: Task| task.args(["-i"]).args([&sibling]).args(["-c", "copy"]);
        let elsewhere = folder.path().join("elsewhere.wav");
        let written = copy(Task::ffmpeg().reads(&sibling)).args([&elsewhere]).run(&Silent);
        let refused = written.unwrap_err().to_string();
        assert!(refused.contains("Permission denied"), "{refused}");
        assert!(!elsewhere.exists());
    }
}
