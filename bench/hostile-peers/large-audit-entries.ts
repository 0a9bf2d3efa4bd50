import type { Scenario } from './scenario.ts'

const writes = 60

/** A member sends large bodies, which the audit log records, and reads its longest page again and again. */
export const largeAuditEntries: Scenario = {
  name: 'large entries in the audit log',
  async run({ hosting, watch }) {
    const { id } = await hosting.makeProject({ name: 'audited' })
    const deletes = Array.from({ length: 1000 }, (_, at) => `KEY_${at}_${'x'.repeat(240)}`)
    for (let at = 0; at < writes; at++) await hosting.api('PATCH', `/projects/${id}/env`, { deletes })
    return watch(async (until) => {
      let [pages, bytes] = [0, 0]
      while (!until.aborted) {
        const page = await hosting.api('GET', '/audit-log?limit=500')
        bytes = JSON.stringify(page.body).length
        pages += 1
      }
      return `${writes} bodies of 250 kB; ${pages} pages of ${Math.round(bytes / 1000)} kB`
    })
  },
}
