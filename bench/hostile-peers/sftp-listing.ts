import { startHostileSftp } from '../../packages/server/src/drivers/shell/test-hostile-sftp.ts'
import type { Scenario } from './scenario.ts'

const names = Array.from({ length: 200 }, (_, number) => `left-${number}-${'x'.repeat(150)}`)

/** An SFTP server whose folders never end. */
export const sftpListing: Scenario = {
  name: 'an SFTP server whose folders never end',
  async run({ hosting, watch, defer }) {
    const server = await startHostileSftp()
    server.answer = (path, call) => (path.includes('/deep') || call % 2 === 0 ? names : ['deep/'])
    defer(() => server.close())
    const config = { host: '127.0.0.1', port: server.port, user: 'user', path: '/srv', password: 'password' }
    const { body } = await hosting.api('POST', '/backup-destinations', { name: 'Hostile', kind: 'sftp', config })
    // The first check loads the client library, once for the life of the process.
    await hosting.api('POST', `/backup-destinations/${body.data.id}/check`)
    return watch(async (until) => {
      const reasons = new Set<string>()
      while (!until.aborted) {
        const answer = await hosting.api('POST', `/backup-destinations/${body.data.id}/check`)
        reasons.add(`${answer.status} ${answer.body.data?.reason ?? answer.body.error}`)
        server.calls.length = 0
      }
      return [...reasons].join('; ')
    })
  },
}
