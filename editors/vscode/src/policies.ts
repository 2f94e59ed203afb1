// Which folder of policies a file belongs to. Without vscode.
import * as path from 'node:path';

const shelves = ['reap', 'protect', 'observe', 'lib'];
const tables: Record<string, RegExp> = { 'exceptions.yaml': /^exceptions\s*:/m, 'layer.yaml': /^(levels|parameters|grants|defaults)\s*:/m };

/**
 * The topmost folder of the tree of policies that a file is of, undefined where it is of none: others have files called so, and Rego of their own.
 * text is what the file says, isFolder whether there is such a folder.
 */
export function policyRoot(file: string, text: string, isFolder: (dir: string) => boolean): string | undefined {
  const dir = path.dirname(file), name = path.basename(file);
  const tree = (root: string): boolean => isFolder(path.join(root, 'reap')) || isFolder(path.join(root, 'protect'));
  const table = tables[name];
  if (table) return table.test(text) || tree(dir) ? dir : undefined;
  if (!name.endsWith('.rego')) return undefined;
  return ofPackage(dir, text) ?? ofFolder(dir, tree);
}

/** A package is called as its folder is: policies.reap.tabs.mine lies in ROOT/reap/tabs/mine. */
function ofPackage(dir: string, text: string): string | undefined {
  const parts = /^\s*package\s+policies((?:\.[A-Za-z_]\w*)+)\s*$/m.exec(text)?.[1]?.slice(1).replace(/_test$/, '').split('.');
  if (!parts) return undefined;
  const below = path.sep + path.join(...parts);
  return dir.endsWith(below) && dir.length > below.length ? dir.slice(0, -below.length) : undefined;
}

/** The package is wrong or being written, and the folders say where it lies. */
function ofFolder(dir: string, tree: (root: string) => boolean): string | undefined {
  for (let d = dir; d !== path.dirname(d); d = path.dirname(d)) {
    if (shelves.includes(path.basename(d)) && tree(path.dirname(d))) return path.dirname(d);
  }
  return undefined;
}
