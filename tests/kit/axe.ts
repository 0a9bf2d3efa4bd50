import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Loads axe into the page. Call it once per visit, before `violations`. The debugger evaluates the source: the content security
 * policy of the page would reject a script tag.
 */
export const addAxe = (page: Page): Promise<unknown> => page.evaluate(source)

/** Rules whose result depends on colours. The others read the same document in both themes. */
const colourRules = ['color-contrast', 'link-in-text-block']

/** Returns the violations of WCAG 2.2 AA that axe finds on the page. `coloursOnly`: checks only the rules that depend on the theme. */
export const violations = (page: Page, { coloursOnly = false } = {}): Promise<string[]> =>
  page.evaluate(
    async (rules) => {
      const axe = (window as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } }).axe
      interface Violation {
        id: string
        nodes: { target: string[]; failureSummary?: string }[]
      }
      const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
      // Only violations are described: describing the passed checks takes longer than the checks themselves.
      const runOnly = rules ? { type: 'rule', values: rules } : { type: 'tag', values: tags }
      const { violations } = await axe.run({ runOnly, resultTypes: ['violations'] })
      return violations.flatMap(({ id, nodes }) =>
        nodes.slice(0, 3).map(({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary}`),
      )
    },
    coloursOnly ? colourRules : null,
  )
