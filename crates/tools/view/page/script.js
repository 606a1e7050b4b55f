"use strict";
const TICK = 500;
const seen = new Map();    // windows by direction, and by flow and direction
const cards = new Map();   // what stands on the page of each direction
const marks = [];          // times of changes, for the charts
let last = null, paused = false, ended = false, clock = 0, settings = [];
const byId = id => document.getElementById(id);
const make = (name, text, kind) => {
  const it = document.createElement(name);
  if (text !== undefined) it.textContent = text;
  if (kind) it.className = kind;
  return it;
};

// Numbers as people read them.
const digits = x => Number.isInteger(x) ? String(x) : Math.abs(x) >= 100 ? x.toFixed(0)
  : Math.abs(x) >= 10 ? x.toFixed(1) : x.toFixed(2);
const scaled = (x, units) => {
  let at = 0;
  while (at < units.length - 1 && Math.abs(x) >= 1000) { x /= 1000; at++; }
  return digits(x) + " " + units[at];
};
const rate = x => scaled(x, ["b/s", "kb/s", "Mb/s", "Gb/s"]);
const time = x => x === null ? "–" : x < 1 ? digits(x * 1e3) + " ms" : digits(x) + " s";
const share = x => x === null ? "–" : digits(100 * x) + " %";
const count = x => scaled(x, ["", "k", "M"]).trim();
const dropped = it => Object.values(it.dropped || {}).reduce((a, b) => a + b, 0);
const loss = it => it.entered > 0 ? Math.min(1, dropped(it) / it.entered)
  : dropped(it) > 0 ? 1 : null;
const delay = name => it => it.delay ? it.delay[name] : null;

const CHARTS = [
  {name: "rate", text: rate, lines: [["", it => it.rate_bps]]},
  {name: "delay", text: time, lines: [["50", delay("p50")], ["95", delay("p95")],
    ["99", delay("p99")]]},
  {name: "queue", text: x => count(x) + " packets", lines: [["", it => it.queue_packets]]},
  {name: "loss", text: share, lines: [["", loss]]},
  {name: "bit errors", text: count, lines: [["", it => it.bits_inverted]]},
  {name: "retransmitted", text: count, lines: [["", it => it.retransmitted]]},
  {name: "air time", text: share, top: 1, lines: [["", it => it.busy ?? null]]},
];

// A slider has 1000 places; its text is a setting's.
const log = (low, high, unit) => ({
  text: at => at === 0 ? null : unit(low * (high / low) ** ((at - 1) / 999)),
  at: x => x > 0 ? 1 + Math.round(999 * Math.log(Math.max(low, Math.min(high, x)) / low)
    / Math.log(high / low)) : 0,
});
const plain = x => Number(x.toPrecision(2)).toString();
const UNITS = {bps: 1, kbps: 1e3, Mbps: 1e6, Gbps: 1e9, ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1,
  "%": .01, "": 1};
const value = text => {
  const found = /^([0-9.eE+-]+)([a-zA-Z%]*)$/.exec(text || "");
  const number = found && UNITS[found[2]] ? Number(found[1]) * UNITS[found[2]] : NaN;
  return Number.isNaN(number) ? null : number;
};
const SLIDERS = [
  {name: "rate", least: 1,
    ...log(1e4, 1e9, x => x >= 1e6 ? plain(x / 1e6) + "Mbps" : plain(x / 1e3) + "kbps")},
  {name: "delay", ...log(1e-4, 2, x => plain(x * 1e3) + "ms"), zero: "0ms", least: 0},
  {name: "loss", ...log(1e-4, 1, x => plain(x * 100) + "%"), zero: "0", least: 0},
  {name: "ber", ...log(1e-8, 1e-2, x => x.toExponential(1)), zero: "0", least: 0},
];

const colours = () => {
  const style = getComputedStyle(document.documentElement);
  const names = ["--c1", "--c2", "--c3", "--grid", "--dim"];
  return names.map(name => style.getPropertyValue(name).trim());
};

