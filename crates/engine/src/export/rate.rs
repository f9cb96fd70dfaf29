//! Frame rates and timecodes as editors count them, without rounding errors that add up.

/// Frames per second: `base`, or 1000/1001 of it where `is_ntsc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    pub base: u32,
    pub is_ntsc: bool,
}

/// The rates that every editor has, to one of which it conforms a file of a variable rate.
const STANDARD: [Rate; 8] = [
    Rate { base: 24, is_ntsc: true },
    Rate { base: 24, is_ntsc: false },
    Rate { base: 25, is_ntsc: false },
    Rate { base: 30, is_ntsc: true },
    Rate { base: 30, is_ntsc: false },
    Rate { base: 50, is_ntsc: false },
    Rate { base: 60, is_ntsc: true },
    Rate { base: 60, is_ntsc: false },
];
/// A fifth of what is between a whole rate and its NTSC rate: headers round.
const MAX_DEVIATION: f64 = 0.0002;

impl Rate {
    pub fn whole(base: u32) -> Self {
        Self { base, is_ntsc: false }
    }

    /// The rate of a file with so many frames per second on average: that rate where it is whole or
    /// NTSC, else the nearest that editors have.
    pub fn of(fps: f64) -> Self {
        let whole = Self::whole(fps.round() as u32);
        let ntsc = Self { base: (fps * 1.001).round() as u32, is_ntsc: true };
        let off = |rate: &Self| (rate.fps() / fps - 1.0).abs();
        let exact = [whole, ntsc].into_iter().find(|rate| off(rate) < MAX_DEVIATION);
        let nearest = || STANDARD.into_iter().min_by(|a, b| off(a).total_cmp(&off(b)));
        exact.or_else(nearest).unwrap_or(STANDARD[2])
    }

    /// Frames per second as numerator and denominator.
    pub fn fraction(self) -> (u64, u64) {
        let base = u64::from(self.base);
        if self.is_ntsc { (base * 1000, 1001) } else { (base, 1) }
    }

    pub fn fps(self) -> f64 {
        let (above, below) = self.fraction();
        above as f64 / below as f64
    }

    /// The frame that begins nearest to a time in milliseconds.
    pub fn frame(self, ms: u64) -> u64 {
        Self::whole(1000).convert(ms, self, 1.0)
    }

    /// So many frames at this rate in frames at another, played at a speed, to the nearest.
    pub fn convert(self, frames: u64, to: Self, speed: f64) -> u64 {
        let ((above, below), (to_above, to_below)) = (self.fraction(), to.fraction());
        // One division of whole numbers keeps halves exact.
        let converted = (frames * below * to_above) as f64 / (above * to_below) as f64;
        (converted * speed).round() as u64
    }

    /// The number of the frame that has this timecode (`hh:mm:ss:ff`, with `;` before the frames of
    /// drop-frame ones).
    pub fn read(self, text: &str) -> Option<Timecode> {
        let numbers: Option<Vec<u64>> =
            text.split([':', ';', '.']).map(|n| n.parse().ok()).collect();
        let [hours, minutes, seconds, frames]: [u64; 4] = numbers?.try_into().ok()?;
        let base = u64::from(self.base);
        let is_drop = text.contains([';', '.']) && self.dropped() > 0;
        if hours > 99 || minutes > 59 || seconds > 59 || frames >= base {
            return None;
        }
        let minutes = hours * 60 + minutes;
        let dropped = if is_drop { self.dropped() * (minutes - minutes / 10) } else { 0 };
        let frame = (minutes * 60 + seconds) * base + frames;
        Some(Timecode { frame: frame.checked_sub(dropped)?, is_drop })
    }

    /// The timecode of a frame, as [`Self::read`] reads it.
    pub fn timecode(self, Timecode { mut frame, is_drop }: Timecode) -> String {
        let base = u64::from(self.base);
        if is_drop {
            let minute = base * 60 - self.dropped();
            let ten_minutes = minute * 10 + self.dropped();
            let rest = (frame % ten_minutes).saturating_sub(self.dropped());
            frame += self.dropped() * (frame / ten_minutes * 9 + rest / minute);
        }
        let (second, mark) = (frame / base, if is_drop { ';' } else { ':' });
        let (hour, minute) = (second / 3600, second / 60 % 60);
        format!("{hour:02}:{minute:02}:{:02}{mark}{:02}", second % 60, frame % base)
    }

    /// How many numbers drop-frame timecode leaves out in nine of ten minutes; 0 where it does not exist.
    fn dropped(self) -> u64 {
        if self.is_ntsc && self.base.is_multiple_of(30) { u64::from(self.base / 15) } else { 0 }
    }
}

/// The number of a frame, and how its timecode is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Timecode {
    pub frame: u64,
    pub is_drop: bool,
}

impl Timecode {
    /// So many frames later.
    pub fn after(self, frames: u64) -> Self {
        Self { frame: self.frame + frames, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NTSC: Rate = Rate { base: 30, is_ntsc: true };

    #[test]
    fn rates_are_exact_and_variable_ones_conformed() {
        let ntsc = |base| Rate { base, is_ntsc: true };
        let table = [
            (24000.0 / 1001.0, ntsc(24)),
            (24.0, Rate::whole(24)),
            (29.970_03, ntsc(30)),
            (59.94, ntsc(60)),
            (15.0, Rate::whole(15)),
            (29.6, ntsc(30)),
            (8.3, ntsc(24)),
            (0.05, ntsc(24)),
            (144.1, Rate::whole(60)),
        ];
        for (fps, rate) in table {
            assert_eq!(Rate::of(fps), rate, "{fps}");
        }
    }

    #[test]
    fn every_frame_comes_back_from_its_time_and_its_timecode() {
        for rate in STANDARD {
            for frame in (0..400_000).step_by(997) {
                let fast = rate.convert(frame, Rate::whole(1000), 1.0);
                assert_eq!(rate.frame(fast), frame, "{rate:?}");
                for is_drop in [false, rate.dropped() > 0] {
                    let timecode = Timecode { frame, is_drop };
                    let text = rate.timecode(timecode);
                    assert_eq!(rate.read(&text), Some(timecode), "{rate:?} {text}");
                }
            }
        }
    }

    #[test]
    fn halves_are_rounded_upwards() {
        assert_eq!(Rate::whole(24).convert(950, Rate::whole(30), 1.0), 1188);
        assert_eq!(Rate::whole(25).frame(580), 15, "14.5");
        assert_eq!(NTSC.convert(30_000, Rate::whole(30), 1.0), 30_030);
        assert_eq!(Rate::whole(30).convert(60, Rate::whole(25), 2.0), 100);
    }

    #[test]
    fn drop_frame_timecodes_follow_the_clock() {
        let table = [
            (1799, "00:00:59;29"),
            (1800, "00:01:00;02"),
            (17_981, "00:09:59;29"),
            (17_982, "00:10:00;00"),
            (107_892, "01:00:00;00"),
        ];
        for (frame, text) in table {
            assert_eq!(NTSC.timecode(Timecode { frame, is_drop: true }), text);
        }
        assert_eq!(NTSC.timecode(Timecode { frame: 108_000, is_drop: false }), "01:00:00:00");
        let drop_of_25 = Rate::whole(25).read("00:01:00;00");
        assert_eq!(drop_of_25, Some(Timecode { frame: 1500, is_drop: false }));
        for wrong in [
            "",
            "01:00:00",
            "1:2:3:x",
            "00:00:61:00",
            "00:00:00:30",
            "18446744073709551615:00:00:00",
        ] {
            assert_eq!(NTSC.read(wrong), None, "{wrong}");
        }
    }
}
