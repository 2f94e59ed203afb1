// Drives a browser for a test: one JSON call a line on standard input, one answer a line on standard output.
import { createInterface } from 'node:readline';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const { chromium } = createRequire(join(process.env.WINNOW_E2E_CACHE, 'package.json'))('playwright-core');
const context = await chromium.launchPersistentContext(process.env.WINNOW_E2E_PROFILE, {
  executablePath: process.env.WINNOW_E2E_CHROMIUM ?? '/usr/bin/chromium', headless: true, timeout: 0, viewport: { width: 1280, height: 800 },
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
context.setDefaultTimeout(0); // the test has one deadline for a call, against what hangs
const pages = new Map();
const calls = {
  open: async ({ window, url }) => {
    const page = await context.newPage();
    pages.set(window, page);
    await page.goto(url, { waitUntil: 'domcontentloaded' });
    await page.waitForSelector('.monaco-workbench .statusbar-item');
  },
  reload: async ({ window }) => { await pages.get(window).reload({ waitUntil: 'domcontentloaded' }); await pages.get(window).waitForSelector('.monaco-workbench .statusbar-item'); },
  key: ({ window, key }) => pages.get(window).keyboard.press(key),
  type: ({ window, text }) => pages.get(window).keyboard.type(text, { delay: 5 }),
  drag: async ({ window, from, to, y }) => { const { mouse } = pages.get(window); await mouse.move(from, y); await mouse.down(); await mouse.move(to, y, { steps: 10 }); await mouse.up(); },
  click: ({ window, selector }) => pages.get(window).click(selector, { force: true }),
  labels: ({ window, selector }) => pages.get(window).$$eval(selector, (all) => all.map((e) => e.getAttribute('aria-label') ?? e.textContent ?? '')),
  shot: ({ window, path, clip }) => pages.get(window).screenshot({ path, ...(clip ? { clip } : {}) }),
  freeze: async ({ window }) => {
    const cdp = await context.newCDPSession(pages.get(window));
    await cdp.send('Debugger.enable');
    await cdp.send('Debugger.pause');
    pages.set(window + ' frozen', cdp);
  },
  thaw: async ({ window }) => { const cdp = pages.get(window + ' frozen'); await cdp.send('Debugger.disable'); await cdp.detach(); },
};
for await (const line of createInterface({ input: process.stdin })) {
  const { call, ...rest } = JSON.parse(line);
  try {
    process.stdout.write(JSON.stringify({ result: (await calls[call](rest)) ?? null }) + '\n');
  } catch (err) {
    process.stdout.write(JSON.stringify({ error: String(err) }) + '\n');
  }
}
await context.close();
