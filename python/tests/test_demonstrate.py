"""Demonstrations: chosen, shown, saved and rendered."""

import http.server
import threading
from pathlib import Path

import numpy
import pytest
from conftest import STEPS

import stitch


def test_the_answer_is_that_of_the_command_line(library: stitch.Library, command_line, tmp_path: Path) -> None:
    procedure = tmp_path / "steps.txt"
    procedure.write_text("\n".join(STEPS))
    [printed] = command_line("make", procedure, "--no-video", "-o", tmp_path / "demo.mp4")
    found = library.demonstrate(procedure)
    assert in_16_digits(found.to_dict()) == in_16_digits(printed["demonstration"])
    assert found.left_out == printed["left_out"]
    assert found.save(tmp_path / "saved.json").read_bytes() == (tmp_path / "demo.json").read_bytes()
    options = ["--gaps", "never", "--step-length", "5", "--seed", "3", "--scorer", "similarity", "--without", "roses"]
    [printed] = command_line("make", procedure, "--no-video", "-o", tmp_path / "demo.mp4", *options)
    found = library.demonstrate(procedure, gaps="never", step_length=5, seed=3, scorer="similarity", without=["roses"])
    assert in_16_digits(found.to_dict()) == in_16_digits(printed["demonstration"])


def in_16_digits(value):
    """The command line prints 32-bit numbers with the digits of 64 bits."""
    match value:
        case dict():
            return {key: in_16_digits(item) for key, item in value.items()}
        case list():
            return [in_16_digits(item) for item in value]
        case float():
            return float(numpy.float32(value))
    return value


def test_search_is_that_of_the_command_line(library: stitch.Library, command_line) -> None:
    printed = [line["clip"] for line in command_line("search", "dice", "-n", "4")]
    assert [found.clip for found in library.search("dice", 4)] == printed


def test_a_procedure_is_a_text_a_file_or_steps(library: stitch.Library, tmp_path: Path) -> None:
    file = tmp_path / "taco.md"
    file.write_text("# Taco\n\n1. Dice the onion\n2. Warm the tortillas\n")
    steps = library.demonstrate(["Dice the onion", "Warm the tortillas"], title="Taco", gaps="never")
    assert steps.title == "Taco" and [step.text for step in steps.steps] == ["Dice the onion", "Warm the tortillas"]
    for same in (file, file.read_text()):
        assert library.demonstrate(same, gaps="never").to_dict() == steps.to_dict()


def test_a_procedure_comes_from_a_server_of_the_same_process(library: stitch.Library) -> None:
    """The server answers only if the interpreter lock is free meanwhile."""

    class Recipe(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write("\n".join(STEPS).encode())

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Recipe) as server:
        threading.Thread(target=server.handle_request).start()
        found = library.demonstrate(f"http://127.0.0.1:{server.server_port}/recipe")
    assert [step.text for step in found.steps] == STEPS


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step_length": 0}, "step length must be from 1 to 86400 seconds"),
        ({"length": -1}, "length must be a number of seconds"),
        ({"threshold": 2}, "threshold must be from 0 to 1"),
        ({"candidates": 0}, "candidates must be from 1 to 10000"),
        ({"gaps": "some"}, "gaps: unknown variant `some`, expected one of `strict`, `balanced`, `never`"),
        ({"scorer": "best"}, "scorer must be one of similarity, evaluator, blend"),
    ],
)
def test_wrong_options_are_told(library: stitch.Library, options: dict, message: str) -> None:
    with pytest.raises(stitch.OptionError) as raised:
        library.demonstrate(STEPS, **options)
    assert str(raised.value) == message


def test_wrong_procedures_are_told(library: stitch.Library, tmp_path: Path) -> None:
    file = tmp_path / "steps.txt"
    file.write_text("Dice the onion")
    with pytest.raises(stitch.OptionError, match="give pathlib.Path"):
        library.demonstrate(str(file))
    with pytest.raises(stitch.StitchError, match="write the procedure one step a line"):
        library.demonstrate("  ")
    with pytest.raises(stitch.StitchError, match="nothing.txt"):
        library.demonstrate(tmp_path / "nothing.txt")
    with pytest.raises(stitch.StitchError, match="no video of the library passes"):
        library.demonstrate(STEPS, only=["nothing has this name"])
    with pytest.raises(TypeError):
        library.demonstrate(STEPS, only="roses")  # a str is no list of texts


def test_a_video_with_its_files(library: stitch.Library, tmp_path: Path) -> None:
    found = library.demonstrate(STEPS[:1] + STEPS[2:3], gaps="never", step_length=2)
    stages = set()
    rendered = found.render(
        tmp_path / "new/demo.mp4", formats=["srt", "html"], progress=lambda stage, done, total: stages.add(stage)
    )
    names = [path.name for path in [rendered.path, *rendered.files]]
    assert names == ["demo.mp4", "demo.json", "demo.srt", "demo.html"]
    assert all(path.stat().st_size > 0 for path in [rendered.path, *rendered.files])
    assert "joining" in stages
    assert stitch.Demonstration.load(rendered.files[0]).to_dict() == found.to_dict()
    for wrong, message in [
        ({"size": (101, 77)}, "width and height must be even"),
        ({"aspect": "wide"}, "aspect: unknown variant `wide`"),
        ({"formats": ["avi"]}, "formats: no `avi`; there are srt, vtt"),
        ({"crossfade": float("nan")}, "crossfade must be a number of seconds"),
    ]:
        with pytest.raises(stitch.OptionError, match=message):
            found.render(tmp_path / "wrong.mp4", **wrong)
    assert not (tmp_path / "wrong.mp4").exists()


def test_ctrl_c_stops_a_render(library: stitch.Library, tmp_path: Path) -> None:
    def progress(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        library.demonstrate(STEPS, gaps="never").render(tmp_path / "demo.mp4", progress=progress)
    assert not (tmp_path / "demo.mp4").exists()


def test_a_file_that_is_no_demonstration_is_told(tmp_path: Path) -> None:
    (tmp_path / "demo.json").write_text("{}")
    with pytest.raises(stitch.StitchError, match="give the demo.json that `stitch make` wrote"):
        stitch.Demonstration.load(tmp_path / "demo.json")


def test_notebooks_show_pictures_and_escape_texts(library: stitch.Library) -> None:
    found = library.demonstrate(["Dice the onion", "Dice the <b>onion</b> & serve"], title="<i>Soup</i>", gaps="never")
    html = found._repr_html_()
    assert html.count("data:image/jpeg;base64,") == 2
    assert "&lt;b&gt;onion" in html and "<b>" not in html and "<i>" not in html
    assert repr(found) == "<Demonstration '<i>Soup</i>': 2 of 2 steps shown>"
    gap = library.demonstrate(STEPS, threshold=1)
    assert len(gap.gaps) == len(STEPS)
    assert gap._repr_html_().count("gap: nothing in the library shows this") == len(STEPS)
    assert library.search("dice", 3)._repr_html_().count("<img") == 3
