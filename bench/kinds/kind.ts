import type { RuntimeKind } from '../../tests/kit/runtimes.ts'

/** A typical project: its files, and how to check that it went live. */
export interface Kind {
  name: string
  /** Content by path; an object is written as JSON. */
  files: Record<string, string | object>
  /** Text that the response contains. */
  says: string
  /** Default: `/`. */
  path?: string
  /** Settings that its owner would set. */
  settings?: object
  /** Default: both. */
  only?: RuntimeKind
  /** Another service that must respond at its own host name, and the text of its response. */
  also?: { service: string; says: string }
}

/** A manifest with its scripts and dependencies. */
export const manifest = (
  name: string,
  { scripts, needs = {}, tools = {}, ...more }: { scripts: object; needs?: object; tools?: object; [field: string]: unknown },
) => ({
  ...{ name, version: '1.0.0', private: true, type: 'module', scripts },
  ...{ dependencies: needs, devDependencies: tools },
  ...more,
})

export const htmlPage = (says: string, script = '') =>
  `<!doctype html><html><head><title>x</title></head><body><h1>${says}</h1>${script}</body></html>\n`
