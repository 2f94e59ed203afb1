// Fetches a page again when something changed, and changes in place what differs. Everything works without it.
"use strict";
(() => {
  const say = (text) => { const live = document.getElementById("live"); if (live && live.textContent !== text) live.textContent = text; };
  const clock = () => new Date().toLocaleTimeString([], { hour12: false });
  let busy = false, again = false, stream = null, later = 0;

  // What a person has typed, ticked or opened stays.
  document.addEventListener("input", (event) => { const form = event.target.closest("form"); if (form) form.dataset.touched = ""; });
  const touched = (node) => node instanceof HTMLFormElement && "touched" in node.dataset;

  // A row is known by its id, by its key, or by what its first link leads to.
  const key = (node) => (node.nodeType !== Node.ELEMENT_NODE ? "" :
    node.id || node.dataset.key || (node.matches("tr, li, details") && node.querySelector("a[href]")?.getAttribute("href")) || "");
  const alike = (a, b) => a.nodeName === b.nodeName && key(a) === key(b);

  // morph changes old into now, and keeps each element that both have: with its focus, its selection, and how far it is scrolled.
  function morph(old, now) {
    if (touched(old) || (old.nodeType === Node.ELEMENT_NODE && old.matches("th[data-sort]"))) return;
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== now.nodeValue) old.nodeValue = now.nodeValue;
      return;
    }
    const stays = (name) => (name === "open" && old instanceof HTMLDetailsElement) || (name === "value" && old === document.activeElement);
    for (const { name } of [...old.attributes]) if (!now.hasAttribute(name) && !stays(name)) old.removeAttribute(name);
    for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value && !stays(name)) old.setAttribute(name, value);
    children(old, now);
  }

  function children(old, now) {
    const wanted = new Set([...now.childNodes].map(key));
    for (const child of [...old.childNodes]) if (key(child) && !wanted.has(key(child)) && !touched(child)) child.remove();
    let place = old.firstChild;
    for (const child of [...now.childNodes]) {
      let found = place;
      while (found && !alike(found, child)) found = found.nextSibling;
      if (!found) { old.insertBefore(document.adoptNode(child), place); continue; }
      if (found === place) place = place.nextSibling;
      else old.insertBefore(found, place);
      morph(found, child);
    }
    while (place) { const next = place.nextSibling; if (!touched(place)) place.remove(); place = next; }
  }

  // Moving an element takes the focus from it, and what is selected in it.
  function change(old, now) {
    const focus = document.activeElement, { selectionStart: from, selectionEnd: to } = focus;
    if (alike(old, now)) morph(old, now);
    else old.replaceWith(document.adoptNode(now));
    if (focus === document.activeElement || !focus.isConnected) return;
    focus.focus({ preventScroll: true });
    if (typeof from === "number") focus.setSelectionRange(from, to);
  }

  async function refresh() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.href, { cache: "no-store", redirect: "error", credentials: "same-origin" });
      if (answer.status === 403) { say("This console was started again: open the address that it printed."); stop(); return; }
      if (!answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const pick of ["#top", ".banner", "#main"]) {
        const old = document.querySelector(pick), now = fresh.querySelector(pick);
        if (old && now) change(old, now);
        else if (now) document.getElementById("main").before(document.adoptNode(now));
        else if (old) old.remove();
      }
      document.title = fresh.title;
      Object.assign(document.body.dataset, fresh.body.dataset);
      lost = false;
      count();
      prepare();
      say("Up to date at " + clock());
    } catch {
      lost = true;
      say("The console does not answer. What is shown is what it last gave.");
    } finally {
      busy = false;
      if (again) { again = false; refresh(); }
    }
  }

  function stop() { clearTimeout(later); if (stream) stream.close(); stream = null; }

  // A browser has few connections to a server, and a stream takes one: a page that nobody sees has none.
  function start() {
    if (stream || document.visibilityState !== "visible") return;
    stream = new EventSource("/events");
    stream.addEventListener("stamp", (event) => { lost = false; if (event.data !== document.body.dataset.stamp) refresh(); });
    stream.onerror = () => {
      lost = true;
      tick();
      say("The console does not answer. What is shown is what it last gave.");
      if (stream && stream.readyState === EventSource.CLOSED) { stop(); later = setTimeout(() => { start(); refresh(); }, 30000); }
    };
  }
  // Times pass while a page is open, by the clock of the machine that is shown. What is old, or may be, is marked.
  let lost = false, skew = 0;
  const count = () => { skew = Date.now() - Date.parse(document.body.dataset.now); };
  const two = (n, unit, rest, below) => n + unit + (rest ? rest + below : "");
  const span = (s) => (s < 60 ? s + "s" : s < 3600 ? two(Math.floor(s / 60), "m", s % 60, "s") :
    s < 86400 ? two(Math.floor(s / 3600), "h", Math.floor((s % 3600) / 60), "m") : two(Math.floor(s / 86400), "d", Math.floor((s % 86400) / 3600), "h"));
  function tick() {
    const now = Date.now() - skew;
    for (const time of document.querySelectorAll("time[datetime]")) {
      const passed = Math.floor((now - Date.parse(time.dateTime)) / 1000), text = passed < 0 ? "in " + span(-passed) : span(passed) + " ago";
      if (time.textContent !== text) time.textContent = text;
    }
    const seen = document.querySelector("#seen time"), mark = document.getElementById("stale");
    if (seen && mark && (lost || now - Date.parse(seen.dateTime) > 300000)) mark.hidden = false;
  }
  setInterval(tick, 5000);

  // A column that can be sorted gets a button. What is sorted stays so when the page changes.
  const value = (row, at) => {
    const cell = row.cells[at], time = cell?.querySelector("time");
    return cell?.dataset.n ? Number(cell.dataset.n) : time ? Date.parse(time.dateTime) : (cell?.innerText ?? "").trim();
  };
  function sort(table) {
    const heads = [...table.tHead.rows[0].cells], at = heads.findIndex((th) => th.ariaSort);
    if (at < 0 || !heads[at].matches("[data-sort]")) return;
    const way = heads[at].ariaSort === "descending" ? -1 : 1;
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.matches(".owner"));
      rows.sort((x, y) => {
        const [a, b] = [value(x, at), value(y, at)];
        return way * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));
      });
      if (rows.some((row, i) => row !== [...body.rows].filter((r) => !r.matches(".owner"))[i])) body.append(...rows);
    }
  }
  function prepare() {
    for (const th of document.querySelectorAll("th[data-sort]")) {
      if (th.firstElementChild) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = th.textContent;
      th.replaceChildren(button);
    }
    document.querySelectorAll("table:has(th[aria-sort])").forEach(sort);
    tick();
  }
  document.addEventListener("click", (event) => {
    const th = event.target.closest("th[data-sort]");
    if (!th) return;
    const way = th.ariaSort === "ascending" ? "descending" : "ascending";
    for (const other of th.parentElement.cells) other.ariaSort = null;
    th.ariaSort = way;
    sort(th.closest("table"));
  });

  // Keys as in a pager: / to the search, j and k from one row to the next.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, textarea")) return;
    if (event.key === "/") {
      event.preventDefault();
      const search = document.getElementById("q");
      if (search) search.focus();
      else location.assign("/here#q");
    }
    if (event.key !== "j" && event.key !== "k") return;
    const rows = [...document.querySelectorAll("main tbody tr:not(.owner), main .tree li, main section li")];
    const at = rows.findLastIndex((row) => row.contains(document.activeElement));
    const row = rows[event.key === "j" ? at + 1 : Math.max(at < 0 ? rows.length : at, 1) - 1];
    if (!row) return;
    const first = row.querySelector("a[href], button, summary") ?? row;
    if (first === row) row.tabIndex = -1;
    first.focus();
    row.scrollIntoView({ block: "nearest" });
  });
  if (location.hash === "#q") document.getElementById("q")?.focus();

  document.addEventListener("visibilitychange", () => (document.visibilityState === "visible" ? start() : stop()));
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => { if (event.persisted) { start(); refresh(); } });
  count();
  prepare();
  start();
})();
