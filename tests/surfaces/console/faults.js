// What is wrong with the page for somebody who does not see it, or not well. An expression: a list of sentences.
(() => {
  const faults = [];
  const isShown = (each) => each.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true, contentVisibilityAuto: true });
  const tell = (each, what) => faults.push(`${what}: ${each.outerHTML.slice(0, 120)}`);
  const nameOf = (each) => {
    const labels = each.labels ? [...each.labels].map((label) => label.textContent).join(" ") : "";
    return [each.getAttribute("aria-label"), labels, each.matches("input, select, textarea") ? "" : each.textContent, each.title].find((text) => text?.trim());
  };
  for (const each of document.querySelectorAll("a[href], button, input, select, textarea, summary, [role=img], dialog")) {
    if (isShown(each) && !nameOf(each) && !each.hasAttribute("aria-labelledby")) tell(each, "has no name");
  }
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  for (const id of ids.filter((each, at) => ids.indexOf(each) !== at)) faults.push(`the id ${id} stands twice`);
  for (const each of document.querySelectorAll("[aria-describedby], [aria-labelledby]")) {
    const id = each.getAttribute("aria-describedby") ?? each.getAttribute("aria-labelledby");
    if (!document.getElementById(id)) tell(each, `names ${id}, which is not there`);
  }
  if ([...document.querySelectorAll("h1")].filter(isShown).length !== 1) faults.push("there is not one first heading");
  if (!document.querySelector("main") || !document.documentElement.lang) faults.push("the page has no main part or no language");
  let level = 1;
  for (const each of document.querySelectorAll("h1, h2, h3, h4")) {
    if (!isShown(each)) continue;
    const found = Number(each.localName[1]);
    if (found > level + 1) tell(each, `a heading of level ${found} follows one of level ${level}`);
    level = found;
  }
  for (const each of document.querySelectorAll("ul > *, ol > *")) if (each.localName !== "li") tell(each, "stands in a list and is no item");
  const channels = (text) => (text.match(/[\d.]+/g) ?? []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const groundOf = (each) => {
    for (let at = each; at; at = at.parentElement) {
      const found = channels(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
  };
  const seen = new Set();
  for (const each of document.querySelectorAll("body *")) {
    const hasText = [...each.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!hasText || !isShown(each) || each.closest("svg, [disabled], option, .visually-hidden, .skip")) continue;
    const style = getComputedStyle(each);
    const [one, other] = [light(channels(style.color)), light(groundOf(each))].sort((a, b) => b - a);
    const ratio = (one + 0.05) / (other + 0.05);
    const isLarge = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && Number(style.fontWeight) >= 700);
    const key = `${style.color} ${groundOf(each)}`;
    if (ratio < (isLarge ? 3 : 4.5) && !seen.has(key)) { seen.add(key); tell(each, `contrast of ${ratio.toFixed(2)}, ${key}`); }
  }
  return faults;
})()
