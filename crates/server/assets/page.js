// The script of all pages: sends requests, plays clips from their source files one after the other, and
// inserts what the server renders. Texts come escaped from the server or are inserted as text.
'use strict';

const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const clock = (ms) => `${Math.floor(ms / 60000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}`;
const countOf = (count, what) => `${count} ${what}${count === 1 ? '' : 's'}`;

let toastTimer;
function toast(text) {
  $('#toast').textContent = text;
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => { $('#toast').textContent = ''; }, 6000);
}

// Sends a request; throws the error of the response.
async function request(method, url, body, type = 'application/json') {
  const options = { method, headers: {} };
  if (body !== undefined) {
    options.headers['content-type'] = type;
    options.body = type === 'application/json' ? JSON.stringify(body) : body;
  }
  let answer;
  try {
    answer = await fetch(url, options);
  } catch {
    toast('The server does not respond. Is `stitch serve` still running?');
    throw new Error('no answer');
  }
  if (!answer.ok) {
    const body = await answer.json().catch(() => ({ error: answer.statusText }));
    const error = new Error(body.error);
    error.status = answer.status;
    throw error;
  }
  const json = (answer.headers.get('content-type') || '').includes('json');
  return answer.status === 204 ? null : json ? answer.json() : answer.text();
}

const withToast = (work) => work.catch((error) => { if (error.message !== 'no answer') toast(error.message); });

// Follows a job until it ends.
function follow(id, change, end) {
  const events = new EventSource(`/api/jobs/${id}/events`);
  events.addEventListener('job', (event) => {
    const job = JSON.parse(event.data);
    change(job);
    if (['done', 'failed', 'cancelled'].includes(job.status)) {
      events.close();
      end(job);
    }
  });
}

function showProgress(root, job) {
  const bar = $('progress', root);
  if (bar && job.total > 0) { bar.max = job.total; bar.value = job.done; } else if (bar) bar.removeAttribute('value');
  const stage = $('.stage', root);
  if (stage) stage.textContent = job.message || (job.total > 0 ? `${job.stage}: ${job.done} of ${job.total}` : job.stage);
  const status = $('.status', root);
  if (status) status.textContent = job.status;
}

// ---- one clip in a dialog -------------------------------------------------------------------

function watch({ video, start, end, title, text }) {
  const dialog = $('#clip');
  const player = $('video', dialog);
  $('#clip-title').textContent = title || 'Clip';
  $('#clip-text').textContent = text || '';
  const times = end ? `#t=${start / 1000},${end / 1000}` : '';
  player.src = `/api/videos/${Number(video)}/file${times}`;
  dialog.showModal();
  player.play().catch(() => {});
}

$('#clip')?.addEventListener('close', () => {
  const player = $('#clip video');
  player.pause();
  player.removeAttribute('src');
  player.load();
});

// ---- the library ----------------------------------------------------------------------------

function setUpLibrary() {
  const box = $('#q');
  let timer, asked = 0;
  box.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      const mine = ++asked;
      if (!box.value.trim()) { $('#hits').replaceChildren(); return; }
      const found = await withToast(request('GET', `/hits?q=${encodeURIComponent(box.value.slice(0, 200))}`));
      if (mine === asked && found !== undefined) $('#hits').innerHTML = found;
    }, 120);
  });
  $('#add-folder').addEventListener('submit', async (event) => {
    event.preventDefault();
    const job = await withToast(request('POST', '/api/index', { folder: $('#folder').value.trim() }));
    if (job) location.reload();
  });
  $$('.job[data-live]').forEach((row) => follow(row.dataset.job, (job) => showProgress(row, job), () => location.reload()));
}

// ---- a new demonstration --------------------------------------------------------------------

