import { readdir, readFile } from 'node:fs/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { send, serve, startEdge, startUpstream, type TestEdge, type TestUpstream } from '../drivers/edge/edge-fixture.ts'

let edge: TestEdge
let [old, next]: TestUpstream[] = []
beforeEach(async () => {
  edge = await startEdge({ workers: 3 })
  old = await startUpstream((_, response) => response.end('old'))
  next = await startUpstream((_, response) => response.end('next'))
})
afterEach(async () => {
  await edge?.end()
  await Promise.all([old?.close(), next?.close()])
})

/** Processes that the leading one has started. */
async function workers(): Promise<number[]> {
  const leader = await readFile(`${edge.folder}/edge/edge.lock`, 'utf8')
  const found: number[] = []
  for (const name of await readdir('/proc')) {
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')
    if (stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] === String(Number(leader))) found.push(Number(name))
  }
  return found
}

test.runIf(process.platform === 'linux')(
  'a table is active once no worker serves the previous one, even if a worker hangs',
  async () => {
    await edge.route({ 'a.test': serve(old as TestUpstream) })
    const [hung] = await workers()
    process.kill(hung as number, 'SIGSTOP')
    expect(await edge.route({ 'a.test': serve(next as TestUpstream) })).toMatchObject({ refused: {} })
    expect(await workers()).not.toContain(hung)
    const answers = await Promise.all(Array.from({ length: 60 }, () => send(edge.port, 'a.test', '/', {})))
    expect(new Set(answers.map(({ body }) => body))).toEqual(new Set(['next']))
  },
  60_000,
)
