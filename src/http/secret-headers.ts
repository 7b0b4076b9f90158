/** Headers whose values are secrets. */
export const SECRET_HEADERS = new Set<string>([
  'authorization',
  'proxy-authorization',
  'x-api-key',
  'api-key',
  'cookie',
  'x-goog-api-key',
  'x-wirefault-token',
]);

/** Parameters of a query that are secrets, as some providers take keys. */
export const SECRET_PARAMETER = /^(?:key|api[-_]?key|access_token)$/i;
