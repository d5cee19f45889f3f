// The page as a whole: its language, its theme, and the first drawing.

const app = document.getElementById("app");

function build() {
  const { lang, exhibits } = data.languages[language];
  ({ words, names } = data.languages[language]);
  redraws = [];
  watcher.disconnect();
  hideTip();
  const scrubbing = data.steps.length > 0, many = !scrubbing && exhibits.length > 1;
  document.documentElement.lang = lang;
  document.title = many ? words.title : exhibits[0].title;
  app.className = many ? "many" : "";
  const front = make("header", { class: "front" },
    make("h1", {}, words.title), make("p", {}, words.brief));
  app.replaceChildren(make("div", { class: "bar" }, ...languages(), themes()),
    ...(many ? [front, contents(exhibits)] : []),
    ...(scrubbing ? scrubber(exhibits)
      : [make("main", {}, ...exhibits.map((exhibit, e) => exhibitOf(exhibit, !many, e)))]), tip);
}

/** A button for each other language. */
function languages() {
  const others = Object.keys(data.languages).filter((l) => l !== language);
  return others.map((other) => make("button", { type: "button", id: "language",
    lang: data.languages[other].lang, onclick: () => { keep("language", other); speak(other); } },
    { en: "English", zh: "中文" }[other]));
}

/** The other language, with the same exhibit at the same height of the window. */
function speak(other) {
  const top = (article) => article.getBoundingClientRect().top;
  const above = (article) => top(article) < innerHeight / 2;
  const seen = [...document.querySelectorAll("article")].filter(above).pop();
  const before = seen ? top(seen) : 0;
  language = other;
  build();
  if (seen) {
    const moved = top(document.getElementById(seen.id)) - before;
    scrollTo({ top: scrollY + moved, behavior: "instant" });
  }
  document.getElementById("language")?.focus({ preventScroll: true });
}

/** The button that turns day to night. */
function themes() {
  const button = make("button", { type: "button", id: "theme", onclick: () => {
    keep("theme", theme === "dark" ? "light" : "dark");
    dress();
  } });
  const name = () => { button.textContent = theme === "dark" ? words.light : words.dark; };
  redraws.push(name);
  name();
  return button;
}

const night = matchMedia("(prefers-color-scheme: dark)");
/** Put on the theme that was chosen, else the system's; on paper always the light one. */
function dress(forced) {
  theme = forced ?? kept("theme") ?? (night.matches ? "dark" : "light");
  document.documentElement.dataset.theme = theme;
  redraws.forEach((redraw) => redraw());
}
night.addEventListener("change", () => dress());
addEventListener("beforeprint", () => dress("light"));
addEventListener("afterprint", () => dress());

// Choices outlive the page where the browser lets them, else they last as long as it.
const memory = {};
function kept(name) {
  try { return memory[name] ?? localStorage.getItem("mingyue-" + name); } catch { return null; }
}
function keep(name, value) {
  memory[name] = value;
  try { localStorage.setItem("mingyue-" + name, value); } catch { /* not allowed here */ }
}

const wished = kept("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en");
language = wished in data.languages ? wished : Object.keys(data.languages)[0];
dress();
build();
if (location.hash) {
  document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}
