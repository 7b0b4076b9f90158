import { versionOf } from '../npm-package.js';

/** Prints the versions of the packages that are named, as a driver would find them. */
const told = process.argv
  .slice(2)
  .map((name) => (name === 'node' ? `node ${process.version}` : `${name} ${versionOf(name) ?? '?'}`));
process.stdout.write(`${told.join(' + ')}\n`);
