import { startHostileSftp } from '../../packages/server/src/drivers/shell/test-hostile-sftp.ts'
import { checkDestination } from './destination-checks.ts'
import type { Scenario } from './scenario.ts'

const names = Array.from({ length: 200 }, (_, number) => `left-${number}-${'x'.repeat(150)}`)

/** An SFTP server whose folders never end. */
export const sftpListing: Scenario = {
  name: 'an SFTP server whose folders never end',
  async run({ hosting, watch, defer }) {
    const server = await startHostileSftp()
    // Pages never end: file names alternate with a subfolder that itself never ends. No name is one that Berth gives.
    server.answer = (path, call) => (path.includes('/deep') || call % 2 === 0 ? names : ['deep/'])
    defer(() => server.close())
    const config = { host: '127.0.0.1', port: server.port, user: 'user', path: '/srv', password: 'password' }
    return checkDestination({ hosting, watch }, { kind: 'sftp', config }, () => {
      server.calls.length = 0
    })
  },
}
