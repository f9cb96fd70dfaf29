"""Reads every timeline that stitch writes, with readers of other projects where there are any.

A reader takes a path and the frame rate of the timeline, and returns its cuts as (file name, first frame,
start, frames). Start and frames count in the timeline. The first frame is the file's, counted from timecode
0; of an EDL its timecode; of MLT the number in the timeline's rate. The sound must have the cuts of the
pictures."""

import fractions
import pathlib
import urllib.parse

import lxml.etree
import opentimelineio as otio
import pycmx

Fraction = fractions.Fraction


def whole(number):
    assert abs(number - round(number)) < 0.01, number
    return round(number)


def file_name(url):
    return pathlib.Path(urllib.parse.unquote(urllib.parse.urlparse(url).path)).name


def read_otio(path, fps):
    return otio_cuts(otio.adapters.read_from_file(str(path)), fps)


def otio_cuts(timeline, fps):
    def cuts(track):
        for item in track:
            if isinstance(item, otio.schema.Clip):
                where = track.range_of_child(item)
                start, length = where.start_time.to_seconds() * fps, where.duration.to_seconds() * fps
                first = whole(item.source_range.start_time.value)
                yield file_name(item.media_reference.target_url), first, whole(start), whole(length)

    pictures = list(cuts(timeline.video_tracks()[0]))
    for sound in timeline.audio_tracks():
        assert set(cuts(sound)) <= set(pictures)
    return pictures


def read_xmeml(path, fps):
    """By otio-fcp-adapter; and what Resolve refuses a file without must be there."""
    root = lxml.etree.parse(str(path)).getroot()
    assert root.findtext("sequence/rate/timebase") == str(fps), fps
    for clip in root.iter("clipitem"):
        links = [link.findtext("linkclipref") for link in clip.iter("link")]
        assert clip.get("id") in links and clip.find("rate/ntsc") is not None, clip.get("id")
    for file in filter(len, root.iter("file")):
        for needed in ["pathurl", "duration", "timecode/string", "timecode/displayformat"]:
            assert file.findtext(needed), (file.get("id"), needed)
        size = file.find("media/video/samplecharacteristics")
        assert int(size.findtext("width")) and int(size.findtext("height")), file.get("id")
    return otio_cuts(otio.adapters.read_from_file(str(path), adapter_name="fcp_xml"), fps)


def read_fcpxml(path, fps):
    """By fractions: otio-fcpx-xml-adapter rounds rates and times down, and with them the order of clips; its
    beginnings of clips must be within a frame."""
    root = lxml.etree.parse(str(path)).getroot()
    opened = otio.adapters.read_from_file(str(path), adapter_name="fcpx_xml")
    resources = {resource.get("id"): resource for resource in root.find("resources")}

    def seconds(text):
        return Fraction(text.removesuffix("s"))

    def rate(format_id):
        return 1 / seconds(resources[format_id].get("frameDuration"))

    def exactly(frames):
        assert frames.denominator == 1, frames
        return int(frames)

    assert rate(root.find(".//sequence").get("format")) == fps
    cuts, firsts, end = [], [], 0
    for item in root.find(".//spine"):
        if item.tag == "transition":
            continue
        start, length = (exactly(seconds(item.get(name)) * fps) for name in ["offset", "duration"])
        assert start == end, (start, end)
        end = start + length
        if item.tag == "asset-clip":
            asset = resources[item.get("ref")]
            own = rate(asset.get("format"))
            first, last = seconds(item.get("start")), seconds(item.get("start")) + Fraction(length, fps)
            firsts.append((item.get("name"), first, own))
            begin = seconds(asset.get("start"))
            within = last <= begin + seconds(asset.get("duration")) + 1 / own
            assert begin <= first and within, (item.get("name"), "is longer than its file")
            cuts.append((file_name(asset.find("media-rep").get("src")), exactly(first * own), start, length))
    clips = opened[0].video_tracks()[0].find_clips()
    starts = sorted((clip.name, clip.source_range.start_time.to_seconds()) for clip in clips)
    for (name, first, own), (_, start) in zip(sorted(firsts), starts, strict=True):
        assert 0 <= first - start <= 1 / int(own), (name, first, start)
    return cuts


def read_edl(path, fps):
    with open(path, encoding="utf-8") as file:
        edits = [event.edits[-1] for event in pycmx.parse_cmx3600(file).events]

    def frame(timecode):
        hours, minutes, seconds, frames = map(int, timecode.split(":"))
        return ((hours * 60 + minutes) * 60 + seconds) * fps + frames

    for before, after in zip(edits, edits[1:]):
        assert before.record_out == after.record_in, (before.record_out, after.record_in)
    first = frame(edits[0].record_in)
    shown = [edit for edit in edits if edit.source != "BL"]
    times = [(frame(edit.record_in) - first, frame(edit.record_out) - frame(edit.record_in)) for edit in shown]
    return [(edit.clip_name, edit.source_in, *time) for edit, time in zip(shown, times)]


def read_mlt(path, fps):
    root = lxml.etree.parse(str(path)).getroot()
    assert root.find("profile").get("frame_rate_num") == str(fps)
    files = {p.get("id"): p.findtext("property[@name='resource']") for p in root.iter("producer")}

    def cuts(track):
        at = 0
        for item in root.find(f"playlist[@id='{track}']"):
            if item.tag == "entry":
                first, frames = int(item.get("in")), int(item.get("out")) - int(item.get("in")) + 1
                yield pathlib.Path(files[item.get("producer")]).name, first, at, frames
                at += frames
            elif item.tag == "blank":
                at += int(item.get("length"))

    assert set(cuts("audio")) <= set(cuts("video"))
    return list(cuts("video"))


READERS = {"otio": read_otio, "edl": read_edl, "fcpxml": read_fcpxml, "xml": read_xmeml, "mlt": read_mlt}
