// Writes winnow.vsix, with the same bytes from the same files: entries sorted, dates fixed, nothing compressed, so that no version of zlib has a say.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32 } from './crc32.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const repository = dirname(dirname(root));
const read = (...at) => readFileSync(join(...at));
const compact = (...at) => Buffer.from(JSON.stringify(JSON.parse(read(...at).toString())));

const manifest = JSON.parse(read(root, 'package.json').toString());
for (const key of ['scripts', 'devDependencies', 'private', 'type']) delete manifest[key];

const escape = (s) => s.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]);
const vsixManifest = `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${escape(manifest.name)}" Version="${escape(manifest.version)}" Publisher="${escape(manifest.publisher)}"/>
    <DisplayName>${escape(manifest.displayName)}</DisplayName>
    <Description xml:space="preserve">${escape(manifest.description)}</Description>
    <Tags>${escape(manifest.keywords.join(','))}</Tags>
    <Categories>${escape(manifest.categories.join(','))}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${escape(manifest.engines.vscode)}"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="${escape(manifest.extensionKind.join(','))}"/>
      <Property Id="Microsoft.VisualStudio.Services.Links.Source" Value="${escape(manifest.repository.url)}"/>
      <Property Id="Microsoft.VisualStudio.Services.Links.GitHub" Value="${escape(manifest.repository.url)}"/>
      <Property Id="Microsoft.VisualStudio.Services.Links.Support" Value="${escape(manifest.bugs.url)}"/>
      <Property Id="Microsoft.VisualStudio.Services.Links.Learn" Value="${escape(manifest.homepage)}"/>
      <Property Id="Microsoft.VisualStudio.Services.Branding.Color" Value="${escape(manifest.galleryBanner.color)}"/>
      <Property Id="Microsoft.VisualStudio.Services.Branding.Theme" Value="${escape(manifest.galleryBanner.theme)}"/>
    </Properties>
    <License>extension/LICENSE.txt</License>
    <Icon>extension/media/icon.png</Icon>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Changelog" Path="extension/CHANGELOG.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Icons.Default" Path="extension/media/icon.png" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
`;
const contentTypes = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension=".cjs" ContentType="application/javascript"/><Default Extension=".json" ContentType="application/json"/><Default Extension=".md" ContentType="text/markdown"/><Default Extension=".png" ContentType="image/png"/><Default Extension=".svg" ContentType="image/svg+xml"/><Default Extension=".txt" ContentType="text/plain"/><Default Extension=".vsixmanifest" ContentType="text/xml"/></Types>
`;

const entries = Object.entries({
  '[Content_Types].xml': Buffer.from(contentTypes),
  'extension.vsixmanifest': Buffer.from(vsixManifest),
  'extension/LICENSE.txt': read(repository, 'LICENSE'),
  'extension/README.md': read(root, 'README.md'),
  'extension/CHANGELOG.md': read(root, 'CHANGELOG.md'),
  'extension/dist/extension.cjs': read(root, 'dist', 'extension.cjs'),
  ...Object.fromEntries(['icon.png', 'view.png', 'walkthrough/keep.md', 'walkthrough/program.md', 'walkthrough/sweep.md', 'winnow.svg']
    .map((name) => [`extension/media/${name}`, read(root, 'media', name)])),
  'extension/package.json': Buffer.from(JSON.stringify(manifest, null, 2) + '\n'),
  'extension/schemas/config.json': compact(repository, 'docs', 'reference', 'schemas', 'config.json'),
  'extension/schemas/protocol.json': compact(root, 'protocol.schema.json'),
  'extension/schemas/subject.json': compact(repository, 'policies', 'schemas', 'subject.json'),
}).sort(([a], [b]) => (a < b ? -1 : 1));

const date = (1 << 5) | 1; // 1980-01-01, the first day that a zip can name
const bodies = [], directory = [];
let at = 0;
for (const [name, data] of entries) {
  const file = Buffer.from(name), common = Buffer.alloc(26);
  common.writeUInt16LE(20, 0); // version needed
  common.writeUInt16LE(0x800, 2); // names are UTF-8
  common.writeUInt16LE(0, 4); // stored
  common.writeUInt16LE(0, 6);
  common.writeUInt16LE(date, 8);
  common.writeUInt32LE(crc32(data), 10);
  common.writeUInt32LE(data.length, 14);
  common.writeUInt32LE(data.length, 18);
  common.writeUInt16LE(file.length, 22);
  common.writeUInt16LE(0, 24);
  bodies.push(Buffer.from('PK\x03\x04', 'latin1'), common, file, data);
  const rest = Buffer.alloc(14);
  rest.writeUInt32LE(0o100644 * 0x10000, 6);
  rest.writeUInt32LE(at, 10);
  directory.push(Buffer.from('PK\x01\x02\x14\x03', 'latin1'), common, rest, file);
  at += 30 + file.length + data.length;
}
const list = Buffer.concat(directory), end = Buffer.alloc(18);
end.writeUInt16LE(entries.length, 4);
end.writeUInt16LE(entries.length, 6);
end.writeUInt32LE(list.length, 8);
end.writeUInt32LE(at, 12);
const out = Buffer.concat([...bodies, list, Buffer.from('PK\x05\x06', 'latin1'), end]);
const target = process.argv[2] ?? join(root, 'winnow.vsix');
writeFileSync(target, out);
console.log(`${target}: ${entries.length} files, ${out.length} bytes`);