function setUpNew() {
  const list = $('#edit');
  let timer, asked = 0, fileName = '';
  const fit = (area) => { area.style.height = 'auto'; area.style.height = `${area.scrollHeight + 2}px`; };
  const areas = () => $$('textarea', list);
  const number = () => {
    areas().forEach((area, i) => {
      area.setAttribute('aria-label', `Step ${i + 1}`);
      $$('[data-label]', area.parentElement).forEach((b) => b.setAttribute('aria-label', `${b.dataset.label} ${i + 1}`));
      fit(area);
    });
    const empty = !areas().some((area) => area.value.trim());
    $('#go').disabled = empty;
  };
  const add = (text, before = null) => {
    const row = $('#edit-row').content.firstElementChild.cloneNode(true);
    $('textarea', row).value = text;
    list.insertBefore(row, before);
    return $('textarea', row);
  };
  const countLeft = () => {
    const count = $('#left').children.length;
    $('#left-out').hidden = count === 0;
    $('#left-title').textContent = `Left out: ${countOf(count, 'line')}`;
  };
  const leave = (line) => {
    const row = $('#left-row').content.firstElementChild.cloneNode(true);
    $('span', row).textContent = line;
    $('button', row).setAttribute('aria-label', `Make it a step: ${line}`);
    $('#left').append(row);
  };
  // Where the line stands in the text, else at the end; without its list mark.
  const makeStep = (line) => {
    const text = $('#text').value;
    const at = text.indexOf(line);
    const next = areas().find((area) => at >= 0 && text.indexOf(area.value) > at);
    const area = add(line.replace(/^\s*([-*+•·☐#]+|\(?\d{1,3}[.)])\s+/, ''), next ? next.closest('li') : null);
    number();
    area.focus();
  };
  const show = ({ title, steps, left_out, warnings }) => {
    $('#title').value = title;
    list.replaceChildren();
    steps.forEach((step) => add(step));
    number();
    $('#left').replaceChildren();
    left_out.forEach(leave);
    countLeft();
    $('#read-warnings').textContent = warnings.join(' ');
  };
  const read = async (body, name) => {
    const mine = ++asked;
    try {
      const found = await request('POST', `/api/procedures/read?name=${encodeURIComponent(name)}`, body, 'application/octet-stream');
      if (mine !== asked) return;
      show(found);
      $('#read-note').textContent = `${countOf(found.steps.length, 'step')} found, ${countOf(found.left_out.length, 'line')} left out.`;
    } catch (error) {
      if (mine === asked) $('#read-note').textContent = error.message;
    }
  };
  const move = (row, by) => {
    const rows = [...list.children];
    const to = rows.indexOf(row) + by;
    if (to < 0 || to >= rows.length) return;
    list.insertBefore(row, by < 0 ? rows[to] : rows[to].nextSibling);
    number();
  };
  const merge = (row) => {
    const before = row.previousElementSibling;
    if (!before) return;
    const into = $('textarea', before);
    const at = into.value.length;
    const glue = /[.;,]\s*$/.test(into.value) ? ', ' : ' ';
    into.value = `${into.value.replace(/[.;,\s]+$/, '')}${glue}${$('textarea', row).value}`.trim();
    row.remove();
    number();
    into.focus();
    into.setSelectionRange(at, at);
  };
  $('#text').addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if ($('#text').value.trim()) read($('#text').value, fileName);
    }, 250);
  });
  const takeFile = async (file) => {
    if (!file) return;
    fileName = file.name;
    $('#text').value = file.size < 200000 ? await file.text() : `${file.name} (${Math.round(file.size / 1024)} KiB)`;
    read(file, file.name);
  };
  $('#file').addEventListener('change', (event) => takeFile(event.target.files[0]));
  const target = $('.two');
  target.addEventListener('dragover', (event) => {
    if ([...event.dataTransfer.types].includes('Files')) { event.preventDefault(); target.classList.add('drop'); }
  });
  target.addEventListener('dragleave', () => target.classList.remove('drop'));
  target.addEventListener('drop', (event) => {
    target.classList.remove('drop');
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    takeFile(event.dataTransfer.files[0]);
  });
  list.addEventListener('input', (event) => { fit(event.target); number(); });
  list.addEventListener('keydown', (event) => {
    const area = event.target.closest('textarea');
    if (!area) return;
    const row = area.closest('li');
    if (event.altKey && (event.key === 'ArrowUp' || event.key === 'ArrowDown')) {
      event.preventDefault();
      move(row, event.key === 'ArrowUp' ? -1 : 1);
      area.focus();
    } else if (event.key === 'Enter') {
      event.preventDefault();
      const rest = area.value.slice(area.selectionEnd).trim();
      area.value = area.value.slice(0, area.selectionStart).trim();
      const next = add(rest, row.nextSibling);
      number();
      next.focus();
      next.setSelectionRange(0, 0);
    } else if (event.key === 'Backspace' && area.selectionStart === 0 && area.selectionEnd === 0 && row.previousElementSibling) {
      event.preventDefault();
      merge(row);
    }
  });
  let dragged = null;
  list.addEventListener('dragstart', (event) => { dragged = event.target.closest('li'); });
  list.addEventListener('dragover', (event) => {
    const over = event.target.closest('li');
    if (!dragged || !over) return;
    event.preventDefault();
    $$('.over', list).forEach((row) => row.classList.remove('over'));
    over.classList.add('over');
  });
  list.addEventListener('drop', (event) => {
    const over = event.target.closest('li');
    $$('.over', list).forEach((row) => row.classList.remove('over'));
    if (!dragged || !over || over === dragged) return;
    event.preventDefault();
    list.insertBefore(dragged, over);
    dragged = null;
    number();
  });
  addEventListener('resize', () => areas().forEach(fit));
  const number_of = (id) => ($(id).value === '' ? null : Number($(id).value));
  const words_of = (id) => $(id).value.split(',').map((word) => word.trim()).filter(Boolean);
  const preferences = () => [
    ...$$('[data-high]').filter((s) => s.value !== '0').map((s) => `${s.value < 0 ? s.dataset.low : s.dataset.high}:${Math.abs(s.value)}`),
    ...$$('[data-prefer]').filter((text) => text.value.trim()).map((text) => `${text.dataset.prefer}=${text.value.trim()}:1`),
  ];
  Object.assign(actions, {
    'add-step': () => { const area = add(''); number(); area.focus(); },
    'step-up': (button) => { move(button.closest('li'), -1); button.focus(); },
    'step-down': (button) => { move(button.closest('li'), 1); button.focus(); },
    'step-merge': (button) => merge(button.closest('li')),
    'step-drop': (button) => {
      const row = button.closest('li');
      const near = row.nextElementSibling || row.previousElementSibling;
      const text = $('textarea', row).value.trim();
      if (text) leave(text);
      row.remove();
      number();
      countLeft();
      if (near) $('textarea', near).focus();
    },
    'make-step': (button) => {
      const row = button.closest('li');
      makeStep($('span', row).textContent);
      row.remove();
      countLeft();
    },
    go: async (button) => {
      button.disabled = true;
      const search = {
        length_s: number_of('#length'), step_length_s: number_of('#step-length'), speed_up: number_of('#speed-up'),
        only: words_of('#only'), without: words_of('#without'), licences: words_of('#licence'), prefer: preferences(),
      };
      const steps = areas().map((area) => area.value).filter((text) => text.trim());
      try {
        const created = await request('POST', '/api/demonstrations', { procedure: { title: $('#title').value, steps }, search });
        location.href = `/demonstrations/${created.id}`;
      } catch (error) {
        $('#go-note').textContent = error.message;
        button.disabled = false;
      }
    },
  });
  number();
}

