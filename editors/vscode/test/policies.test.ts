import assert from 'node:assert/strict';
import { test } from 'node:test';
import { policyRoot } from '../src/policies.ts';

const folders = new Set(['/team/reap', '/team/protect', '/w/lib']);
const root = (file: string, text: string): string | undefined => policyRoot(file, text, (dir) => folders.has(dir));

for (const [name, file, text, want] of [
  ['a rule', '/r/reap/tabs/mine/mine.rego', '# METADATA\npackage policies.reap.tabs.mine\n', '/r'],
  ['its test', '/r/reap/tabs/mine/mine_test.rego', 'package policies.reap.tabs.mine_test\n', '/r'],
  ['a tree in a folder that is called as a shelf', '/lib/reap/tabs/mine/mine.rego', 'package policies.reap.tabs.mine\n', '/lib'],
  ['a rule whose package is being written', '/team/lib/x.rego', 'package \n', '/team'],
  ['the Rego of somebody else, below lib', '/w/lib/x.rego', 'package app.x\n', undefined],
  ['a package that its folder does not bear out', '/w/a/x.rego', 'package policies.reap.b\n', undefined],
  ['a package at the top of the file system', '/reap/b/x.rego', 'package policies.reap.b\n', undefined],
  ['exceptions', '/r/exceptions.yaml', '# why\nexceptions:\n  - match: {}\n', '/r'],
  ['exceptions beside rules, being written', '/team/exceptions.yaml', 'exc', '/team'],
  ['a file of somebody else that is called so', '/w/exceptions.yaml', 'errors: [404]\n', undefined],
  ['a layer', '/r/layer.yaml', 'levels: {}\n', '/r'],
  ['a layer of somebody else', '/w/layer.yaml', 'name: base\n', undefined],
  ['any other file', '/team/reap/config.yaml', 'levels: {}\n', undefined],
] as const) {
  test(`the folder of policies of ${name}`, () => assert.equal(root(file, text), want));
}