// The least of 1, 2 and 5 by a power of ten that a chart of these values needs.
const nice = x => {
  if (!(x > 0)) return 1;
  const base = 10 ** Math.floor(Math.log10(x));
  return [1, 2, 5, 10].map(it => it * base).find(it => it >= x * .999);
};

function draw(card, chart, span) {
  const {canvas, output} = card.charts.get(chart.name);
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width) return;
  if (canvas.width !== Math.round(width * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  const [c1, c2, c3, grid, dim] = colours(), shown = card.windows.filter(it => it.t > clock - span);
  const values = chart.lines.flatMap(([, of]) => shown.map(of)).filter(x => x !== null);
  const top = chart.top || nice(values.reduce((a, b) => Math.max(a, b), 0));
  const left = 4, right = width - 4, low = height - 14, high = 12;
  const x = t => right - (clock - t) / span * (right - left);
  const y = v => low - Math.min(1, v / top) * (low - high);
  pen.lineWidth = 1;
  pen.strokeStyle = grid;
  for (const part of [0, .5, 1]) {
    pen.beginPath();
    pen.moveTo(left, y(part * top));
    pen.lineTo(right, y(part * top));
    pen.stroke();
  }
  pen.setLineDash([3, 3]);
  pen.strokeStyle = dim;
  for (const t of marks.filter(it => it > clock - span)) {
    pen.beginPath();
    pen.moveTo(x(t), high);
    pen.lineTo(x(t), low);
    pen.stroke();
  }
  pen.setLineDash([]);
  pen.lineWidth = 1.6;
  chart.lines.forEach(([, of], number) => {
    pen.strokeStyle = [c1, c2, c3][number];
    pen.beginPath();
    let before = null;
    for (const it of shown) {
      const v = of(it);
      if (v === null || (before !== null && it.t - before > 2)) before = null;
      if (v === null) continue;
      if (before === null) pen.moveTo(x(it.t - Math.min(it.seconds, 1)), y(v));
      pen.lineTo(x(it.t), y(v));
      before = it.t;
    }
    pen.stroke();
  });
  pen.fillStyle = dim;
  pen.font = "10px system-ui, sans-serif";
  pen.textAlign = "left";
  pen.fillText(chart.text(top), left, high - 3);
  pen.fillText("−" + span + " s", left, height - 2);
  pen.textAlign = "right";
  pen.fillText("now", right, height - 2);
  let it = shown[shown.length - 1], when = "";
  if (card.at !== null && shown.length) {
    const t = clock - (right - card.at * width) / (right - left) * span;
    it = shown.reduce((a, b) => Math.abs(b.t - t) < Math.abs(a.t - t) ? b : a);
    when = " at " + it.t.toFixed(1) + " s";
    pen.strokeStyle = dim;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(x(it.t), high);
    pen.lineTo(x(it.t), low);
    pen.stroke();
  }
  const texts = it ? chart.lines.map(([, of]) => of(it)).map(v => v === null ? "–" : chart.text(v))
    : [];
  // A unit that all of them have stands once.
  const unit = / .*$/.exec(texts[0] || "")?.[0];
  const isShared = texts.length > 1 && unit && texts.every(text => text.endsWith(unit));
  const bare = isShared ? texts.map(text => text.slice(0, -unit.length)) : texts;
  output.textContent = texts.length ? bare.join(" / ") + (isShared ? unit : "") + when : "";
  canvas.setAttribute("aria-label", chart.name + ": " + output.textContent);
}

function figure(card, chart) {
  const figure = make("figure"), caption = make("figcaption"), title = make("span", chart.name);
  chart.lines.forEach(([name], number) => {
    if (name) title.append(" ", make("span", name, "key" + (number + 1)));
  });
  if (chart.lines.length > 1) title.append(" %");
  const output = make("output"), canvas = make("canvas");
  canvas.setAttribute("role", "img");
  canvas.addEventListener("pointermove", event => {
    card.at = event.offsetX / canvas.clientWidth;
    redraw();
  });
  canvas.addEventListener("pointerleave", () => { card.at = null; redraw(); });
  caption.append(title, output);
  figure.append(caption, canvas);
  card.charts.set(chart.name, {canvas, output});
  return figure;
}

// Returns why the run refused it, if it did.
async function send(body, told) {
  let text, refusal = "";
  try {
    const reply = await fetch("set", {method: "POST", body: JSON.stringify(body),
      headers: {"content-type": "application/json"}});
    const said = await reply.json();
    if (said.error) throw new Error(said.error);
    marks.push(said.at);
    text = said.at.toFixed(1) + " s: " + told;
    byId("changes").querySelector("ol").append(make("li", text));
  } catch (error) {
    refusal = told + ": " + error.message;
    byId("changes").querySelector("ol").append(make("li", refusal, "bad"));
  }
  look();
  return refusal;
}

async function set(link, name, text) {
  const change = {[link.direction]: {[name]: text}};
  if (byLink.get(link.link) && byLink.size > 1) change.link = link.link;
  const refusal = await send({change}, link.name + " " + name + "=" + text);
  cards.get(link.name).refusal.textContent = refusal;
}
const byLink = new Map();

function controls(card, link) {
  const form = card.form;
  form.hidden = false;
  for (const slider of SLIDERS) {
    const row = make("div", undefined, "row"), label = make("label", slider.name);
    const range = make("input"), text = make("input");
    range.type = "range";
    range.min = slider.least;
    range.max = 1000;
    range.setAttribute("aria-label", slider.name + " of " + link.name + ", by slider");
    text.name = slider.name;
    text.autocomplete = "off";
    text.id = "f" + cards.size + "-" + slider.name;
    label.htmlFor = text.id;
    range.addEventListener("input", () => {
      text.value = slider.text(Number(range.value)) ?? slider.zero;
    });
    range.addEventListener("change", () => set(link, slider.name, text.value));
    text.addEventListener("change", () => {
      const number = value(text.value);
      if (number !== null) range.value = slider.at(number);
      set(link, slider.name, text.value);
    });
    row.append(label, range, text);
    form.append(row);
    card.fields.push({slider, range, text});
  }
  const any = make("div", undefined, "any"), choice = make("select"), text = make("input");
  const hint = make("p", "", "hint"), button = make("button", "Set");
  for (const it of settings) choice.append(make("option", it.name));
  const show = () => {
    const it = settings.find(it => it.name === choice.value) || {meaning: "", example: ""};
    hint.textContent = it.meaning + ".";
    text.placeholder = it.example;
  };
  choice.addEventListener("change", show);
  const labels = [["another setting", choice], ["value", text]].map(([name, it]) => {
    const label = make("label", name + " ");
    label.append(it);
    return label;
  });
  any.append(...labels, button);
  card.refusal = make("p", "", "bad");
  card.refusal.setAttribute("role", "alert");
  form.append(any, hint, card.refusal);
  form.addEventListener("submit", event => {
    event.preventDefault();
    if (event.submitter === button && text.value) set(link, choice.value, text.value);
  });
  show();
}

function card(link) {
  const known = cards.get(link.name);
  if (known) return known;
  const part = byId("direction").content.cloneNode(true), article = part.querySelector("article");
  const it = {article, charts: new Map(), windows: [], at: null, fields: [],
    form: article.querySelector("form"), now: new Map()};
  article.querySelector("h2").textContent = link.name + " (" + link.direction + ")";
  article.querySelector(".charts").append(...CHARTS.map(chart => figure(it, chart)));
  for (const chart of CHARTS) {
    const box = make("div"), number = make("dd", "–");
    const suffix = chart.name === "delay" ? " 95 %" : "";
    box.append(make("dt", chart.name + suffix), number);
    article.querySelector("dl").append(box);
    it.now.set(chart.name, number);
  }
  if (link.can_change) controls(it, link);
  cards.set(link.name, it);
  byId("directions").append(article);
  return it;
}

function show(view) {
  const status = view.status;
  byId("name").textContent = view.name;
  document.title = view.name + " – Windfall";
  byId("trouble").hidden = !view.trouble;
  byId("trouble").textContent = view.trouble || "";
  ended = view.ended;
  if (!status) return;
  clock = status.t;
  const late = status.lateness;
  byId("state").textContent = status.t.toFixed(0) + " s, seed " + status.seed + ", changed "
    + status.changes + (status.changes === 1 ? " time, " : " times, ") + late.late_deliveries
    + " of " + late.delivered + " deliveries late" + (late.disturbed ? ", disturbed" : "");
  for (const it of view.samples) {
    const name = it.flow === undefined ? it.link : it.flow + "\n" + it.link;
    const windows = seen.get(name) || [];
    if (windows.length && windows[windows.length - 1].t >= it.t) continue;
    windows.push(it);
    if (windows.length > 1300) windows.shift();
    seen.set(name, windows);
    last = Math.max(last ?? 0, it.t);
  }
  for (const link of status.links) byLink.set(link.link, link);
  for (const link of status.links) {
    const it = card(link);
    it.windows = seen.get(link.name) || [];
    const set = Object.entries(link.settings).map(([name, text]) => name + "=" + text).join("  ");
    it.article.querySelector(".settings").textContent = set || "no settings";
    const recent = it.windows[it.windows.length - 1];
    for (const chart of CHARTS) {
      const line = chart.lines[chart.name === "delay" ? 1 : 0];
      const x = recent ? line[1](recent) : null;
      it.now.get(chart.name).textContent = x === null ? "–" : chart.text(x);
    }
    const drops = Object.entries(link.dropped).map(([why, n]) => ", " + why + " " + n).join("");
    it.article.querySelector(".counts").textContent = link.entered + " packets, "
      + link.delivered + " delivered" + drops + ", in flight " + link.in_flight;
    for (const {slider, range, text} of it.fields) {
      const active = document.activeElement;
      if (active === range || active === text) continue;
      text.value = link.settings[slider.name] ?? "";
      text.placeholder = slider.zero ?? "no limit";
      range.value = text.value ? slider.at(value(text.value)) : slider.least || 0;
      if (slider.least && !text.value) range.value = 1000;
    }
  }
  flows();
  const list = byId("faults").querySelector("ul");
  list.replaceChildren(...(status.faults || []).map(it =>
    make("li", it.fault + ": " + it.connections + " connections, " + it.withheld + " withheld")));
}

function flows() {
  const rows = [];
  for (const [name, windows] of seen) {
    const it = windows[windows.length - 1];
    if (it.flow === undefined) continue;
    const row = make("tr"), late = delay("p95")(it);
    for (const text of [it.flow, it.link, rate(it.rate_bps), it.queue_packets, time(late),
      share(loss(it))]) row.append(make("td", text));
    rows.push(row);
  }
  byId("flows").hidden = rows.length === 0;
  byId("flows").querySelector("tbody").replaceChildren(...rows);
}

function redraw() {
  const span = Number(byId("span").value);
  for (const it of cards.values()) for (const chart of CHARTS) draw(it, chart, span);
}

let looking = false;
async function look() {
  if (looking) return;
  looking = true;
  try {
    const reply = await fetch("view" + (last === null ? "" : "?since=" + last));
    if (!reply.ok) throw new Error((await reply.json()).error);
    const view = await reply.json();
    if (!paused) { show(view); redraw(); }
  } catch (error) {
    byId("trouble").hidden = false;
    byId("trouble").textContent = "no answer from windfall top --web: " + error.message;
  }
  looking = false;
}

byId("pause").addEventListener("click", event => {
  paused = !paused;
  event.target.textContent = paused ? "Continue" : "Pause";
  event.target.setAttribute("aria-pressed", paused);
});
byId("span").addEventListener("change", redraw);
byId("faults").querySelector("form").addEventListener("submit", event => {
  event.preventDefault();
  const field = event.target.elements.fault;
  send({fault: field.value}, "fault " + field.value);
});
addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
fetch("settings").then(reply => reply.json()).then(rows => { settings = rows; }).finally(() => {
  look();
  setInterval(() => { if (!ended && !document.hidden) look(); }, TICK);
});