// ---- the player: clips from their source files, one after the other ---------------------------

const GAP_MS = 3000;

class Player {
  constructor() {
    this.screens = $$('#screen video');
    this.on = 0;
    this.at = 0;
    this.gapSince = null;
    this.playing = false;
    this.captions = true;
    this.read();
    this.screens.forEach((video) => {
      video.addEventListener('error', () => this.cannot(video));
      video.addEventListener('ended', () => { if (this.playing && video === this.video) this.next(); });
    });
    this.bind();
    this.cue(0, 0);
    const tick = () => { this.tick(); requestAnimationFrame(tick); };
    requestAnimationFrame(tick);
  }

  // Reads the parts from the list of steps.
  read() {
    let before = 0;
    this.parts = $$('#steps > li').flatMap((row, step) => row.dataset.cuts.split(' ').map((cut) => {
      const gap = cut === '';
      const [video, start, end, speed] = cut.split(',').map(Number);
      const part = { row, step, gap, text: row.dataset.text, before, video, start, end, speed: speed || 1 };
      part.length = gap ? GAP_MS : (part.end - part.start) / part.speed;
      before += part.length;
      return part;
    }));
    this.total = before;
    this.position = $('#position');
    this.position.max = Math.round(before);
  }

  bind() {
    this.position.addEventListener('input', () => this.seek(Number(this.position.value)));
  }

