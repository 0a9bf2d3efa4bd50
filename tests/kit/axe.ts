import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const source = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Once a visit, before `violations`. Evaluated by the debugger, not added as a script: the page's own policy would refuse one. */
export const addAxe = (page: Page): Promise<unknown> => page.evaluate(source)

/** What axe, by the rules of WCAG 2.2 AA, finds on the page as it is. */
export const violations = (page: Page): Promise<string[]> =>
  page.evaluate(async () => {
    const axe = (window as unknown as { axe: { run(options: object): Promise<{ violations: Violation[] }> } }).axe
    interface Violation {
      id: string
      nodes: { target: string[]; failureSummary?: string }[]
    }
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
    // What passes is not listed: that takes longer than finding out.
    const { violations } = await axe.run({ runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'] })
    return violations.flatMap(({ id, nodes }) =>
      nodes.slice(0, 3).map(({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary}`),
    )
  })
