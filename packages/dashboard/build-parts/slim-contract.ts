import { fileURLToPath } from 'node:url'
import * as whole from '@berth/contract'
import type { Plugin } from 'vite'

const virtual = '\0slim-contract'
const fileOf = (name: string) => fileURLToPath(import.meta.resolve('@berth/contract').replace(/index\.ts$/, name))

/**
 * The contract as the page needs it: of a row where it is and what it is sent, and the lists, limits and states that rules are made of.
 * Checking bodies is the server's business; shapes, summaries and errors of all rows would be a tenth of the first load.
 */
export function slimContract(): Plugin {
  return {
    name: 'slim-contract',
    enforce: 'pre',
    resolveId: (id) => (id === '@berth/contract' ? virtual : undefined),
    load: (id) => (id === virtual ? slimSource() : undefined),
  }
}

function slimSource(): string {
  const modules = Object.entries(whole.contract).map(([module, rows]) => {
    const slim = Object.entries(rows).map(
      ([name, { at, upload }]) => `${name}:row(${JSON.stringify(at)}${upload ? `,${JSON.stringify(upload)}` : ''})`,
    )
    return `${module}:{${slim.join(',')}}`
  })
  const plain = Object.entries(whole).filter(([, value]) => typeof value === 'string' || Array.isArray(value))
  return [
    ...['states.ts', 'permissions.ts', 'limits.ts', 'program-name.ts', 'projects/host-name.ts'].map(
      (name) => `export * from ${JSON.stringify(fileOf(name))}`,
    ),
    "function row(at, upload) { const [method, path] = at.split(' '); return { at, method, path, upload } }",
    `export const contract = {${modules.join(',')}}`,
    ...plain.map(([name, value]) => `export const ${name} = ${JSON.stringify(value)}`),
  ].join('\n')
}