  get video() { return this.screens[this.on]; }
  get part() { return this.parts[this.at]; }
  get step() { return this.part?.step ?? 0; }

  // Loads a part into a video element, `into` milliseconds after its start.
  load(video, part, into = 0) {
    const url = `/api/videos/${part.video}/file`;
    if (video.dataset.url !== url) { video.dataset.url = url; video.src = url; }
    const time = (part.start + into * part.speed) / 1000;
    if (Math.abs(video.currentTime - time) > 0.05) video.currentTime = time;
    video.playbackRate = part.speed;
  }

  // Goes to a part, and preloads the next one in the other video element.
  cue(at, into) {
    this.at = Math.max(0, Math.min(at, this.parts.length - 1));
    const part = this.part;
    if (!part) return;
    $('#screen .gap-card').hidden = !part.gap;
    $('#screen .gap-card b').textContent = part.gap ? part.text : '';
    this.gapSince = part.gap ? performance.now() - into : null;
    if (part.gap) {
      this.video.pause();
    } else {
      const url = `/api/videos/${part.video}/file`;
      const other = this.screens[1 - this.on];
      if (this.video.dataset.url !== url && other.dataset.url === url) {
        this.video.pause();
        this.on = 1 - this.on;
      }
      this.load(this.video, part, into);
      this.screens.forEach((video) => video.classList.toggle('on', video === this.video));
      if (this.playing) this.video.play().catch(() => {});
    }
    const next = this.parts[this.at + 1];
    if (next && !next.gap && !(next.video === part.video && Math.abs(next.start - part.end) < 120)) {
      const spare = this.screens[1 - this.on];
      spare.pause();
      this.load(spare, next);
    }
    this.mark();
  }

  next() {
    if (this.at + 1 >= this.parts.length) { this.pause(); this.cue(0, 0); return; }
    const [part, next] = [this.part, this.parts[this.at + 1]];
    const goesOn = !part.gap && !next.gap && next.video === part.video && Math.abs(next.start - part.end) < 120;
    if (goesOn) { this.at += 1; this.video.playbackRate = next.speed; this.mark(); return; }
    if (!next.gap) {
      // The other video element is already at the start of the next part.
      const spare = this.screens[1 - this.on];
      if (spare.dataset.url === `/api/videos/${next.video}/file` && Math.abs(spare.currentTime - next.start / 1000) < 0.3) {
        this.video.pause();
        this.on = 1 - this.on;
      }
    }
    this.cue(this.at + 1, 0);
  }

  // The position in the demonstration, in milliseconds.
  get now() {
    const part = this.part;
    if (!part) return 0;
    const into = part.gap
      ? (this.gapSince === null ? 0 : Math.min(GAP_MS, performance.now() - this.gapSince))
      : (this.video.currentTime * 1000 - part.start) / part.speed;
    return part.before + Math.max(0, Math.min(part.length, into));
  }

  tick() {
    const part = this.part;
    if (!part) return;
    if (this.playing) {
      const over = part.gap ? performance.now() - this.gapSince >= GAP_MS : this.video.currentTime * 1000 >= part.end;
      if (over) this.next();
    } else if (part.gap) {
      this.gapSince = performance.now() - (this.gapHeld || 0);
    }
    const now = this.now;
    if (document.activeElement !== this.position || this.playing) this.position.value = now;
    const text = `${clock(now)} / ${clock(this.total)}`;
    if (text !== this.shownClock) {
      this.shownClock = text;
      $('#clock').textContent = text;
      this.position.setAttribute('aria-valuetext', `${clock(now)}, step ${this.step + 1}`);
    }
  }

