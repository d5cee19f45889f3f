// What the pointer is on, in words beside it.

const tip = make("div", { id: "tip", role: "status", "aria-live": "polite" });
function showTip(x, y, value, ...lines) {
  const said = lines.map((l) => (l instanceof Node ? l : make("div", {}, l)));
  tip.replaceChildren(make("b", {}, value), ...said);
  tip.classList.add("shown");
  const { width, height } = tip.getBoundingClientRect();
  const left = x + 16 + width > innerWidth - 8 ? x - width - 16 : x + 16;
  const top = y - height - 14 < 8 ? y + 20 : y - height - 14;
  tip.style.left = scrollX + Math.max(8, left) + "px"; // of the document, so that it scrolls along
  tip.style.top = scrollY + top + "px";
}
function hideTip() {
  tip.classList.remove("shown");
  tip.style.left = tip.style.top = 0; // where it cannot make the page wider
}
