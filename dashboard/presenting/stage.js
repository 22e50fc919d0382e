const memory = new WeakMap();
const SMALLEST = 0.55;  // of the usual size; what does not fit then is clipped by the style
const LARGEST = 1.3;

function typing(e) {
  const t = e.composedPath()[0];
  return t && (/^(INPUT|TEXTAREA|SELECT)$/.test(t.tagName) || t.isContentEditable);
}

// A slide is drawn as large as it fits: one that is too long for the window smaller, never cut off and never scrolled.
function fit(m) {
  const stage = document.querySelector(".st-key-stage");
  const area = document.querySelector(".st-key-stage-area");
  const slide = document.getElementById(m.data.slide);
  if (!stage || !area || !slide) return;
  const body = slide.querySelector(".sa-fit") || slide;
  const over = () => area.scrollHeight > area.clientHeight + 1 || slide.scrollHeight > slide.clientHeight + 1
    || body.scrollHeight > body.clientHeight + 1 || slide.scrollWidth > slide.clientWidth + 1;
  let size = slide.matches(".is-figure") ? 1 : LARGEST;
  stage.style.setProperty("--fit", size);
  while (over() && size > SMALLEST) {
    size = Math.round((size - 0.05) * 100) / 100;
    stage.style.setProperty("--fit", size);
  }
}

// Figures are drawn by the server, which has to know how much room there is.
function scale(m) {
  const room = Math.min(window.innerWidth / 1280, window.innerHeight / 720);
  const steps = Math.min(Math.max(Math.floor(room * 4) / 4, 0.75), 2);
  if (steps !== (m.scale ?? 1)) m.set("scale", steps);
  m.scale = steps;
}

export default function (component) {
  const { data, parentElement, setStateValue } = component;
  const part = (name) => parentElement.querySelector(`.${name}`);
  let m = memory.get(parentElement);
  if (!m) {
    m = { digits: "", said: null };
    memory.set(parentElement, m);
    const black = part("black");
    const number = part("number");
    const full = part("full");
    m.typed = (digits) => {
      m.digits = digits;
      number.textContent = digits;
      number.hidden = !digits;
      clearTimeout(m.timer);
      if (digits) m.timer = setTimeout(() => m.typed(""), 4000);
    };
    m.screen = () => {
      const done = document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen();
      done.catch(() => { full.hidden = true; });  // a browser that refuses is not asked again
    };
    m.keydown = (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || /^(Shift|Control|Alt|Meta)$/.test(e.key)) return;
      const swallow = () => { e.preventDefault(); e.stopImmediatePropagation(); };
      if (!black.hidden) { black.hidden = true; swallow(); return; }
      if (e.repeat || typing(e) || e.composedPath().some((n) => n.tagName === "DIALOG")) return;
      const action = m.data.keys[e.key.toLowerCase()];
      if (action === "black") { black.hidden = false; swallow(); }
      else if (action === "screen" && document.fullscreenEnabled) { m.screen(); swallow(); }
      else if (/^[0-9]$/.test(e.key)) { m.typed((m.digits + e.key).slice(-4)); swallow(); }
      else if (m.digits && e.key === "Enter") {
        const jump = document.querySelector(".sa [data-action=jump]");
        jump.dataset.value = m.digits;
        m.typed("");
        jump.click();
        swallow();
      } else if (m.digits && e.key === "Escape") { m.typed(""); swallow(); }
      else if (m.digits && e.key === "Backspace") { m.typed(m.digits.slice(0, -1)); swallow(); }
    };
    m.changed = () => { full.firstChild.textContent = document.fullscreenElement ? "Window " : "Full screen "; };
    full.hidden = !document.fullscreenEnabled;
    full.onclick = m.screen;
    black.onclick = () => { black.hidden = true; };
    m.again = () => { cancelAnimationFrame(m.frame); m.frame = requestAnimationFrame(() => fit(m)); };
    m.resized = () => { m.again(); clearTimeout(m.size); m.size = setTimeout(() => scale(m), 150); };
    m.watch = new MutationObserver(m.again);
    m.watch.observe(document.querySelector(".st-key-stage"), { childList: true, subtree: true, characterData: true });
    document.addEventListener("keydown", m.keydown, true);  // before the log of presses
    document.addEventListener("fullscreenchange", m.changed);
    window.addEventListener("resize", m.resized);
    document.fonts?.ready.then(m.again);
  }
  m.data = data;
  m.set = setStateValue;
  if (m.scale === undefined) scale(m);
  if (m.said !== data.said) {
    m.said = data.said;
    part("said").textContent = data.said;
  }
  m.again();
  return () => {
    clearTimeout(m.timer);
    clearTimeout(m.size);
    m.watch.disconnect();
    document.removeEventListener("keydown", m.keydown, true);
    document.removeEventListener("fullscreenchange", m.changed);
    window.removeEventListener("resize", m.resized);
    if (document.fullscreenElement) document.exitFullscreen().catch(() => {});
    memory.delete(parentElement);
  };
}
