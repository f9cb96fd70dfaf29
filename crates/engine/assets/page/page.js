"use strict";
const video = document.querySelector("video");
const steps = [...document.querySelectorAll(".step[data-start]")];
const parts = [...document.querySelectorAll(".strip button")];
const now = document.querySelector(".now");
const start = (element) => Number(element.dataset.start) / 1000;
const end = (element) => Number(element.dataset.end) / 1000;

document.addEventListener("click", (event) => {
  const from = event.target.closest("[data-start] .seek, .strip [data-start]");
  if (!from) return;
  const element = from.closest("[data-start]");
  // A little after the cut, so that rounding never shows the clip before.
  video.currentTime = start(element) + 0.02;
  video.play().catch(() => {});
});

let current = null;
function follow() {
  const time = video.currentTime;
  const step = steps.find((one) => time >= start(one) && time < end(one)) || null;
  if (step === current) return;
  current = step;
  for (const one of [...steps, ...parts]) {
    const same = step !== null && one.dataset.start === step.dataset.start;
    if (same) one.setAttribute("aria-current", "step");
    else one.removeAttribute("aria-current");
  }
  now.textContent = "";
  if (step === null) return;
  const text = document.createElement("b");
  text.textContent = step.querySelector(".text").textContent;
  now.append(step.querySelector(".number").textContent, " \u2014 ", text);
  if (!video.paused) step.scrollIntoView({ block: "nearest" });
}
video.addEventListener("timeupdate", follow);
video.addEventListener("seeked", follow);
video.addEventListener("error", () => {
  document.querySelector(".absent").style.display = "block";
});

const track = video.addTextTrack("captions", "Steps");
for (const step of steps) {
  const cue = new VTTCue(start(step), end(step), "");
  const text = step.querySelector(".text").textContent;
  cue.text = text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  track.addCue(cue);
}
track.mode = "hidden";
