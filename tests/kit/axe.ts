import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Call once per visit, before `violations`. Evaluated by the debugger and not added as a script, which the page's own policy would
 * reject.
 */
export const addAxe = (page: Page): Promise<unknown> => page.evaluate(source)

/** Rules whose result depends on colours. The others read the same document in both themes. */
const colourRules = ['color-contrast', 'link-in-text-block']

/** Violations of WCAG 2.2 AA that axe finds on the page; with `ofColours` only those that another theme can cause. */
export const violations = (page: Page, { ofColours = false } = {}): Promise<string[]> =>
  page.evaluate(
    async (rules) => {
      const axe = (window as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } }).axe
      interface Violation {
        id: string
        nodes: { target: string[]; failureSummary?: string }[]
      }
      const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
      // Passed checks are not listed: that takes longer than the checks.
      const runOnly = rules ? { type: 'rule', values: rules } : { type: 'tag', values: tags }
      const { violations } = await axe.run({ runOnly, resultTypes: ['violations'] })
      return violations.flatMap(({ id, nodes }) =>
        nodes.slice(0, 3).map(({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary}`),
      )
    },
    ofColours ? colourRules : null,
  )