  mark() {
    this.parts.forEach((part) => {
      if (part.step === this.step) part.row.setAttribute('aria-current', 'step'); else part.row.removeAttribute('aria-current');
    });
    $('#caption').textContent = this.captions && this.part && !this.part.gap ? `${this.step + 1}. ${this.part.text}` : '';
    if (this.playing) {
      const box = this.part.row.getBoundingClientRect();
      if (box.top < 60 || box.bottom > innerHeight) this.part.row.scrollIntoView({ block: 'nearest' });
    }
  }

  play() {
    this.playing = true;
    this.gapHeld = 0;
    if (this.part && !this.part.gap) this.video.play().catch((error) => { if (error.name === 'NotSupportedError') this.cannot(this.video); });
    this.state();
  }

  pause() {
    this.playing = false;
    this.gapHeld = this.gapSince === null ? 0 : performance.now() - this.gapSince;
    this.screens.forEach((video) => video.pause());
    this.state();
  }

  toggle() { if (this.playing) this.pause(); else this.play(); }

  state() {
    $('#stage').classList.toggle('playing', this.playing);
    $$('#stage [data-action=play]').forEach((button) => button.setAttribute('aria-label', this.playing ? 'Pause' : 'Play'));
  }

  seek(ms) {
    let at = this.parts.findIndex((part) => ms < part.before + part.length);
    if (at < 0) at = this.parts.length - 1;
    this.gapHeld = ms - this.parts[at].before;
    this.cue(at, ms - this.parts[at].before);
  }

  // To the start of a step.
  go(step) {
    const last = this.parts[this.parts.length - 1]?.step ?? 0;
    this.cue(this.parts.findIndex((part) => part.step === Math.max(0, Math.min(step, last))), 0);
  }

  cannot(video) {
    if (!video.dataset.url || video !== this.video) return;
    $('#caption').textContent = 'This browser cannot play this source; render the video to watch it.';
    if (this.playing) setTimeout(() => this.next(), 1500);
  }

  // After a change: plays the same step again from its start.
  reload(step) {
    this.read();
    this.bind();
    this.go(step);
  }
}

// ---- a demonstration ---------------------------------------------------------------------------

let player = null;

