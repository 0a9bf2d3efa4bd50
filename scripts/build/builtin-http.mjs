import http from 'node:http'

const id = '\0builtin-http'

/** Read through getters: each of them loads all of Node's fetch. */
const isCheap = (name) => Object.getOwnPropertyDescriptor(http, name)?.get === undefined && name !== 'default'

/**
 * `import 'node:http'` makes Node read every export of it, and three are getters that load its fetch: some 30 ms of each start
 * and 3 MB for as long as the process runs. `require` reads none, so the bundle asks for it that way.
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
