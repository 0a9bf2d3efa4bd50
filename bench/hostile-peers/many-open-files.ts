import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../tests/kit/free-port.ts'
import type { Scenario } from './scenario.ts'

const [files, children] = [8000, 60]

/** A project with many open files in many processes, and a port of its own that is opened last. */
export const manyOpenFiles: Scenario = {
  name: `a project with ${files} open files in ${children} processes`,
  async run({ hosting, watch }) {
    const folder = join(hosting.folder, 'many-files')
    const port = await freePort()
    await mkdir(folder)
    const script = `#!/bin/bash
ulimit -n $(ulimit -Hn)
most=$(( $(ulimit -Hn) - 200 ))
for (( at = 256; at < ${files} && at < most; at++ )); do eval "exec $at</dev/null"; done
echo "open files: $at"
for (( at = 0; at < ${children}; at++ )); do sleep 1000 & done
node server.js
`
    const server = `require('node:http').createServer((_, response) => response.end('many')).listen(${port}, '127.0.0.1')`
    await writeFile(join(folder, 'server.js'), server)
    await writeFile(join(folder, 'start.sh'), script)
    await chmod(join(folder, 'start.sh'), 0o755)
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'many-files', scripts: { start: 'bash start.sh' } }))
    const project = await hosting.makeProject({ name: 'many-files', localPath: folder, kind: 'service' })
    return watch(async (until) => {
      const deployment = await hosting.settled(await hosting.deploy(project.id))
      while (!until.aborted) {
        await hosting.get(`${project.slug}.localhost`).catch(() => undefined)
        await pause(50)
      }
      const page = await hosting.get(`${project.slug}.localhost`).catch((error: Error) => ({ status: error.message }))
      const failure = deployment.status === 'live' ? '' : ` (${deployment.error?.message ?? deployment.error})`
      return `deployment ${deployment.status}${failure}; its page: ${page.status}`
    })
  },
}