function setUpDemonstration() {
  const id = $('#demo').dataset.id;
  player = new Player();

  // Inserts what the server rendered; keeps focus, open details and scroll positions.
  const put = (html) => {
    const focus = document.activeElement?.id;
    const focusStep = document.activeElement?.closest?.('li.step')?.id;
    const open = $$('#steps details[open]').map((details) => details.closest('li').id);
    const reels = new Map($$('#steps .reel').map((reel) => [reel.closest('li').id, reel.scrollLeft]));
    const box = document.createElement('div');
    box.innerHTML = html;
    $$('template', box).forEach((template) => $(`#${template.dataset.into}`).replaceChildren(template.content));
    open.forEach((step) => { const details = $(`#${step} details`); if (details) details.open = true; });
    reels.forEach((left, step) => { const reel = $(`#${step} .reel`); if (reel) reel.scrollLeft = left; });
    const back = (focus && document.getElementById(focus)) || (focusStep && $(`#${focusStep} .tools button`));
    if (back && !back.disabled) back.focus({ preventScroll: true });
  };
  const change = async (body, step) => {
    const was = step ?? player.step;
    const start = performance.now();
    const html = await withToast(request('POST', `/demonstrations/${id}/changes`, body));
    if (html === undefined) return;
    put(html);
    player.reload(was);
    document.body.dataset.took = Math.round(performance.now() - start);
    document.body.dataset.changes = Number(document.body.dataset.changes || 0) + 1;
  };
  const clipOf = (button) => ({ video: Number(button.dataset.video), start_ms: Number(button.dataset.start), end_ms: Number(button.dataset.end) });
  const changes = {
    undo: () => change({ kind: 'undo' }), redo: () => change({ kind: 'redo' }), solve: () => change({ kind: 'solve' }),
    lock: (step) => change({ kind: 'lock', step }, step), unlock: (step) => change({ kind: 'unlock', step }, step),
    ban: (step) => change({ kind: 'ban', step, clip: null }, step), pardon: (step) => change({ kind: 'pardon', step }, step),
    leave: (step) => change({ kind: 'leave', step }, step), untrim: (step) => change({ kind: 'untrim', step }, step),
    source: (step, button) => change({ kind: 'source', step, video: Number(button.dataset.video) }, step),
    'any-source': (step) => change({ kind: 'source', step, video: null }, step),
    swap: async (step, button) => { await change({ kind: 'swap', step, clip: clipOf(button) }, step); player.play(); },
  };
  document.addEventListener('click', (event) => {
    const button = event.target.closest('[data-change]');
    if (!button || button.disabled) return;
    const row = button.closest('li.step');
    changes[button.dataset.change](row ? Number(row.dataset.step) : undefined, button);
  });

  const trimValues = (row) => $$('[data-trim]', row).map((input) => Number(input.value));
  $('#steps').addEventListener('input', (event) => {
    const input = event.target.closest('[data-trim]');
    if (!input) return;
    const row = input.closest('li');
    const [startInput, endInput] = $$('[data-trim]', row);
    if (Number(endInput.value) - Number(startInput.value) < 300) {
      if (input === startInput) startInput.value = Number(endInput.value) - 300; else endInput.value = Number(startInput.value) + 300;
    }
    const text = `${clock(input.value)}.${Math.floor(input.value / 100) % 10}`;
    $('output', input.parentElement).textContent = text;
    input.setAttribute('aria-valuetext', text);
    player.pause();
    if (player.step !== Number(row.dataset.step)) player.go(Number(row.dataset.step));
    player.video.currentTime = input.value / 1000;
  });

  Object.assign(actions, {
    play: () => player.toggle(), previous: () => player.go(player.step - 1), next: () => player.go(player.step + 1),
    seek: (button) => { player.go(Number(button.closest('li').dataset.step)); player.play(); },
    captions: (button) => { player.captions = !player.captions; button.setAttribute('aria-pressed', player.captions); player.mark(); },
    mute: (button) => {
      const muted = !player.screens[0].muted;
      player.screens.forEach((video) => { video.muted = muted; });
      button.setAttribute('aria-pressed', muted);
    },
    full: () => (document.fullscreenElement ? document.exitFullscreen() : $('#screen').requestFullscreen().catch(() => {})),
    trim: (button) => {
      const panel = $('.trimmer', button.closest('li'));
      panel.hidden = !panel.hidden;
      button.setAttribute('aria-expanded', !panel.hidden);
      if (!panel.hidden) $('input', panel).focus();
    },
    'trim-apply': (button) => {
      const row = button.closest('li');
      const [start_ms, end_ms] = trimValues(row);
      const step = Number(row.dataset.step);
      change({ kind: 'trim', step, start_ms, end_ms }, step);
    },
  });

  // Alternatives play while they are hovered or focused.
  const preview = (button) => {
    if (!button || $('video', button)) return;
    const video = document.createElement('video');
    Object.assign(video, { muted: true, loop: true, playsInline: true, src: `/api/videos/${Number(button.dataset.video)}/file#t=${button.dataset.start / 1000},${button.dataset.end / 1000}` });
    video.setAttribute('aria-hidden', 'true');
    video.addEventListener('timeupdate', () => { if (video.currentTime * 1000 >= Number(button.dataset.end)) video.currentTime = button.dataset.start / 1000; });
    video.addEventListener('error', () => video.remove());
    $('.shot', button).append(video);
    video.play().catch(() => {});
  };
  const still = (button) => $$('video', button).forEach((video) => { video.removeAttribute('src'); video.load(); video.remove(); });
  const steps = $('#steps');
  steps.addEventListener('pointerover', (event) => preview(event.target.closest('.other')));
  steps.addEventListener('focusin', (event) => preview(event.target.closest('.other')));
  steps.addEventListener('pointerout', (event) => { const other = event.target.closest('.other'); if (other && !other.contains(event.relatedTarget)) still(other); });
  steps.addEventListener('focusout', (event) => { const other = event.target.closest('.other'); if (other) still(other); });

  const refreshRendered = async () => {
    const html = await withToast(request('GET', `/demonstrations/${id}/rendered`));
    if (html === undefined) return;
    $('#rendered').innerHTML = html;
    followRendered();
  };
  const followRendered = () => {
    const job = $('#rendered .job[data-live]');
    if (job) follow(job.dataset.job, (state) => showProgress(job, state), refreshRendered);
  };
  followRendered();
  $('#render').addEventListener('submit', async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const [width, height] = form.get('size') ? form.get('size').split('x').map(Number) : [null, null];
    const options = {
      captions: form.get('captions'), shape: form.get('shape'), overlays: form.get('overlays'), width, height, crossfade_ms: Number(form.get('crossfade_ms')),
      title_card: form.has('title_card'), gap_cards: form.has('gap_cards'),
      voice: form.get('voice') || null, source_sound: form.get('source_sound'), music: form.get('music') || null,
    };
    const job = await withToast(request('POST', `/api/demonstrations/${id}/renders`, options));
    if (job) refreshRendered();
  });

  const row = () => player.part?.row;
  Object.assign(keys, {
    k: () => player.toggle(), ' ': () => player.toggle(), n: () => player.go(player.step + 1), p: () => player.go(player.step - 1),
    ArrowRight: () => player.seek(Math.min(player.total - 1, player.now + 5000)), ArrowLeft: () => player.seek(Math.max(0, player.now - 5000)),
    l: () => $('[data-change=lock], [data-change=unlock]', row())?.click(), b: () => $('[data-change=ban]', row())?.click(),
    r: () => changes.solve(), u: () => changes.undo(), U: () => changes.redo(), c: () => $('[data-action=captions]').click(),
    m: () => $('[data-action=mute]').click(), f: () => actions.full(),
  });
  for (let i = 1; i <= 8; i += 1) keys[i] = () => $(`.other[data-place="${i}"]`, row())?.click();
}

