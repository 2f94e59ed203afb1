// Bundles the extension into dist/extension.cjs; with --tests the tests into build/.
import { build } from 'esbuild';
import { readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const common = { absWorkingDir: root, bundle: true, platform: 'node', target: 'node20', legalComments: 'none', logLevel: 'warning' };

if (process.argv.includes('--tests')) {
  rmSync(join(root, 'build'), { recursive: true, force: true });
  const entryPoints = readdirSync(join(root, 'test')).filter((f) => f.endsWith('.test.ts')).map((f) => join('test', f));
  await build({ ...common, entryPoints, outdir: 'build', format: 'esm', outExtension: { '.js': '.mjs' } });
} else {
  await build({ ...common, entryPoints: ['src/extension.ts'], outfile: 'dist/extension.cjs', format: 'cjs', external: ['vscode'], minify: true });
}
