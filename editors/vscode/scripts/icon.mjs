// Draws media/icon.png from media/icon.svg in Chromium, since a marketplace takes no SVG: npm run icon.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const media = join(dirname(dirname(fileURLToPath(import.meta.url))), 'media');
const profile = mkdtempSync(join(tmpdir(), 'icon'));
try {
  execFileSync(process.env.WINNOW_E2E_CHROMIUM ?? 'chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--default-background-color=00000000',
    `--user-data-dir=${profile}`, '--window-size=256,256', `--screenshot=${join(media, 'icon.png')}`, `file://${join(media, 'icon.svg')}`], { stdio: 'ignore' });
} finally {
  rmSync(profile, { recursive: true, force: true });
}
