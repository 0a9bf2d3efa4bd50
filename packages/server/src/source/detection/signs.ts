import type { Evidence } from './detection.ts'
import type { Ecosystem } from './manifests/index.ts'
import { finalScript } from './package-scripts.ts'
import { stripComments } from './source-text.ts'
import type { App, Sign } from './stack.ts'

/** Signs: the conditions of the stack rows. */

/** A file by name or pattern (`next.config.*`), as in `Folder.find`. */
export const file =
  (pattern: string, says: string): Sign =>
  ({ folder }) => {
    const found = pattern.includes('*') ? folder.find(pattern)[0] : folder.has(pattern) ? pattern : undefined
    return found === undefined ? null : [{ file: folder.full(found), says }]
  }

/** Any of these dependencies in the language's manifest. */
export const dependency =
  (ecosystem: Ecosystem, ...names: string[]): Sign =>
  (app) => {
    const found = dependenciesOf(app, ecosystem)
    const name = names.find((one) => found.has(one))
    return name === undefined ? null : [dependsOn(app, ecosystem, name)]
  }

export const manifest =
  (ecosystem: Ecosystem, says: string): Sign =>
  ({ folder, manifests }) => {
    const found = manifests[ecosystem]
    return found ? [{ file: folder.full(found.file), says }] : null
  }

/** A script of `package.json` that runs this, directly or through the script it calls. */
export const script =
  (name: string, runs = /./): Sign =>
  ({ folder, manifests }) => {
    const scripts = manifests.npm?.scripts
    const lines = scripts?.has(name) ? [scripts.get(name)!, finalScript(scripts, name).line] : []
    return lines.some((line) => runs.test(line)) ? [scriptRuns({ folder, manifests }, name)] : null
  }

/** Maximum number of config files of one kind. */
export const maxConfigs = 10

/** A setting in a source file; comments are ignored. */
export const setting =
  (pattern: string, text: RegExp, says: string): Sign =>
  async ({ folder }) => {
    for (const found of folder.find(pattern).slice(0, maxConfigs)) {
      const content = await folder.text(found)
      if (content !== null && text.test(stripComments(content))) return [{ file: folder.full(found), says }]
    }
    return null
  }

export const anyOf =
  (...signs: Sign[]): Sign =>
  async (app) => {
    for (const sign of signs) {
      const evidence = await sign(app)
      if (evidence) return evidence
    }
    return null
  }

export const allOf =
  (...signs: Sign[]): Sign =>
  async (app) => {
    const all: Evidence[] = []
    for (const sign of signs) {
      const evidence = await sign(app)
      if (!evidence) return null
      all.push(...evidence)
    }
    return all
  }

/** The absence of a sign; it adds no evidence. */
export const not =
  (sign: Sign): Sign =>
  async (app) =>
    (await sign(app)) ? null : []

export function dependenciesOf({ manifests }: App, ecosystem: Ecosystem) {
  return manifests[ecosystem]?.dependencies ?? new Map<string, { version: string | null; file: string }>()
}

export const has = (app: App, ecosystem: Ecosystem, ...names: string[]): boolean =>
  names.some((name) => dependenciesOf(app, ecosystem).has(name))

export function dependsOn(app: App, ecosystem: Ecosystem, name: string): Evidence {
  const found = dependenciesOf(app, ecosystem).get(name)!
  return { file: app.folder.full(found.file), says: clip(['depends on', name, found.version].filter(Boolean).join(' ')) }
}

export const scriptRuns = ({ folder, manifests }: App, name: string): Evidence => ({
  file: folder.full('package.json'),
  says: `the script ${name} runs ${clip(manifests.npm?.scripts.get(name) ?? '')}`,
})

/** Shortens a quote in evidence. */
export const clip = (text: string) => (text.length > 120 ? `${text.slice(0, 119)}…` : text)
