// What a page can do beyond what it does without a script: tell of news, name the slider's step, pan and zoom.
"use strict";

const NEWS_EVERY_MS = 3000;
const AT_ONCE = { animate: false }; // while it is moving, the library takes the picture's size for the one it will have

function tellOfNews() {
  const made = Number(document.body.dataset.known);
  const news = document.getElementById("news");
  const look = async () => {
    if (!document.hidden) {
      try {
        const answer = await fetch("/known", { cache: "no-store" });
        if (answer.ok && (await answer.json()).known > made) {
          news.hidden = false;
          return;
        }
      } catch {
        return; // the server has ended
      }
    }
    setTimeout(look, NEWS_EVERY_MS);
  };
  setTimeout(look, NEWS_EVERY_MS);
  news.querySelector("a").href = location.href;
}

function nameTheStep(slider) {
  const times = slider.dataset.times.split("|");
  const first = Number(slider.max) + 1 - times.length; // the latest steps are named
  const output = slider.form.querySelector("output");
  const show = () => {
    const step = Number(slider.value);
    const name = slider.value === slider.max ? "now" : times[step - first] ?? `step ${step + 1}`;
    output.value = name;
    slider.setAttribute("aria-valuetext", name);
  };
  slider.addEventListener("input", show);
  slider.addEventListener("change", () => slider.form.requestSubmit());
  show();
}

function letZoom(figure) {
  const tools = document.createElement("div");
  tools.className = "zoom";
  const each = () => figure.querySelectorAll("svg.picture");
  const panned = Array.from(each(), (picture) =>
    Panzoom(picture, { maxScale: 12, minScale: 1, panOnlyWhenZoomed: true, contain: "outside", cursor: "auto", touchAction: "pan-y" }));
  const actions = [
    ["+", "Zoom in", (one) => one.zoomIn(AT_ONCE)],
    ["−", "Zoom out", (one) => one.zoomOut(AT_ONCE)],
    ["Reset", "Reset the zoom", (one) => one.reset(AT_ONCE)],
  ];
  for (const [sign, name, act] of actions) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = sign;
    button.setAttribute("aria-label", name);
    button.addEventListener("click", () => panned.forEach(act));
    tools.append(button);
  }
  figure.before(tools);
}

tellOfNews();
document.querySelectorAll("input[data-times]").forEach(nameTheStep);
document.querySelectorAll("[data-zoom]").forEach(letZoom);
