// Reads the console in Chromium. Its settings come on stdin; it prints a line of JSON for each scenario, with what was wrong.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";

const require = createRequire(join(process.argv[2], "x.js"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const set = JSON.parse(readFileSync(0, "utf8"));
const env = Object.fromEntries(set.env.map((v) => [v.slice(0, v.indexOf("=")), v.slice(v.indexOf("=") + 1)]));
const winnow = async (...args) => (await promisify(execFile)(set.winnow, [...args, "--config", join(set.dir, "config.yaml")], { cwd: set.dir, env })).stdout;

const pages = ["/", "/here", "/here?sort=size", "/agents", "/going", "/acts", "/holds", "/trash", "/trash/purge?all=1", "/alarms", "/policies"];
const wide = { width: 1200, height: 900 };
const candidate = (name) => "/candidate?id=" + encodeURIComponent("dir:" + join(set.dir, "wt", name));

const browser = await chromium.launch({
  executablePath: set.chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

// scenario runs one with a browser of its own that has a session at base.
async function scenario(name, options, base, steps) {
  const began = Date.now(), wrong = [];
  let checks = 0, provoking = false;
  const context = await browser.newContext({ viewport: wide, ...options });
  const check = (ok, text) => { checks++; if (!ok) wrong.push(text); };
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(120000);
    page.on("pageerror", (error) => wrong.push("an error in the page: " + error.message));
    page.on("console", (m) => { if (m.type() === "error" && !provoking) wrong.push("the page complains: " + m.text()); });
    page.on("dialog", (d) => { wrong.push("a dialog: " + d.message()); d.dismiss(); });
    // Until the first look has been, the page loads itself again.
    const body = async () => (await page.request.get(base)).text();
    for (let n = 0; n < 600 && (await body()).includes("The first look is under way"); n++) await page.waitForTimeout(500);
    await page.goto(base);
    check(new URL(page.url()).search === "", "the token stays in the address: " + page.url());
    const go = (address) => page.goto(new URL(address, base).href);
    const clean = async (what) => {
      await page.evaluate(axe);
      const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
      for (const v of found.violations) {
        const text = `${what}: axe: ${v.impact}: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(", ")}`;
        check(false, text);
      }
      check(found.passes.length > 5, what + ": axe looked at nothing");
    };
    const shot = (what) => set.shots && page.screenshot({ path: join(set.shots, `${name}-${what.replace(/\W+/g, "-")}.png`.replaceAll(" ", "-")) });
    await steps({ page, check, go, clean, shot, provoke: () => { provoking = true; } });
  } catch (error) {
    wrong.push(String(error.stack || error));
  }
  for (const page of context.pages()) await page.unrouteAll({ behavior: "ignoreErrors" }); // what it still asks for ends with it
  await context.close();
  console.log(JSON.stringify({ name, took: (Date.now() - began) / 1000, checks, wrong }));
}

async function everyPage({ go, clean, shot, page, check }, looked = () => true) {
  for (const address of [...pages, candidate("project-review-4a2b3c4d")]) {
    const answer = await go(address);
    check(answer.status() === 200, `${address}: ${answer.status()}`);
    if (looked(address)) await clean(address);
    await shot("page" + address.slice(0, 20));
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(over <= 0, `${address}: it is ${over} pixels wider than the window`);
  }
}
const ground = (page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0) / 3);

// What only reads runs two at a time.
await Promise.all([scenario("light", { colorScheme: "light" }, set.url, async (s) => {
  await everyPage(s);
  s.check((await ground(s.page)) > 200, "it is not light");
}), scenario("dark", { colorScheme: "dark" }, set.url, async (s) => {
  await everyPage(s);
  s.check((await ground(s.page)) < 60, "it is not dark");
})]);

// As on a telephone, light and dark.
await Promise.all(["light", "dark"].map((colorScheme) => scenario(`390 pixels, ${colorScheme}`, { colorScheme, viewport: { width: 390, height: 844 } }, set.url, (s) => everyPage(s, (address) => ["/", "/going", "/agents", "/trash"].includes(address)))));

await Promise.all([scenario("narrow", { viewport: { width: 320, height: 700 }, reducedMotion: "reduce" }, set.url, async (s) => {
  await everyPage(s, (address) => ["/", "/acts", "/going"].includes(address) || address.startsWith("/candidate"));
  const moves = await s.page.evaluate(() => [...document.querySelectorAll("a, button")].filter((x) => getComputedStyle(x).transitionDuration !== "0s").length);
  s.check(moves === 0, `${moves} things move although the person asked for rest`);
}), scenario("5,000 rows", {}, set.many, async ({ page, check, go, clean, shot }) => {
  const timed = async (address) => { const began = Date.now(); await go(address); return Date.now() - began; };
  const one = await timed("/here?kind=dir&q=00001387"), took = await timed("/here?kind=dir");
  check(took < 20 * one, `the page takes ${took} ms, one with a single row ${one}`);
  check((await page.locator("tbody tr:not(.owner)").count()) === 100, "not 100 rows on the page");
  check((await page.locator("caption").innerText()).startsWith("5000 candidates"), "the caption: " + (await page.locator("caption").innerText()));
  await clean("5,000 rows");
  await shot("first");
  await page.getByRole("link", { name: "Later" }).click();
  await page.waitForURL(/page=2/);
  check((await page.locator("tbody th[scope=row]").first().innerText()).endsWith("job-review-00000064"), "the second page begins elsewhere");
  await go("/here?kind=dir&page=50");
  check((await page.getByRole("link", { name: "Later" }).count()) === 0, "there is a page after the last one");
  await go("/here?kind=dir&sort=name");
  check((await page.locator("th[aria-sort]").innerText()) === "Candidate", "it is not said what is sorted");
  check((await page.locator("tbody th[scope=row]").first().innerText()).endsWith("job-review-00000000"), "the first of the alphabet is not first");
  await page.getByRole("link", { name: "Later" }).click();
  await page.waitForURL(/sort=name/);
  await go("/here?kind=dir&q=00001387");
  check((await page.locator("tbody tr:not(.owner)").count()) === 1, "the search finds not the one");
})]);

// Nothing but keys: to the content, a search, a candidate, and a hold on it.
await scenario("keyboard", {}, set.url, async ({ page, check, go }) => {
  await go("/");
  const focused = () => page.evaluate(() => {
    const x = document.activeElement, style = getComputedStyle(x), box = x.getBoundingClientRect();
    return { tag: x.tagName, id: x.id, name: x.name || "", text: (x.innerText || "").trim(), seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && box.width > 0 && box.top >= 0 && box.left >= 0 };
  });
  const tabTo = async (what, is) => {
    for (let n = 0; n < 80; n++) {
      await page.keyboard.press("Tab");
      const x = await focused();
      if (x.tag !== "BODY") check(x.seen, `the focus on ${x.tag} ${x.id} ${x.text} cannot be seen`);
      if (is(x)) return;
    }
    throw new Error("the keyboard does not lead to " + what);
  };
  await page.keyboard.press("Tab");
  check((await focused()).text === "Skip to the content", "the first stop is not the skip link");
  await page.keyboard.press("Enter");
  check((await focused()).id === "main", "the skip link does not lead to the content");
  await page.keyboard.press("/");
  await page.waitForURL(/here#q/);
  await page.waitForFunction(() => document.activeElement.id === "q");
  await go("/here");
  for (const [key, at] of [["j", 0], ["j", 1], ["j", 2], ["k", 1], ["k", 0], ["k", 0]]) {
    await page.keyboard.press(key);
    const link = await page.locator("tbody th[scope=row] a").nth(at).innerText();
    check((await focused()).text === link.trim() && (await focused()).seen, `${key} leads to ${(await focused()).text}, not ${link}`);
  }
  await page.keyboard.press("/");
  check((await focused()).id === "q", "/ does not lead to the search");
  await page.keyboard.type("j");
  check((await page.locator("#q").inputValue()) === "j", "a letter in the search is a key");
  await go("/here");
  await tabTo("the search", (x) => x.id === "q");
  await page.keyboard.type("3a2b3c4d");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=3a2b3c4d/);
  check((await page.locator("tbody tr:not(.owner)").count()) === 1, "the search finds not the one");
  await tabTo("the candidate", (x) => x.text.endsWith("project-review-3a2b3c4d"));
  await page.keyboard.press("Enter");
  await page.waitForURL(/candidate/);
  await tabTo("the reason", (x) => x.name === "reason");
  await page.keyboard.type("by the keyboard");
  await tabTo("the button", (x) => x.text === "Hold");
  await page.keyboard.press("Enter");
  await page.waitForURL(/said=/);
  check((await page.locator("[role=status].said").innerText()).includes("is held until"), "it is not said that it is held");
  check((await winnow("holds")).includes("by the keyboard"), "winnow holds does not have it");
  await tabTo("the release", (x) => x.text === "Release");
  await page.keyboard.press("Enter");
  await page.getByText("is no longer held").waitFor();
});

await scenario("hostile names", {}, set.url, async ({ page, check, go, clean, provoke }) => {
  for (const address of ["/", "/agents"]) {
    await go(address);
    check((await page.locator("main img, main svg svg :not(text, rect, title), main svg:not(.picture, .picture svg)").count()) === 0, address + ": something is drawn that is no picture");
  }
  check((await page.goto(set.url).then(() => page.locator("svg[role=img][aria-label]").count())) > 0, "nothing is drawn");
  for (const address of ["/here", "/going"]) {
    await go(address);
    check((await page.evaluate(() => globalThis.pwned)) === undefined, address + ": a name ran");
    const text = await page.locator("main").innerText();
    for (const shown of ["<img src=x onerror=pwned=1>", '"><svg onload=pwned=1><', "bidi\\u{202e}gnp.exe", "ctrl\\u{1b}[31m\\u{7}", "line\\u{a}break", "bad\\x{ff}\\x{fe}"]) check(text.includes(shown), `${address}: ${shown} is not shown`);
    check(!/[\u202a-\u202e\u2066-\u2069\u0000-\u0008\u001b]/.test(await page.content()), address + ": a name hides or reorders");
    check((await page.locator("main img, main svg").count()) === 0, address + ": a name became a thing");
  }
  await clean("/going");
  await go("/here");
  await page.getByRole("link", { name: "line\\u{a}break" }).click();
  await page.locator("h1").filter({ hasText: "line\\u{a}break" }).waitFor();
  await clean("a candidate");
  // What a page may run and ask is bounded, whatever gets into it. The browser complains of both.
  provoke();
  const out = await page.evaluate(async () => {
    const script = document.createElement("script");
    script.textContent = "globalThis.pwned = 1";
    document.body.append(script);
    return [globalThis.pwned, await fetch("http://127.0.0.1:9/").then(() => "sent", () => "refused")];
  });
  check(out[0] === undefined && out[1] === "refused", "the policy lets run or send: " + out);
});

// Everything by forms, without JavaScript: a hold, and something that comes back.
await scenario("without JavaScript", { javaScriptEnabled: false }, set.url, async ({ page, check, go }) => {
  await go(candidate("project-review-4a2b3c4d"));
  await page.getByLabel("Why it must stay").fill("by forms alone");
  await page.getByLabel("For how long").selectOption("7d");
  await page.getByRole("button", { name: "Hold" }).click();
  check((await page.locator("[role=status].said").innerText()).includes("is held until"), "it is not said that it is held");
  check((await winnow("holds")).includes("by forms alone"), "winnow holds does not have it");
  await page.getByRole("link", { name: "Holds" }).click();
  await page.getByRole("button", { name: /Release .*4a2b3c4d/ }).click();
  check((await page.locator("main").innerText()).includes("is no longer held"), "it is not said that it was released");
  await page.getByRole("link", { name: "Trash" }).click();
  const rows = await page.locator("tbody tr").count();
  check(rows > 0, "nothing lies in the trash");
  await page.getByRole("button", { name: /Restore/ }).first().click();
  check((await page.locator("[role=status].said").innerText()).includes("brought back"), "it is not said that it was brought back");
  check((await page.locator("tbody tr").count()) === rows - 1, "the trash still shows it");
  await page.getByRole("link", { name: "Holds" }).click(); // what was brought back is held for a time
  await page.getByRole("button", { name: /Release/ }).click();
  check((await page.locator("main").innerText()).includes("Nothing is held"), "what was brought back is still held");
  await page.getByRole("button", { name: "Sweep now" }).click();
  check((await page.locator("[role=status].said").innerText()).includes("nothing was changed"), "it is not said what the sweep found");
});

await scenario("live", {}, set.url, async ({ page, check, go }) => {
  const id = "dir:" + join(set.dir, "wt", "project-review-2a2b3c4d");
  await go("/holds");
  await page.getByText("Nothing is held").waitFor();
  await page.evaluate(() => { globalThis.same = true; });
  await winnow("retain", id, "--reason", "from elsewhere");
  await page.getByRole("cell", { name: "from elsewhere" }).waitFor();
  check(await page.evaluate(() => globalThis.same === true), "the page was loaded anew");
  await page.getByText("Up to date at").waitFor();

  // What a person types and opens stays while the page changes around it.
  await go("/here?q=2a2b3c4d");
  await page.getByRole("cell", { name: "stays", exact: true }).waitFor();
  await page.locator("#q").fill("half a wo");
  await page.evaluate(() => { globalThis.same = true; });
  await winnow("release", id);
  await page.getByRole("cell", { name: "would go", exact: true }).waitFor();
  check((await page.locator("#q").inputValue()) === "half a wo", "what was typed is lost");
  check(await page.evaluate(() => document.activeElement.id === "q" && globalThis.same === true), "the focus is lost");
});

// Columns sort, stay sorted while the page changes, and times pass. What is not up to date is marked.
await scenario("sorted and old", {}, set.url, async ({ page, check, go, clean, provoke }) => {
  await go("/policies");
  const first = async () => (await page.locator("table").first().locator("tbody th").first().innerText());
  const [from] = [await first()];
  const head = page.locator("table").first().getByRole("button", { name: "Rule" });
  await head.click();
  check((await first()) === from, "rules are not in the order of the alphabet");
  await head.click();
  check((await first()) !== from && (await page.locator("th[aria-sort=descending]").count()) === 1, "a second time does not turn the order");
  const turned = await first();
  await winnow("retain", "dir:" + join(set.dir, "wt", "project-review-3a2b3c4d"), "--reason", "sorted");
  await page.getByText("Up to date at").waitFor();
  check((await first()) === turned, "the order is lost when the page changes");
  await winnow("release", "dir:" + join(set.dir, "wt", "project-review-3a2b3c4d"));
  await clean("/policies, sorted");
  const seen = page.locator("#seen time");
  check(/^\d+(s|m\d*s?) ago$/.test(await seen.innerText()) && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(await seen.getAttribute("title")), "the time of the look: " + (await seen.innerText()));
  check(!(await page.locator("#stale").isVisible()), "what is new is marked as old");
  // A look that ends just then brings the page up to date: then the time is made old again.
  const old = async () => {
    await seen.evaluate((time) => { time.dateTime = new Date(Date.now() - 3600000).toISOString(); });
    return page.locator("#stale").waitFor({ state: "visible", timeout: 8000 }).then(() => seen.innerText(), () => "");
  };
  let told = "";
  for (let n = 0; n < 5 && told === ""; n++) told = await old();
  check(told.startsWith("1h"), "what is old is not marked, or the time does not pass: " + told);
  await clean("an old page");
  provoke();
  await page.route("**/events", (route) => route.abort());
  await go("/policies");
  await page.locator("#stale").waitFor({ state: "visible" });
});

await scenario("details", {}, set.url, async ({ page, check, go }) => {
  const id = "dir:" + join(set.dir, "wt", "project-review-4a2b3c4d");
  await go(candidate("project-review-4a2b3c4d"));
  await page.getByText("Evidence").first().click();
  await winnow("retain", id, "--reason", "details");
  await page.getByText("It is held").waitFor();
  const open = () => page.locator("details[open]").count();
  check((await open()) === 1, "what was opened is closed");
  await page.route(/candidate/, async (route) => { // the page as it would be with one thing less at its top
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replace(/<p><span class="verdict[^]*?<\/p>/, "") });
  });
  await winnow("release", id);
  await page.getByRole("heading", { name: "Keep it" }).waitFor();
  // A page that was asked for before the release may come first.
  const gone = page.locator("main .verdict, #main .verdict").first().waitFor({ state: "detached", timeout: 8000 });
  check(await gone.then(() => true, () => false), "the verdict is still there");
  check((await open()) === 1, "what was opened is closed when something above it goes");
});

await browser.close();
