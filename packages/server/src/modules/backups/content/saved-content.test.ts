import { expect, test } from 'vitest'
import type { Instance } from '../../../drivers/runtime/runtime.ts'
import { StartFailed } from '../../../drivers/runtime/runtime-errors.ts'
import type { ProjectData } from '../../deployments/index.ts'
import { contentOf } from './saved-content.ts'

const neverAborted = new AbortController().signal
const payload = { volumes: 'all', databases: 'auto', exclude: [] } as unknown as Parameters<typeof contentOf>[0]['payload']

/** A PostgreSQL service, and a second service with the same image that has exited. */
function contentWith(second: Pick<Instance, 'state' | 'exitCode'>, restart: boolean) {
  const unit = (service: string, mayRestart: boolean) => ({
    service,
    image: 'postgres:16',
    env: {},
    volumes: [],
    restart: mayRestart,
    instance: { id: `ins_${service}`, serverId: null },
  })
  const runtime = {
    inspect: async (id: string) => (id === 'ins_db' ? { state: 'running', exitCode: null } : second),
    async exec(id: string, { onStdout }: { onStdout?: (chunk: Uint8Array) => void | Promise<void> }) {
      if (id !== 'ins_db') throw new StartFailed(`The instance ${id} does not run`)
      await onStdout?.(Buffer.from('shop\n'))
      return { exitCode: 0, stderrTail: '' }
    },
  }
  const data = {
    units: async () => [unit('db', true), unit('migrate', restart)],
    volumes: async () => [],
    runtimeFor: () => runtime,
  } as unknown as ProjectData
  const projects = { uploadOf: async () => null } as unknown as Parameters<typeof contentOf>[1]['projects']
  return contentOf({ projectId: 'prj_a', serviceId: null, payload, isSafety: false }, { data, projects }, neverAborted)
}

test('a one-shot service with the image of the database that ended with exit code 0 is not dumped', async () => {
  const { content } = await contentWith({ state: 'exited', exitCode: 0 }, false)
  expect(content.map(({ name }) => name)).toEqual(['db/globals', 'db/shop'])
})

test.each<[string, Pick<Instance, 'state' | 'exitCode'>, boolean]>([
  ['a one-shot service that failed', { state: 'exited', exitCode: 1 }, false],
  ['a database that should run', { state: 'exited', exitCode: 0 }, true],
])('the error names the service: %s', async (_, ended, restart) => {
  await expect(contentWith(ended, restart)).rejects.toMatchObject({
    code: 'not_running',
    message: expect.stringContaining('The service migrate is not running'),
  })
})
