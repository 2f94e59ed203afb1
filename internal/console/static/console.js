// Fetches a page again when something changed, and changes in place what differs. Everything works without it.
"use strict";
(() => {
  const say = (text) => { const live = document.getElementById("live"); if (live && live.textContent !== text) live.textContent = text; };
  const clock = () => new Date().toLocaleTimeString([], { hour12: false });
  let busy = false, again = false, stream = null, later = 0;

  // What a person has typed, ticked or opened stays.
  document.addEventListener("input", (event) => { const form = event.target.closest("form"); if (form) form.dataset.touched = ""; });
  const touched = (node) => node instanceof HTMLFormElement && "touched" in node.dataset;
  const options = {
    morphStyle: "outerHTML",
    ignoreActiveValue: true,
    restoreFocus: true,
    callbacks: {
      beforeNodeMorphed: (old) => !touched(old),
      beforeNodeRemoved: (old) => !touched(old),
      beforeAttributeUpdated: (name, node) => !(name === "open" && node instanceof HTMLDetailsElement),
    },
  };

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
        if (old && now) Idiomorph.morph(old, now, options);
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
