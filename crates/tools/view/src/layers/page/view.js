"use strict";
// The rows of DATA are [time, layer, sender, act, number, position, bytes, note]; each layer that
// is shown has a lane of its own over the one axis of time.
const DATA = JSON.parse(document.getElementById("data").textContent);
const canvas = document.getElementById("view"), told = document.getElementById("told");
const sender = document.getElementById("sender"), boxes = [...document.querySelectorAll("[data-layer]")];
const LEFT = 96, RIGHT = 14, FOOT = 26, HEAD = 8, NEAR = 14;
let [begin, end] = DATA.span, drawn = [], drag = null;

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name);
const plot = () => canvas.clientWidth - LEFT - RIGHT;
const atTime = (time) => LEFT + (time - begin) / (end - begin) * plot();
const timeAt = (x) => begin + (x - LEFT) / plot() * (end - begin);

function step(span, most) {
  const raw = span / most, power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((it) => it * power).find((it) => it >= raw);
}

function draw() {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * ratio; canvas.height = height * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = "12px system-ui, sans-serif";
  const paint = { ink: color("ink"), faint: color("faint"), line: color("line") };
  const colors = DATA.acts.map(color);
  const lanes = boxes.filter((it) => it.checked).map((it) => Number(it.dataset.layer));
  const tall = (height - FOOT) / Math.max(lanes.length, 1);
  drawn = [];
  const tick = step(end - begin, width / 90), digits = Math.max(0, -Math.floor(Math.log10(tick)));
  for (let time = Math.ceil(begin / tick) * tick; time <= end; time += tick) {
    const x = atTime(time);
    pen.fillStyle = paint.line; pen.fillRect(x, 0, 1, height - FOOT);
    pen.fillStyle = paint.faint; pen.textAlign = "center";
    pen.fillText(time.toFixed(digits) + " s", Math.min(x, width - 30), height - 8);
  }
  lanes.forEach((layer, lane) => {
    const top = lane * tall, foot = top + tall;
    const rows = DATA.rows.filter((it) => it[1] === layer && it[2] === Number(sender.value)
      && it[0] >= begin && it[0] <= end);
    const places = rows.map((it) => it[5]).filter((it) => it !== null);
    const least = places.reduce((a, b) => Math.min(a, b), Infinity);
    const most = places.reduce((a, b) => Math.max(a, b), -Infinity);
    const range = Math.max(most - least, 1);
    const atPlace = (place) => place === null ? foot - 6
      : foot - 12 - (place - least) / range * (tall - HEAD - 22);
    pen.fillStyle = paint.line; pen.fillRect(LEFT, foot - 1, plot(), 1);
    pen.fillStyle = paint.ink; pen.textAlign = "left"; pen.fillText(DATA.layers[layer], 8, top + 18);
    pen.fillStyle = paint.faint;
    pen.fillText(rows.length ? rows.length + " events" : "nothing here", 8, top + 34);
    pen.textAlign = "right";
    if (places.length) {
      pen.fillText(most + " B", LEFT - 6, top + HEAD + 16 + (tall > 90 ? 26 : 0));
      pen.fillText(least + " B", LEFT - 6, foot - 8);
    }
    for (const row of rows) {
      const x = atTime(row[0]), y = atPlace(row[5]), act = DATA.acts[row[3]];
      pen.fillStyle = pen.strokeStyle = colors[row[3]];
      pen.beginPath();
      if (act === "lost") {
        pen.lineWidth = 2; pen.moveTo(x - 4, y - 4); pen.lineTo(x + 4, y + 4);
        pen.moveTo(x - 4, y + 4); pen.lineTo(x + 4, y - 4); pen.stroke();
      } else if (act === "again" || act === "damaged") {
        pen.moveTo(x, y - 5); pen.lineTo(x + 5, y + 4); pen.lineTo(x - 5, y + 4); pen.fill();
      } else {
        pen.arc(x, y, 2.5, 0, 7); pen.fill();
      }
      drawn.push([x, y, row]);
    }
  });
}

function tell(x, y) {
  let best = null, least = NEAR * NEAR;
  for (const it of drawn) {
    const far = (it[0] - x) ** 2 + (it[1] - y) ** 2;
    if (far < least) { least = far; best = it; }
  }
  told.hidden = !best;
  if (!best) return;
  const [time, layer, , act, number, place, bytes, note] = best[2];
  const lines = [`${DATA.layers[layer]} ${DATA.acts[act]} at ${time.toFixed(6)} s`];
  if (number !== null) lines.push(`number ${number}`);
  if (bytes) lines.push(`${bytes} bytes` + (place === null ? "" : ` behind ${place}`));
  if (DATA.notes[note]) lines.push(DATA.notes[note]);
  told.textContent = lines.join("\n");
  const room = canvas.clientWidth - told.offsetWidth - 4;
  told.style.left = Math.max(0, Math.min(best[0] + 12, room)) + "px";
  told.style.top = Math.max(0, best[1] - told.offsetHeight - 8) + "px";
}

function show(from, until) {
  const [first, last] = DATA.span, least = 1e-6;
  const span = Math.min(Math.max(until - from, least), last - first);
  begin = Math.min(Math.max(from, first), last - span); end = begin + span;
  told.hidden = true;
  draw();
}

function zoom(factor, around) {
  show(around - (around - begin) * factor, around + (end - around) * factor);
}

canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event.offsetX));
}, { passive: false });
canvas.addEventListener("pointerdown", (event) => {
  drag = [event.offsetX, begin, end];
  canvas.setPointerCapture(event.pointerId);
});
canvas.addEventListener("pointermove", (event) => {
  if (!drag) return tell(event.offsetX, event.offsetY);
  const moved = (event.offsetX - drag[0]) / plot() * (drag[2] - drag[1]);
  show(drag[1] - moved, drag[2] - moved);
});
for (const over of ["pointerup", "pointercancel"]) canvas.addEventListener(over, () => { drag = null; });
canvas.addEventListener("pointerleave", () => { told.hidden = true; });
canvas.addEventListener("dblclick", () => show(...DATA.span));
canvas.addEventListener("keydown", (event) => {
  const span = end - begin, middle = (begin + end) / 2;
  const keys = {
    "+": () => zoom(0.5, middle), "=": () => zoom(0.5, middle), "-": () => zoom(2, middle),
    "0": () => show(...DATA.span), Home: () => show(...DATA.span),
    ArrowLeft: () => show(begin - span / 4, end - span / 4),
    ArrowRight: () => show(begin + span / 4, end + span / 4),
  };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});
[sender, ...boxes].forEach((it) => it.addEventListener("change", draw));
addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
draw();
document.documentElement.dataset.drawn = drawn.length;
