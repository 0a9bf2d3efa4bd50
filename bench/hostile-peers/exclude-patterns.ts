import { join } from 'node:path'
import { backupsOf } from '../../tests/kit/backups.ts'
import { writeApp } from '../../tests/kit/hosting.ts'
import type { Scenario } from './scenario.ts'

// The process runtime stops a project whose folders are deeper than this.
const [patterns, depth, name] = [20, 500, 'aaaaa']

/** A volume with a deep folder, and patterns that could match it in many ways. */
const digger = `
import { mkdirSync } from 'node:fs'
import { createServer } from 'node:http'
process.chdir(process.env.BERTH_VOLUME_DATA)
for (let at = 0; at < ${depth}; at++) { mkdirSync('${name}', { recursive: true }); process.chdir('${name}') }
createServer((_, response) => response.end('dug')).listen(process.env.PORT, process.env.HOST)
`

/** A member's backup policy whose `exclude` patterns take long to match. */
export const excludePatterns: Scenario = {
  name: `${patterns} exclude patterns and a path of ${(depth * (name.length + 1)) / 1000} kB`,
  async run({ hosting, watch }) {
    const folder = join(hosting.folder, 'dug')
    await writeApp(folder, digger)
    const volumes = [{ name: 'data', mountPath: '/data' }]
    const project = await hosting.makeProject({ name: 'dug', localPath: folder, volumes, healthCheck: { path: '/' } })
    const { error } = await hosting.settled(await hosting.deploy(project.id))
    if (error) throw new Error(JSON.stringify(error))
    const backups = backupsOf(hosting)
    const exclude = Array.from({ length: patterns }, () => `${`**/${name}/`.repeat(33)}[b]`)
    const payload = { volumes: 'all', databases: 'off', exclude }
    const destinationId = await backups.destination('local', { path: 'dug' })
    const policyId = await backups.policy(project.id, { destinationId, retainCount: 5, payload })
    return watch(async (until) => {
      const id = await backups.start(policyId)
      const over = new Promise<void>((resolve) => until.addEventListener('abort', () => resolve()))
      await Promise.race([backups.ended(id).catch(() => undefined), over])
      const run = await backups.run(id)
      await hosting.api('POST', `/backup-runs/${id}/cancel`)
      return `the run after that time: ${run.status} ${run.error?.message ?? ''}`
    })
  },
}
