// One exhibit at many steps of training: a slider, and what it changes.

let step = data.steps.length - 1; // its place among them; begins at the end

// Colours and axes are common to all steps, or the eye would compare what cannot be compared.
if (data.steps.length) for (const { exhibits } of Object.values(data.languages))
  exhibits[0].panels.forEach(({ kind }, p) => {
    const fellows = exhibits.map(({ panels }) => panels[p]).filter((o) => o?.kind === kind);
    const limits = kind === "matrix" || kind === "strip" ? [
      Math.min(...fellows.map((o) => o.limits[0])), Math.max(...fellows.map((o) => o.limits[1]))]
      : undefined;
    fellows.forEach((panel) => Object.assign(panel, { fellows, limits }));
  });

/** The slider with a button for each step, and the exhibit at the step chosen. */
function scrubber(exhibits) {
  const range = make("input", { type: "range", min: 0, max: data.steps.length - 1, id: "step",
    "aria-label": words.step, oninput: () => go(+range.value) });
  const shown = make("output", { for: "step" });
  const marks = ({ verdicts }) => verdicts.map(({ holds }) =>
    make("span", { class: `mark ${holds}` }, signs[holds]));
  const buttons = data.steps.map((number, i) => make("button", { type: "button", tabindex: -1,
    onclick: () => go(i) }, String(number), make("span", { class: "marks" },
    ...marks(exhibits[i]))));
  const main = make("main"), frame = redraws.length;
  function go(to) {
    step = within(to, data.steps.length);
    range.value = step;
    shown.textContent = short(data.steps[step]);
    range.setAttribute("aria-valuetext", shown.textContent);
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === step));
    redraws.length = frame; // those of the step left are gone with it
    watcher.disconnect();
    hideTip();
    main.style.minHeight = main.offsetHeight + "px"; // or the window would jump
    main.replaceChildren(exhibitOf(exhibits[step], true, 0));
    main.style.minHeight = "";
  }
  document.onkeydown = (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (move && event.target === document.body) go(step + move);
  };
  go(step);
  const label = make("label", {}, words.step, " ", shown, range);
  range.style.setProperty("--half", `${50 / data.steps.length}%`); // its thumb above the button
  const row = make("div", { class: "kept", "aria-hidden": "true" }, ...buttons);
  return [make("div", { class: "scrub" }, label, row), main];
}
