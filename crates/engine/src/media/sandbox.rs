//! What ffmpeg and ffprobe may do: their memory is limited, and where the kernel has Landlock they open the
//! files of their task, the system's libraries and fonts, and nothing else, and reach no network.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::Program;

/// The files of one task. A folder stands for all below it.
#[derive(Debug, Default)]
pub(super) struct Access {
    pub read: Vec<PathBuf>,
    /// Files that are there already: nothing is created.
    pub write: Vec<PathBuf>,
    /// Whether the graphics hardware is used.
    pub graphics: bool,
}

/// Where programs, their libraries and fonts are. A program elsewhere runs without a sandbox: nobody
/// knows where its libraries are.
const SYSTEM: [&str; 8] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/nix/store", "/home/linuxbrew"];
/// What programs and libraries read elsewhere, without a need.
const SETTINGS: [&str; 6] = [
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/var/cache/fontconfig",
    "/sys/devices/system",
    "/dev/urandom",
];
/// Devices of graphics hardware, and where drivers look for them.
const GRAPHICS: [&str; 5] =
    ["/dev/dri", "/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-modeset"];
const DRIVER_SETTINGS: [&str; 5] =
    ["/sys/dev", "/sys/devices", "/sys/class", "/proc/driver", "/proc/devices"];
const HOME_FONTS: [&str; 3] = [".fonts", ".local/share/fonts", ".cache/fontconfig"];
/// Set to `off`, there is no sandbox.
const VARIABLE: &str = "STITCH_SANDBOX";

/// What they may allocate: a small file must not fill the machine's memory. A frame of 8K video in 10 bits has
/// 100 MB, and a decoder keeps up to 17 of them.
pub(super) const MAX_MEMORY: u64 = 8 << 30;

/// Why a program runs without a sandbox; none if it has one.
pub(super) fn missing(program: Program) -> Option<&'static str> {
    if !decodes(program) {
        return Some("it reads no foreign file");
    }
    if std::env::var_os(VARIABLE).is_some_and(|value| value == "off") {
        return Some("STITCH_SANDBOX=off");
    }
    if !kernel::is_supported() {
        return Some("this kernel has no Landlock, which Linux 5.13 brought");
    }
    let is_system = |path: PathBuf| SYSTEM.iter().any(|folder| path.starts_with(folder));
    match located(program).is_some_and(is_system) {
        true => None,
        false => Some("the program lies outside the system's folders"),
    }
}

fn decodes(program: Program) -> bool {
    matches!(program, Program::Ffmpeg | Program::Ffprobe)
}

/// The file that is started, links followed.
fn located(program: Program) -> Option<PathBuf> {
    let name = PathBuf::from(program.file());
    if name.components().count() > 1 {
        return name.canonicalize().ok();
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find_map(|folder| folder.join(&name).canonicalize().ok())
}

/// Restricts the program that the command starts to the files of its task, and its memory.
pub(super) fn confine(command: &mut Command, program: Program, access: &Access) -> io::Result<()> {
    if decodes(program) {
        kernel::limit_memory(command);
    }
    match missing(program) {
        None => kernel::confine(command, access),
        Some(_) => Ok(()),
    }
}

fn readable(access: &Access) -> impl Iterator<Item = PathBuf> {
    let home = std::env::home_dir().unwrap_or_default();
    let fonts = HOME_FONTS.map(|folder| home.join(folder));
    let drivers = DRIVER_SETTINGS.into_iter().chain(GRAPHICS).filter(|_| access.graphics);
    let system = SYSTEM.into_iter().chain(SETTINGS).chain(drivers).map(PathBuf::from);
    system.chain(fonts).chain(access.read.iter().cloned())
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::os::unix::process::CommandExt;

    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
        RulesetCreated, RulesetCreatedAttr, RulesetError, path_beneath_rules,
    };

    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    use super::*;

    /// The version that also keeps programs from TCP (Linux 6.7); an older kernel does what it can.
    const VERSION: ABI = ABI::V4;

    pub fn is_supported() -> bool {
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        ruleset.handle_access(AccessFs::ReadFile).and_then(Ruleset::create).is_ok()
    }

    pub fn limit_memory(command: &mut Command) {
        // SAFETY: between fork and exec the closure makes two system calls and allocates nothing.
        unsafe {
            command.pre_exec(|| {
                let allowed = getrlimit(Resource::Data).maximum.unwrap_or(MAX_MEMORY);
                let maximum = Some(allowed.min(MAX_MEMORY));
                let limit = Rlimit { current: maximum, maximum };
                setrlimit(Resource::Data, limit).map_err(io::Error::from)
            });
        }
    }

    pub fn confine(command: &mut Command, access: &Access) -> io::Result<()> {
        let mut rules = Some(ruleset(access).map_err(io::Error::other)?);
        // SAFETY: between fork and exec the closure makes two system calls and allocates nothing.
        unsafe {
            command.pre_exec(move || match rules.take().map(RulesetCreated::restrict_self) {
                Some(Err(error)) => Err(io::Error::other(error)),
                Some(Ok(_)) | None => Ok(()),
            });
        }
        Ok(())
    }

    fn ruleset(access: &Access) -> Result<RulesetCreated, RulesetError> {
        let both = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate;
        let devices = GRAPHICS.iter().filter(|_| access.graphics).chain([&"/dev/null"]);
        let written = access.write.iter().map(PathBuf::as_path).chain(devices.map(Path::new));
        Ruleset::default()
            .handle_access(AccessFs::from_all(VERSION))?
            .handle_access(AccessNet::from_all(VERSION))?
            .create()?
            .add_rules(path_beneath_rules(readable(access), AccessFs::from_read(VERSION)))?
            .add_rules(path_beneath_rules(written, both))
    }
}

#[cfg(not(target_os = "linux"))]
mod kernel {
    use super::*;

    pub fn is_supported() -> bool {
        false
    }

    pub fn limit_memory(_: &mut Command) {}

    pub fn confine(_: &mut Command, _: &Access) -> io::Result<()> {
        Ok(())
    }
}
