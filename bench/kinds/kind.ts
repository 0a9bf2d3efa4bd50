import type { RuntimeKind } from '../../tests/kit/runtimes.ts'

/** A project as people have them: its files, and how one sees that it went live. */
export interface Kind {
  name: string
  /** By path; an object is written as JSON. */
  files: Record<string, string | object>
  /** What the answer holds. */
  says: string
  /** Left out: `/`. */
  path?: string
  /** Settings that its owner would make. */
  settings?: object
  /** Left out: both. */
  only?: RuntimeKind
  /** What else must answer: a host in front of the project's own, and what it says. */
  also?: { service: string; says: string }
}

/** A manifest with its scripts and what it needs. */
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
