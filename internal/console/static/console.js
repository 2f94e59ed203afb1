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
    if (touched(old)) return;
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
      document.body.dataset.stamp = fresh.body.dataset.stamp;
      say("Up to date at " + clock());
    } catch {
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
    stream.addEventListener("stamp", (event) => { if (event.data !== document.body.dataset.stamp) refresh(); });
    stream.onerror = () => {
      say("The console does not answer. What is shown is what it last gave.");
      if (stream && stream.readyState === EventSource.CLOSED) { stop(); later = setTimeout(() => { start(); refresh(); }, 30000); }
    };
  }
  document.addEventListener("visibilitychange", () => (document.visibilityState === "visible" ? start() : stop()));
  addEventListener("pagehide", stop);
  addEventListener("pageshow", (event) => { if (event.persisted) { start(); refresh(); } });
  start();
})();
