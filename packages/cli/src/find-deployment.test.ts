import { Command } from 'commander'
import { expect, test } from 'vitest'
import type { Connection } from './credentials.ts'
import { findDeployment } from './find-deployment.ts'

const command = new Command().option('--project <id>').parse(['--project', 'prj_1'], { from: 'user' })
const having = (...data: object[]) => ({ call: async () => ({ data }) }) as unknown as Connection
const failed = { id: 'dep_1', number: 1, status: 'failed' }

test('returns the newest deployment that matches the filter', async () =>
  expect(await findDeployment(having(failed), command, undefined, ({ status }) => status === 'failed')).toBe(failed))

test('the error names the requested project if none matches', async () => {
  const isLive = ({ status }: { status: string }) => status === 'live'
  await expect(findDeployment(having(failed), command, undefined, isLive, 'Nothing is live')).rejects.toThrow('Nothing is live')
  await expect(findDeployment(having(), command, undefined)).rejects.toThrow('Nothing is deployed. Run berth deploy.')
  await expect(findDeployment(having(failed), command, '7')).rejects.toThrow('Deployment 7 does not exist')
})
