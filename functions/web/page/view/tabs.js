// Tabs as the ARIA pattern has them: arrow keys choose, one tab stop.

export function tabs(list) {
  const all = [...list.querySelectorAll("[role=tab]")];
  const choose = (tab) => {
    for (const other of all) {
      other.setAttribute("aria-selected", String(other === tab));
      other.tabIndex = other === tab ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).hidden = other !== tab;
    }
  };
  list.addEventListener("click", ({ target }) => target.closest("[role=tab]") && choose(target.closest("[role=tab]")));
  list.addEventListener("keydown", ({ key, target }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (!step) return;
    const next = all.at((all.indexOf(target) + step) % all.length);
    choose(next);
    next.focus();
  });
}