// ---- the study ---------------------------------------------------------------------------------

function setUpStudy() {
  $('#begin')?.addEventListener('submit', async (event) => {
    event.preventDefault();
    const progress = await withToast(request('POST', '/api/study/raters', { name: $('#rater').value }));
    if (progress) location.href = `/study/${progress.rater}`;
  });
  const pair = $('#pair');
  if (!pair) return;
  const start = performance.now();
  const videos = $$('.sides video');
  const jumps = $$('[data-action=jump]');
  const now = () => {
    videos.forEach((video) => {
      const at = video.currentTime * 1000;
      const current = jumps.find((j) => j.dataset.side === video.dataset.side && at >= j.dataset.start && at < j.dataset.end);
      jumps.filter((j) => j.dataset.side === video.dataset.side).forEach((j) => { if (j === current) j.setAttribute('aria-pressed', 'true'); else j.removeAttribute('aria-pressed'); });
      $(`[data-now=${video.dataset.side}]`).textContent = current ? current.closest('tr').children[1].textContent : '';
    });
  };
  // Played together, they keep the offset that they had at the start.
  const [left, right] = videos;
  let apart = null;
  const together = () => {
    if (apart === null || left.paused || right.paused || left.ended || right.ended) return;
    if (Math.abs(right.currentTime - left.currentTime - apart) > 0.2) right.currentTime = left.currentTime + apart;
  };
  const playBoth = () => {
    apart = right.currentTime - left.currentTime;
    videos.forEach((video) => video.play().catch(() => {}));
    $('[data-action=both]').textContent = 'Pause both';
  };
  videos.forEach((video) => video.addEventListener('timeupdate', () => { together(); now(); }));
  Object.assign(actions, {
    both: (button) => {
      if (videos.every((video) => video.paused)) { playBoth(); return; }
      videos.forEach((video) => video.pause());
      button.textContent = 'Play both';
    },
    again: () => { videos.forEach((video) => { video.currentTime = 0; }); playBoth(); },
    jump: (button) => {
      apart = null;
      const video = videos.find((v) => v.dataset.side === button.dataset.side);
      video.currentTime = button.dataset.start / 1000;
      video.play().catch(() => {});
    },
  });
  $('#verdicts').addEventListener('submit', async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const said = Object.fromEntries(['steps', 'goal', 'quality', 'overall'].map((name) => [name, form.get(name)]));
    said.seconds = Math.min(86400, (performance.now() - start) / 1000);
    const progress = await withToast(request('POST', pair.dataset.url, said));
    if (progress) location.href = pair.dataset.next;
  });
}

