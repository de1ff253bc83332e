// Behaviour of a report's page. The page is complete without it: this adds sorting, search,
// copying, downloads, hiding of series and a choice of the theme. It requests nothing.
(() => {
  "use strict";
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const make = (tag, props = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), props);
    node.append(...children);
    return node;
  };
  const button = (text, title, act) => {
    const node = make("button", { type: "button", textContent: text, title });
    node.addEventListener("click", act);
    return node;
  };
  const announce = make("div", { className: "announce" });
  announce.setAttribute("role", "status");
  document.body.append(announce);
  const say = (text) => {
    announce.textContent = text;
    setTimeout(() => { if (announce.textContent === text) announce.textContent = ""; }, 2500);
  };

  // The state of the page is in the URL's hash: #section;theme=dark
  const state = () => {
    const parts = decodeURIComponent(location.hash.slice(1)).split(";");
    const theme = parts.find((part) => part.startsWith("theme="));
    return { section: parts.find((part) => part && !part.includes("=")) || "", theme: theme ? theme.slice(6) : "auto" };
  };
  const remember = (change) => {
    const { section, theme } = { ...state(), ...change };
    const parts = [section, theme === "auto" ? "" : "theme=" + theme].filter(Boolean);
    history.replaceState(null, "", parts.length ? "#" + parts.join(";") : location.pathname + location.search);
  };
  const themes = ["auto", "light", "dark"];
  const applyTheme = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    themeButton.textContent = "theme: " + theme;
  };
  const themeButton = button("", "Light, dark, or as the system has it", () => {
    const next = themes[(themes.indexOf(state().theme) + 1) % themes.length];
    remember({ theme: next });
    applyTheme(next);
  });
  const tools = document.querySelector(".contents") || document.querySelector("main");
  tools.append(make("div", { className: "tools" }, themeButton));

  const openAround = (node) => {
    for (let at = node; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  };
  const goTo = () => {
    const target = document.getElementById(state().section);
    if (!target) return;
    all("details", target).slice(0, 1).forEach((one) => { one.open = true; });
    openAround(target);
    target.scrollIntoView();
  };
  const follow = () => { applyTheme(themes.includes(state().theme) ? state().theme : "auto"); goTo(); };
  addEventListener("hashchange", follow);
  all(".contents a").forEach((link) => link.addEventListener("click", (event) => {
    event.preventDefault();
    remember({ section: link.getAttribute("href").slice(1) });
    goTo();
  }));

  // Tables: sorted by a click on a head, copied and downloaded.
  const scale = { k: 1e3, M: 1e6, G: 1e9 };
  const prefix = { ns: 1e-9, "µs": 1e-6, us: 1e-6, ms: 1e-3, s: 1, "KiB/s": 1024, "MiB/s": 1048576, "GiB/s": 1073741824 };
  const figure = (text) => {
    const plain = text.replace(/\u2212/g, "-").replace(/\u00a0/g, " ");
    const found = plain.match(/^[▼▲≈?! ]*([+-]?[\d.]+)([kMG])?/);
    if (!found) return null;
    const unit = plain.match(/(ns|µs|us|ms|KiB\/s|MiB\/s|GiB\/s|s)$/);
    return parseFloat(found[1]) * (scale[found[2]] || 1) * (unit ? prefix[unit[1]] : 1);
  };
  const cells = (row) => all("th,td", row).map((cell) => cell.textContent.trim());
  const rowsOf = (table) => [cells(table.tHead.rows[0]), ...all("tbody tr", table).map(cells)];
  const quote = (cell) => {
    const text = /^[=+@\t\r-]/.test(cell) && figure(cell) === null ? "'" + cell : cell;
    return /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  };
  const csv = (table) => rowsOf(table).map((row) => row.map(quote).join(",")).join("\n") + "\n";
  const markdown = (table) => {
    const line = (row) => "| " + row.map((cell) => cell.replace(/\|/g, "\\|")).join(" | ") + " |";
    const [head, ...rows] = rowsOf(table);
    return [line(head), line(head.map((_, at) => (at ? "---:" : "---"))), ...rows.map(line)].join("\n") + "\n";
  };
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = make("textarea", { value: text });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
    say("copied");
  };
  const save = (name, blob) => {
    const link = make("a", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    say("saved " + name);
  };
  const nameOf = (node) => {
    const section = node.closest("section");
    const head = section && section.querySelector("h2");
    return (head ? head.textContent : document.title).replace(/[^\w.-]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
  };
  const sortBy = (table, at, head) => {
    const up = head.getAttribute("aria-sort") !== "ascending";
    const body = table.tBodies[0];
    // A row below another moves with it; a total stays at the end.
    const groups = [];
    all("tr", body).forEach((row) => {
      if (row.cells[0].classList.contains("below") && groups.length) groups[groups.length - 1].push(row);
      else groups.push([row]);
    });
    const key = (group) => {
      const text = group[0].cells[at].textContent.trim();
      return at ? figure(text) : text;
    };
    const last = (group) => group[0].classList.contains("total") || key(group) === null;
    const order = (one, other) => {
      if (last(one) !== last(other)) return last(one) ? 1 : -1;
      if (last(one)) return 0;
      const [a, b] = [key(one), key(other)];
      return (a < b ? -1 : a > b ? 1 : 0) * (up ? 1 : -1);
    };
    groups.sort(order).flat().forEach((row) => body.append(row));
    all("th", table).forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
  };
  all(".scroll > table").forEach((table) => {
    all("thead th", table).forEach((head, at) => {
      const text = head.textContent;
      if (!text) return;
      head.textContent = "";
      head.append(button(text, "Sort", () => sortBy(table, at, head)));
    });
    const bar = make("div", { className: "tools" },
      button("copy", "Copy as Markdown", () => copy(markdown(table))),
      button("CSV", "Save as CSV", () => save(nameOf(table) + ".csv", new Blob([csv(table)], { type: "text/csv" }))));
    table.parentElement.after(bar);
    if (table.tBodies[0].rows.length > 30) {
      const search = make("input", { type: "search", placeholder: "search" });
      search.setAttribute("aria-label", "Show only rows with this text");
      search.addEventListener("input", () => {
        const word = search.value.trim().toLowerCase();
        all("tbody tr", table).forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(word); });
      });
      table.parentElement.before(make("div", { className: "tools" }, search));
    }
  });

  // Charts: saved with their styles, so that they look the same elsewhere.
  const styled = ["fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font", "text-anchor", "dominant-baseline", "paint-order", "display"];
  const standAlone = (svg) => {
    const box = svg.getBoundingClientRect();
    const clone = svg.cloneNode(true);
    const from = all("*", svg);
    all("*", clone).forEach((node, at) => {
      const style = getComputedStyle(from[at]);
      styled.forEach((name) => node.style.setProperty(name, style.getPropertyValue(name)));
    });
    const margin = 12;
    const caption = document.createElementNS("http://www.w3.org/2000/svg", "text");
    caption.textContent = (svg.getAttribute("aria-label") || "") + " · " + document.querySelector(".eyebrow").textContent;
    caption.setAttribute("x", "0");
    caption.setAttribute("y", String(box.height + 16));
    caption.setAttribute("font-size", "11");
    caption.setAttribute("fill", getComputedStyle(document.body).color);
    clone.append(caption);
    const back = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    Object.entries({ x: -margin, y: -margin, width: box.width + 2 * margin, height: box.height + 28 + margin })
      .forEach(([name, value]) => back.setAttribute(name, String(value)));
    back.setAttribute("fill", getComputedStyle(svg.closest("section") || document.body).backgroundColor);
    const inner = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    inner.setAttribute("width", String(box.width));
    inner.setAttribute("height", String(box.height + 24));
    inner.setAttribute("overflow", "visible");
    inner.append(...clone.childNodes);
    clone.append(back, inner);
    clone.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    clone.setAttribute("width", String(box.width + 2 * margin));
    clone.setAttribute("height", String(box.height + 28 + margin));
    clone.setAttribute("viewBox", [-margin, -margin, box.width + 2 * margin, box.height + 28 + margin].join(" "));
    return new XMLSerializer().serializeToString(clone);
  };
  const png = (svg, name) => {
    const box = svg.getBoundingClientRect();
    const image = new Image();
    image.onload = () => {
      const canvas = make("canvas", { width: 2 * (box.width + 24), height: 2 * (box.height + 40) });
      const pen = canvas.getContext("2d");
      pen.scale(2, 2);
      pen.drawImage(image, 0, 0);
      canvas.toBlob((blob) => save(name + ".png", blob));
    };
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(standAlone(svg));
  };
  all("svg[role=img]").filter((svg) => !svg.closest(".lane, .legend")).forEach((svg) => {
    svg.setAttribute("tabindex", "0");
    const name = nameOf(svg);
    svg.after(make("div", { className: "tools" },
      button("SVG", "Save the drawing as SVG", () => save(name + ".svg", new Blob([standAlone(svg)], { type: "image/svg+xml" }))),
      button("PNG", "Save the drawing as PNG", () => png(svg, name))));
  });

  // A click on a legend hides its series.
  all(".legend [data-series]").forEach((entry) => {
    const series = entry.dataset.series;
    entry.tabIndex = 0;
    entry.setAttribute("role", "button");
    entry.setAttribute("aria-pressed", "true");
    const toggle = () => {
      const shown = entry.getAttribute("aria-pressed") !== "true";
      entry.setAttribute("aria-pressed", String(shown));
      const chart = entry.closest("figure") || entry.closest("section");
      all(`svg [data-series="${CSS.escape(series)}"]`, chart).forEach((mark) => mark.classList.toggle("hidden", !shown));
    };
    entry.addEventListener("click", toggle);
    entry.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle();
    });
  });

  addEventListener("beforeprint", () => all("details").forEach((one) => { one.open = true; }));
  all("pre").forEach((block) => block.after(make("div", { className: "tools" },
    button("copy", "Copy the command", () => copy(block.textContent)))));
  follow();
})();
