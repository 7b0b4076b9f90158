import { isObject, type JsonObject } from '../../src/sse/dialect.js';

/** A JSON Schema as rows of a Markdown table: a key in dots, what it may be, what it means. */
export interface SchemaRow {
  readonly key: string;
  readonly allowed: string;
  readonly meaning: string;
}

const listOf = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** What stands below a key, in one or several forms. */
function childrenOf(schema: JsonObject): readonly JsonObject[] {
  const items = isObject(schema.items) ? [schema.items] : [];
  return [...listOf(schema.anyOf), ...listOf(schema.oneOf), ...items];
}

function nameOf(schema: JsonObject): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.join(', ');
  const forms = [...listOf(schema.anyOf), ...listOf(schema.oneOf)];
  if (forms.length > 0) return [...new Set(forms.map(nameOf))].join(' or ');
  if (schema.type === 'array') return `list of ${isObject(schema.items) ? nameOf(schema.items) : 'pairs'}`;
  if (typeof schema.pattern === 'string' && schema.pattern.includes('event')) return 'position';
  if (schema.type === 'integer' || schema.type === 'number') return 'number';
  return typeof schema.type === 'string' ? schema.type : 'any JSON';
}

/** The rows below `schema`, depth first. Forms that say which they are by a fixed word begin with it. */
function rowsOf(schema: JsonObject, path = ''): SchemaRow[] {
  const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
  const own = properties.flatMap(([key, value]): SchemaRow[] => {
    if (!isObject(value)) return [];
    const at = path === '' ? key : `${path}.${key}`;
    const meaning = typeof value.description === 'string' ? value.description : '';
    return [{ key: at, allowed: nameOf(value), meaning }, ...rowsOf(value, at)];
  });
  return [...own, ...childrenOf(schema).flatMap((child) => rowsOf(child, path))];
}

/** The table, each key once: what several forms share is told by the first that says something. */
export function tableOf(schema: JsonObject): string {
  const rows = new Map<string, SchemaRow>();
  for (const row of rowsOf(schema)) {
    const known = rows.get(row.key);
    if (!known) rows.set(row.key, row);
    else if (known.allowed !== row.allowed && row.allowed.startsWith('"')) {
      rows.set(row.key, { ...known, allowed: `${known.allowed}, ${row.allowed}` });
    }
  }
  const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
  const lines = [...rows.values()].map(
    ({ key, allowed, meaning }) => `| \`${key}\` | ${cell(allowed)} | ${cell(meaning)} |`,
  );
  return ['| key | allowed | meaning |', '|---|---|---|', ...lines].join('\n');
}