// ---- many procedures at once ----------------------------------------------------------------

function setUpBatch() {
  const note = (text) => { $('#batch-note').textContent = text; };
  const each = async (all, what, work) => {
    const failed = [];
    for (const [i, one] of all.entries()) {
      note(`${what} ${i + 1} of ${all.length}`);
      try { await work(one); } catch (error) { failed.push(`${one.name || one}: ${error.message}`); }
    }
    return failed;
  };
  // What failed stays on the page; else the table is shown anew.
  const end = (failed) => {
    if (!failed.length) { location.reload(); return; }
    note(`${countOf(failed.length, 'procedure')} failed`);
    $('#batch-failed').replaceChildren(...failed.map((text) => Object.assign(document.createElement('li'), { textContent: text })));
  };
  Object.assign(actions, {
    'make-all': async () => {
      const files = [...$('#files').files];
      if (!files.length) { note('Choose files first.'); return; }
      end(await each(files, 'Reading', async (file) => {
        const { title, steps } = await request('POST', `/api/procedures/read?name=${encodeURIComponent(file.name)}`, file, 'application/octet-stream');
        await request('POST', '/api/demonstrations', { procedure: { title, steps } });
      }));
    },
    'render-all': async () => {
      const rows = $$('tr[data-render]').map((row) => row.dataset.render);
      end(await each(rows, 'Starting', (id) => request('POST', `/api/demonstrations/${id}/renders`, {})));
    },
  });
  // Jobs of a kind run in order, so the table is shown anew when the newest has ended.
  const live = $$('tr[data-live]').map((row) => Number(row.dataset.live));
  if (live.length) {
    note(`${countOf(live.length, 'job')} not done yet`);
    follow(Math.max(...live), () => {}, () => location.reload());
  }
}

// ---- all pages ------------------------------------------------------------------------

const keys = { '?': () => $('#keys').showModal(), '/': () => $('#q')?.focus() };
const shares = () => `/api/demonstrations/${$('#demo').dataset.id}/shares`;
const actions = {
  keys: () => $('#keys').showModal(),
  watch: (button) => watch(button.dataset),
  cancel: (button) => withToast(request('DELETE', `/api/jobs/${button.dataset.id}`)),
  share: () => withToast(request('POST', shares(), { days: 7 }).then((link) => {
    $('#shared').textContent = new URL(link.path, location).href;
  })),
  unshare: () => withToast(request('DELETE', shares()).then(() => { $('#shared').textContent = 'All links have ended.'; })),
  forget: async (button) => {
    if (!confirm('Delete this demonstration and its history?')) return;
    await withToast(request('DELETE', `/api/demonstrations/${button.dataset.id}`));
    location.reload();
  },
};

document.addEventListener('click', (event) => {
  const button = event.target.closest('[data-action]');
  if (button && !button.disabled) actions[button.dataset.action]?.(button);
});

document.addEventListener('keydown', (event) => {
  const target = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || $('dialog[open]')) return;
  if (target.matches('input, textarea, select, video, [contenteditable]')) return;
  if (target.matches('button, a, summary') && [' ', 'Enter'].includes(event.key)) return;
  const action = keys[event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

// A picture that does not load leaves its dark frame.
document.addEventListener('error', (event) => { if (event.target.tagName === 'IMG') event.target.hidden = true; }, true);

if ($('#q')) setUpLibrary();
if ($('#edit')) setUpNew();
if ($('#batch')) setUpBatch();
if ($('#demo')) setUpDemonstration();
if ($('#begin') || $('#pair')) setUpStudy();
const finding = $('#finding');
if (finding) follow(finding.dataset.job, (job) => showProgress(finding.parentElement, job), () => location.reload());
