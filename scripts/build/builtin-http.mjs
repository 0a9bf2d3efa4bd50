import http from 'node:http'

const id = '\0builtin-http'

/** False for the default export and for exports with a getter: each of these getters loads all of Node's fetch. */
const isCheap = (name) => Object.getOwnPropertyDescriptor(http, name)?.get === undefined && name !== 'default'

/**
 * Replaces `import 'node:http'` by `require`. The import makes Node read every export, and three of them are getters that load
 * Node's fetch: about 30 ms of each start, and 3 MB for as long as the process runs. `require` reads no getter.
 */
export const builtinHttp = {
  name: 'builtin-http',
  resolveId(source, _importer, { kind }) {
    return kind === 'import-statement' && (source === 'node:http' || source === 'http') ? id : null
  },
  load(wanted) {
    if (wanted !== id) return null
    return [
      `import { createRequire } from 'node:module'`,
      `const http = createRequire(import.meta.url)('node:http')`,
      `export default http`,
      `export const { ${Object.keys(http).filter(isCheap).join(', ')} } = http`,
    ].join('\n')
  },
}
